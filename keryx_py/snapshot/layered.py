"""A listing that is read folder by folder, as it is asked for.

Two of them are compared by visiting only the folders whose git trees differ, and the paths whose
recorded permission bits do: that takes as long as what differs is much, not as the tree is large.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping
from typing import Protocol, TypeAlias

from keryx_py.snapshot.listing import (
    FileChange,
    FileState,
    Kind,
    Listing,
    QuickListing,
    compare_all,
)
from keryx_py.snapshot.objects import EXEC_MODE, FOLDER_MODE, LINK_MODE, PLAIN_MODE
from keryx_py.snapshot.record import Record
from keryx_py.snapshot.seen import Folder
from keryx_py.snapshot.trees import git_mode

KINDS: Mapping[bytes, Kind] = {
    PLAIN_MODE: Kind.FILE,
    EXEC_MODE: Kind.FILE,
    LINK_MODE: Kind.LINK,
    FOLDER_MODE: Kind.FOLDER,
}
"""What stands at a path that git holds with one of its modes."""

Item: TypeAlias = tuple[bytes, bytes]
"""A name's mode and object id in a git tree."""
Page: TypeAlias = Mapping[bytes, Item]
"""What git holds of one folder, by name."""

_NOTHING: Page = {}


class Pages(Protocol):
    """Where the pages of one tree come from. The same question has the same answer for ever."""

    def page(self, path: bytes, tree: bytes) -> Page:
        """Read the folder at *path*, whose git tree is *tree*. Raises DamagedSnapshotError."""
        ...

    def count_contents(self, tree: bytes) -> int:
        """Count the files and links below the root, whose git tree is *tree*.

        Raises DamagedSnapshotError.
        """
        ...


class WalkedPages:
    """The pages of a tree that was walked and whose git trees were worked out."""

    def __init__(self, root: Folder) -> None:
        """Nobody changes *root* or a folder below it any more."""
        self._root = root

    def page(self, path: bytes, tree: bytes) -> Page:
        """Turn the folder at *path* into what its git tree says."""
        folder = self._root.find(path)
        assert folder is not None
        assert folder.tree == tree
        page = {name: (git_mode(mode), oid) for name, mode, oid in folder.items()}
        page.update(
            (name, (FOLDER_MODE, below.tree))
            for name, below in folder.folders.items()
            if below.tree
        )
        return page

    def count_contents(self, tree: bytes) -> int:
        """Say what the walk counted."""
        assert tree == self._root.tree
        assert self._root.totals is not None
        return self._root.totals.files


class Layered(QuickListing):
    """What a git *tree* and the *record* beside it say together.

    Every question may read pages that were not read before: where those are a capture's, it raises
    DamagedSnapshotError.
    """

    def __init__(self, tree: bytes, record: Record, pages: Pages) -> None:
        self._tree = tree
        self._record = record
        self._pages = pages
        self._read: dict[bytes, Page] = {}
        self._compared: tuple[Layered, tuple[FileChange, ...]] | None = None

    def __getitem__(self, path: bytes) -> FileState:
        state = self._state_at(path)
        if state is None:
            raise KeyError(path)
        return state

    def __contains__(self, path: object) -> bool:
        return isinstance(path, bytes) and self._state_at(path) is not None

    def __iter__(self) -> Iterator[bytes]:
        return (path for path, _ in self._enumerate())

    def __len__(self) -> int:
        return sum(1 for _ in self._enumerate())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Layered):
            return self is other or not self.changes_to(other)
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]  # like every mapping

    def items(self) -> ItemsView[bytes, FileState]:
        """Go through all paths and states, a folder at a time."""
        return _Items(self)

    def changes_to(self, after: Listing) -> tuple[FileChange, ...] | None:
        """List what differs in *after*; None unless that is layered too.

        The answer is remembered for the one asked about last, from either side; and to look up a
        path that differs, neither has to read anything more.
        """
        if not isinstance(after, Layered):
            return None
        if self._compared is not None and self._compared[0] is after:
            return self._compared[1]
        if after._compared is not None and after._compared[0] is self:
            changes = tuple(
                FileChange(change.path, change.after, change.before)
                for change in after._compared[1]
            )
        else:
            changes = _compare(self, after)
        self._compared = (after, changes)
        return changes

    def count_contents(self) -> int:
        """Count the files and links."""
        return self._pages.count_contents(self._tree)

    def _state_at(self, path: bytes) -> FileState | None:
        return self._state_of(path, self._page_of(path).get(path.rpartition(b"/")[2]))

    def _page_of(self, path: bytes) -> Page:
        """Look up what is in the folder of *path*; nothing when no folder stands there."""
        folder, cut, _ = path.rpartition(b"/")
        if cut and not folder:
            return _NOTHING
        if folder in self._read:
            return self._read[folder]
        page, at = self._page(b"", self._tree), b""
        for name in folder.split(b"/") if folder else ():
            tree = _below(page.get(name))
            if tree is None:
                return _NOTHING  # a file or nothing stands there: nothing can be below it
            at = at + b"/" + name if at else name
            page = self._page(at, tree)
        return page

    def _page(self, path: bytes, tree: bytes | None) -> Page:
        if tree is None:
            return _NOTHING
        page = self._read.get(path)
        if page is None:
            page = self._read[path] = self._pages.page(path, tree)
        return page

    def _state_of(self, path: bytes, item: Item | None) -> FileState | None:
        if item is not None:
            return _held(self._record, path, *item)
        mode = self._record.bare.get(path)
        return None if mode is None else FileState(Kind.FOLDER, mode, b"")

    def _enumerate(self) -> Iterator[tuple[bytes, FileState]]:
        """Go through all paths; pages that were not asked for before are not kept."""
        record = self._record
        bare, folders = dict(record.bare), dict[int, FileState]()
        waiting = [(b"", self._tree)]
        while waiting:
            folder, tree = waiting.pop()
            prefix = folder + b"/" if folder else b""
            page = self._read.get(folder) or self._pages.page(folder, tree)
            for name, (mode, oid) in page.items():
                path = prefix + name
                if mode == FOLDER_MODE:
                    waiting.append((path, oid))
                    bits = record.mode_of(path, mode)
                    # There are many folders, and few modes of folders.
                    state = folders.get(bits) or folders.setdefault(
                        bits, FileState(Kind.FOLDER, bits, b"")
                    )
                    yield path, state
                else:
                    yield path, _held(record, path, mode, oid)
                if bare:
                    bare.pop(path, None)
        for path, bits in bare.items():
            yield path, FileState(Kind.FOLDER, bits, b"")


class _Items(ItemsView[bytes, FileState]):
    """Not one look-up a path, as other mappings do."""

    _mapping: Layered

    def __iter__(self) -> Iterator[tuple[bytes, FileState]]:
        return self._mapping._enumerate()


def _compare(before: Layered, after: Layered) -> tuple[FileChange, ...]:
    if before._record.usual != after._record.usual:
        # A path may differ although neither its tree nor the record says a word of it.
        changes = compare_all(before, after)
        for change in changes:
            before._page_of(change.path)
            after._page_of(change.path)
        return changes
    found = dict(_differing(before, after))
    for path in _recorded_otherwise(before._record, after._record) - found.keys():
        found[path] = (before._state_at(path), after._state_at(path))
    return tuple(
        FileChange(path, then, now) for path, (then, now) in sorted(found.items()) if then != now
    )


def _differing(
    before: Layered, after: Layered
) -> Iterator[tuple[bytes, tuple[FileState | None, FileState | None]]]:
    """Yield each path whose tree items differ, with the states there."""
    waiting: list[tuple[bytes, bytes | None, bytes | None]] = [(b"", before._tree, after._tree)]
    while waiting:
        folder, one, other = waiting.pop()
        if one == other:
            continue
        left, right = before._page(folder, one), after._page(folder, other)
        prefix = folder + b"/" if folder else b""
        for name in left.keys() | right.keys():
            item, counterpart = left.get(name), right.get(name)
            if item == counterpart:
                continue
            path = prefix + name
            yield path, (before._state_of(path, item), after._state_of(path, counterpart))
            waiting.append((path, _below(item), _below(counterpart)))


def _recorded_otherwise(one: Record, other: Record) -> set[bytes]:
    """List the paths of which two records say different things."""
    return {path for path, _ in one.odd.items() ^ other.odd.items()} | {
        path for path, _ in one.bare.items() ^ other.bare.items()
    }


def _below(item: Item | None) -> bytes | None:
    return item[1] if item is not None and item[0] == FOLDER_MODE else None


def _held(record: Record, path: bytes, mode: bytes, oid: bytes) -> FileState:
    kind = KINDS[mode]
    if kind is Kind.LINK:
        return FileState(kind, 0, oid)
    return FileState(kind, record.mode_of(path, mode), b"" if kind is Kind.FOLDER else oid)
