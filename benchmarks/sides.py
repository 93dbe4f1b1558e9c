"""The two sides of the race on one work tree: git as a program, keryx as a library."""

from __future__ import annotations

import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.trees import WorkTreeMade, change_files
from keryx_py.snapshot.store import SnapshotKey, SnapshotStore

CHANGED_FILES = 10
REPEATS = 3
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class SideTimes:
    """What one side took in one run: seconds, and bytes on disk after the last capture."""

    first: float
    unchanged: tuple[float, ...]
    changed: tuple[float, ...]
    disk_bytes: int
    peak_bytes: int = 0
    """The memory that keryx's process took at most, interpreter and libraries included."""
    looks: tuple[float, ...] = ()
    resumed: float = 0.0
    """A later snapshot by another process, with nothing changed."""


def time_git(tree: WorkTreeMade, work: Path, mark: str) -> SideTimes:
    """Time `git add -A` and `git write-tree` into an empty bare repository below *work*."""
    repository = work / f"git-{mark}"
    sealed = {
        "PATH": os.environ["PATH"],
        "HOME": str(work),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }

    def git(*args: str) -> None:
        subprocess.run(["git", *args], cwd=tree.root, env=sealed, check=True, capture_output=True)

    def add() -> None:
        here = (f"--git-dir={repository}", f"--work-tree={tree.root}")
        git(*here, "add", "-A")
        git(*here, "write-tree")

    git("init", "-q", "--bare", str(repository))
    return SideTimes(
        first=_seconds(add),
        unchanged=tuple(_seconds(add) for _ in range(REPEATS)),
        changed=_seconds_after_changes(tree, f"git-{mark}", add),
        disk_bytes=_disk_bytes(repository / "objects"),
    )


def time_keryx(tree: WorkTreeMade, work: Path, mark: str) -> SideTimes:
    """Time snapshots in a process of their own, as a session takes them, and then in another."""
    folder = work / "sessions" / mark / "shadow.git"
    folder.parent.mkdir(parents=True)
    in_session = _in_new_process(_time_session, tree, work, folder, mark)
    resumed = _in_new_process(_time_resumed, tree, work, folder, mark)
    return SideTimes(
        first=in_session.first,
        unchanged=in_session.unchanged,
        changed=in_session.changed,
        disk_bytes=in_session.disk_bytes,
        peak_bytes=in_session.peak_bytes,
        looks=in_session.looks,
        resumed=resumed.first,
    )


def _in_new_process(
    measure: Callable[[WorkTreeMade, Path, Path, str], SideTimes],
    tree: WorkTreeMade,
    work: Path,
    folder: Path,
    mark: str,
) -> SideTimes:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(measure, tree, work, folder, mark).result()


def _time_session(tree: WorkTreeMade, work: Path, folder: Path, mark: str) -> SideTimes:
    store = _open(tree, work, folder)
    numbers = iter(range(1, 100))

    def take() -> None:
        store.take(SnapshotKey(next(numbers)), time.time())

    return SideTimes(
        first=_seconds(take),
        unchanged=tuple(_seconds(take) for _ in range(REPEATS)),
        looks=tuple(_seconds(store.look) for _ in range(REPEATS)),
        changed=_seconds_after_changes(tree, f"keryx-{mark}", take),
        disk_bytes=_disk_bytes(folder),
        peak_bytes=_peak_bytes(),
    )


def _time_resumed(tree: WorkTreeMade, work: Path, folder: Path, mark: str) -> SideTimes:
    def open_and_take() -> None:
        _open(tree, work, folder).take(SnapshotKey(100), time.time())

    return SideTimes(first=_seconds(open_and_take), unchanged=(), changed=(), disk_bytes=0)


def _open(tree: WorkTreeMade, work: Path, folder: Path) -> SnapshotStore:
    return SnapshotStore.open(folder, tree.root, home=work / "home", data_dir=work / "sessions")


def _seconds(action: Callable[[], object]) -> float:
    # What earlier measurements left to be written must not be paid for by this one.
    os.sync()
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _seconds_after_changes(
    tree: WorkTreeMade, mark: str, action: Callable[[], None]
) -> tuple[float, ...]:
    times = []
    for number in range(REPEATS):
        change_files(tree, CHANGED_FILES, f"{mark}-{number}")
        times.append(_seconds(action))
    return tuple(times)


def _disk_bytes(folder: Path) -> int:
    """The blocks below *folder* that are taken, in bytes."""
    return sum(path.lstat().st_blocks * _BLOCK for path in folder.rglob("*"))


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
