"""Look at the files then and now, and at what led from the one to the other. Changes nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from keryx_py.rewind.attribution import Chapter
from keryx_py.rewind.chronicle import Chronicle
from keryx_py.rewind.difference import Asked, count_files, left_out
from keryx_py.rewind.other_sessions import OtherSessions
from keryx_py.rewind.plan import Author, AuthorKind
from keryx_py.rewind.planner import Trees
from keryx_py.rewind.points import moved_by, source_of
from keryx_py.rewind.report import RefusedError
from keryx_py.rewind.timeline import PERSON, UNKNOWN, Stretch, list_captures, list_stretches
from keryx_py.session.archive import Entries
from keryx_py.snapshot.listing import TreeState, differences, in_memory
from keryx_py.snapshot.store import (
    DamagedSnapshotError,
    Progress,
    Side,
    SnapshotError,
    SnapshotKey,
    SnapshotStore,
)


def survey(
    store: SnapshotStore,
    entries: Entries,
    key: SnapshotKey,
    progress: Progress | None = None,
    *,
    whose: bool = True,
    others: OtherSessions | None = None,
) -> Trees:
    """Look at the capture *key* and at the disk; with *whose* at the captures between as well,
    and at those of the *others* that worked on the same files.

    Raises RefusedError.
    """
    then = load(store, key)
    asked = _asked_about(entries, key)
    now, hidden = look_beside(store, key, then, progress, asked)
    chapters: Sequence[Chapter] = ()
    last: Author | None = UNKNOWN
    if whose:
        chronicle = Chronicle(store, entries, key, others)
        chapters, last = _chapters(chronicle, list_stretches(entries, store.keys(), key), then, now)
    may_go = _put_there_hidden(store, entries, key, asked & hidden.keys(), now)
    stay = {path: why for path, why in hidden.items() if path not in may_go}
    return Trees(key, then, now, chapters, last, Asked(asked, stay))


def _asked_about(entries: Entries, key: SnapshotKey) -> frozenset[bytes]:
    """The paths that an undo point was asked about: those that its rewind changed."""
    moved = moved_by(entries, key.number)
    return frozenset(map(os.fsencode, () if moved is None else moved.paths))


def _put_there_hidden(
    store: SnapshotStore,
    entries: Entries,
    key: SnapshotKey,
    hidden: AbstractSet[bytes],
    now: TreeState,
) -> AbstractSet[bytes]:
    """Those of *hidden* that were left out already when the rewind whose undo point *key* is had
    put them there, and are as they were put: that can be taken back to the letter."""
    moved = moved_by(entries, key.number)
    source = None if moved is None else source_of(entries, moved)
    if not hidden or source is None:
        return frozenset()
    try:
        left = left_out(hidden, store.surroundings(SnapshotKey(key.number, Side.END))).keys()
        put = store.load(SnapshotKey(source)).listing
        return {path for path in left if now.listing.get(path) == put.get(path)}
    except (DamagedSnapshotError, KeyError):
        return frozenset()


def load(store: SnapshotStore, key: SnapshotKey) -> TreeState:
    """Read a capture, its listing only as it is asked for. Raises RefusedError."""
    try:
        return store.load(key)
    except KeyError:
        raise RefusedError(f"the snapshot of point {key.number} is missing") from None
    except DamagedSnapshotError as error:
        raise _damaged(key, error) from error


def look(store: SnapshotStore, progress: Progress | None = None) -> TreeState:
    """Look at the disk. Raises RefusedError."""
    return _look(store, frozenset(), progress)


def look_beside(
    store: SnapshotStore,
    key: SnapshotKey,
    then: TreeState,
    progress: Progress | None = None,
    asked: frozenset[bytes] = frozenset(),
) -> tuple[TreeState, Mapping[bytes, str]]:
    """Look at the disk; what *then*, the capture *key*, holds, and *asked*, whatever rule or limit
    says now. Say as well which of these one of them leaves out, and why.

    All of the capture is read here that tells what differs: who asks later reads nothing more.
    Raises RefusedError.
    """
    now = _look(store, frozenset(), progress)
    try:
        if hidden := _hidden(then, now, asked):
            now = _look(store, frozenset(hidden), progress)
            differences(then.listing, now.listing)
    except DamagedSnapshotError as error:
        raise _damaged(key, error) from error
    return now, hidden


def _look(store: SnapshotStore, also: frozenset[bytes], progress: Progress | None) -> TreeState:
    try:
        return store.look(also=also, progress=progress)
    except SnapshotError as error:
        raise RefusedError(f"the project's files cannot be looked at: {error}") from error


def _hidden(then: TreeState, now: TreeState, asked: frozenset[bytes]) -> Mapping[bytes, str]:
    """What *then* holds, and *asked*, as far as rules or limits may hide it now."""
    changes = differences(then.listing, now.listing)
    missing = {change.path for change in changes if change.after is None}
    missing.update(path for path in asked if path not in now.listing)
    return left_out(missing, now)


def read_whole(key: SnapshotKey, then: TreeState) -> TreeState:
    """Read all of *then*, the capture *key*. Raises RefusedError."""
    try:
        return replace(then, listing=in_memory(then.listing))
    except DamagedSnapshotError as error:
        raise _damaged(key, error) from error


def _damaged(key: SnapshotKey, error: DamagedSnapshotError) -> RefusedError:
    return RefusedError(f"the snapshot of point {key.number} is damaged: {error.detail}")


def _chapters(
    chronicle: Chronicle, stretches: Sequence[Stretch], then: TreeState, now: TreeState
) -> tuple[Sequence[Chapter], Author | None]:
    """Read what changed between the captures from *then* on, and whose the time since is."""
    *known, last = stretches
    chapters: list[Chapter] = []
    try:
        for place, stretch in enumerate(known):
            chapters += (replace(one, place=place) for one in chronicle.tell(stretch))
        since = chronicle.tell_last(last, then.listing, chapters, now.listing)
    except (DamagedSnapshotError, KeyError):
        # A damaged capture in between costs the knowledge of who, not the rewind.
        return (), UNKNOWN
    return (*chapters, *(replace(one, place=len(known)) for one in since)), last.author


class Counts:
    """Counts what each turn and the person after it changed; looks at the disk once at most."""

    def __init__(
        self,
        store: SnapshotStore,
        entries: Entries,
        progress: Progress | None,
        others: OtherSessions | None = None,
    ) -> None:
        self._store = store
        self._progress = progress
        captures = list_captures(entries, store.keys())
        whole = list_stretches(entries, store.keys(), captures[0].key) if captures else ()
        self._stretches: dict[SnapshotKey | None, Stretch] = {
            stretch.before: stretch for stretch in whole
        }
        start = captures[0].key if captures else SnapshotKey(0)
        self._chronicle = Chronicle(store, entries, start, others)

    def of_turn(self, number: int) -> int | None:
        """Count the files that the turn *number* changed; None when that is not known."""
        stretch = self._stretches.get(SnapshotKey(number))
        if stretch is None or stretch.author != Author(AuthorKind.TURN, number):
            return None
        return self._count(stretch)

    def since(self, number: int) -> int | None:
        """Count the files that the person changed after the turn *number* ended and before the
        next turn, the next rewind or now; None when that is not known."""
        stretch = self._stretches.get(SnapshotKey(number, Side.END))
        if stretch is None or stretch.author != PERSON:
            return None
        # From a checkpoint on it is the person's still.
        while (more := self._stretches.get(stretch.after)) and more.author == PERSON:
            stretch = replace(stretch, after=more.after)
        return self._count(stretch)

    def _count(self, stretch: Stretch) -> int | None:
        """Count the files in *stretch* that its own author changed."""
        try:
            if stretch.after is not None:
                changes = self._store.changes(stretch.before, stretch.after)
            else:
                then = load(self._store, stretch.before)
                now, _ = look_beside(self._store, stretch.before, then, self._progress)
                changes = differences(then.listing, now.listing)
            return count_files(self._chronicle.own_changes(stretch, changes))
        except (DamagedSnapshotError, KeyError, RefusedError):
            return None
