"""A folder while a walk is in it, beside what the last walk knew of it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from keryx_py.snapshot.objects import ID_BYTES
from keryx_py.snapshot.ruling import Rulings
from keryx_py.snapshot.seen import NO_ID, Folder
from keryx_py.snapshot.statuses import SIZE, Columns, mode_of


@dataclass(frozen=True, slots=True)
class Known:
    """What an earlier walk saw, and what of it need not be read again."""

    root: Folder
    held: Container[bytes] | None = None
    """The ids of the contents that are stored; None: all that is known counts as stored."""
    state: object | None = None
    """The state of the store that *held* speaks of."""

    def is_stored(self, folder: Folder) -> bool:
        """Whether all that *folder* itself holds is stored."""
        if self.held is None or (folder.kept is self.state is not None):
            return True
        return all(map(self.held.__contains__, folder.held_ids()))

    def list_not_stored(self, folder: Folder) -> set[int]:
        """List where in *folder* contents stand that are not stored."""
        oids = map(folder.id_of, range(len(folder.ids) // ID_BYTES))
        return {
            index for index, oid in enumerate(oids) if oid != NO_ID and not self.is_one_stored(oid)
        }

    def is_one_stored(self, oid: bytes) -> bool:
        """Whether one content is stored."""
        return self.held is None or oid in self.held


class Met(NamedTuple):
    """A name that a walk met and that is new or changed."""

    at: int
    """Where in its folder it is listed."""
    name: bytes
    mode: int
    size: int
    was_held: bool = False
    """Whether the last walk held a file or link of that name, under the same rules."""

    @classmethod
    def all_of(cls, names: Sequence[bytes], columns: Columns) -> Iterator[Met]:
        """List all *names* as new."""
        modes, sizes = columns.modes(), columns.column(SIZE)
        return map(cls, range(len(names)), names, modes, sizes)


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

    def take_over_most(
        self, known: Folder, names: Sequence[bytes], columns: Columns, walked: Known | None
    ) -> Iterator[Met]:
        """Take over all that *known*, which lists the same, says of names whose statuses are the
        same and whose contents are stored, as *walked* tells; list the others."""
        folder = self.folder
        others = columns.differing(known.columns())
        if walked is not None and not walked.is_stored(known):
            others |= walked.list_not_stored(known)
        folder.ids = bytearray(known.ids)
        folder.left_out, folder.skipped = dict(known.left_out), dict(known.skipped)
        new = []
        for index in sorted(others):
            name, row = names[index], columns.row(index)
            was_held = known.id_of(index) != NO_ID
            new.append(Met(index, name, mode_of(row[0]), row[SIZE], was_held))
            folder.name_content(index, NO_ID)
            folder.left_out.pop(name, None)
            folder.skipped.pop(name, None)
        changed = {met.name for met in new}
        below = (*known.folders, *known.refused)
        self.waiting = [(name, False) for name in below if name not in changed]
        return iter(new)

    def take_over_by_name(
        self, known: Folder, names: Sequence[bytes], columns: Columns, walked: Known | None
    ) -> Iterator[Met]:
        """Take over the contents in *known* whose names and statuses are the same and which are
        stored, as *walked* tells; list all else."""
        indexes = {name: index for index, name in enumerate(known.names())}
        before = known.columns()
        for met in Met.all_of(names, columns):
            index = indexes.get(met.name)
            oid = NO_ID if index is None else known.id_of(index)
            if index is None or oid == NO_ID:
                yield met
            elif (
                walked is not None
                and before.row(index) == columns.row(met.at)
                and walked.is_one_stored(oid)
            ):
                self.folder.name_content(met.at, oid)
            else:
                yield met._replace(was_held=True)

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
