"""Which snapshots may go, and letting them go: the oldest first, beyond the number kept.

A named checkpoint is neither counted nor pruned. The point that a rewind used and its undo point
stay until the next turn's snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from keryx_py.rewind.points import is_taken, pinned_numbers, pruned_numbers, source_of
from keryx_py.session.archive import (
    CaptureEntry,
    DamagedEntry,
    Entries,
    PrunedEntry,
    RedoEntry,
    RewindEntry,
    SnapshotEntry,
    TurnEntry,
    UndoPointEntry,
)
from keryx_py.session.sessions import Session
from keryx_py.snapshot.listing import TreeState
from keryx_py.snapshot.store import (
    DamagedSnapshotError,
    Progress,
    SizeLimitError,
    SnapshotError,
    SnapshotKey,
    SnapshotStore,
)


@dataclass(frozen=True, slots=True)
class Keeping:
    """The one session's archive and store, and how many snapshots stay."""

    session: Session
    store: SnapshotStore
    keep: int
    now: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Taken:
    """A capture that was taken, and the points whose snapshots made room for it."""

    state: TreeState
    pruned: tuple[int, ...]


def prunable(
    entries: Entries, keys: Collection[SnapshotKey], protected: Collection[int]
) -> tuple[int, ...]:
    """List the points whose snapshots may be pruned, the oldest first."""
    pinned = pinned_numbers(entries)
    numbers = {key.number for key in keys} - pinned - set(protected) - pruned_numbers(entries)
    return tuple(sorted(numbers))


def count_snapshots(entries: Entries, keys: Collection[SnapshotKey]) -> int:
    """Count the points whose snapshots are kept, named checkpoints left out."""
    return len(prunable(entries, keys, ()))


def numbers_in_use(entries: Entries) -> frozenset[int]:
    """The points that rewinds since the last turn's snapshot used, and their undo points."""
    turns = {entry.number for entry in entries if isinstance(entry, TurnEntry)}
    start = 0
    for position, entry in enumerate(entries):
        if is_taken(entry) and entry.number in turns:
            start = position
    used: set[int] = set()
    for entry in entries[start:]:
        match entry:
            case UndoPointEntry(number=number):
                used.add(number)
            case RewindEntry() | RedoEntry():
                source = source_of(entries, entry)
                used |= set() if source is None else {source}
            case _:
                pass
    return frozenset(used)


def prune_snapshots(keeping: Keeping, protected: Collection[int] = ()) -> tuple[int, ...]:
    """Let the oldest snapshots beyond the number kept go; return their numbers.

    Raises SessionError.
    """
    session, store = keeping.session, keeping.store
    keys = store.keys()
    over = count_snapshots(session.entries, keys) - keeping.keep
    guarded = set(protected) | numbers_in_use(session.entries)
    numbers = prunable(session.entries, keys, guarded)[: max(over, 0)]
    _let_go(keeping, numbers)
    return numbers


def _make_room(keeping: Keeping, oldest: tuple[int, ...], needed: int) -> tuple[int, ...]:
    """Let go of the *oldest* until *needed* bytes are given back; return those that went.

    Twice as many each time: giving back reads the store over. Raises SessionError.
    """
    store = keeping.store
    enough = store.size() - needed
    count = 0
    while count < len(oldest) and (count == 0 or store.size() > enough):
        more = oldest[count : 2 * count + 1]
        _let_go(keeping, more, wholly=True)
        count += len(more)
    return oldest[:count]


def _let_go(keeping: Keeping, numbers: tuple[int, ...], *, wholly: bool = False) -> None:
    """Record that *numbers* are pruned, then drop them and what a killed process left."""
    if numbers:
        keeping.session.append(PrunedEntry(keeping.now(), numbers))
    entries, kept = keeping.session.entries, keeping.store.keys()
    gone = set(pruned_numbers(entries)) | _unrecorded(entries, kept)
    going = [key for key in kept if key.number in gone]
    if not going:
        return
    try:
        keeping.store.drop(going, wholly=wholly)
    except (SnapshotError, DamagedSnapshotError):
        # They count as pruned all the same; the next pruning gives their space back.
        return


def _unrecorded(entries: Entries, keys: Collection[SnapshotKey]) -> set[int]:
    """The numbers of captures that no entry records: the process died in between."""
    if any(isinstance(entry, DamagedEntry) for entry in entries):
        return set()
    recorded = {e.number for e in entries if isinstance(e, SnapshotEntry | CaptureEntry)}
    return {key.number for key in keys} - recorded


def take_with_room(
    keeping: Keeping,
    key: SnapshotKey,
    protected: Collection[int],
    also: Collection[bytes] = (),
    progress: Progress | None = None,
) -> Taken:
    """Take the capture *key*; while the size limit forbids it, prune the oldest snapshots first.

    Raises SnapshotError, SessionError.
    """
    pruned: tuple[int, ...] = ()
    while True:
        try:
            state = keeping.store.take(key, keeping.now(), also, progress)
        except SizeLimitError as error:
            entries = keeping.session.entries
            guarded = {*protected, key.number, *numbers_in_use(entries)}
            oldest = prunable(entries, keeping.store.keys(), guarded)
            if not oldest or not error.fits_alone:
                raise
            pruned += _make_room(keeping, oldest, error.needed)
        else:
            return Taken(state, pruned)
