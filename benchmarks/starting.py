"""The time until `keryx --help` has printed, and until the shell shows its prompt on a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

from benchmarks.measuring import Measured, What, seconds
from benchmarks.trees import REPEATS

_PROMPT = b"keryx>"
_PATIENCE = 30.0
_LEAVE = b"\x04"
_ROWS_AND_COLUMNS = (40, 100)


def measure_starting(work: Path, runs: int) -> Measured:
    """Start keryx several times a run in an empty project in *work*, with the built-in model."""
    project = work / "project"
    project.mkdir(parents=True)
    environment = _environment(work)

    def print_help() -> None:
        subprocess.run(
            [*_program(), "--help"], env=environment, check=True, stdout=subprocess.DEVNULL
        )

    print_help()  # the first start compiles what was not imported yet
    _until_prompt(project, environment)
    return {
        What.HELP: tuple(seconds(print_help) for _ in range(REPEATS * runs)),
        What.PROMPT: tuple(_until_prompt(project, environment) for _ in range(REPEATS * runs)),
    }


def _program() -> list[str]:
    script = Path(sys.executable).with_name("keryx")
    return [str(script)] if script.exists() else [sys.executable, "-m", "keryx_py"]


def _environment(work: Path) -> dict[str, str]:
    checkout = Path(__file__).parent.parent
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(work),
        "KERYX_DATA_DIR": str(work / "data"),
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm-256color",
        "PYTHONPATH": str(checkout),
        # Nobody is there to answer where the cursor stands.
        "PROMPT_TOOLKIT_NO_CPR": "1",
    }


def _until_prompt(project: Path, environment: dict[str, str]) -> float:
    """Open the shell on a terminal of its own and leave it; return the seconds to its prompt."""
    terminal, other_end = pty.openpty()
    termios.tcsetwinsize(terminal, _ROWS_AND_COLUMNS)
    start = time.perf_counter()
    with subprocess.Popen(
        [*_program(), "--root", str(project)],
        env=environment,
        stdin=other_end,
        stdout=other_end,
        stderr=other_end,
        start_new_session=True,
    ) as shell:
        os.close(other_end)
        try:
            _read_until(terminal, _PROMPT)
            taken = time.perf_counter() - start
            os.write(terminal, _LEAVE)
            _read_to_end(terminal)
        except BaseException:
            shell.kill()
            raise
        finally:
            os.close(terminal)
    return taken


def _read_until(terminal: int, wanted: bytes) -> None:
    seen, deadline = b"", time.monotonic() + _PATIENCE
    while wanted not in seen:
        data = _read(terminal, deadline)
        if not data:
            raise RuntimeError(f"keryx ended before its prompt: {seen.decode(errors='replace')}")
        seen += data


def _read_to_end(terminal: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while _read(terminal, deadline):
        pass


def _read(terminal: int, deadline: float) -> bytes:
    """Read what is there; nothing at the end. Raises TimeoutError."""
    if not select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))[0]:
        raise TimeoutError("keryx shows no prompt")
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # how Linux says that the other end was closed
        return b""
