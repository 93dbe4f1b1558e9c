"""The captures of a session in order of time, and who changed the files between two of them.

A turn's own stretch, from its snapshot to its end capture, is that turn's. What a rewind wrote is
nobody's. Between those it is the person's, and where an end is missing it is unknown: never the
agent's by guess.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from keryx_py.rewind.plan import Author, AuthorKind
from keryx_py.rewind.points import erased_numbers, pruned_numbers
from keryx_py.session.archive import (
    CaptureEntry,
    DamagedEntry,
    Entries,
    RunEntry,
    SnapshotEntry,
    SnapshotOutcome,
    TurnEntry,
    UndoPointEntry,
)
from keryx_py.snapshot.store import Side, SnapshotKey

PERSON = Author(AuthorKind.PERSON)
UNKNOWN = Author(AuthorKind.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Capture:
    """One capture that is kept, and where the archive records it."""

    key: SnapshotKey
    position: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """The time from one capture to the next, or to now."""

    before: SnapshotKey
    after: SnapshotKey | None
    """None for now."""
    author: Author | None
    """None when a rewind wrote it: nobody's change."""


@dataclass(frozen=True, slots=True)
class _Numbers:
    """What the numbers in an archive are."""

    turns: frozenset[int]
    undos: frozenset[int]
    without: frozenset[int]
    """The undo points whose snapshot was not taken: no file was written after them."""
    erased: frozenset[int]

    @classmethod
    def of(cls, entries: Entries) -> _Numbers:
        undos = frozenset(entry.number for entry in entries if isinstance(entry, UndoPointEntry))
        taken = frozenset(
            entry.number
            for entry in entries
            if isinstance(entry, SnapshotEntry) and entry.outcome is SnapshotOutcome.TAKEN
        )
        return cls(
            frozenset(entry.number for entry in entries if isinstance(entry, TurnEntry)),
            undos,
            undos - taken,
            erased_numbers(entries),
        )


def list_captures(entries: Entries, keys: Collection[SnapshotKey]) -> tuple[Capture, ...]:
    """List the captures that the archive records and the store keeps, in order of time."""
    kept = frozenset(keys)
    gone = pruned_numbers(entries)
    found: dict[SnapshotKey, Capture] = {}
    for position, entry in enumerate(entries):
        match entry:
            case SnapshotEntry(number=number, outcome=SnapshotOutcome.TAKEN):
                key = SnapshotKey(number, Side.BEFORE)
            case CaptureEntry(number=number, taken=True):
                key = SnapshotKey(number, Side.END)
            case _:
                continue
        if key in kept and number not in gone:
            found.setdefault(key, Capture(key, position))
    return tuple(found.values())


def list_stretches(
    entries: Entries, keys: Collection[SnapshotKey], start: SnapshotKey
) -> tuple[Stretch, ...]:
    """List the stretches from the capture *start* to now, each with whose it is."""
    captures = list_captures(entries, keys)
    first = next((at for at, capture in enumerate(captures) if capture.key == start), None)
    if first is None:
        return (Stretch(start, None, UNKNOWN),)
    span = captures[first:]
    numbers = _Numbers.of(entries)
    ends: list[Capture | None] = [*span[1:], None]
    return tuple(
        Stretch(before.key, after.key if after else None, _author(before, after, entries, numbers))
        for before, after in zip(span, ends, strict=True)
    )


def _author(
    before: Capture,
    after: Capture | None,
    entries: Entries,
    numbers: _Numbers,
) -> Author | None:
    number = before.key.number
    owned = number in numbers.turns or number in numbers.undos
    if before.key.side is Side.BEFORE and owned:
        if after is None or after.key != SnapshotKey(number, Side.END):
            return UNKNOWN
        return Author(AuthorKind.TURN, number) if number in numbers.turns else None
    last = None if after is None else after.key.number
    if any(gone > number and (last is None or gone < last) for gone in numbers.erased):
        return UNKNOWN
    between = entries[before.position + 1 : len(entries) if after is None else after.position]
    if any(isinstance(entry, RunEntry | DamagedEntry) for entry in between):
        return UNKNOWN
    if any(
        isinstance(entry, UndoPointEntry) and entry.number not in {last, *numbers.without}
        for entry in between
    ):
        return UNKNOWN
    return PERSON
