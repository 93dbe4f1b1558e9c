"""Read what other sessions' turns changed, by those sessions' own captures. Never writes.

Whatever cannot be read, because it is damaged, deleted or just being written, says nothing: what it
would have told stays the person's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from keryx_py.rewind.interleave import (
    ANYTHING,
    OtherTurn,
    Reach,
    Span,
    list_reaches,
    list_readings,
)
from keryx_py.rewind.plan import Author, AuthorKind
from keryx_py.rewind.timeline import list_captures, list_stretches
from keryx_py.session.archive import (
    CaptureEntry,
    Entries,
    Entry,
    RedoEntry,
    RewindEntry,
    SnapshotEntry,
    SnapshotOutcome,
    TurnEntry,
)
from keryx_py.session.errors import SessionError
from keryx_py.session.others import read_other
from keryx_py.snapshot.kept import KeptCaptures
from keryx_py.snapshot.store import DamagedSnapshotError, Side, SnapshotError, SnapshotKey

UsedSince: TypeAlias = Callable[[float], Sequence[Path]]
"""Names the folders of the other sessions of this root that were used after a time."""

SHADOW_NAME = "shadow.git"


@dataclass(frozen=True, slots=True)
class OtherSessions:
    """The other sessions of a project."""

    root: Path
    used_since: UsedSince


def read_other_turns(others: OtherSessions, own: Entries, since: float) -> tuple[OtherTurn, ...]:
    """Read the turns and rewinds of *others* that ended after *since*.

    A fork begins with the turns of what it was copied from: what is in *own* too, or was read
    from one session already, is not another's.
    """
    known = {entry for entry in own if isinstance(entry, SnapshotEntry)}
    found: list[OtherTurn] = []
    for folder in _folders(others, since):
        # OSError: a folder that is deleted meanwhile.
        with suppress(SessionError, SnapshotError, OSError):
            entries = read_other(folder, others.root)
            found += _read_turns(folder, entries, known, since)
            known |= {entry for entry in entries if isinstance(entry, SnapshotEntry)}
    return tuple(found)


def _folders(others: OtherSessions, since: float) -> Sequence[Path]:
    with suppress(SessionError, OSError):
        return others.used_since(since)
    return ()


def _read_turns(
    folder: Path, entries: Entries, known: set[SnapshotEntry], since: float
) -> Iterator[OtherTurn]:
    begun = {entry.number: entry for entry in entries if isinstance(entry, SnapshotEntry)}
    if not any(_is_end_after(entry, since) for entry in entries):
        return
    kept = KeptCaptures(folder / SHADOW_NAME)
    captures = list_captures(entries, kept.keys)
    stretches = list_stretches(entries, kept.keys, captures[0].key) if captures else ()
    reaches, readings = list_reaches(entries), list_readings(entries, kept.taken_at())
    for stretch in stretches:
        before, after, number = stretch.before, stretch.after, stretch.before.number
        if after is None or after.number != number:
            continue
        if begun[number] in known or readings[after].until < since:
            continue
        if stretch.author is None:  # what a rewind wrote there
            turn, reach = None, ANYTHING
        elif stretch.author.kind is AuthorKind.TURN:
            turn, reach = number, reaches.get(number, ANYTHING)
        else:
            continue
        with suppress(SnapshotError, DamagedSnapshotError, KeyError):
            changes = {change.path: change for change in kept.changes(before, after)}
            who = Author(AuthorKind.SESSION, turn, folder.name)
            yield OtherTurn(who, Span(readings[before], readings[after], reach), changes)
    yield from _pruned_turns(folder.name, entries, known, since, {one.key for one in captures})


def _pruned_turns(
    session: str,
    entries: Entries,
    known: set[SnapshotEntry],
    since: float,
    kept: set[SnapshotKey],
) -> Iterator[OtherTurn]:
    """Read from the archive alone what turns and rewinds may have changed whose captures went."""
    reaches, readings = list_reaches(entries), list_readings(entries, {})
    written = {
        entry.undo: frozenset(map(os.fsencode, entry.paths))
        for entry in entries
        if isinstance(entry, RewindEntry | RedoEntry)
    }
    turns = {entry.number for entry in entries if isinstance(entry, TurnEntry)}
    ended = {entry.number for entry in entries if isinstance(entry, CaptureEntry) and entry.taken}
    for entry in entries:
        if not isinstance(entry, SnapshotEntry) or entry.outcome is not SnapshotOutcome.TAKEN:
            continue
        before, after = SnapshotKey(entry.number), SnapshotKey(entry.number, Side.END)
        if {before, after} <= kept or entry.number not in ended or entry in known:
            continue
        if readings[after].until < since:
            continue
        is_turn = entry.number in turns
        wrote = Reach(anything=False, named=written.get(entry.number, frozenset()))
        reach = reaches.get(entry.number, ANYTHING) if is_turn else wrote
        who = Author(AuthorKind.SESSION, entry.number if is_turn else None, session)
        yield OtherTurn(who, Span(readings[before], readings[after], reach), None)


def _is_end_after(entry: Entry, since: float) -> bool:
    return isinstance(entry, CaptureEntry) and entry.taken and entry.at >= since
