"""Seal every test off from this machine: home, git configuration, keys, locale, time zone."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.soundness import check_stores

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

JUDGE = "git"
"""The program that judges what keryx stored; keryx itself does not need it."""

SEALED = ("GIT_", "KERYX_", "XDG_", "OPENAI_", "ANTHROPIC_", "LC_")


def pytest_configure() -> None:
    """Let Ctrl-C reach the tests also where they run in the background, where shells ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _skipped_without_its_judge() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        if error.filename == JUDGE and shutil.which(JUDGE) is None:
            pytest.skip(f"{JUDGE} is to judge this, and is not installed")
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None]:
    """Skip what the judge is needed for on a machine that lacks it."""
    with _skipped_without_its_judge():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """The same for the test itself."""
    with _skipped_without_its_judge():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None]:
    """The same for what is looked at after the test."""
    with _skipped_without_its_judge():
        return (yield)


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


@pytest.fixture(autouse=True)
def sound_stores(request: pytest.FixtureRequest, sealed: Path) -> Iterator[None]:
    """Have git find every store sound that the test leaves, unless it is marked damaged_store."""
    folders = [sealed]
    if "tmp_path" in request.fixturenames:
        folders.append(request.getfixturevalue("tmp_path"))
    yield
    if request.node.get_closest_marker("damaged_store") is None:
        check_stores(folders)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that any user can get to, for as_user(); `tmp_path` lies in a closed one.

    git has to find the stores in it sound in the end.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        check_stores([Path(folder)])
