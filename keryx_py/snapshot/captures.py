"""Read captures back: their trees and records, what differs between two, what they still need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from keryx_py.snapshot.failures import DamagedSnapshotError
from keryx_py.snapshot.listing import FileChange, FileState, Kind, TreeState, differences
from keryx_py.snapshot.objectdb import MissingObjectError, ObjectDatabase
from keryx_py.snapshot.objects import (
    EXEC_MODE,
    FOLDER_MODE,
    LINK_MODE,
    PLAIN_MODE,
    Commit,
    MalformedObjectError,
    ObjectKind,
    encode_commit,
    encode_tree,
    parse_commit,
    parse_tree,
)
from keryx_py.snapshot.record import (
    MalformedRecordError,
    Record,
    encode_record,
    parse_record,
)

_RECORD_NAME = b"record.json"
_TAKEN = b"taken-at: "
_KINDS = {
    PLAIN_MODE: Kind.FILE,
    EXEC_MODE: Kind.FILE,
    LINK_MODE: Kind.LINK,
    FOLDER_MODE: Kind.FOLDER,
}

_Item: TypeAlias = tuple[bytes, bytes]
"""A name's mode and object id in a git tree."""
_Items: TypeAlias = dict[bytes, _Item]


@dataclass(frozen=True, slots=True)
class Capture:
    """One capture's top: its tree and its record."""

    tree: bytes
    record: Record


def put_capture(
    keep: Callable[[ObjectKind, bytes], bytes],
    tree: bytes,
    record: Record,
    title: str,
    taken_at: float,
) -> bytes:
    """Have a capture's record and commits kept; return the id that its ref names.

    The record is a commit's tree of its own, which the capture's commit has for its parent: so
    one ref holds both, and plain git shows the files at the ref.
    """
    blob = keep(ObjectKind.BLOB, encode_record(record))
    beside = keep(ObjectKind.TREE, encode_tree([(_RECORD_NAME, PLAIN_MODE, blob)]))
    at = int(taken_at)
    above = keep(
        ObjectKind.COMMIT, encode_commit(Commit(beside, (), b"keryx: record of a snapshot\n"), at)
    )
    message = f"keryx: {title}\n\n".encode() + _TAKEN + repr(taken_at).encode() + b"\n"
    return keep(ObjectKind.COMMIT, encode_commit(Commit(tree, (above,), message), at))


class CaptureReader:
    """Reads captures out of an object database."""

    def __init__(self, objects: ObjectDatabase) -> None:
        self._objects = objects

    def capture(self, commit: bytes) -> Capture:
        """Read a capture's top. Raises DamagedSnapshotError."""
        top = self._commit(commit)
        if len(top.parents) != 1:
            raise DamagedSnapshotError("the snapshot is damaged: it has no record")
        beside = self._tree(self._commit(top.parents[0]).tree)
        try:
            data = self._object(beside[_RECORD_NAME][1], ObjectKind.BLOB)
            return Capture(top.tree, parse_record(data))
        except (KeyError, MalformedRecordError) as error:
            raise DamagedSnapshotError(
                "the snapshot is damaged: its record is unreadable"
            ) from error

    def taken_at(self, commit: bytes) -> float:
        """Read when a capture was taken. Raises DamagedSnapshotError."""
        for line in self._commit(commit).message.splitlines():
            if line.startswith(_TAKEN):
                try:
                    return float(line[len(_TAKEN) :])
                except ValueError:
                    break
        raise DamagedSnapshotError("the snapshot is damaged: its time is unreadable")

    def holds_files(self, commit: bytes) -> bool:
        """Whether *commit* or one before it has a file. Raises DamagedSnapshotError."""
        top = self._commit(commit)
        return bool(top.parents) or bool(self._tree(top.tree))

    def state(self, capture: Capture) -> TreeState:
        """Read a capture's whole tree. Raises DamagedSnapshotError."""
        record = capture.record
        listing = {path: FileState(Kind.FOLDER, mode, b"") for path, mode in record.bare.items()}
        waiting = [(b"", capture.tree)]
        while waiting:
            prefix, tree = waiting.pop()
            for name, (mode, oid) in self._tree(tree).items():
                path = prefix + name
                listing[path] = _state(record, path, mode, oid)
                if mode == FOLDER_MODE:
                    waiting.append((path + b"/", oid))
        return TreeState(listing, record.ignored, record.skipped, record.rules)

    def changes(self, before: Capture, after: Capture) -> tuple[FileChange, ...]:
        """List what differs, visiting only folders that differ. Raises DamagedSnapshotError."""
        if before.record.usual != after.record.usual:
            return differences(self.state(before).listing, self.state(after).listing)
        found = {
            path: (_state_of(before.record, path, one), _state_of(after.record, path, other))
            for path, one, other in self._differing(before.tree, after.tree)
        }
        recorded = {
            *_unequal(before.record.odd, after.record.odd),
            *_unequal(before.record.bare, after.record.bare),
        }
        trees: dict[bytes, _Items] = {}
        for path in recorded - found.keys():
            found[path] = (
                self._state_at(before, path, trees),
                self._state_at(after, path, trees),
            )
        return tuple(
            FileChange(path, then, now)
            for path, (then, now) in sorted(found.items())
            if then != now
        )

    def blob(self, oid: bytes) -> bytes:
        """Read a blob. Raises DamagedSnapshotError."""
        return self._object(oid, ObjectKind.BLOB)

    def reachable(self, commits: Iterable[bytes]) -> set[bytes]:
        """List every object that *commits* need, as far as they can be read."""
        found: set[bytes] = set()
        commits = list(commits)
        trees = []
        while commits:
            oid = commits.pop()
            if oid in found:
                continue
            found.add(oid)
            try:
                commit = self._commit(oid)
            except DamagedSnapshotError:
                continue
            commits.extend(commit.parents)
            trees.append(commit.tree)
        self._add_trees(trees, found)
        return found

    def weight_beyond(self, commit: bytes, other: bytes) -> int:
        """Say how many bytes at most only *commit* needs, if *other* stays.

        Raises DamagedSnapshotError.
        """
        mine, theirs = self._commit(commit), self._commit(other)
        beside = [self._commit(parent).tree for parent in mine.parents]
        own: set[bytes] = set()
        self._add_trees(list(beside), own)
        waiting: list[tuple[bytes, bytes | None]] = [(mine.tree, theirs.tree)]
        while waiting:
            one, counterpart = waiting.pop()
            if one == counterpart or one in own:
                continue
            own.add(one)
            theirs_here = self._tree(counterpart) if counterpart else {}
            for name, item in self._tree(one).items():
                if item[0] == FOLDER_MODE:
                    waiting.append((item[1], _below(theirs_here.get(name))))
                elif theirs_here.get(name) != item:
                    own.add(item[1])
        return sum(map(self._objects.size_of, own))

    def _add_trees(self, trees: list[bytes], found: set[bytes]) -> None:
        while trees:
            oid = trees.pop()
            if oid in found:
                continue
            found.add(oid)
            try:
                items = self._tree(oid)
            except DamagedSnapshotError:
                continue
            for mode, below in items.values():
                if mode == FOLDER_MODE:
                    trees.append(below)
                else:
                    found.add(below)

    def _differing(
        self, before: bytes, after: bytes
    ) -> Iterator[tuple[bytes, _Item | None, _Item | None]]:
        """Yield each path whose tree items differ, with the items."""
        waiting: list[tuple[bytes, bytes | None, bytes | None]] = [(b"", before, after)]
        while waiting:
            prefix, one, other = waiting.pop()
            if one == other:
                continue
            left = self._tree(one) if one else {}
            right = self._tree(other) if other else {}
            for name in left.keys() | right.keys():
                item, counterpart = left.get(name), right.get(name)
                if item != counterpart:
                    yield prefix + name, item, counterpart
                    waiting.append((prefix + name + b"/", _below(item), _below(counterpart)))

    def _state_at(
        self, capture: Capture, path: bytes, trees: dict[bytes, _Items]
    ) -> FileState | None:
        """Look one path up; *trees* holds the trees read for paths before it."""
        item: _Item | None = (FOLDER_MODE, capture.tree)
        for name in path.split(b"/"):
            tree = _below(item)
            if tree is None:
                item = None  # a file or nothing stands above: nothing can be below it
                break
            if tree not in trees:
                trees[tree] = self._tree(tree)
            item = trees[tree].get(name)
        return _state_of(capture.record, path, item)

    def _tree(self, oid: bytes) -> _Items:
        try:
            items = {
                name: (mode, item)
                for name, mode, item in parse_tree(self._object(oid, ObjectKind.TREE))
            }
        except MalformedObjectError as error:
            raise _damaged(oid) from error
        if any(mode not in _KINDS for mode, _ in items.values()):
            raise _damaged(oid)
        return items

    def _commit(self, oid: bytes) -> Commit:
        try:
            return parse_commit(self._object(oid, ObjectKind.COMMIT))
        except MalformedObjectError as error:
            raise _damaged(oid) from error

    def _object(self, oid: bytes, kind: ObjectKind) -> bytes:
        try:
            return self._objects.read(oid, kind)
        except MissingObjectError as error:
            raise _damaged(oid) from error


def _damaged(oid: bytes) -> DamagedSnapshotError:
    return DamagedSnapshotError(
        f"the snapshot is damaged: its object {oid.hex()} is missing or not what it should be"
    )


def _state_of(record: Record, path: bytes, item: _Item | None) -> FileState | None:
    if item is not None:
        return _state(record, path, *item)
    mode = record.bare.get(path)
    return None if mode is None else FileState(Kind.FOLDER, mode, b"")


def _state(record: Record, path: bytes, mode: bytes, oid: bytes) -> FileState:
    kind = _KINDS[mode]
    if kind is Kind.LINK:
        return FileState(kind, 0, oid)
    return FileState(kind, record.mode_of(path, mode), b"" if kind is Kind.FOLDER else oid)


def _below(item: _Item | None) -> bytes | None:
    return item[1] if item is not None and item[0] == FOLDER_MODE else None


def _unequal(one: Mapping[bytes, int], other: Mapping[bytes, int]) -> Iterator[bytes]:
    for path in one.keys() | other.keys():
        if one.get(path) != other.get(path):
            yield path
