"""Judge a rewind by plain recursive looks at the work tree."""

from __future__ import annotations

from collections.abc import Collection

from keryx_py.rewind.difference import at_or_above, folders_above
from keryx_py.rewind.rewinder import RewindReport
from keryx_py.snapshot.ignore import is_ignored
from keryx_py.snapshot.listing import TreeState
from keryx_py.snapshot.store import SnapshotStore
from tests.rewind.play import Look


def held(look: Look, state: TreeState) -> Look:
    """The part of a plain *look* that *state* says it holds."""
    left_out = {*state.ignored, *(one.path for one in state.skipped)}
    return {path: seen for path, seen in look.items() if at_or_above(path, left_out) is None}


def check(
    store: SnapshotStore,
    then: Look,
    now: Look,
    after: Look,
    report: RewindReport,
    asked: Collection[bytes] = (),
) -> None:
    """Hold a rewind of all files against plain looks: the target's, before it, and after it.

    *asked* are the paths that the target was asked about whatever rules say, as an undo point is.
    """
    files = report.plan.files
    assert files is not None
    changed = {path for path in now.keys() | after.keys() if now.get(path) != after.get(path)}
    assert changed == set(report.done)  # R1
    failed = {one.path for one in report.failed}
    assert {change.path for change in files.changes} == changed | failed
    if files.target is None:
        return
    target = store.load(files.target)
    left = failed | {one.path for one in files.staying}
    _check_what_comes_back(held(then, target), after, left)
    _check_what_stays(target, now, after, left, asked)


def _check_what_comes_back(then: Look, after: Look, left: set[bytes]) -> None:
    for path, seen in then.items():
        if at_or_above(path, left) is None:
            assert after.get(path) == seen, path  # R7


def _check_what_stays(
    target: TreeState, now: Look, after: Look, left: set[bytes], asked: Collection[bytes]
) -> None:
    left_out = {*target.ignored, *(one.path for one in target.skipped)}
    for path, seen in now.items():
        if path in target.listing:
            continue
        protected = path not in asked and (
            at_or_above(path, left_out) is not None
            or is_ignored(target.rules, path, seen[0] == "folder")
        )
        if protected or seen[0] == "other" or b".git" in path.split(b"/"):
            assert after.get(path) == seen, path  # R11
    for path in after:
        if path in target.listing or path in left:
            continue
        inside = any(folder in left for folder in folders_above(path))
        assert inside or now[path] == after[path], path
