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
    RunEntry,
    SnapshotEntry,
    TurnEndEntry,
    TurnEntry,
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


def plan_erasure(entries: Entries, now: float) -> Erasure:
    """Leave out all that was said and done in rewound turns, and summaries that tell of them."""
    gone = frozenset(turn_entries(entries)).difference(live_turns(entries))
    kept: list[Entry] = []
    places: dict[int, int] = {}
    for position, entry in enumerate(entries):
        if not _tells_of(entry, gone):
            places[position] = len(kept)
            kept.append(_moved(entry, places))
    numbers = tuple(sorted(gone))
    kept.append(ErasedEntry(now, numbers, next_number(entries) - 1))
    return Erasure(tuple(kept), numbers)


def _tells_of(entry: Entry, gone: Set[int]) -> bool:
    match entry:
        case ItemEntry(turn=turn) | RunEntry(turn=turn) | RanEntry(turn=turn):
            return turn in gone
        case (
            TurnEntry(number=number)
            | SnapshotEntry(number=number)
            | CaptureEntry(number=number)
            | TurnEndEntry(number=number)
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
