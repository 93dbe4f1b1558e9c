"""What an archive comes to without its rewound turns. Nothing here touches a disk."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from keryx_py.session.archive import (
    CaptureEntry,
    CompactionEntry,
    Entries,
    Entry,
    ErasedEntry,
    ItemEntry,
    RanEntry,
    RedoEntry,
    RewindEntry,
    RunEntry,
    SnapshotEntry,
    TurnEndEntry,
    TurnEntry,
    UndoPointEntry,
    live_turns,
    next_number,
    turn_entries,
)


@dataclass(frozen=True, slots=True)
class Erasure:
    """An archive without its rewound turns."""

    entries: tuple[Entry, ...]
    numbers: tuple[int, ...]
    """The turns that are gone, ascending."""
    undo_points: tuple[int, ...] = ()
    """The undo points that are gone with them, ascending: they held what those turns wrote."""


def plan_erasure(entries: Entries, now: float) -> Erasure:
    """Leave out all that was said and done in rewound turns, and summaries that tell of them."""
    turns = frozenset(turn_entries(entries)).difference(live_turns(entries))
    undo_points = _undo_points_of(turns, entries)
    gone = turns | undo_points
    kept: list[Entry] = []
    places: dict[int, int] = {}
    for position, entry in enumerate(entries):
        if not _tells_of(entry, gone):
            places[position] = len(kept)
            kept.append(_moved(entry, places))
    kept.append(ErasedEntry(now, tuple(sorted(gone)), next_number(entries) - 1))
    return Erasure(tuple(kept), tuple(sorted(turns)), tuple(sorted(undo_points)))


def _undo_points_of(turns: Set[int], entries: Entries) -> frozenset[int]:
    """The undo points that hold the files as one of *turns* left them.

    They are those of rewinds that went back past such a turn, or past such an undo point, and of
    rewinds that were not finished, since nothing tells where to.
    """
    target: dict[int, int] = {}
    for entry in entries:
        match entry:
            case UndoPointEntry(number=number):
                target[number] = 0
            case RewindEntry(to=to, undo=int(undo)):
                target[undo] = to
            case RedoEntry(undo=int(undo)):
                # It holds the files as the rewind had left them.
                target[undo] = undo
            case _:
                pass
    gone: set[int] = set()
    for undo, to in sorted(target.items()):
        if any(to <= number < undo for number in (*turns, *gone)):
            gone.add(undo)
    return frozenset(gone)


def _tells_of(entry: Entry, gone: Set[int]) -> bool:
    match entry:
        case ItemEntry(turn=turn) | RunEntry(turn=turn) | RanEntry(turn=turn):
            return turn in gone
        case (
            TurnEntry(number=number)
            | SnapshotEntry(number=number)
            | CaptureEntry(number=number)
            | TurnEndEntry(number=number)
            | UndoPointEntry(number=number)
        ):
            return number in gone
        case CompactionEntry(covers=covers):
            return not gone.isdisjoint(covers)
        case _:
            return False


def _moved(entry: Entry, places: dict[int, int]) -> Entry:
    """Point a redo at the new place of its rewind."""
    if isinstance(entry, RedoEntry):
        return replace(entry, rewind=places.get(entry.rewind, entry.rewind))
    return entry
