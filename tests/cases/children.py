"""Do a part of a test in a process of its own: one that is killed, stopped, or out of room."""

from __future__ import annotations

import os
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cases.sitting import Sitting

CHANGES = frozenset(
    {"open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.symlink", "os.chmod", "os.link"}
)
"""The calls that change something on the disk, as the interpreter names them to its auditors."""


class Child:
    """A fork of the test that does one thing and ends."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._report, write_end = os.pipe()
        with warnings.catch_warnings():
            # Threads of other tests hold nothing that the child needs.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            _do(act, write_end)
        os.close(write_end)

    def wait(self) -> int:
        """Wait for its end; return the signal that ended it, or 0. Its failures are raised here."""
        with os.fdopen(self._report, "rb") as report:
            failure = report.read().decode("utf-8", "replace")
        _, status = os.waitpid(self.pid, 0)
        assert not failure, failure
        if os.WIFSIGNALED(status):
            return os.WTERMSIG(status)
        assert os.WEXITSTATUS(status) == 0
        return 0

    def kill(self) -> None:
        """Kill it at once, and wait until it is gone."""
        os.kill(self.pid, signal.SIGKILL)
        os.close(self._report)
        os.waitpid(self.pid, 0)


def in_child(act: Callable[[], object]) -> int:
    """Do *act* in a fork; return the signal that ended it, or 0."""
    return Child(act).wait()


def elsewhere(sitting: Sitting, act: Callable[[], object]) -> int:
    """Do *act* in a process of its own that holds the session meanwhile; as in_child()."""
    sitting.close()

    def resumed() -> None:
        sitting.resume()
        act()

    try:
        return in_child(resumed)
    finally:
        sitting.resume()


def signal_at(step: int, number: signal.Signals, calls: Collection[str] = CHANGES) -> None:
    """Have this process get a signal just before its *step*-th call among *calls* from here on.

    It cannot be taken back, so only a child may ask for it.
    """
    left = step

    def count(event: str, args: tuple[object, ...]) -> None:
        nonlocal left
        if event not in calls:
            return
        if event == "open" and not (isinstance(args[2], int) and args[2] & os.O_CREAT):
            return
        left -= 1
        if left == 0:
            os.kill(os.getpid(), number)

    sys.addaudithook(count)


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    """Let no file grow beyond *size* bytes, as on a full disk. For a child alone."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def keryx_at(root: Path, data_dir: Path, *words: str) -> tuple[list[str], dict[str, str]]:
    """Give the command line and the environment of a keryx of its own on *root*."""
    environment = {**os.environ, "KERYX_DATA_DIR": str(data_dir), "PYTHONPATH": str(_HERE)}
    return [sys.executable, "-m", "keryx_py", *words, "--root", str(root)], environment


_HERE = Path(__file__).parents[2]


def _do(act: Callable[[], object], report: int) -> None:
    status = 1
    try:
        act()
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, the parent raises it
        os.write(report, traceback.format_exc().encode("utf-8", "replace")[-60_000:])
    finally:
        os._exit(status)
