"""Look at the files then and now, and at what led from the one to the other. Changes nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from keryx_py.rewind.attribution import Chapter
from keryx_py.rewind.difference import count_files, left_out
from keryx_py.rewind.plan import Author
from keryx_py.rewind.planner import Trees
from keryx_py.rewind.report import RefusedError
from keryx_py.rewind.timeline import PERSON, UNKNOWN, list_captures, list_stretches
from keryx_py.session.archive import Entries, RedoEntry, RewindEntry
from keryx_py.snapshot.listing import TreeState, differences
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
) -> Trees:
    """Look at the capture *key* and at the disk; with *whose* at the captures between as well.

    Raises RefusedError.
    """
    then = load(store, key)
    known = _asked_about(entries, key)
    now = look(store, then, progress, known)
    chapters, last = _chapters(store, entries, key) if whose else ((), UNKNOWN)
    return Trees(key, then, now, chapters, last, known)


def _asked_about(entries: Entries, key: SnapshotKey) -> frozenset[bytes]:
    """The paths that an undo point was asked about: those that its rewind changed."""
    return frozenset(
        os.fsencode(path)
        for entry in entries
        if isinstance(entry, RewindEntry | RedoEntry) and entry.undo == key.number
        for path in entry.paths
    )


def load(store: SnapshotStore, key: SnapshotKey) -> TreeState:
    """Read a capture. Raises RefusedError."""
    try:
        return store.load(key)
    except KeyError:
        raise RefusedError(f"the snapshot of point {key.number} is missing") from None
    except DamagedSnapshotError as error:
        raise RefusedError(f"the snapshot of point {key.number} is damaged: {error}") from error


def look(
    store: SnapshotStore,
    then: TreeState | None = None,
    progress: Progress | None = None,
    known: frozenset[bytes] = frozenset(),
) -> TreeState:
    """Look at the disk; what *then* holds, and *known*, whatever rule or limit says now.

    Raises RefusedError.
    """
    try:
        now = store.look(progress=progress)
        if then is not None and (hidden := _hidden(then.listing.keys() | known, now)):
            now = store.look(also=hidden, progress=progress)
    except SnapshotError as error:
        raise RefusedError(f"the project's files cannot be looked at: {error}") from error
    return now


def _hidden(paths: AbstractSet[bytes], now: TreeState) -> frozenset[bytes]:
    """Those of *paths* that rules or limits may hide now."""
    return left_out(paths - now.listing.keys(), now)


def _chapters(
    store: SnapshotStore, entries: Entries, start: SnapshotKey
) -> tuple[Sequence[Chapter], Author | None]:
    """Read what changed between the captures from *start* on, and whose the time since is."""
    *stretches, last = list_stretches(entries, store.keys(), start)
    chapters: list[Chapter] = []
    try:
        for stretch in stretches:
            assert stretch.after is not None
            changes = store.changes(stretch.before, stretch.after)
            chapters.append(Chapter(stretch.author, changes))
    except (DamagedSnapshotError, KeyError):
        # A damaged capture in between costs the knowledge of who, not the rewind.
        return (), UNKNOWN
    return chapters, last.author


def count_turn(store: SnapshotStore, number: int) -> int | None:
    """Count the files that the turn *number* changed; None when that is not known."""
    before, end = SnapshotKey(number), SnapshotKey(number, Side.END)
    if not {before, end} <= store.keys():
        return None
    try:
        return count_files(store.changes(before, end))
    except (DamagedSnapshotError, KeyError):
        return None


class SinceCounts:
    """Counts what the person changed after each turn; looks at the disk once at most."""

    def __init__(self, store: SnapshotStore, entries: Entries, progress: Progress | None) -> None:
        self._store = store
        self._progress = progress
        captures = list_captures(entries, store.keys())
        whole = list_stretches(entries, store.keys(), captures[0].key) if captures else ()
        self._stretches = {stretch.before: stretch for stretch in whole}

    def count(self, number: int) -> int | None:
        """Count the files that the person changed after the turn *number* ended and before the
        next capture or now; None when that is not known."""
        stretch = self._stretches.get(SnapshotKey(number, Side.END))
        if stretch is None or stretch.author != PERSON:
            return None
        try:
            if stretch.after is not None:
                return count_files(self._store.changes(stretch.before, stretch.after))
            then = load(self._store, stretch.before)
            now = look(self._store, then, self._progress)
        except (DamagedSnapshotError, KeyError, RefusedError):
            return None
        return count_files(differences(then.listing, now.listing))
