"""Which two captures a question about differences means. Nothing here reads a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from keryx_py.rewind.points import PRUNED, PointKind, RewindPoint, pruned_numbers
from keryx_py.rewind.report import RefusedError
from keryx_py.rewind.timeline import list_captures
from keryx_py.session.archive import (
    CaptureEntry,
    Entries,
    RunEntry,
    SnapshotEntry,
    SnapshotOutcome,
)
from keryx_py.snapshot.store import Side, SnapshotKey


@dataclass(frozen=True, slots=True)
class Since:
    """From the files before one point to those before another, or to now."""

    first: int | None
    """None for the oldest capture of the session that is kept."""
    second: int | None = None
    """None for now."""


@dataclass(frozen=True, slots=True)
class OneTurn:
    """What one turn changed."""

    number: int


Span: TypeAlias = Since | OneTurn
"""What is compared."""


def oldest_capture(entries: Entries, keys: frozenset[SnapshotKey]) -> SnapshotKey:
    """Find the capture that the session begins with. Raises RefusedError when none is kept."""
    captures = list_captures(entries, keys)
    if not captures:
        raise RefusedError("no snapshot of this session is kept, so there is no difference to show")
    return captures[0].key


def turn_captures(
    point: RewindPoint, entries: Entries, keys: frozenset[SnapshotKey]
) -> tuple[SnapshotKey, SnapshotKey]:
    """Find the captures before and after the turn *point*: the same twice when it only read.

    Raises RefusedError when what it changed is not known.
    """
    number = point.number
    if point.kind is not PointKind.TURN:
        raise RefusedError(
            f"point {number} is no turn, and only a turn has changes of its own; "
            f"without only, what changed since it is shown"
        )
    before, end = SnapshotKey(number), SnapshotKey(number, Side.END)
    if not any(isinstance(entry, RunEntry) and entry.turn == number for entry in entries):
        return before, before
    kept = {capture.key for capture in list_captures(entries, keys)}
    reason = "" if before in kept else _why_no_snapshot(entries, number)
    reason = reason or ("" if end in kept else _why_no_end(entries, number))
    if reason:
        raise RefusedError(f"what turn {number} changed is not known: {reason}")
    return before, end


def _why_no_snapshot(entries: Entries, number: int) -> str:
    if number in pruned_numbers(entries):
        return f"its snapshot was {PRUNED}"
    for entry in entries:
        if isinstance(entry, SnapshotEntry) and entry.number == number:
            if entry.outcome is SnapshotOutcome.TAKEN:
                return "its snapshot is missing"
            return f"it took no snapshot ({entry.reason or entry.outcome.value})"
    return "it took no snapshot"


def _why_no_end(entries: Entries, number: int) -> str:
    for entry in entries:
        if isinstance(entry, CaptureEntry) and entry.number == number:
            if entry.taken:
                return "the capture of its end is missing"
            return f"its end could not be captured ({entry.reason})"
    return "its end was not captured"
