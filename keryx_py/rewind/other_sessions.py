"""Read what other sessions' turns changed, by those sessions' own captures. Never writes.

Whatever cannot be read, because it is damaged, deleted or just being written, says nothing: what it
would have told stays the person's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from keryx_py.rewind.interleave import ANYTHING, OtherTurn, Span, list_reaches, list_readings
from keryx_py.rewind.plan import Author, AuthorKind
from keryx_py.rewind.timeline import list_captures, list_stretches
from keryx_py.session.archive import CaptureEntry, Entries, Entry, SnapshotEntry
from keryx_py.session.errors import SessionError
from keryx_py.session.others import read_other
from keryx_py.snapshot.kept import KeptCaptures
from keryx_py.snapshot.store import DamagedSnapshotError, SnapshotError

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


def _is_end_after(entry: Entry, since: float) -> bool:
    return isinstance(entry, CaptureEntry) and entry.taken and entry.at >= since
