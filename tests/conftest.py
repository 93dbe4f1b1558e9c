"""Seal every test off from this machine: home, git configuration, keys, locale, time zone."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile(
    "search", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile(os.environ.get("KERYX_HYPOTHESIS", "repeatable"))

SEALED = ("GIT_", "KERYX_", "XDG_", "OPENAI_", "ANTHROPIC_", "LC_")


@pytest.fixture(autouse=True)
def sealed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test an empty home of its own, outside its `tmp_path`; return it."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(SEALED):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("KERYX_DATA_DIR", str(home / "keryx-data"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("PROMPT_TOOLKIT_NO_CPR", "1")
    time.tzset()
    return home
