"""Tell what other sessions' turns did from what happened beside them. Nothing here acts.

A stretch of this session says how a path was when it began and when it ended. Each turn of
another session that ran meanwhile and changed the path saw it twice more, so that the stretch is
cut into pieces. A piece is theirs whose turn was running; two running at once, and both could have
written the path, share it; with none running it is whose the stretch is.

Reading the files takes a while, so that of two captures taken at once neither came first. They are
put in the order in which the path changed least.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from keryx_py.rewind.attribution import Chapter
from keryx_py.rewind.difference import is_within
from keryx_py.rewind.plan import Author, AuthorKind
from keryx_py.rewind.span import DELEGATE_TOOL
from keryx_py.session.archive import (
    CaptureEntry,
    DamagedEntry,
    Entries,
    RunEntry,
    SnapshotEntry,
)
from keryx_py.snapshot.keys import Side, SnapshotKey
from keryx_py.snapshot.listing import FileChange, FileState


@dataclass(frozen=True, slots=True)
class Reach:
    """Which paths a turn could have written, by its calls."""

    anything: bool
    """Whether a command, or what is not known, was among them."""
    named: frozenset[bytes] = frozenset()
    """The paths that its file tools wrote."""

    def covers(self, path: bytes) -> bool:
        """Whether the turn could have written *path*, a folder above it or something below."""
        return self.anything or any(
            is_within(path, name) or is_within(name, path) for name in self.named
        )


ANYTHING = Reach(anything=True)


@dataclass(frozen=True, slots=True)
class Reading:
    """When the files were read for a capture, in seconds since the epoch."""

    since: float
    until: float
    """By when it was recorded that they had been read."""

    def is_before(self, other: Reading) -> bool:
        """Whether all of it was over when *other* began."""
        return self.until <= other.since


LONG_AGO = Reading(-math.inf, -math.inf)
NOW = Reading(math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Span:
    """From one capture to another, and what could be written meanwhile by whose time it was."""

    begun: Reading
    ended: Reading
    reach: Reach = ANYTHING

    def overlaps(self, other: Span) -> bool:
        """Whether part of *other* may have been at the same time."""
        return self.ended.until >= other.begun.since and self.begun.since <= other.ended.until

    def may_have_written(self, path: bytes, by: Reading) -> bool:
        """Whether *path* may have been written in it before what was read *by* then."""
        return self.begun.until < by.until and self.reach.covers(path)


@dataclass(frozen=True, slots=True)
class OtherTurn:
    """What a turn, or a rewind, of another session changed, by its own captures."""

    author: Author
    span: Span
    changes: Mapping[bytes, FileChange] | None
    """By path; None when that is not known any more, because its captures were pruned."""


@dataclass(frozen=True, slots=True)
class _Sight:
    """What a capture at one end of a turn, or of the stretch itself, says of a path."""

    reading: Reading
    turn: OtherTurn | None
    """None for the stretch itself."""
    state: FileState | None

    def may_pass(self, other: _Sight) -> bool:
        """Whether the two may have been in either order."""
        if self.turn is other.turn:
            return False
        return not (self.reading.is_before(other.reading) or other.reading.is_before(self.reading))


def list_reaches(entries: Entries) -> Mapping[int, Reach]:
    """Work out for each turn which paths its calls could have written; no turn without calls."""
    if any(isinstance(entry, DamagedEntry) for entry in entries):
        return {}  # a lost line may have been any call
    named: dict[int, set[bytes]] = {}
    unsure: set[int] = set()
    for entry in entries:
        # What a delegate did is in the runs of its own calls.
        if isinstance(entry, RunEntry) and entry.tool != DELEGATE_TOOL:
            named.setdefault(entry.turn, set()).update(map(os.fsencode, entry.writes))
            if not entry.writes:
                unsure.add(entry.turn)
    return {turn: Reach(turn in unsure, frozenset(paths)) for turn, paths in named.items()}


def list_readings(
    entries: Entries, taken_at: Mapping[SnapshotKey, float]
) -> Mapping[SnapshotKey, Reading]:
    """Work out when each capture that *entries* record was read; *taken_at* says since when."""
    readings: dict[SnapshotKey, Reading] = {}
    for entry in entries:
        if isinstance(entry, SnapshotEntry | CaptureEntry):
            side = Side.BEFORE if isinstance(entry, SnapshotEntry) else Side.END
            key = SnapshotKey(entry.number, side)
            readings[key] = Reading(min(taken_at.get(key, entry.at), entry.at), entry.at)
    return readings


def interleave(chapter: Chapter, span: Span, turns: Sequence[OtherTurn]) -> tuple[Chapter, ...]:
    """Cut *chapter*, which is about *span*, into what each of the other *turns* did and the rest.

    What is unknown stays so, and what a rewind wrote stays nobody's.
    """
    author = chapter.author
    if author is None or author.kind not in {AuthorKind.PERSON, AuthorKind.TURN}:
        return (chapter,)
    meanwhile = [turn for turn in turns if turn.span.overlaps(span)]
    if not meanwhile:
        return (chapter,)
    found: dict[tuple[int, Author], list[FileChange]] = {}
    for change in chapter.changes:
        for place, (who, piece) in enumerate(_pieces(change, author, span, meanwhile)):
            found.setdefault((place, who), []).append(piece)
    ordered = sorted(found.items(), key=lambda one: one[0][0])
    return tuple(Chapter(who, tuple(pieces)) for (_, who), pieces in ordered)


def _pieces(
    change: FileChange, author: Author, span: Span, turns: Sequence[OtherTurn]
) -> Iterator[tuple[Author, FileChange]]:
    """Follow one path through a stretch: each state that is known, and who may have made it."""
    seen = [turn for turn in turns if turn.changes is not None and change.path in turn.changes]
    pruned = [turn for turn in turns if turn.changes is None]
    sights = _sights(change, span, seen)
    first, last = _ends_of(None, sights)
    ends = [(turn, _ends_of(turn, sights)) for turn in seen]
    for place, (was, became) in enumerate(pairwise(sights[first : last + 1]), first):
        if was.state == became.state:
            continue
        written = (change.path, became.reading)
        running = [turn for turn, (begun, ended) in ends if begun <= place < ended]
        able = [turn.author for turn in running if turn.span.may_have_written(*written)]
        gone = [turn for turn in pruned if not turn.span.ended.is_before(was.reading)]
        maybe = [turn for turn in gone if turn.span.may_have_written(*written)]
        if author.kind is AuthorKind.TURN:
            named = any(not turn.span.reach.anything for turn in maybe)
            own = span.may_have_written(*written) or not (able or named)
        else:
            own = not able  # a person may have written anything
        for who in (*([author] if own else []), *able, *(turn.author for turn in maybe)):
            yield who, FileChange(change.path, was.state, became.state)


def _sights(change: FileChange, span: Span, turns: Sequence[OtherTurn]) -> Sequence[_Sight]:
    """List what *turns* and the ends of *span* saw of the path of *change*, in order of time."""
    sights = [_Sight(span.begun, None, change.before)]
    for turn in turns:
        theirs = (turn.changes or {})[change.path]
        sights.append(_Sight(turn.span.begun, turn, theirs.before))
        sights.append(_Sight(turn.span.ended, turn, theirs.after))
    sights.append(_Sight(span.ended, None, change.after))
    sights.sort(key=lambda sight: (sight.reading.since, sight.reading.until))
    for sight in tuple(sights):
        _settle(sight, sights)
    return sights


def _settle(sight: _Sight, sights: list[_Sight]) -> None:
    """Move *sight*, among those that it may pass, to where the path changes least."""
    at = next(n for n, one in enumerate(sights) if one is sight)
    low = high = at
    while low > 0 and sight.may_pass(sights[low - 1]):
        low -= 1
    while high < len(sights) - 1 and sight.may_pass(sights[high + 1]):
        high += 1
    if low == high:
        return
    del sights[at]
    places = sorted(range(low, high + 1), key=lambda place: abs(place - at))
    sights.insert(min(places, key=lambda place: _changes_by(sight, place, sights)), sight)


def _changes_by(sight: _Sight, place: int, sights: Sequence[_Sight]) -> int:
    """Count how many changes of the path *sight* adds at *place*."""
    before = [one.state for one in sights[max(place - 1, 0) : place]]
    after = [one.state for one in sights[place : place + 1]]
    return _count_changes([*before, sight.state, *after]) - _count_changes([*before, *after])


def _count_changes(states: Sequence[FileState | None]) -> int:
    return sum(was != became for was, became in pairwise(states))


def _ends_of(turn: OtherTurn | None, sights: Sequence[_Sight]) -> tuple[int, int]:
    """Find where a turn begins and ends among *sights*; for None, the stretch itself."""
    begun, ended = (place for place, sight in enumerate(sights) if sight.turn is turn)
    return begun, ended
