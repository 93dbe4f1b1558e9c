"""What a rewind that leaves later changes makes of the files: keep, and only. Touches no disk.

Each path is followed along the captures. In a rewind that keeps, what the person changed is
brought onto what stood there before the point, stretch after stretch; in one of a single turn,
that turn's change is taken out of what stands there now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from keryx_py.rewind.attribution import Chapter
from keryx_py.rewind.carried import Edit, hold_carried
from keryx_py.rewind.difference import folders_above, is_folder, left_out
from keryx_py.rewind.merge import Conflict, Joined, Merging
from keryx_py.rewind.plan import Author, AuthorKind
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
    then: TreeState,
    now: TreeState,
    chapters: Sequence[Chapter],
    last: Author | None,
    unsure: AbstractSet[bytes],
    merging: Merging,
) -> Target:
    """Work out the files of *then* with all that the person changed until *now*.

    The paths in *unsure* stay as they are: nobody knows who wrote them.
    """
    touched = {change.path for change in differences(now.listing, then.listing)}
    by_path = _by_path(chapters, touched)
    hidden = left_out(by_path, now)
    results: dict[bytes, Joined] = {path: now.listing.get(path) for path in unsure}
    edits: dict[bytes, Sequence[Edit]] = {}
    for path, changes in by_path.items():
        if path in unsure:
            continue
        timeline = _Timeline(then.listing.get(path), merging)
        for change, chapter in changes:
            if chapter.author is None:
                timeline.rewind(change.before, change.after, from_before=chapter.from_before)
            else:
                timeline.go_on(change.before, change.after, chapter.author)
        timeline.end(now.listing.get(path), last, hidden=path in hidden)
        results[path] = timeline.result
        edits[path] = timeline.edits
    hold_carried(results, edits, now.listing, merging)
    return _settled(then, then.listing, now.listing, results, merging)


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


class _Timeline:
    """The states that one path went through, and what the person's share of it comes to."""

    def __init__(self, first: FileState | None, merging: Merging) -> None:
        self._merging = merging
        self._pages: list[tuple[FileState | None, Joined]] = [(first, first)]
        self.edits: list[Edit] = []
        """What the person did, in order of time."""

    @property
    def result(self) -> Joined:
        return self._pages[-1][1]

    def go_on(
        self, before: FileState | None, after: FileState | None, author: Author | None
    ) -> None:
        """Take a stretch in which *author* changed *before* to *after* into account."""
        result = self.result
        if author is None or not _is_turn(author):
            self.edits.append(Edit(before, after))
            if not isinstance(result, Conflict):
                result = self._merging.join(before, result, after)
        self._pages.append((after, result))

    def rewind(
        self, before: FileState | None, after: FileState | None, *, from_before: bool
    ) -> None:
        """Take into account that a rewind wrote *after*, and whether that was *from_before*."""
        held = self._page_of(after)
        if held is not None:
            # It had been there: what the person's share was then counts again.
            result = held[1]
        elif from_before:
            # Nothing of what the person did since the first page is in it.
            result = self._pages[0][1]
        elif isinstance(self.result, Conflict):
            result = self.result
        else:
            # What it wrote may have been joined from the person's edits.
            result = self._merging.join(before, self.result, after)
        self._pages.append((after, result))

    def _page_of(self, state: FileState | None) -> tuple[FileState | None, Joined] | None:
        return next((page for page in reversed(self._pages) if page[0] == state), None)

    def end(self, now: FileState | None, last: Author | None, *, hidden: bool) -> None:
        """Come to what stands there *now*; a *hidden* path may have been there all along."""
        state = self._pages[-1][0]
        if state is None and hidden:
            held = next((page for page in reversed(self._pages) if page[0] is not None), None)
            if held is not None:
                self._pages.append(held)
                state = held[0]
        if state != now:
            self.go_on(state, now, last)


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
