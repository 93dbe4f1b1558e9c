"""A folder while a walk is in it, beside what the last walk knew of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from keryx_py.snapshot.ruling import Rulings
from keryx_py.snapshot.seen import NO_ID, Folder
from keryx_py.snapshot.statuses import Columns


@dataclass(frozen=True, slots=True)
class Known:
    """What an earlier walk saw, and what of it need not be read again."""

    root: Folder
    held: Collection[bytes] | None = None
    """The ids of the contents that are stored; None: all that is known counts as stored."""
    state: object | None = None
    """The state of the store that *held* speaks of."""

    def is_stored(self, folder: Folder) -> bool:
        """Whether all that *folder* itself holds is stored."""
        if self.held is None or (folder.kept is self.state is not None):
            return True
        return all(map(self.held.__contains__, folder.held_ids()))

    def is_one_stored(self, oid: bytes) -> bool:
        """Whether one content is stored."""
        return self.held is None or oid in self.held


@dataclass(slots=True)
class Frame:
    """One folder that the walk is in."""

    above: Frame | None
    """None for the root."""
    folder: Folder
    """What is known of it; while *unchanged*, the very folder of the last walk."""
    known: Folder | None
    """The folder as it was seen last; None when that says nothing."""
    same_rules: bool
    """Whether the rules from the root down to here are those of the last walk."""
    unchanged: bool
    """Whether its own names and statuses are those of the last walk."""
    waiting: list[tuple[bytes, bool]] = field(default_factory=list)
    """The subfolders still to enter, and whether each is narrow."""
    folders: dict[bytes, Folder] = field(default_factory=dict)
    """The subfolders that were walked."""
    refused: dict[bytes, str] = field(default_factory=dict)
    known_rulings: Rulings | None = None
    """The rules that hold here; None until someone asks."""

    def rulings(self) -> Rulings:
        """Give the rules that hold here. Put together only when a name is asked about."""
        # Not recursive: folders nest deeper than Python calls may.
        waiting: list[Frame] = []
        frame: Frame | None = self
        while frame is not None and frame.known_rulings is None:
            waiting.append(frame)
            frame = frame.above
        rulings = None if frame is None else frame.known_rulings
        for frame in reversed(waiting):
            assert rulings is not None
            rulings = frame.known_rulings = rulings.enter(frame.folder.name, frame.folder.text)
        assert rulings is not None
        return rulings

    def result(self) -> Folder:
        """Give what was found of the folder, now that all below it was walked."""
        before = self.folder
        if not self.unchanged:
            before.folders, before.refused = self.folders, self.refused
            return before
        if (
            len(before.folders) == len(self.folders)
            and all(self.folders.get(name) is below for name, below in before.folders.items())
            and before.refused == self.refused
        ):
            return before
        return self._new(before)

    def own(self) -> Folder:
        """Give the folder to be changed: not the one that the last walk left."""
        if self.unchanged:
            self.folder, self.unchanged = self._new(self.folder), False
        return self.folder

    def _new(self, before: Folder) -> Folder:
        return Folder(
            before.path,
            before.mode,
            before.device,
            before.listed,
            bytearray(before.stats),
            bytearray(before.ids),
            self.folders,
            dict(before.left_out),
            dict(before.skipped),
            self.refused,
            before.text,
        )


class Before:
    """What a folder held at the last walk, to be asked by name."""

    def __init__(self, folder: Folder | None, known: Known | None) -> None:
        self._folder = folder
        self._known = known
        self._indexes: dict[bytes, int] = {}
        if folder is not None:
            self._indexes = {name: index for index, name in enumerate(folder.names())}
            self._columns = folder.columns()

    def same_id(self, name: bytes, columns: Columns, index: int) -> bytes | None:
        """Give the id of the content of *name* if it is as it was and stored; else None."""
        at = self._indexes.get(name)
        if at is None or self._folder is None or self._known is None:
            return None
        oid = self._folder.id_of(at)
        if oid == NO_ID or self._columns.row(at) != columns.row(index):
            return None
        return oid if self._known.is_one_stored(oid) else None
