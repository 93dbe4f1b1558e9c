"""Narrow a rewind down to the hunks that were picked. Nothing here reads or writes a disk."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from keryx_py.rewind.difference import folders_above, is_folder, is_within
from keryx_py.rewind.hunks import Hunk, HunkedPath, compose
from keryx_py.rewind.plan import PathChange, RewindPlan, Way
from keryx_py.rewind.planner import with_id
from keryx_py.snapshot.listing import FileState, Skipped
from keryx_py.snapshot.objects import ObjectKind, object_id

MOVED = "it changed after its hunks were picked; pick again"


@dataclass(frozen=True, slots=True)
class Pick:
    """What is to stand at one path after the hunks picked there went back."""

    now: FileState | None
    """What the hunks were cut from."""
    then: FileState | None
    made: bytes | None = None
    """The content of *then* where only some hunks go back; None where a snapshot holds it."""


Picks = Mapping[bytes, Pick]


def make_pick(change: PathChange, at: HunkedPath, taken: Collection[Hunk]) -> Pick | None:
    """Say what stands at the path when the hunks *taken* go back; None when nothing moves."""
    result = compose(at, taken)
    if result == at.now:
        return None
    if result == at.then or result is None:
        return Pick(change.now, change.then)
    oid = object_id(ObjectKind.BLOB, result.data)
    return Pick(change.now, FileState(result.kind, result.mode, oid), result.data)


def picks_of(plan: RewindPlan) -> Picks:
    """Find out from a *plan* of picked hunks what was picked."""
    if plan.files is None:
        return {}
    made = plan.files.made
    return {
        change.path: Pick(
            change.now, change.then, made.get(change.then.oid if change.then else b"")
        )
        for change in plan.files.changes
        if not is_folder_alone(change)
    }


def is_folder_alone(change: PathChange) -> bool:
    """Whether *change* is about a folder and no file or link, so that it has no hunk."""
    return all(state is None or is_folder(state) for state in (change.now, change.then))


def narrow(plan: RewindPlan, picks: Picks) -> RewindPlan:
    """Leave of *plan* what was picked.

    A path that has changed since its hunks were cut stays, and is named.
    """
    files = plan.files
    assert files is not None
    chosen: dict[bytes, PathChange] = {}
    moved: list[Skipped] = []
    whole = {change.path: change for change in files.changes}
    for path, pick in picks.items():
        change = whole.get(path)
        if change is not None and change.then == pick.then:
            chosen[path] = change
        elif change is not None and change.now == pick.now:
            chosen[path] = replace(change, then=pick.then)
        elif pick.made is not None:
            moved.append(Skipped(path, MOVED))
    left = _drop_what_cannot_stand(chosen, files.changes)
    changes = (*chosen.values(), *_folders(chosen, files.changes))
    made = {
        pick.then.oid: pick.made
        for path, pick in picks.items()
        if path in chosen and pick.then is not None and pick.made is not None
    }
    return with_id(
        replace(
            plan,
            way=Way.PICKED,
            files=replace(
                files,
                changes=tuple(sorted(changes, key=lambda change: change.path)),
                staying=_by_path((*files.staying, *moved, *left)),
                made=made,
            ),
        )
    )


def _by_path(staying: Sequence[Skipped]) -> tuple[Skipped, ...]:
    return tuple(sorted(staying, key=lambda skipped: skipped.path))


def _drop_what_cannot_stand(
    chosen: dict[bytes, PathChange], changes: Sequence[PathChange]
) -> list[Skipped]:
    """Take out of *chosen* what a path that was not picked stands in the way of."""
    left: list[Skipped] = []
    for change in changes:
        if change.path in chosen and (reason := _why_not(change, chosen, changes)):
            left.append(Skipped(change.path, reason))
    for skipped in left:
        del chosen[skipped.path]
    return left


def _why_not(
    change: PathChange, chosen: Mapping[bytes, PathChange], changes: Sequence[PathChange]
) -> str:
    if is_folder(change.now) and not _empties(change.path, chosen, changes):
        return "a folder stands there, and not all in it was picked"
    files = {one.path for one in changes if not is_folder_alone(one) and is_folder(one.then)}
    if any(folder in files and folder not in chosen for folder in folders_above(change.path)):
        return "a file that was not picked stands above it"
    return ""


def _empties(
    folder: bytes, chosen: Mapping[bytes, PathChange], changes: Sequence[PathChange]
) -> bool:
    """Whether all that goes below *folder* in *changes* was chosen."""
    return all(
        change.path in chosen
        for change in changes
        if is_within(change.path, folder) and change.path != folder and not is_folder_alone(change)
    )


def _folders(chosen: Mapping[bytes, PathChange], changes: Sequence[PathChange]) -> list[PathChange]:
    """The changes of folders that go with those *chosen*; with all files chosen, every one."""
    files = [change for change in changes if not is_folder_alone(change)]
    folders = [change for change in changes if is_folder_alone(change)]
    if all(chosen.get(change.path) == change for change in files):
        return folders
    needed = {
        folder
        for change in chosen.values()
        if change.then is not None
        for folder in folders_above(change.path)
    }
    swapped = [change.path for change in chosen.values() if is_folder(change.now)]
    return [
        folder
        for folder in folders
        if (folder.now is None and folder.path in needed)
        or (folder.then is None and _goes(folder.path, chosen, changes, swapped))
    ]


def _goes(
    folder: bytes,
    chosen: Mapping[bytes, PathChange],
    changes: Sequence[PathChange],
    swapped: Sequence[bytes],
) -> bool:
    """Whether *folder* goes: all in it does, and there is something, or it makes way."""
    if any(is_within(folder, path) for path in swapped):
        return True
    holds = any(is_within(path, folder) for path in chosen)
    return holds and _empties(folder, chosen, changes)
