"""What the last walk saw: each folder's names, with the statuses that tell whether they changed.

Kept from capture to capture, so that only what is new is read and hashed again. A folder in
which nothing changed is the very same value in the next walk.
"""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from keryx_py.snapshot.objects import ID_BYTES
from keryx_py.snapshot.reading import TICK
from keryx_py.snapshot.statuses import CHANGED, MODIFIED, NEVER, Columns, Row

NO_ID = bytes(ID_BYTES)
"""In place of an object id: nothing of that name is held."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What is in a folder and all below it, so that one need not look."""

    modes: Mapping[int, int]
    """How many files, links and folders have each mode, the kind's bits included."""
    files: int
    """How many files and links that is."""
    has_bare: bool
    """Whether there is a folder of which git holds nothing."""
    has_notes: bool
    """Whether anything is left out or skipped, or a `.gitignore` was read."""


@dataclass(slots=True, eq=False)
class Folder:
    """One folder as a walk found it. Not changed any more once its capture is done."""

    path: bytes
    mode: int
    device: int
    listed: bytes = b""
    """The names in it, in the order in which the system lists them, with NUL between."""
    stats: bytearray = field(default_factory=bytearray)
    """The statuses of the names, as Statuses writes them: 64 bytes a name."""
    ids: bytearray = field(default_factory=bytearray)
    """The object id of each name, 20 bytes; NO_ID for what is not a file or link that is held."""
    folders: dict[bytes, Folder] = field(default_factory=dict)
    """The subfolders that were walked."""
    left_out: dict[bytes, bool] = field(default_factory=dict)
    """The names that rules leave out, and whether each is a folder."""
    skipped: dict[bytes, str] = field(default_factory=dict)
    """The names that are not held for another reason, and the reason."""
    refused: dict[bytes, str] = field(default_factory=dict)
    """The subfolders that were not walked, for a reason that says nothing of the next time; the
    reason is empty for keryx's own, which count as left out."""
    text: bytes | None = None
    """The text of its `.gitignore`; None when it has none."""
    tree: bytes | None = None
    """The id of its git tree; None while unknown, empty when git can hold nothing of it."""
    totals: Totals | None = None
    """What is in it and below; None while unknown."""
    kept: object | None = None
    """The state of the store in which all that it and all below it names was held; None: none."""
    narrow: bool = False
    """Whether only some names were looked at, because the folder itself is left out."""

    @property
    def prefix(self) -> bytes:
        """What stands before a name in the path of what is in this folder."""
        return self.path + b"/" if self.path else b""

    @property
    def name(self) -> bytes:
        """What it is called in the folder above."""
        return self.path.rpartition(b"/")[2]

    def names(self) -> list[bytes]:
        """List the names in it."""
        return self.listed.split(b"\0") if self.listed else []

    def columns(self) -> Columns:
        """Look at the statuses of its names."""
        return Columns.over(self.stats)

    def id_of(self, index: int) -> bytes:
        """Look up the object id of the name that is listed at *index*."""
        return bytes(self.ids[index * ID_BYTES : (index + 1) * ID_BYTES])

    def held_ids(self) -> set[bytes]:
        """List the object ids of the files and links that are held."""
        ids, end = bytes(self.ids), len(self.ids)
        found = {ids[start : start + ID_BYTES] for start in range(0, end, ID_BYTES)}
        found.discard(NO_ID)
        return found

    def items(self) -> Iterator[tuple[bytes, int, bytes]]:
        """List the files and links that are held: name, mode with the kind's bits, object id."""
        ids = bytes(self.ids)
        start = 0
        for name, mode in zip(self.names(), self.columns().modes(), strict=True):
            oid = ids[start : start + ID_BYTES]
            start += ID_BYTES
            if oid != NO_ID:
                yield name, mode, oid

    def enter(self, index: int, oid: bytes, row: Row) -> None:
        """Hold what is listed at *index*, whose status was *row* when its content was read."""
        self.name_content(index, oid)
        self.columns().put(index, row)

    def name_content(self, index: int, oid: bytes) -> None:
        """Set the object id of the name that is listed at *index*."""
        self.ids[index * ID_BYTES : (index + 1) * ID_BYTES] = oid

    def distrust(self, name: bytes) -> int:
        """Have *name* looked at anew by the next walk; say where it is listed."""
        index = self.names().index(name)
        self.columns().distrust(index)
        return index

    def row_of(self, name: bytes) -> Row | None:
        """Look up the status of *name*; None when it was not there."""
        names = self.names()
        return self.columns().row(names.index(name)) if name in names else None

    def find(self, path: bytes) -> Folder | None:
        """Find the folder *path*, relative to the root, from this one, which is the root."""
        folder: Folder | None = self
        for name in path.split(b"/") if path else ():
            if folder is None:
                break
            folder = folder.folders.get(name)
        return folder

    def below(self) -> Iterator[Folder]:
        """List this folder and all below it, each before what is in it."""
        waiting = [self]
        while waiting:
            folder = waiting.pop()
            yield folder
            waiting.extend(folder.folders.values())

    def add_up(self) -> Totals:
        """Work out the totals from those of the subfolders, which are known."""
        modes = Counter(mode for _, mode, _ in self.items())
        files = sum(modes.values())
        modes[stat.S_IFDIR | self.mode] += 1
        has_bare = not self.tree
        has_notes = bool(self.left_out or self.skipped or self.refused or self.text is not None)
        for folder in self.folders.values():
            below = folder.totals
            assert below is not None
            modes.update(below.modes)
            files += below.files
            has_bare = has_bare or below.has_bare
            has_notes = has_notes or below.has_notes
        self.totals = Totals(dict(modes), files, has_bare, has_notes)
        return self.totals


def row_to_trust(row: Row, trusted_before: int) -> Row:
    """Give *row* as it is to be kept: one that no walk will find if the file changed too lately,
    before *trusted_before* (nanoseconds since the epoch) or after, to be told from a later change.

    A file system's clock moves in ticks: a second change within one leaves the same times.
    """
    changed, modified = (_nanoseconds(*row[at : at + 2]) for at in (CHANGED, MODIFIED))
    if max(modified, changed) < trusted_before - _coarseness(modified, changed):
        return row
    mode, inode, _, *times = row
    return mode, inode, NEVER, times[0], times[1], times[2], times[3], times[4]


def _nanoseconds(seconds: int, nanoseconds: int) -> int:
    signed = seconds if seconds < _SIGN else seconds - 2 * _SIGN
    return signed * _SECOND + nanoseconds


_SIGN = 2**63
_SECOND = 10**9
_COARSE_TICK = 2 * _SECOND + _SECOND // 10


def _coarseness(modified: int, changed: int) -> int:
    """Guess how far apart two changes may lie and bear the same time, in nanoseconds."""
    # Whole seconds only: a file system that counts no fractions, or (FAT) every second one.
    return TICK if modified % _SECOND or changed % _SECOND else _COARSE_TICK
