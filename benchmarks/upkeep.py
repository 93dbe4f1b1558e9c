"""What snapshots cost beside time: the disk after many of them, and memory."""

from __future__ import annotations

import gc
import random
import time
import tracemalloc
from pathlib import Path

from benchmarks.git_side import GitRepository
from benchmarks.keryx_side import open_store
from benchmarks.measuring import (
    Measured,
    What,
    disk_bytes,
    in_new_process,
    memory_now,
    merged,
    peak_memory,
)
from benchmarks.trees import CHANGED_FILES, WorkTreeMade, change_random_files, make_tree
from keryx_py.snapshot.store import SnapshotKey

SNAPSHOTS = 50
KEPT = 5
_SEED = 50
_WARM_FILES = 20


def measure_disk(tree: WorkTreeMade, work: Path) -> tuple[Measured, Measured]:
    """Capture the same trees with git and with keryx; return the bytes of git, then of keryx.

    A second store takes only the snapshots that are left after pruning.
    """
    git = GitRepository(work / "git-disk", tree.root)
    folder, small = (work / "disk" / name / "shadow.git" for name in ("all", "kept"))
    folder.parent.mkdir(parents=True)
    small.parent.mkdir()
    store, only = open_store(tree, folder), open_store(tree, small)
    rng = random.Random(_SEED)
    for number in range(1, SNAPSHOTS + 1):
        if number > 1:
            change_random_files(tree, CHANGED_FILES, rng)
        git.capture()
        store.take(SnapshotKey(number), time.time())
        if number > SNAPSHOTS - KEPT:
            only.take(SnapshotKey(number), time.time())
    full = disk_bytes(folder)
    store.drop([SnapshotKey(number) for number in range(1, SNAPSHOTS - KEPT + 1)])
    in_keryx = {
        What.DISK: (full,),
        What.PRUNED: (disk_bytes(folder),),
        What.ONLY_KEPT: (disk_bytes(small),),
    }
    return {What.DISK: (disk_bytes(git.objects),)}, in_keryx


def measure_memory(tree: WorkTreeMade, work: Path) -> Measured:
    """Measure memory in processes of their own, where nothing is timed."""
    warm = make_tree(work / "warm", _WARM_FILES, _SEED)
    return merged(
        [
            in_new_process(_measure_kept, tree, warm, work / "memory-kept"),
            in_new_process(_measure_peak, tree, warm, work / "memory-peak"),
        ]
    )


def _measure_kept(tree: WorkTreeMade, warm: WorkTreeMade, data: Path) -> Measured:
    """The bytes that a process goes on holding between snapshots."""
    _take_two(warm, data / "warm")
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    store = _take_two(tree, data / "tree")
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0] - before
    del store
    return {What.KEPT_MEMORY: (float(kept),)}


def _measure_peak(tree: WorkTreeMade, warm: WorkTreeMade, data: Path) -> Measured:
    """The bytes that snapshots take at most, content in flight included."""
    _take_two(warm, data / "warm")
    before = memory_now()
    _take_two(tree, data / "tree")
    return {What.PEAK_MEMORY: (float(max(0, peak_memory() - before)),)}


def _take_two(tree: WorkTreeMade, session: Path) -> object:
    """Take a first and a later snapshot; return the store, which holds what it has seen."""
    session.mkdir(parents=True)
    store = open_store(tree, session / "shadow.git")
    for number in (1, 2):
        store.take(SnapshotKey(number), time.time())
    return store
