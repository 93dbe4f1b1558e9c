"""One capture in the making: walk, read, and put what is new into a pack."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from keryx_py.snapshot.contents import Keeper, ReadingRules, read_unread
from keryx_py.snapshot.deflate import fastest_deflate
from keryx_py.snapshot.descent import Identity
from keryx_py.snapshot.failures import SnapshotError
from keryx_py.snapshot.frame import Known
from keryx_py.snapshot.layered import Layered, WalkedPages
from keryx_py.snapshot.listing import Skipped, TreeState
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.packs import PackedEntry, PackWriter, pack_entry
from keryx_py.snapshot.record import Record, make_record
from keryx_py.snapshot.room import Limits, Room
from keryx_py.snapshot.roots import identities, open_root
from keryx_py.snapshot.ruling import RulesUnreadableError
from keryx_py.snapshot.scan import Walk
from keryx_py.snapshot.seen import Folder
from keryx_py.snapshot.sorting import Scan, ScanRules


@dataclass(frozen=True, slots=True)
class WalkProgress:
    """How far a capture is."""

    files: int
    content_bytes: int


Progress: TypeAlias = Callable[[WalkProgress], None]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a store is, and what it captures."""

    folder: Path
    root: Path
    identity: Identity
    data_dir: Path
    exclude: tuple[bytes, ...]
    limits: Limits
    like: Path | None = None
    """Another session's shadow repository to start from."""

    def settings(self) -> bytes:
        """Write down all that decides what a walk holds, apart from the project's own rules."""
        parts = (self.identity, self.limits.max_file_bytes, self.exclude)
        return repr(parts).encode()


class Capturing:
    """One look at the work tree from beginning to end."""

    def __init__(self, place: Place, also: frozenset[bytes], progress: Progress | None) -> None:
        self._place = place
        self._also = also
        self._progress = progress
        # Taken before anything is read: what changes later than this is not trusted.
        self._trusted_before = time.time_ns()
        self._files = 0
        self._bytes = 0

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Hold the root open. Raises SnapshotError when another directory now stands there."""
        root = open_root(self._place.root, self._place.identity)
        if root is None:
            raise SnapshotError(
                f"another directory now stands at {self._place.root}; "
                "leave keryx and start it again there"
            )
        try:
            yield root
        finally:
            os.close(root)

    def walk(self, root: int, known: Known | None) -> Scan:
        """Walk the tree. Raises SnapshotError, OSError."""
        rules = ScanRules(
            self._place.limits.max_file_bytes,
            self._place.exclude,
            identities(self._place.data_dir, self._place.folder),
            self._also,
        )
        try:
            return Walk(root, rules, known, self._trusted_before, self._count_files).run()
        except RulesUnreadableError as error:
            raise SnapshotError(
                f"{error} cannot be read, so what it leaves out is not known; make it readable"
            ) from error

    def read(self, root: int, scan: Scan, keeper: Keeper) -> None:
        """Read what is new. Raises OSError."""
        rules = ReadingRules(self._place.limits.max_file_bytes, self._trusted_before)
        read_unread(root, scan, keeper, rules, self._count_bytes)

    def _count_files(self, files: int) -> None:
        self._files = files
        self._report()

    def _count_bytes(self, content: int) -> None:
        self._bytes += content
        self._report()

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(WalkProgress(self._files, self._bytes))


class Packing:
    """A keeper that puts what is not held yet into a pack, as long as there is room."""

    def __init__(self, writer: PackWriter, held: Container[bytes], room: Room) -> None:
        self._writer = writer
        self._held = held
        self._room = room
        self._deflate = fastest_deflate()
        self._read = 0

    def prepare(self, contents: Sequence[bytes]) -> list[PackedEntry]:
        """Work out ids, and compress what is not held; called from several threads."""
        return [self._prepared(data) for data in contents]

    def _prepared(self, data: bytes) -> PackedEntry:
        oid = object_id(ObjectKind.BLOB, data)
        if oid in self._held or oid in self._writer:
            return PackedEntry(oid, b"", 0)
        return pack_entry(ObjectKind.BLOB, data, oid, self._deflate)

    def keep(self, entry: PackedEntry, size: int) -> None:
        """Put *entry*, made of *size* bytes, into the pack. Raises SnapshotError without room."""
        self._read += size
        if entry.data and entry.oid not in self._writer:
            self._room.check(self._writer.size + len(entry.data), self._read)
            self._writer.put(entry)

    def keep_object(self, kind: ObjectKind, data: bytes) -> bytes:
        """Put an object into the pack unless it is held; return its id."""
        oid = object_id(kind, data)
        if oid not in self._held:
            self._writer.add(kind, data)
        return oid

    def keep_tree(self, data: bytes) -> bytes:
        """Put a tree into the pack unless it is held; return its id."""
        return self.keep_object(ObjectKind.TREE, data)


def tree_state(root: Folder) -> tuple[TreeState, Record]:
    """Turn what a walk found, its trees built, into a value, and into what git does not hold."""
    ignored: set[bytes] = set()
    skipped: list[Skipped] = []
    rules: dict[bytes, bytes] = {}
    for folder in _noted(root):
        prefix = folder.prefix
        ignored.update(prefix + name for name in folder.left_out)
        ignored.update(prefix + name for name, reason in folder.refused.items() if not reason)
        reasons = (*folder.skipped.items(), *folder.refused.items())
        skipped += [Skipped(prefix + name, reason) for name, reason in reasons if reason]
        if folder.text is not None:
            rules[folder.path] = folder.text
    skipped.sort(key=lambda item: item.path)
    around = TreeState({}, frozenset(ignored), tuple(skipped), rules)
    record = make_record(around, root)
    assert root.tree is not None
    listing = Layered(root.tree, record, WalkedPages(root))
    return replace(around, listing=listing), record


def _noted(root: Folder) -> Iterator[Folder]:
    """List the folders that leave something out, skip something or have rules."""
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        if folder.totals is not None and folder.totals.has_notes:
            yield folder
            waiting.extend(folder.folders.values())
