"""Thousands of captures in one process: each exact, memory flat, the store no larger than it must.

Every capture is held against a plain copy of the tree made without keryx's code, and the store is
judged by git. The plain run takes a hundred turns, the soak ten thousand.
"""

from __future__ import annotations

import random
import resource
import shutil
import sys
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from keryx_py.snapshot.store import SnapshotKey, SnapshotStore
from tests.snapshot.ground import Picture, Project, git, picture
from tests.snapshot.same_tick import edit_after_captures, run_on_coarse_clock
from tests.snapshot.test_random_trees import left_out, pictured
from tests.snapshot.wanderer import Wanderer

SEED = 11
QUICK_TURNS, TURNS = 100, 10_000
QUICK_EDITS, EDITS = 200, 1_000
KEEP = 50
SETTLED = 2_000
"""The turn after which memory may no longer grow."""
MEMORY_MARGIN = 24 * 2**20
"""How many bytes it may differ all the same: what the allocators keep moves that much."""
OLDER_EVERY, RESUME_EVERY, FRESH_EVERY, JUDGE_EVERY = 3, 97, 50, 1_000
RECORDS = 6 * 2**10
"""The bytes that a capture needs at most beside contents: new trees, its record, its commits."""
REF = 4096
"""A capture's ref takes a block."""
BESIDE = 192 * 2**10
"""What a store takes whatever it keeps: indexes, what was seen last, blocks that are not full."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One capture, and the tree as it was then."""

    key: SnapshotKey
    tree: Picture


@pytest.mark.parametrize("turns", [QUICK_TURNS, pytest.param(TURNS, marks=pytest.mark.soak)])
def test_every_capture_of_a_long_session_is_exact(
    project: Project, tmp_path: Path, turns: int
) -> None:
    wanderer, chance = Wanderer(project.root, SEED), random.Random(SEED)
    kept: deque[Kept] = deque()
    store = project.open()
    settled = 0
    for turn in range(1, turns + 1):
        wanderer.take_turn()
        if turn % RESUME_EVERY == 0:
            store = project.open()

        store.take(SnapshotKey(turn), float(turn))
        kept.append(Kept(SnapshotKey(turn), plain_copy(project.root, kept)))
        if len(kept) > KEEP:
            store.drop([kept.popleft().key])

        check_exact(store, kept[-1])
        if turn % OLDER_EVERY == 0:
            check_exact(store, chance.choice(kept))
        if turn % FRESH_EVERY == 0:
            check_seen_anew(project, store, tmp_path)
            check_bounded(project, store, kept)
        if turn % JUDGE_EVERY == 0:
            check_sound(project.shadow)
        if turn == SETTLED:
            settled = memory_now()

    assert store.keys() == {one.key for one in kept}
    for one in kept:
        check_exact(project.open(), one)
    check_sound(project.shadow)
    assert not settled or memory_now() - settled < MEMORY_MARGIN


@pytest.mark.parametrize("edits", [QUICK_EDITS, pytest.param(EDITS, marks=pytest.mark.soak)])
def test_a_same_size_edit_right_after_a_capture_is_always_seen(
    project: Project, edits: int
) -> None:
    assert edit_after_captures(project, edits) <= edits


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare mounts what is needed")
@pytest.mark.parametrize("edits", [QUICK_EDITS, pytest.param(EDITS, marks=pytest.mark.soak)])
def test_a_same_size_edit_that_leaves_the_times_as_they_were_is_seen(
    tmp_path: Path, edits: int
) -> None:
    (tmp_path / "project").mkdir()

    run = run_on_coarse_clock(tmp_path, edits)

    if "unshare:" in run.stderr or "mount:" in run.stderr:
        pytest.skip("no file system with a coarse clock can be mounted here")
    assert run.returncode == 0, run.stderr
    # Else the clock was too fine to put anything to the test.
    assert int(run.stdout) > edits // 4


def plain_copy(root: Path, kept: deque[Kept]) -> Picture:
    """Copy the tree at *root*, sharing what has not changed with the copy made last."""
    last = kept[-1].tree if kept else {}
    return {
        path: last[path] if last.get(path) == entry else entry
        for path, entry in picture(root).items()
        if path.split(b"/")[0] != b".git"
    }


def check_exact(store: SnapshotStore, kept: Kept) -> None:
    """Assert that a capture holds the tree as it was then, but for what rules left out."""
    state = store.load(kept.key)
    held = pictured(store, state)
    there = {path: entry for path, entry in kept.tree.items() if not left_out(state, path)}
    wrong = sorted(p for p in held.keys() | there.keys() if held.get(p) != there.get(p))
    assert not wrong, (kept.key, wrong[:5])
    assert state.ignored <= kept.tree.keys()
    assert not state.skipped


def check_seen_anew(project: Project, store: SnapshotStore, tmp_path: Path) -> None:
    """Assert that what was seen before misleads nobody, and that git leaves out the same."""
    fresh = Project(project.root, tmp_path / "none" / "x.git", project.data, project.home)
    state = store.look()
    assert state == fresh.open().look()

    git(project.root, "init", "-q")
    listed = git(project.root, "ls-files", "-o", "-z", "--exclude-standard").split(b"\0")
    shutil.rmtree(project.root / ".git")
    assert {path for path, entry in state.listing.items() if entry.oid} == set(listed) - {b""}


def check_bounded(project: Project, store: SnapshotStore, kept: deque[Kept]) -> None:
    """Assert that at most a fifth of what is stored is garbage, as git sees it, and that the whole
    store is no larger than what is kept calls for."""
    weights = dict(stored_objects(project.shadow))
    listed = git(project.shadow, "rev-list", "--objects", "--no-object-names", "--all").split()
    garbage = sum(weights[oid] for oid in weights.keys() - set(listed))
    assert garbage <= sum(weights.values()) / 5

    contents = {entry[2] for one in kept for entry in one.tree.values()}
    needed = sum(len(zlib.compress(data, 1)) for data in contents) + RECORDS * len(kept)
    assert store.size() <= 1.25 * needed + REF * len(kept) + BESIDE, (store.size(), needed)


def stored_objects(shadow: Path) -> Iterator[tuple[bytes, int]]:
    """Name all objects of a store with the bytes that they take there."""
    asked = "--batch-check=%(objectname) %(objectsize:disk)"
    for line in git(shadow, "cat-file", "--batch-all-objects", asked).splitlines():
        oid, weight = line.split()
        yield oid, int(weight)


def check_sound(shadow: Path) -> None:
    """Have git judge the store, and each of its packs."""
    assert not git(shadow, "fsck", "--strict", "--full", "--no-dangling", "--no-progress")
    packs = sorted((shadow / "objects" / "pack").glob("*.idx"))
    assert packs
    for pack in packs:
        git(shadow, "verify-pack", str(pack))


def memory_now() -> int:
    """The bytes of memory that this process takes; where that is not told, took at most."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().split("\n") if ":" in line)
        return int(lines["VmRSS"].split()[0]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
