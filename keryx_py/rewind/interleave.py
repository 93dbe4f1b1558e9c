"""Tell what other sessions' turns did from what happened beside them. Nothing here acts.

A stretch of this session says how a path was when it began and when it ended. Each turn of
another session that ran meanwhile and changed the path saw it twice more, so that the stretch is
cut into pieces. A piece is theirs whose turn was running; two running at once, and both could have
written the path, share it; with none running it is whose the stretch is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from keryx_py.rewind.attribution import Chapter
from keryx_py.rewind.difference import is_within
from keryx_py.rewind.plan import Author, AuthorKind
from keryx_py.rewind.span import DELEGATE_TOOL
from keryx_py.session.archive import DamagedEntry, Entries, RunEntry
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
class OtherTurn:
    """What a turn, or a rewind, of another session changed, by its own captures."""

    author: Author
    begun: float
    ended: float
    """Seconds since the epoch, as is *begun*."""
    changes: Mapping[bytes, FileChange]
    """By path."""
    reach: Reach = ANYTHING


@dataclass(frozen=True, slots=True)
class Span:
    """When a stretch of this session was, and what could be written in it."""

    begun: float
    ended: float
    reach: Reach = ANYTHING
    """What the turn whose stretch it is could have written."""


@dataclass(frozen=True, slots=True)
class _Sight:
    """What one end of another session's turn says of a path."""

    at: float
    order: int
    turn: OtherTurn
    state: FileState | None
    ends: bool


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


def interleave(chapter: Chapter, span: Span, turns: Sequence[OtherTurn]) -> tuple[Chapter, ...]:
    """Cut *chapter*, which is about *span*, into what each of the other *turns* did and the rest.

    What is unknown stays so, and what a rewind wrote stays nobody's.
    """
    author = chapter.author
    if author is None or author.kind not in {AuthorKind.PERSON, AuthorKind.TURN}:
        return (chapter,)
    meanwhile = [turn for turn in turns if turn.ended >= span.begun and turn.begun <= span.ended]
    if not meanwhile:
        return (chapter,)
    found: dict[tuple[int, Author], list[FileChange]] = {}
    for change in chapter.changes:
        seen = [turn for turn in meanwhile if change.path in turn.changes]
        for place, (who, piece) in enumerate(_pieces(change, author, span, seen)):
            found.setdefault((place, who), []).append(piece)
    ordered = sorted(found.items(), key=lambda one: one[0][0])
    return tuple(Chapter(who, tuple(pieces)) for (_, who), pieces in ordered)


def _pieces(
    change: FileChange, author: Author, span: Span, turns: Sequence[OtherTurn]
) -> Iterator[tuple[Author, FileChange]]:
    """Follow one path through a stretch: each state that is known, and who may have made it."""
    sights = _sights(change.path, span, turns)
    states = (change.before, *(sight.state for sight in sights), change.after)
    for place, (was, became) in enumerate(pairwise(states)):
        if was == became:
            continue
        running = [turn for turn in turns if _is_running(turn, place, sights, span)]
        able = [turn.author for turn in running if turn.reach.covers(change.path)]
        own = author.kind is AuthorKind.TURN and span.reach.covers(change.path)
        for who in (*([author] if own or not able else []), *able):
            yield who, FileChange(change.path, was, became)


def _sights(path: bytes, span: Span, turns: Sequence[OtherTurn]) -> tuple[_Sight, ...]:
    """List what *turns* saw of *path* during *span*, in order of time."""
    sights: list[_Sight] = []
    for order, turn in enumerate(sorted(turns, key=lambda turn: turn.begun)):
        change = turn.changes[path]
        sights.append(_Sight(turn.begun, order, turn, change.before, ends=False))
        sights.append(_Sight(turn.ended, order, turn, change.after, ends=True))
    inside = (sight for sight in sights if span.begun <= sight.at <= span.ended)
    return tuple(sorted(inside, key=lambda sight: (sight.at, sight.order, sight.ends)))


def _is_running(turn: OtherTurn, place: int, sights: Sequence[_Sight], span: Span) -> bool:
    """Whether *turn* ran during all of the piece before the sight numbered *place*."""
    begins = next((n for n, s in enumerate(sights) if s.turn is turn and not s.ends), None)
    ends = next((n for n, s in enumerate(sights) if s.turn is turn and s.ends), None)
    has_begun = turn.begun < span.begun if begins is None else begins < place
    return has_begun and (ends is None or place <= ends)
