"""A process killed at any step of a capture or a pruning leaves a store that opens and is sound."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

import pytest

from keryx_py.snapshot.store import SnapshotKey
from tests.snapshot.ground import Project, git, picture

STEPS = frozenset({"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.unlink"})
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def run_killed(act: Callable[[], object], steps: int) -> bool:
    """Run *act* in a process that is killed at its step number *steps*; say whether it was."""
    child = os.fork()
    if child == 0:
        sys.addaudithook(Killer(steps))
        status = 1
        try:
            act()
            status = 0
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL)
    return status != 0


class Killer:
    """Kills the process before it changes something on disk for the n-th time."""

    def __init__(self, left: int) -> None:
        self._left = left

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in STEPS or (event == "open" and self._is_writing(arguments[2])):
            self._left -= 1
            if self._left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def _is_writing(self, flags: object) -> bool:
        return isinstance(flags, int) and bool(flags & WRITING)


@pytest.mark.parametrize("act", ["take", "drop"])
def test_killed_at_any_step_the_store_opens_and_is_sound(project: Project, act: str) -> None:
    project.write("stays", os.urandom(20_000))
    project.write("d/goes", os.urandom(60_000))
    first = project.open().take(SnapshotKey(1), 1.0)
    (project.root / "d" / "goes").unlink()
    project.write("d/new", os.urandom(1000))
    kept = project.open().take(SnapshotKey(3), 3.0)
    project.write("d/newer", b"y")
    tree = picture(project.root)

    def run() -> None:
        if act == "take":
            project.open().take(SnapshotKey(2), 2.0)
        else:
            project.open().drop([SnapshotKey(1)])

    steps = 0
    while run_killed(run, steps):
        steps += 1
        store = project.open()
        keys = store.keys()
        assert SnapshotKey(3) in keys
        assert store.load(SnapshotKey(3)) == kept
        store.verify(entry.oid for entry in kept.listing.values() if entry.oid)
        if SnapshotKey(1) in keys:
            assert store.load(SnapshotKey(1)) == first
        if SnapshotKey(2) in keys:
            assert set(store.load(SnapshotKey(2)).listing) == set(tree)
        names = [path.name for path in project.shadow.rglob("*")]
        assert not [name for name in names if name.endswith(".lock") or name.startswith("tmp_")]

    assert steps > 5
    assert picture(project.root) == tree
    git(project.shadow, "fsck", "--strict", "--full")
