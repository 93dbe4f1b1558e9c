"""Read what a rewind that leaves later changes needs, and work out what it aims at.

Changes nothing on the disk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from keryx_py.rewind.attribution import Chapter
from keryx_py.rewind.chronicle import Chronicle
from keryx_py.rewind.difference import Asked, Limit, left_out
from keryx_py.rewind.leaving import Scope, keep_edits, list_appearing, take_out
from keryx_py.rewind.merge import Merging
from keryx_py.rewind.plan import Author, AuthorKind
from keryx_py.rewind.planner import Trees
from keryx_py.rewind.report import RefusedError
from keryx_py.rewind.survey import load, look_beside, read_whole
from keryx_py.rewind.timeline import Stretch, list_stretches
from keryx_py.session.archive import Entries
from keryx_py.snapshot.listing import FileState, TreeState, differences
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.store import (
    DamagedSnapshotError,
    Progress,
    SnapshotKey,
    SnapshotStore,
)
from keryx_py.snapshot.worktree import WorkTree, WorkTreeError


def aim_to_keep(
    store: SnapshotStore, root: Path, entries: Entries, trees: Trees, limit: Limit
) -> Trees:
    """Aim at the files before the point, with all that the person changed since.

    What *limit* does not cover stays as it is now, and counts so.
    """
    last = trees.last
    assert last is not None
    unsure = _left_out_meanwhile(store, entries, trees.key, list_appearing(trees.chapters))
    whole = read_whole(trees.key, trees.then)
    trees = replace(trees, then=whole, now=_whole_now(whole, trees.then, trees.now))
    merging = Merging(_contents(store, root, trees.now))
    scope = Scope(trees.then, trees.now, limit, trees.asked)
    target = keep_edits(scope, trees.chapters, last, unsure, merging)
    return replace(trees, target=target)


def _left_out_meanwhile(
    store: SnapshotStore, entries: Entries, start: SnapshotKey, paths: frozenset[bytes]
) -> frozenset[bytes]:
    """Those of *paths* that rules or limits left out of a capture from *start* on."""
    if not paths:
        return paths
    found: set[bytes] = set()
    try:
        for stretch in list_stretches(entries, store.keys(), start):
            found |= left_out(paths, store.surroundings(stretch.before)).keys()
    except (DamagedSnapshotError, KeyError):
        return paths
    return frozenset(found)


def aim_at_one_turn(
    store: SnapshotStore,
    root: Path,
    stretch: Stretch,
    chronicle: Chronicle,
    progress: Progress | None = None,
) -> Trees:
    """Aim at the files of now without what a turn changed, whose *stretch* it is.

    The paths in which another session had a part meanwhile stay. Raises RefusedError.
    """
    before, end = stretch.before, stretch.after
    assert end is not None
    held = load(store, before)
    then = read_whole(before, held)
    try:
        every = store.changes(before, end)
    except (DamagedSnapshotError, KeyError) as error:
        why = "its snapshot is missing" if isinstance(error, KeyError) else error
        raise RefusedError(
            f"what turn {before.number} changed is not known: {why}; nothing was changed"
        ) from error
    shared = chronicle.shared_paths(stretch, every)
    changes = tuple(change for change in every if change.path not in shared)
    asked = frozenset(change.path for change in changes)
    seen, hidden = look_beside(store, before, held, progress, asked)
    now = _whole_now(then, held, seen)
    target = take_out(then, changes, now, Merging(_contents(store, root, now)))
    if shared:
        exactly = (target.exactly or frozenset()) | shared
        target = replace(target, kept=tuple(sorted({*target.kept, *shared})), exactly=exactly)
    turn = Chapter(stretch.author, changes)
    others = Chapter(
        Author(AuthorKind.SESSION), tuple(change for change in every if change.path in shared)
    )
    return Trees(before, then, now, (turn, others), None, Asked(now=hidden), target)


def _whole_now(whole: TreeState, then: TreeState, now: TreeState) -> TreeState:
    """Hold all of *now* in memory; *whole* is all of *then*."""
    # What differs is known already: the rest need not be read a second time.
    listing = dict(whole.listing)
    for change in differences(then.listing, now.listing):
        if change.after is None:
            del listing[change.path]
        else:
            listing[change.path] = change.after
    return replace(now, listing=listing)


def _contents(
    store: SnapshotStore, root: Path, now: TreeState
) -> Callable[[FileState], bytes | None]:
    """Give the content of a state that a capture of *store* or the disk *now* holds."""
    tree = WorkTree(root)
    paths: dict[bytes, bytes] = {}

    def read(state: FileState) -> bytes | None:
        if not paths:
            paths.update((held.oid, path) for path, held in now.listing.items())
        try:
            return store.read(state.oid)
        except DamagedSnapshotError:
            path = paths.get(state.oid)
        try:
            content = b"" if path is None else tree.read(path)
        except WorkTreeError:
            return None
        # A file that is being written may have changed since it was looked at.
        return content if object_id(ObjectKind.BLOB, content) == state.oid else None

    return read
