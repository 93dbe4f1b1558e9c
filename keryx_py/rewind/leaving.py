"""What a rewind that leaves later changes makes of the files: keep, and only. Touches no disk.

Each path is followed along the captures. In a rewind that keeps, what the person changed is
brought onto what stood there before the point, stretch after stretch; in one of a single turn,
that turn's change is taken out of what stands there now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from keryx_py.rewind.attribution import Chapter
from keryx_py.rewind.carried import Edit, Past, come_back, hold_carried
from keryx_py.rewind.difference import (
    Asked,
    Limit,
    folders_above,
    is_folder,
    left_out,
    work_out,
)
from keryx_py.rewind.merge import Conflict, Joined, Merging
from keryx_py.rewind.plan import Author, AuthorKind
from keryx_py.rewind.timeline import UNKNOWN
from keryx_py.snapshot.listing import (
    FileChange,
    FileState,
    Kind,
    Listing,
    Skipped,
    TreeState,
    differences,
)

NEW_FOLDER = FileState(Kind.FOLDER, 0o755, b"")


@dataclass(frozen=True, slots=True)
class Scope:
    """Between which files a rewind goes, and what of them it may move."""

    then: TreeState
    now: TreeState
    limit: Limit
    asked: Asked


@dataclass(frozen=True, slots=True)
class Target:
    """The files as a rewind that leaves something would have them."""

    tree: TreeState
    """What is to stand there; rules and what is left out are those of the capture."""
    made: Mapping[bytes, bytes]
    merged: frozenset[bytes]
    kept: tuple[bytes, ...]
    """The files that a plain rewind would change and this one leaves, in path order."""
    conflicts: tuple[Skipped, ...]
    exactly: frozenset[bytes] | None = None
    """The paths that it is about; None for all."""


def keep_edits(
    scope: Scope,
    chapters: Sequence[Chapter],
    last: Author,
    unsure: AbstractSet[bytes],
    merging: Merging,
) -> Target:
    """Work out the files of then with all that who is no turn changed until now.

    The paths in *unsure* stay as they are: nobody knows who wrote them.
    """
    then, now = scope.then.listing, scope.now.listing
    by_path = _by_path(chapters, {change.path for change in differences(now, then)})
    hidden = left_out(by_path, scope.now)
    end = max((chapter.place for chapter in chapters), default=0) + 1
    results: dict[bytes, Joined] = {}
    pasts: dict[bytes, Past] = {}
    for path, changes in by_path.items():
        timeline = _Timeline(then.get(path), merging)
        for change, chapter in changes:
            came_to_light = path in unsure and change.before is None
            timeline.tell(change, replace(chapter, author=UNKNOWN) if came_to_light else chapter)
        timeline.end(now.get(path), Chapter(last, (), place=end), hidden=path in hidden)
        results[path] = now.get(path) if path in unsure else timeline.result
        pasts[path] = timeline.past
    return _without_loss(scope, results, pasts, hidden, merging)


def _without_loss(
    scope: Scope,
    results: Mapping[bytes, Joined],
    pasts: Mapping[bytes, Past],
    hidden: Collection[bytes],
    merging: Merging,
) -> Target:
    """Put *results* over the files of then, and let no line go that who is no turn wrote."""
    now = scope.now.listing
    gone = {path for path in results if now.get(path) is None and path not in hidden}
    joined = {
        path: come_back(one, pasts[path]) if path in gone and isinstance(one, Conflict) else one
        for path, one in results.items()
    }
    while True:
        target = _settled(scope.then, scope.then.listing, now, joined, merging)
        after = _list_after(scope, target.tree, joined)
        blocked = {
            path: results[path]
            for path, one in joined.items()
            if isinstance(one, Conflict) and one.instead not in (None, after[path])
        }
        held = {**joined, **blocked, **hold_carried(pasts, now, after, merging)}
        if held == joined:
            return target
        joined = held


def _list_after(
    scope: Scope, tree: TreeState, paths: Iterable[bytes]
) -> Mapping[bytes, FileState | None]:
    """Say what will stand at each of *paths* when the files of now are made into *tree*."""
    now = scope.now.listing
    changes = work_out(scope.now, tree, scope.limit, scope.asked).changes
    moved = {change.path: change.after for change in changes}
    return {path: moved[path] if path in moved else now.get(path) for path in paths}


def list_appearing(chapters: Sequence[Chapter]) -> frozenset[bytes]:
    """List the paths that a turn or a rewind seems to have made.

    Where a capture could not hold such a path, it may have stood there all along.
    """
    return frozenset(
        change.path
        for chapter in chapters
        for change in chapter.changes
        if change.before is None and (chapter.author is None or _is_turn(chapter.author))
    )


def _is_turn(author: Author) -> bool:
    return author.kind is AuthorKind.TURN


def take_out(
    before: TreeState, changes: Iterable[FileChange], now: TreeState, merging: Merging
) -> Target:
    """Work out the files of *now* without *changes*, which one turn made to *before*."""
    results = {
        change.path: merging.join(change.after, now.listing.get(change.path), change.before)
        for change in changes
    }
    target = _settled(before, now.listing, now.listing, results, merging)
    involved = set(results) | {
        change.path for change in differences(now.listing, target.tree.listing)
    }
    return replace(target, exactly=frozenset(involved))


def _by_path(
    chapters: Sequence[Chapter], touched: AbstractSet[bytes]
) -> dict[bytes, list[tuple[FileChange, Chapter]]]:
    by_path: dict[bytes, list[tuple[FileChange, Chapter]]] = {path: [] for path in touched}
    for chapter in chapters:
        for change in chapter.changes:
            by_path.setdefault(change.path, []).append((change, chapter))
    return dict(sorted(by_path.items()))


@dataclass(frozen=True, slots=True)
class _Page:
    """What one path was at one time."""

    state: FileState | None
    result: Joined
    """What the share of who is no turn comes to."""
    edits: tuple[Edit, ...] = ()
    """That share, edit by edit."""


class _Timeline:
    """The states that one path went through, and the share in it of who is no turn."""

    def __init__(self, first: FileState | None, merging: Merging) -> None:
        self._merging = merging
        self._pages = [_Page(first, first)]
        self._turns: list[Edit] = []

    @property
    def result(self) -> Joined:
        return self._pages[-1].result

    @property
    def past(self) -> Past:
        return Past(self._pages[-1].edits, tuple(self._turns))

    def tell(self, change: FileChange, chapter: Chapter) -> None:
        """Take *change*, which is of *chapter*, into account."""
        if chapter.author is None:
            self._rewind(change.before, change.after, from_before=chapter.from_before)
            return
        edit = Edit(change.before, change.after, chapter.author.kind, chapter.place)
        newest = self._pages[-1]
        if _is_turn(chapter.author):
            self._turns.append(edit)
            self._pages.append(replace(newest, state=edit.after))
        else:
            result = self._joined(edit.before, newest.result, edit.after)
            self._pages.append(_Page(edit.after, result, (*newest.edits, edit)))

    def _rewind(
        self, before: FileState | None, after: FileState | None, *, from_before: bool
    ) -> None:
        """Take into account that a rewind wrote *after*, and whether that was *from_before*."""
        newest = self._pages[-1]
        held = next((page for page in reversed(self._pages) if page.state == after), None)
        if held is not None:
            # It had been there: what the person's share was then counts again.
            self._pages.append(held)
        elif from_before:
            # Nothing of what the person did since the first page is in it.
            self._pages.append(replace(self._pages[0], state=after))
        else:
            # What it wrote may have been joined from the person's edits.
            result = self._joined(before, newest.result, after)
            self._pages.append(_Page(after, result, newest.edits))

    def _joined(self, before: FileState | None, result: Joined, after: FileState | None) -> Joined:
        return result if isinstance(result, Conflict) else self._merging.join(before, result, after)

    def end(self, now: FileState | None, last: Chapter, *, hidden: bool) -> None:
        """Come to what stands there *now*; a *hidden* path may have been there all along."""
        if self._pages[-1].state is None and hidden:
            self._pages.append(next((p for p in reversed(self._pages) if p.state), self._pages[-1]))
        newest = self._pages[-1]
        if newest.state != now:
            self.tell(FileChange(b"", newest.state, now), last)
        if now is None and hidden:
            # It is not known to be gone, so neither is what was written there.
            self._pages.append(replace(self._pages[-1], edits=newest.edits))


def _settled(
    capture: TreeState,
    start: Listing,
    now: Listing,
    results: Mapping[bytes, Joined],
    merging: Merging,
) -> Target:
    """Put *results* over *start*, and see to it that each path's folders can be there."""
    listing = dict(start)
    conflicts = {path: one.reason for path, one in results.items() if isinstance(one, Conflict)}
    for path, joined in results.items():
        if isinstance(joined, Conflict):
            joined = joined.instead or now.get(path)
        _put(listing, path, joined)
    _hold_contents(listing, now, capture.listing, results, conflicts, merging)
    _make_room(listing, now, capture.listing, conflicts)
    differing = {change.path for change in differences(now, listing)}
    merged = {
        path
        for path in (differing & results.keys()) - conflicts.keys()
        if listing.get(path) not in (None, capture.listing.get(path))
    }
    # What is now as it was then needs no word: there is nothing left that could be taken back.
    plain = {path for path in results if now.get(path) != capture.listing.get(path)}
    kept = sorted(
        path
        for path in plain - differing - conflicts.keys()
        if not (is_folder(now.get(path)) or is_folder(capture.listing.get(path)))
    )
    return Target(
        tree=replace(capture, listing=listing),
        made=_needed(merging.made, listing),
        merged=frozenset(merged),
        kept=tuple(kept),
        conflicts=tuple(
            Skipped(path, conflicts[path])
            for path in sorted(conflicts)
            if path in differing or now.get(path) != capture.listing.get(path)
        ),
    )


def _put(listing: dict[bytes, FileState], path: bytes, state: FileState | None) -> None:
    if state is None:
        listing.pop(path, None)
    else:
        listing[path] = state


def _hold_contents(
    listing: dict[bytes, FileState],
    now: Listing,
    then: Listing,
    paths: Iterable[bytes],
    conflicts: dict[bytes, str],
    merging: Merging,
) -> None:
    """Hold what only a capture in between has: it may be pruned to make room for the undo point."""
    for path in paths:
        state = listing.get(path)
        if state is None or is_folder(state):
            continue
        known = {side.oid for side in (now.get(path), then.get(path)) if side is not None}
        if state.oid not in known and not merging.hold(state):
            conflicts[path] = "a version that is needed cannot be read"
            _put(listing, path, now.get(path))


def _make_room(
    listing: dict[bytes, FileState], now: Listing, then: Listing, conflicts: dict[bytes, str]
) -> None:
    """Give each path of *listing* the folders above it; what cannot be so stays as it is *now*."""
    sound: set[bytes] = set()
    for path in sorted(listing):
        if path.rpartition(b"/")[0] in sound:
            continue
        for folder in reversed(list(folders_above(path))):
            if folder in sound:
                continue
            if is_folder(listing.get(folder)):
                sound.add(folder)
            elif folder not in listing:
                known = (side.get(folder) for side in (now, then))
                listing[folder] = next((s for s in known if s and is_folder(s)), NEW_FOLDER)
                sound.add(folder)
            elif is_folder(now.get(folder)):
                conflicts.setdefault(folder, "what stays below it needs the folder")
                listing[folder] = now[folder]
                sound.add(folder)
            else:
                conflicts.setdefault(path, "what stays above it is no folder")
                del listing[path]
                break


def _needed(made: Mapping[bytes, bytes], listing: Listing) -> Mapping[bytes, bytes]:
    wanted = {state.oid for state in listing.values()} if made else set()
    return {oid: content for oid, content in made.items() if oid in wanted}
