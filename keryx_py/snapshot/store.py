"""The shadow repository: snapshots of the work tree, kept as plain git objects and refs."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from keryx_py.snapshot import refs, shadow
from keryx_py.snapshot.contents import OnlyNamed
from keryx_py.snapshot.early import EarlyWork
from keryx_py.snapshot.failures import (
    DamagedSnapshotError,
    SizeLimitError,
    SnapshotError,
    told_as_snapshot_errors,
)
from keryx_py.snapshot.keys import Side, SnapshotKey, parse_ref_name, ref_name_of, title_of
from keryx_py.snapshot.last_walk import LastWalk
from keryx_py.snapshot.listing import FileChange, TreeState
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.packs import PackWriter
from keryx_py.snapshot.room import Limits, Room
from keryx_py.snapshot.roots import RootRefusedError, check_root
from keryx_py.snapshot.settling import settle
from keryx_py.snapshot.sorting import Scan
from keryx_py.snapshot.taking import (
    Capturing,
    Packing,
    Place,
    Progress,
    WalkProgress,
    tree_state,
)
from keryx_py.snapshot.trees import build_trees

if TYPE_CHECKING:
    from keryx_py.snapshot.captures import CaptureReader
    from keryx_py.snapshot.objectdb import ObjectDatabase

__all__ = [
    "DamagedSnapshotError",
    "Limits",
    "Progress",
    "RootRefusedError",
    "Side",
    "SizeLimitError",
    "SnapshotError",
    "SnapshotKey",
    "SnapshotStore",
    "WalkProgress",
]


@dataclass(frozen=True, slots=True)
class _Stored:
    """A walked tree whose objects are held, or wait in a pack to be put in place."""

    objects: ObjectDatabase
    scan: Scan
    room: Room
    writer: PackWriter
    keeper: Packing

    @property
    def tree(self) -> bytes:
        """The id of the root's git tree."""
        tree = self.scan.root.tree
        assert tree is not None
        return tree


class SnapshotStore:
    """One session's shadow repository, with the project root as its work tree."""

    def __init__(self, place: Place, notices: tuple[str, ...]) -> None:
        """Use open()."""
        self._place = place
        self.notices = notices
        """What opening found and mended, for the person."""
        self._objects: ObjectDatabase | None = None
        self._last_walk = LastWalk(place)
        self._early: EarlyWork | None = None
        self._may_begin_early = True
        self._shared = False
        """Whether packs came from another session, and nobody has looked what of them is needed."""
        self._garbage: int | None = None
        """How many stored bytes no capture needed when last counted; None until they were."""
        self._dropped = 0
        """At most how many more it has become since."""

    @classmethod
    def open(
        cls,
        folder: Path,
        root: Path,
        *,
        home: Path,
        data_dir: Path,
        exclude: tuple[str, ...] = (),
        limits: Limits | None = None,
        like: Path | None = None,
    ) -> SnapshotStore:
        """Open the store in *folder* for *root*; nothing is made on disk before the first take.

        *like* is another session's shadow repository of the same root: a new store starts from its
        packs, shared by hard link, and from what it has seen, so that little is read anew.
        Leftovers of a dead process are cleared. Raises RootRefusedError for a root that may not be
        captured, SnapshotError for a *folder* that is a link, foreign, or not a shadow repository.
        """
        identity = check_root(root, home, data_dir)
        patterns = tuple(os.fsencode(pattern) for pattern in exclude)
        place = Place(folder, root, identity, data_dir, patterns, limits or Limits(), like)
        with told_as_snapshot_errors("the shadow repository cannot be opened"):
            notices = settle(folder)
        return cls(place, notices)

    def look(self, also: Collection[bytes] = (), progress: Progress | None = None) -> TreeState:
        """Work out the work tree's state now. Stores nothing.

        The paths in *also* are held where they stand, whatever rule or limit says.
        Raises SnapshotError, also when another directory now stands at the root.
        """
        self._await_early(progress)
        self._last_walk.recall(self._open_objects)
        capturing = Capturing(self._place, frozenset(also), progress)
        with told_as_snapshot_errors("the work tree cannot be read"), capturing.opened() as root:
            scan = capturing.walk(root, self._last_walk.known())
            capturing.read(root, scan, OnlyNamed())
            build_trees(scan.root, None, _always, _name_tree)
        self._last_walk.remember(scan)
        return tree_state(scan.root)[0]

    def take(
        self,
        key: SnapshotKey,
        taken_at: float,
        also: Collection[bytes] = (),
        progress: Progress | None = None,
    ) -> TreeState:
        """Keep the work tree's state now under *key*, safe against a power cut on return.

        Raises SnapshotError; then nothing is kept under *key*.
        """
        from keryx_py.snapshot.captures import put_capture

        self._may_begin_early = False
        self._await_early(progress)
        capturing = Capturing(self._place, frozenset(also), progress)
        with told_as_snapshot_errors("the snapshot cannot be taken"), capturing.opened() as root:
            with self._stored(capturing, root) as stored:
                state, record = tree_state(stored.scan.root)
                commit = put_capture(
                    stored.keeper.keep_object, stored.tree, record, title_of(key), taken_at
                )
                stored.room.check(stored.writer.size, 0)
                self._pin(stored, key, commit)
            self._last_walk.remember(stored.scan)
            self._tidy(stored, also)
        return state

    def begin_early(self) -> None:
        """Start to read and store the work tree in a thread, for the first take to find.

        It keeps nothing under any key. Whatever is asked of the store next waits for it. Once
        begun or no longer needed, it does not begin again.
        """
        if self._may_begin_early:
            self._may_begin_early = False
            self._early = EarlyWork(self._store_early)

    def end_early(self) -> None:
        """Stop what begin_early() started, if it is still under way."""
        early, self._early = self._early, None
        if early is not None:
            early.stop()

    def _await_early(self, progress: Progress | None = None) -> None:
        early, self._early = self._early, None
        if early is not None:
            early.wait(progress)

    def _store_early(self, progress: Progress) -> None:
        capturing = Capturing(self._place, frozenset(), progress)
        with told_as_snapshot_errors("the work tree cannot be read"), capturing.opened() as root:
            with self._stored(capturing, root) as stored:
                stored.objects.commit_pack(stored.writer)
            self._last_walk.remember(stored.scan)
            self._last_walk.save(stored.scan, stored.objects)

    @contextmanager
    def _stored(self, capturing: Capturing, root: int) -> Iterator[_Stored]:
        """Walk the tree, and put what of it is not held into a pack that is not in place yet.

        The caller puts it in place; when it fails to, the pack is taken away.
        """
        objects = self._made_ready()
        self._last_walk.recall(self._open_objects)
        state = objects.state
        scan = capturing.walk(root, self._last_walk.known_stored(objects))
        room = Room(self._place.folder, self._place.limits, scan.unread)
        writer = PackWriter(objects.pack_folder)
        try:
            keeper = Packing(writer, objects.held, room)
            capturing.read(root, scan, keeper)
            visited = build_trees(scan.root, state, objects.held.__contains__, keeper.keep_tree)
            yield _Stored(objects, scan, room, writer, keeper)
        except BaseException:
            writer.abandon()
            raise
        if objects.state is state:
            for folder in visited:
                folder.kept = state

    def _tidy(self, stored: _Stored, also: Collection[bytes]) -> None:
        # The snapshot is kept by now: what fails here costs time or space later, and no more.
        with suppress(OSError):
            if not also:  # an undo point: the end of its rewind is captured soon
                self._last_walk.save(stored.scan, stored.objects)
            commits = self._commits()
            if self._shared and len(commits) > 1:
                # Not after the first capture, which is to be quick.
                self._collect(commits.values())
                self._shared = False
            stored.objects.merge_small()

    def _pin(self, stored: _Stored, key: SnapshotKey, commit: bytes) -> None:
        objects = stored.objects
        pack = objects.commit_pack(stored.writer)
        try:
            refs.write_ref(self._place.folder, ref_name_of(key), commit)
        except BaseException:
            with suppress(OSError):
                refs.remove_refs(self._place.folder, [ref_name_of(key)])
            # As long as a ref might need it, the pack stays.
            if pack is not None and not refs.is_there(self._place.folder, ref_name_of(key)):
                objects.take_back(pack)
            raise

    def keys(self) -> frozenset[SnapshotKey]:
        """The captures that are kept."""
        return frozenset(self._commits())

    def load(self, key: SnapshotKey) -> TreeState:
        """Read a capture's record; its listing is read as it is asked for.

        Raises DamagedSnapshotError, as the listing may later, or KeyError for none.
        """
        reader = self._reader()
        return reader.state(reader.capture(self._commit_of(key)))

    def surroundings(self, key: SnapshotKey) -> TreeState:
        """Read of a capture what it leaves out, and the rules, but no listing.

        Raises as load does.
        """
        record = self._reader().capture(self._commits()[key]).record
        return TreeState({}, record.ignored, record.skipped, record.rules)

    def changes(self, before: SnapshotKey, after: SnapshotKey) -> tuple[FileChange, ...]:
        """List what differs between two captures, visiting only folders that differ.

        Raises as load does.
        """
        reader = self._reader()
        one = reader.capture(self._commit_of(before))
        return reader.changes(one, reader.capture(self._commit_of(after)))

    def read(self, oid: bytes) -> bytes:
        """Read one blob. Raises DamagedSnapshotError."""
        return self._reader().blob(oid)

    def read_each(self, oids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Read blobs, each once and with its id, in whichever order is quick.

        Raises DamagedSnapshotError.
        """
        return self._reader().blobs(oids)

    def verify(self, oids: Iterable[bytes]) -> None:
        """Check that each blob is there and holds what its id says. Raises DamagedSnapshotError."""
        for _ in self.read_each(oids):
            pass

    def drop(self, keys: Iterable[SnapshotKey], *, wholly: bool = False) -> None:
        """Let captures go, and give their space back when a fifth of the store is garbage, or
        *wholly* at once.

        Raises SnapshotError.
        """
        self._await_early()
        if not self._place.folder.exists():
            return
        with told_as_snapshot_errors("old snapshots cannot be removed"):
            gone = self._commits()
            refs.remove_refs(self._place.folder, [ref_name_of(key) for key in keys])
            kept = self._commits()
            if wholly:
                self._open_objects().purge(self._reader().reachable(kept.values()))
                self._garbage, self._dropped = 0, 0
                return
            if self._may_lie_about({key: gone[key] for key in gone.keys() - kept.keys()}, kept):
                return
            self._collect(kept.values())

    def _may_lie_about(
        self, gone: Mapping[SnapshotKey, bytes], kept: Mapping[SnapshotKey, bytes]
    ) -> bool:
        """Whether what only the *gone* captures needed is little enough to be left for now.

        Comparing each with its nearest neighbour is quick; counting what all others need is not.
        """
        if self._garbage is None or not kept:
            return False
        reader = self._reader()
        try:
            for key, commit in gone.items():
                nearest = min(kept, key=lambda other: abs(other.number - key.number))
                self._dropped += reader.weight_beyond(commit, kept[nearest])
        except DamagedSnapshotError:
            return False
        return not self._open_objects().is_worth_collecting(self._garbage, self._dropped)

    def _collect(self, commits: Collection[bytes]) -> None:
        self._garbage = self._open_objects().collect(self._reader().reachable(commits))
        self._dropped = 0

    def size(self) -> int:
        """The bytes that the shadow repository takes on disk."""
        return shadow.size_on_disk(self._place.folder)

    def taken_at(self) -> Mapping[SnapshotKey, float]:
        """When each kept capture was taken, in seconds since the epoch; no damaged ones."""
        return self._reader().times(self._commits())

    def _commit_of(self, key: SnapshotKey) -> bytes:
        """Read one ref alone: there may be many. Raises KeyError when it is not there."""
        commit = refs.read_ref(self._place.folder, ref_name_of(key))
        if commit is None:
            raise KeyError(key)
        return commit

    def _commits(self) -> dict[SnapshotKey, bytes]:
        found = refs.read_refs(self._place.folder)
        keyed = ((parse_ref_name(name), oid) for name, oid in found.items())
        return {key: oid for key, oid in keyed if key is not None}

    def _made_ready(self) -> ObjectDatabase:
        """Make the repository if it is not there yet, and open its objects."""
        folder = self._place.folder
        if shadow.examine(folder) is not shadow.Standing.OURS:
            settle(folder)
            shadow.create(folder, self._place.root)
            self._share()
            self._objects = None
        shadow.configure(folder, self._place.root)
        objects = self._open_objects()
        objects.look_again()
        return objects

    def _share(self) -> None:
        like = self._place.like
        if like is None or shadow.examine(like) is not shadow.Standing.OURS:
            return
        with suppress(OSError):  # what is not shared is read and stored anew
            shadow.share(like, self._place.folder)
            self._shared = True

    def _open_objects(self) -> ObjectDatabase:
        # Here, not above: pygit2 is slow to import, and many runs never need it.
        from keryx_py.snapshot.objectdb import ObjectDatabase

        if self._objects is None:
            self._objects = ObjectDatabase(self._place.folder / "objects")
        return self._objects

    def _reader(self) -> CaptureReader:
        self._await_early()
        from keryx_py.snapshot.captures import CaptureReader

        return CaptureReader(self._open_objects())


def _always(_: bytes) -> bool:
    return True


def _name_tree(data: bytes) -> bytes:
    return object_id(ObjectKind.TREE, data)
