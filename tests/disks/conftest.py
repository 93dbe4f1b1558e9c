"""A project to sit at, and a disk that can be told to fail."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.cases.conftest import root, sit
from tests.disks.fault_driver import Came, Fault

__all__ = ["root", "sit"]

HERE = Path(__file__).parent
Inject = Callable[[Fault], list[Came]]


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shim that stands before the C library, built once."""
    if not sys.platform.startswith("linux") or shutil.which("cc") is None:
        pytest.skip("needs Linux and a C compiler")
    built = tmp_path_factory.mktemp("shim") / "failing_disk.so"
    options = ["-O1", "-D_LARGEFILE64_SOURCE", "-shared", "-fPIC"]
    source = str(HERE / "failing_disk.c")
    subprocess.run(["cc", *options, "-o", str(built), source, "-ldl"], check=True)
    return built


@pytest.fixture
def inject(shim: Path, tmp_path: Path) -> Inject:
    """Give a function that plays a session once for each call that a Fault means."""

    def run(fault: Fault) -> list[Came]:
        environment = {**os.environ, "KERYX_FAULT_SHIM": str(shim), "LD_PRELOAD": str(shim)}
        environment["PYTHONPATH"] = str(HERE.parents[1])
        played = subprocess.run(
            [sys.executable, "-m", "tests.disks.fault_driver", tmp_path, json.dumps(asdict(fault))],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert played.returncode == 0, played.stderr
        return [Came(**json.loads(line)) for line in played.stdout.splitlines()]

    return run
