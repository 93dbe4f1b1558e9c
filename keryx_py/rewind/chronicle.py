"""What happened to the files from one capture to the next: whose turns, whose edits.

Nothing here writes. Other sessions are looked at once, and only when one was used since.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress

from keryx_py.rewind.attribution import Chapter
from keryx_py.rewind.interleave import (
    ANYTHING,
    LONG_AGO,
    NOW,
    OtherTurn,
    Reach,
    Reading,
    Span,
    interleave,
    list_reaches,
    list_readings,
)
from keryx_py.rewind.other_sessions import OtherSessions, read_other_turns
from keryx_py.rewind.plan import AuthorKind
from keryx_py.rewind.points import moved_by, source_of
from keryx_py.rewind.timeline import Stretch
from keryx_py.session.archive import Entries
from keryx_py.snapshot.listing import FileChange, Listing, differences
from keryx_py.snapshot.store import DamagedSnapshotError, SnapshotKey, SnapshotStore


class Chronicle:
    """Tells the stretches from one capture on."""

    def __init__(
        self,
        store: SnapshotStore,
        entries: Entries,
        start: SnapshotKey,
        others: OtherSessions | None,
    ) -> None:
        self._store = store
        self._entries = entries
        self._start = start
        self._others = others
        self._turns: tuple[OtherTurn, ...] | None = None
        self._readings: Mapping[SnapshotKey, Reading] = {}
        self._reaches: Mapping[int, Reach] = {}

    def tell(self, stretch: Stretch) -> tuple[Chapter, ...]:
        """Tell a stretch between two captures. Raises DamagedSnapshotError, KeyError."""
        assert stretch.after is not None
        changes = self._store.changes(stretch.before, stretch.after)
        if stretch.author is None:
            return self._tell_rewind(stretch.before.number, changes)
        return self.cut(Chapter(stretch.author, changes), stretch)

    def tell_last(
        self, stretch: Stretch, then: Listing, before: Sequence[Chapter], now: Listing
    ) -> tuple[Chapter, ...]:
        """Tell what others did from the newest capture to *now*, and nothing else.

        *then* and the chapters *before* lead to that capture.
        """
        turns = self._other_turns()
        if not turns:
            return ()
        held: dict[bytes, FileChange] = {
            change.path: change for chapter in before for change in chapter.changes
        }
        paths = {path for turn in turns for path in turn.changes or ()}
        if any(turn.changes is None for turn in turns):
            paths |= {*held, *(change.path for change in differences(then, now))}
        changes = []
        for path in sorted(paths):
            was = held[path].after if path in held else then.get(path)
            if was != now.get(path):
                changes.append(FileChange(path, was, now.get(path)))
        return self.cut(Chapter(stretch.author, tuple(changes)), stretch)

    def cut(self, chapter: Chapter, stretch: Stretch) -> tuple[Chapter, ...]:
        """Cut *chapter*, which is about *stretch*, into what others did and the rest."""
        turns = self._other_turns() if chapter.changes else ()
        return interleave(chapter, self._span(stretch), turns) if turns else (chapter,)

    def own_changes(self, stretch: Stretch, changes: Sequence[FileChange]) -> list[FileChange]:
        """Those of the *changes* of *stretch* in which whose stretch it is had a part."""
        chapters = self.cut(Chapter(stretch.author, tuple(changes)), stretch)
        own = [chapter for chapter in chapters if chapter.author == stretch.author]
        paths = {change.path for chapter in own for change in chapter.changes}
        return [change for change in changes if change.path in paths]

    def shared_paths(self, stretch: Stretch, changes: Sequence[FileChange]) -> frozenset[bytes]:
        """The paths of *changes*, of a turn's *stretch*, in which another session had a part."""
        chapters = self.cut(Chapter(stretch.author, tuple(changes)), stretch)
        others = [chapter for chapter in chapters if chapter.author != stretch.author]
        return frozenset(change.path for chapter in others for change in chapter.changes)

    def _tell_rewind(self, undo: int, changes: Sequence[FileChange]) -> tuple[Chapter, ...]:
        """Part what the rewind with that *undo* point brought back from before the start."""
        moved = moved_by(self._entries, undo)
        source = None if moved is None else source_of(self._entries, moved)
        old: set[FileChange] = set()
        if source is not None and source < self._start.number:
            with suppress(DamagedSnapshotError, KeyError):
                stood = self._store.load(SnapshotKey(source)).listing
                old = {change for change in changes if change.after == stood.get(change.path)}
        return (
            Chapter(None, tuple(change for change in changes if change in old), from_before=True),
            Chapter(None, tuple(change for change in changes if change not in old)),
        )

    def _span(self, stretch: Stretch) -> Span:
        begun = self._readings.get(stretch.before, LONG_AGO)
        ended = self._readings.get(stretch.after, NOW) if stretch.after else NOW
        author = stretch.author
        turn = author.turn if author is not None and author.kind is AuthorKind.TURN else None
        return Span(begun, ended, ANYTHING if turn is None else self._reaches.get(turn, ANYTHING))

    def _other_turns(self) -> tuple[OtherTurn, ...]:
        if self._turns is None:
            self._turns = self._read_others()
        return self._turns

    def _read_others(self) -> tuple[OtherTurn, ...]:
        if self._others is None:
            return ()
        taken = self._store.taken_at()
        turns = read_other_turns(self._others, self._entries, taken.get(self._start, -math.inf))
        if turns:
            self._readings = list_readings(self._entries, taken)
            self._reaches = list_reaches(self._entries)
        return turns
