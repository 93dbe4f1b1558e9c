"""Where one can go back to. Nothing here touches a disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias, TypeGuard

from keryx_py.session.archive import (
    CheckpointEntry,
    DamagedEntry,
    Entries,
    ErasedEntry,
    PrunedEntry,
    RedoEntry,
    RewindEntry,
    RunEntry,
    SnapshotEntry,
    SnapshotOutcome,
    TurnEntry,
    UndoPointEntry,
    UnpinnedEntry,
    live_turns,
    taken_back_by,
)
from keryx_py.snapshot.store import Side, SnapshotKey

PRUNED = "pruned"
MISSING = "its snapshot is missing"
DAMAGED = "a line of the archive after it is damaged"
UNSAVED = "a call ran without a snapshot"
ERASED = "a turn after it was erased"


class PointKind(Enum):
    """What a point is."""

    TURN = "turn"
    CHECKPOINT = "checkpoint"
    UNDO = "undo"


class FilesState(Enum):
    """Whether the files before a point can be restored."""

    HELD = "held"
    """Some capture holds them."""
    UNCHANGED = "unchanged"
    """Nothing mutating ran since, so there is nothing to restore."""
    GONE = "gone"
    """No capture holds them; `reason` says why."""


@dataclass(frozen=True, slots=True)
class RewindPoint:
    """A place one can rewind to."""

    number: int
    kind: PointKind
    at: float
    label: str
    """The prompt of a turn, the name of a checkpoint, or what an undo point is for."""
    live: bool
    """Whether history can be cut here: a turn or checkpoint that no rewind has cut."""
    files: FilesState
    key: SnapshotKey | None
    """The capture that holds the files before this point; None unless HELD."""
    reason: str = ""
    """Why GONE, such as "pruned" or "off"."""
    own_snapshot: bool = False
    """Whether the point took a snapshot of its own that is still kept."""
    note: str = ""
    """What the person wrote about a checkpoint."""


@dataclass(frozen=True, slots=True)
class _Held:
    """The files here are those of this capture."""

    key: SnapshotKey


@dataclass(frozen=True, slots=True)
class _Lost:
    """No capture holds the files here."""

    reason: str
    number: int | None
    """The point whose capture or call it was; None when that is not known."""


_Files: TypeAlias = _Held | _Lost | None
"""What holds the files at a moment; None when nothing mutating ran since."""


def pruned_numbers(entries: Entries) -> frozenset[int]:
    """The numbers of the points whose snapshots went to keep the limit."""
    return frozenset(
        number for entry in entries if isinstance(entry, PrunedEntry) for number in entry.numbers
    )


def erased_numbers(entries: Entries) -> frozenset[int]:
    """The numbers of the turns and undo points that are gone from the archive for good."""
    return frozenset(
        number for entry in entries if isinstance(entry, ErasedEntry) for number in entry.numbers
    )


def position_of(entries: Entries, number: int) -> int:
    """Find where the point *number* begins in the archive; its end when it is not there."""
    for position, entry in enumerate(entries):
        if (
            isinstance(entry, TurnEntry | CheckpointEntry | UndoPointEntry)
            and entry.number == number
        ):
            return position
    return len(entries)


def moved_by(entries: Entries, undo: int) -> RewindEntry | RedoEntry | None:
    """Find the rewind or redo that took the undo point *undo*; None when none was done."""
    moves = (entry for entry in entries if isinstance(entry, RewindEntry | RedoEntry))
    return next((entry for entry in moves if entry.undo == undo), None)


def source_of(entries: Entries, moved: RewindEntry | RedoEntry) -> int | None:
    """Find the point whose snapshot holds what *moved* brought back, as far as it was held."""
    if isinstance(moved, RedoEntry):
        rewind = taken_back_by(entries, moved)
        return None if rewind is None else rewind.undo
    after = entries[position_of(entries, moved.to) :]
    return next((entry.number for entry in after if is_taken(entry)), None)


def is_taken(entry: object) -> TypeGuard[SnapshotEntry]:
    """Whether *entry* says that a snapshot was taken."""
    return isinstance(entry, SnapshotEntry) and entry.outcome is SnapshotOutcome.TAKEN


def named_checkpoints(entries: Entries) -> Mapping[str, int]:
    """The number of each checkpoint that has a name, by that name, the oldest first."""
    named: dict[str, int] = {}
    for entry in entries:
        match entry:
            case CheckpointEntry(number=number, name=str(name)) if name:
                named[name] = number
            case UnpinnedEntry(number=number):
                named = {name: kept for name, kept in named.items() if kept != number}
            case _:
                pass
    return named


def pinned_numbers(entries: Entries) -> frozenset[int]:
    """The numbers of the checkpoints whose snapshots are neither counted nor pruned."""
    freed = {entry.number for entry in entries if isinstance(entry, UnpinnedEntry)}
    return frozenset(
        entry.number
        for entry in entries
        if isinstance(entry, CheckpointEntry) and entry.name and entry.number not in freed
    )


def list_points(entries: Entries, keys: frozenset[SnapshotKey]) -> tuple[RewindPoint, ...]:
    """List every point, newest first; *keys* are the captures that the store really holds."""
    live = frozenset(live_turns(entries)) | _live_checkpoints(entries)
    labels = _undo_labels(entries)
    pruned = pruned_numbers(entries)
    erased = erased_numbers(entries)
    causes = _why_unsaved(entries)
    pinned = pinned_numbers(entries)
    points: list[RewindPoint] = []
    files: _Files = None
    # Backwards: what holds the files before a point is the first thing that comes after it.
    for entry in reversed(entries):
        match entry:
            case SnapshotEntry(number=number, outcome=SnapshotOutcome.TAKEN):
                files = _kept(SnapshotKey(number, Side.BEFORE), keys, pruned)
            case RunEntry(turn=turn, saved=False):
                files = _Lost(causes.get(turn, UNSAVED), turn)
            case DamagedEntry():
                files = _Lost(DAMAGED, None)
            case TurnEntry(number=number, at=at, prompt=prompt):
                point = _point(number, PointKind.TURN, at, prompt, _whole(files, number, erased))
                points.append(_with_live(point, live))
            case CheckpointEntry(number=number, at=at, name=name, note=note):
                label = name if number in pinned else ""
                point = _point(
                    number, PointKind.CHECKPOINT, at, label, _whole(files, number, erased)
                )
                points.append(replace(_with_live(point, live), note=note))
            case UndoPointEntry(number=number, at=at):
                own = files if _is_own(files, number) else _Lost(causes.get(number, MISSING), None)
                points.append(_point(number, PointKind.UNDO, at, labels.get(number, ""), own))
            case _:
                pass
    return tuple(points)


def _kept(key: SnapshotKey, keys: frozenset[SnapshotKey], pruned: frozenset[int]) -> _Files:
    if key.number in pruned:
        return _Lost(PRUNED, key.number)
    return _Held(key) if key in keys else _Lost(MISSING, key.number)


def _whole(files: _Files, number: int, erased: frozenset[int]) -> _Files:
    """What *files* are worth for the point *number* when turns after it were erased."""
    last = files.key.number if isinstance(files, _Held) else None
    between = any(gone > number and (last is None or gone < last) for gone in erased)
    return _Lost(ERASED, None) if between and not isinstance(files, _Lost) else files


def _point(number: int, kind: PointKind, at: float, label: str, files: _Files) -> RewindPoint:
    match files:
        case None:
            return RewindPoint(number, kind, at, label, False, FilesState.UNCHANGED, None)
        case _Held(key):
            own = key.number == number
            return RewindPoint(
                number, kind, at, label, False, FilesState.HELD, key, own_snapshot=own
            )
        case _Lost(reason, cause):
            said = reason if cause in (number, None) else f"{reason}, point {cause}"
            return RewindPoint(number, kind, at, label, False, FilesState.GONE, None, said)


def _with_live(point: RewindPoint, live: frozenset[int]) -> RewindPoint:
    if point.number not in live:
        return point
    return replace(point, live=True)


def _is_own(files: _Files, number: int) -> bool:
    match files:
        case _Held(key):
            return key.number == number
        case _Lost(_, cause):
            return cause == number
        case None:
            return False


def _why_unsaved(entries: Entries) -> Mapping[int, str]:
    """Say for each point whose snapshot was not taken why."""
    words = {SnapshotOutcome.OFF: "off", SnapshotOutcome.UNATTENDED: "unattended"}
    return {
        entry.number: words.get(entry.outcome) or entry.reason or "the snapshot failed"
        for entry in entries
        if isinstance(entry, SnapshotEntry) and entry.outcome is not SnapshotOutcome.TAKEN
    }


def _undo_labels(entries: Entries) -> Mapping[int, str]:
    labels: dict[int, str] = {}
    for entry in entries:
        match entry:
            case UndoPointEntry(number=number):
                labels[number] = "before a rewind that was not finished"
            case RewindEntry(to=to, undo=int(undo)):
                labels[undo] = f"before the rewind to {to}"
            case RedoEntry(undo=int(undo)):
                labels[undo] = "before a redo"
            case _:
                pass
    return labels


def _live_checkpoints(entries: Entries) -> frozenset[int]:
    """The numbers of the checkpoints that no standing rewind has cut."""
    standing: list[int] = []
    cut_by: dict[int, tuple[int, ...]] = {}
    for position, entry in enumerate(entries):
        match entry:
            case CheckpointEntry(number=number):
                standing.append(number)
            case RewindEntry(to=to, cut=True):
                cut_by[position] = tuple(number for number in standing if number >= to)
                standing = [number for number in standing if number < to]
            case RedoEntry(rewind=rewind):
                standing += cut_by.pop(rewind, ())
            case _:
                pass
    return frozenset(standing)
