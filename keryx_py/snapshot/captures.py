"""Read captures back: their trees and records, what differs between two, what they still need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from keryx_py.snapshot.failures import DamagedSnapshotError
from keryx_py.snapshot.keys import SnapshotKey
from keryx_py.snapshot.layered import KINDS, Item, Layered, Page
from keryx_py.snapshot.listing import FileChange, TreeState, differences
from keryx_py.snapshot.objectdb import MissingObjectError, ObjectDatabase
from keryx_py.snapshot.objects import (
    FOLDER_MODE,
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
            raise DamagedSnapshotError("it has no record")
        beside = self._tree(self._commit(top.parents[0]).tree)
        try:
            data = self._object(beside[_RECORD_NAME][1], ObjectKind.BLOB)
            return Capture(top.tree, parse_record(data))
        except (KeyError, MalformedRecordError) as error:
            raise DamagedSnapshotError("its record is unreadable") from error

    def times(self, commits: Mapping[SnapshotKey, bytes]) -> Mapping[SnapshotKey, float]:
        """When each of *commits* was taken, in seconds since the epoch; no damaged ones."""
        times = {}
        for key, commit in commits.items():
            with suppress(DamagedSnapshotError):
                times[key] = self._taken_at(commit)
        return times

    def _taken_at(self, commit: bytes) -> float:
        """Read when a capture was taken. Raises DamagedSnapshotError."""
        for line in self._commit(commit).message.splitlines():
            if line.startswith(_TAKEN):
                try:
                    return float(line[len(_TAKEN) :])
                except ValueError:
                    break
        raise DamagedSnapshotError("its time is unreadable")

    def holds_files(self, commit: bytes) -> bool:
        """Whether *commit* or one before it has a file. Raises DamagedSnapshotError."""
        top = self._commit(commit)
        return bool(top.parents) or bool(self._tree(top.tree))

    def state(self, capture: Capture) -> TreeState:
        """Give a capture's state; its listing is read as it is asked for."""
        record = capture.record
        listing = Layered(capture.tree, record, self)
        return TreeState(listing, record.ignored, record.skipped, record.rules)

    def changes(self, before: Capture, after: Capture) -> tuple[FileChange, ...]:
        """List what differs, visiting only folders that differ. Raises DamagedSnapshotError."""
        return differences(self.state(before).listing, self.state(after).listing)

    def page(self, path: bytes, tree: bytes) -> Page:
        """Read a folder of a capture, wherever its *path*. Raises DamagedSnapshotError."""
        return self._tree(tree)

    def count_contents(self, tree: bytes) -> int:
        """Count the files and links of a tree. Raises DamagedSnapshotError."""
        count, waiting = 0, [tree]
        while waiting:
            for mode, below in self._tree(waiting.pop()).values():
                if mode == FOLDER_MODE:
                    waiting.append(below)
                else:
                    count += 1
        return count

    def blob(self, oid: bytes) -> bytes:
        """Read a blob. Raises DamagedSnapshotError."""
        return self._object(oid, ObjectKind.BLOB)

    def blobs(self, oids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Read blobs, each once, in whichever order is quick. Raises DamagedSnapshotError."""
        try:
            yield from self._objects.read_each(oids, ObjectKind.BLOB)
        except MissingObjectError as error:
            raise _damaged(error.oid) from error

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

    def _tree(self, oid: bytes) -> Page:
        try:
            items = {
                name: (mode, item)
                for name, mode, item in parse_tree(self._object(oid, ObjectKind.TREE))
            }
        except MalformedObjectError as error:
            raise _damaged(oid) from error
        if any(mode not in KINDS for mode, _ in items.values()):
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
    return DamagedSnapshotError(f"its object {oid.hex()} is missing or not what it should be")


def _below(item: Item | None) -> bytes | None:
    return item[1] if item is not None and item[0] == FOLDER_MODE else None
