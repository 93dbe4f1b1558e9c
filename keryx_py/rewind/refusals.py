"""Why a rewind is refused, and the way on. Nothing here changes anything.

Each check returns when nothing stands against the rewind, and raises RefusedError otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from keryx_py.rewind.difference import named_by
from keryx_py.rewind.plan import Way
from keryx_py.rewind.points import FilesState, RewindPoint, named_checkpoints
from keryx_py.rewind.report import RefusedError
from keryx_py.session.archive import (
    Entries,
    Mode,
    RedoEntry,
    RewindEntry,
    TurnEntry,
    liveness,
)
from keryx_py.snapshot.listing import TreeState
from keryx_py.snapshot.store import DamagedSnapshotError

NO_FILES = "files cannot be restored in this session"


def find_point(points: Sequence[RewindPoint], number: int) -> RewindPoint:
    """Find the point *number* among *points*; the refusal names those that there are."""
    for point in points:
        if point.number == number:
            return point
    if not points:
        raise RefusedError("there is nothing to rewind to yet")
    numbers = sorted(point.number for point in points)
    raise RefusedError(f"there is no point {number}; the points are {numbers[0]} to {numbers[-1]}")


def find_checkpoint(entries: Entries, name: str) -> int:
    """Find the number of the checkpoint *name*; the refusal names the nearest."""
    named = named_checkpoints(entries)
    if name in named:
        return named[name]
    if not named:
        raise RefusedError(
            f"there is no checkpoint {_said_name(name)}: none has a name yet; "
            "/checkpoint NAME takes one"
        )
    near = get_close_matches(name, named, n=1, cutoff=0.0)[0]
    raise RefusedError(
        f"there is no checkpoint {_said_name(name)}; the nearest is {_said_name(near)}"
    )


def check_way(number: int, mode: Mode, way: Way, *, has_paths: bool) -> None:
    """See that *mode*, *way* and paths go together for the point *number*."""
    if way is Way.KEEP and not mode.moves_files:
        raise RefusedError(
            "keep goes with files or both: history holds no edits of yours; "
            f"use /rewind {number} both keep"
        )
    if way is Way.ONLY and mode is not Mode.FILES:
        raise RefusedError(
            f"taking back turn {number} alone moves files only; use /rewind {number} only"
        )
    if has_paths and mode is not Mode.FILES:
        raise RefusedError(f"paths can be named in the files mode only, not in {mode.value}")


def check_history(point: RewindPoint, entries: Entries) -> None:
    """See that the history can be cut before *point*."""
    if not point.live:
        raise RefusedError(
            f"point {point.number} can roll back files only; use /rewind {point.number} files"
        )
    if not liveness(entries).can_cut(point.number):
        raise RefusedError(
            "lines of the archive are lost there, so it is not known what cutting the history "
            f"before point {point.number} would leave; use /rewind {point.number} files"
        )


def check_files(point: RewindPoint, no_store: str) -> None:
    """See that the files before *point* can be restored; *no_store* says why none was opened."""
    way_on = f"; use /rewind {point.number} history" if point.live else ""
    if no_store:
        raise RefusedError(_no_files(no_store) + way_on)
    if point.files is FilesState.GONE:
        raise RefusedError(
            f"the files before point {point.number} cannot be restored ({point.reason}){way_on}"
        )


def check_store(no_store: str) -> None:
    """See that files can be restored at all."""
    if no_store:
        raise RefusedError(_no_files(no_store))


def check_undo_point(point: RewindPoint, no_store: str) -> None:
    """See that the rewind whose undo point is *point* can be taken back."""
    check_store(no_store)
    if point.files is not FilesState.HELD:
        raise RefusedError(
            f"the rewind cannot be taken back: undo point {point.number} is not kept "
            f"({point.reason or 'nothing was saved'})"
        )


def check_named(paths: Iterable[bytes], sides: Sequence[TreeState]) -> None:
    """See that each of *paths* names something on one of *sides*."""
    for path in paths:
        try:
            named = named_by(path, sides)
        except DamagedSnapshotError as error:
            raise RefusedError(f"a snapshot that is needed is damaged: {error.detail}") from error
        if not named:
            raise RefusedError(f"{shown(path)} names nothing, neither now nor then")


def why_no_redo(entries: Entries) -> str:
    """Say why no rewind can be taken back, and what brings the files back all the same."""
    rewind: RewindEntry | None = None
    turn: TurnEntry | None = None
    taken_back = {entry.rewind for entry in entries if isinstance(entry, RedoEntry)}
    for position, entry in enumerate(entries):
        if isinstance(entry, RewindEntry) and position not in taken_back:
            rewind, turn = entry, None
        elif isinstance(entry, TurnEntry) and turn is None:
            turn = entry
    if rewind is None or turn is None:
        return "there is no rewind to take back"
    if rewind.undo is None:
        return f"turn {turn.number} has begun since the rewind, so it can no longer be redone"
    return (
        f"turn {turn.number} has begun since the rewind; "
        f"/rewind {rewind.undo} files brings its files back"
    )


def _no_files(no_store: str) -> str:
    return f"{NO_FILES}: {no_store}"


def shown(path: bytes) -> str:
    """Write *path* so that a person can read it."""
    return path.decode("utf-8", "backslashreplace")


def _said_name(name: str) -> str:
    said = name if len(name) <= 60 else name[:60] + "…"
    return "@" + said.encode("utf-8", "backslashreplace").decode()
