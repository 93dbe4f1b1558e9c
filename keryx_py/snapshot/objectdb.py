"""The shadow repository's objects: which are held, reading them checked, giving space back."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from keryx_py.snapshot.held import HeldObjects
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.pack_reading import read_in_order
from keryx_py.snapshot.packs import (
    DamagedPackError,
    PackIndex,
    PackWriter,
    copy_entries,
    read_entry,
    read_index,
    total_size,
)

_Reader: TypeAlias = Callable[[bytes], "tuple[ObjectKind, bytes] | None"]

_MAX_PACKS = 30
_MERGED_AT_ONCE = 25
_DROPPED_SHARE = 16
_GARBAGE_SHARE = 5
"""At most one part in so many of the stored bytes may be garbage."""


def _is_too_much(garbage: int, total: int) -> bool:
    """Whether *garbage* is more of the *total* bytes than may lie about."""
    return garbage * _GARBAGE_SHARE > total


class MissingObjectError(Exception):
    """An object is not there, or does not hold what its id says."""

    def __init__(self, oid: bytes) -> None:
        super().__init__(f"object {oid.hex()} is missing or damaged")
        self.oid = oid


@dataclass(frozen=True, slots=True)
class _Weight:
    """How many bytes of a pack are needed, and how many are not."""

    pack: PackIndex
    needed: int
    garbage: int


class ObjectDatabase:
    """The objects in one repository's packs."""

    def __init__(self, folder: Path) -> None:
        """*folder* is the repository's objects folder."""
        self._folder = folder
        self._packs: dict[Path, PackIndex] = {}
        self._held = HeldObjects()
        self.state = object()
        """Another value, like no other, whenever something that was held may be held no more."""
        self._load()

    def _load(self) -> None:
        self.state = object()
        self._packs.clear()
        for path in sorted(self.pack_folder.glob("*.idx")):
            try:
                pack = read_index(path)
            except DamagedPackError:
                continue  # what it held counts as not there, and is stored again when met
            self._packs[path] = pack
        self._held.begin(self._packs.values())
        self._reader: _Reader | None = None
        self._seen = self._stamps()

    def look_again(self) -> None:
        """Read the packs anew if another program changed them: what is lost is not held."""
        if self._stamps() != self._seen:
            self._load()

    def _stamps(self) -> dict[str, tuple[int, int, int]]:
        found = {}
        for file in self.pack_folder.glob("*"):
            if file.suffix in (".idx", ".pack"):
                status = file.lstat()
                found[file.name] = (status.st_ino, status.st_size, status.st_mtime_ns)
        return found

    @property
    def pack_folder(self) -> Path:
        """Where the packs are."""
        return self._folder / "pack"

    @property
    def held(self) -> Container[bytes]:
        """The ids of the objects that are held."""
        return self._held

    def pack_names(self) -> frozenset[bytes]:
        """List the packs. No pack changes as long as it has its name."""
        return frozenset(os.fsencode(path.stem) for path in self._packs)

    def read(self, oid: bytes, kind: ObjectKind) -> bytes:
        """Read an object, its content checked against its id. Raises MissingObjectError."""
        found = self._read_any(oid)
        if found is not None and found[0] == kind and object_id(*found) == oid:
            return found[1]
        return self._read_otherwise(oid, kind)

    def read_each(self, oids: Iterable[bytes], kind: ObjectKind) -> Iterator[tuple[bytes, bytes]]:
        """Read objects in the order in which they lie, each checked and given once, with its id.

        Raises MissingObjectError.
        """
        left = set(oids)
        for oid, found, data in read_in_order(self._packs.values(), frozenset(left)):
            if found == kind:
                left.discard(oid)
                yield oid, data
        for oid in left:
            yield oid, self.read(oid, kind)

    def _read_any(self, oid: bytes) -> tuple[ObjectKind, bytes] | None:
        if self._reader is None:
            self._reader = _open_reader(self._folder)
        return self._reader(oid)

    def _read_otherwise(self, oid: bytes, kind: ObjectKind) -> bytes:
        """Look through all packs: a damaged one may hide a sound copy in another."""
        for pack in self._packs.values():
            if oid not in set(pack.oids()):
                continue
            try:
                found, data = read_entry(pack, oid)
            except DamagedPackError:
                continue
            if found == kind and object_id(kind, data) == oid:
                return data
        self.state = object()
        self._held.discard(oid)  # so that the next capture that meets it stores it again
        raise MissingObjectError(oid)

    def commit_pack(self, writer: PackWriter) -> PackIndex | None:
        """Put a finished pack in place."""
        pack = writer.finish()
        if pack is not None:
            self._packs[pack.path] = pack
            self._held.add(writer.oids)
            self._seen = self._stamps()
        return pack

    def take_back(self, pack: PackIndex) -> None:
        """Remove a pack that was just put in place and that nothing names."""
        self._discard([pack])

    def merge_small(self) -> None:
        """Copy the smallest packs into one when there are many."""
        if len(self._packs) <= _MAX_PACKS:
            return
        by_size = sorted(self._packs.values(), key=lambda pack: pack.pack.stat().st_size)
        self._rewrite(by_size[:_MERGED_AT_ONCE], self._held)

    def collect(self, needed: Collection[bytes]) -> int:
        """Give back the space of objects that are not *needed* when it is more than a fifth.

        Return how many bytes of garbage stay.
        """
        weights = list(self._weigh(needed))
        alive = [weight for weight in weights if weight.needed]
        dead = [weight.pack for weight in weights if not weight.needed]
        garbage = sum(weight.garbage for weight in alive)
        if _is_too_much(garbage, garbage + sum(weight.needed for weight in alive)):
            # With the dead ones: what they hold twice may be counted in one that is rewritten.
            self._rewrite([weight.pack for weight in alive if weight.garbage] + dead, needed)
            return 0
        if dead:
            self._discard(dead)
        return garbage

    def purge(self, needed: Collection[bytes]) -> None:
        """Remove every object that is not *needed*, however few bytes it has."""
        wasteful = [weight.pack for weight in self._weigh(needed) if weight.garbage]
        if wasteful:
            self._rewrite(wasteful, needed)

    def is_worth_collecting(self, garbage: int, dropped: int) -> bool:
        """Whether to count anew: much was *dropped* since there were *garbage* bytes of it."""
        total = total_size(self._packs.values())
        return dropped * _DROPPED_SHARE > total or _is_too_much(garbage + dropped, total)

    def size_of(self, oid: bytes) -> int:
        """Say how many bytes an object has, uncompressed; none when it is not there."""
        found = self._read_any(oid)
        return len(found[1]) if found is not None else 0

    def _weigh(self, needed: Collection[bytes]) -> Iterator[_Weight]:
        counted: set[bytes] = set()
        for pack in self._packs.values():
            use, waste = 0, 0
            for oid, (start, end) in pack.spans().items():
                if oid in needed and oid not in counted:
                    counted.add(oid)
                    use += end - start
                else:
                    waste += end - start
            yield _Weight(pack, use, waste)

    def _rewrite(self, packs: list[PackIndex], needed: Container[bytes]) -> None:
        """Copy what is needed of *packs* into a new one, then remove them."""
        others: set[bytes] = set()
        for pack in self._packs.values():
            if pack not in packs:
                others.update(pack.oids())
        writer = PackWriter(self.pack_folder)
        try:
            for pack in packs:
                copy_entries(
                    pack, lambda oid: oid in needed and oid not in others, writer, self._read_any
                )
            new = writer.finish()
        except BaseException:
            writer.abandon()
            raise
        self._discard([pack for pack in packs if new is None or pack.path != new.path])

    def _discard(self, packs: list[PackIndex]) -> None:
        _remove_summaries(self._folder)
        for pack in packs:
            _remove(pack)
        self._load()


def _open_reader(folder: Path) -> _Reader:
    """Open libgit2's view of the objects: it reads no configuration and heeds no variable."""
    import pygit2

    try:
        database = pygit2.Odb(str(folder))
    except pygit2.GitError:
        return lambda oid: None

    def read(oid: bytes) -> tuple[ObjectKind, bytes] | None:
        try:
            kind, data = database.read(pygit2.Oid(raw=oid))
            return ObjectKind(int(kind)), bytes(data)
        except (KeyError, ValueError, pygit2.GitError):
            return None

    return read


def _remove(pack: PackIndex) -> None:
    # The index first: a pack without one is a leftover, an index without its pack is damage.
    pack.path.unlink(missing_ok=True)
    # With it goes what the person's own git may have made of it: .rev, .bitmap, .keep.
    for beside in pack.path.parent.glob(f"{pack.path.stem}.*"):
        beside.unlink(missing_ok=True)


def _remove_summaries(folder: Path) -> None:
    """Remove the files in which git sums up all packs or commits; without them it looks itself."""
    (folder / "pack" / "multi-pack-index").unlink(missing_ok=True)
    (folder / "info" / "commit-graph").unlink(missing_ok=True)
    for graph in (folder / "info" / "commit-graphs").glob("*"):
        graph.unlink(missing_ok=True)
