"""Show what differs between captures, or between a capture and the disk, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from keryx_py.rewind.difference import Limit, is_folder
from keryx_py.rewind.hunks import HunkedPath, cut_into_hunks
from keryx_py.rewind.plan import PathChange
from keryx_py.rewind.report import RefusedError
from keryx_py.rewind.survey import load, look_beside
from keryx_py.rewind.textdiff import Version, count_lines, diff_file
from keryx_py.snapshot.listing import FileChange, FileState, Kind, differences
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.store import DamagedSnapshotError, SnapshotKey, SnapshotStore
from keryx_py.snapshot.worktree import WorkTree, WorkTreeError


@dataclass(frozen=True, slots=True)
class Compared:
    """Both versions of a file or link that differs; None where there is none."""

    path: bytes
    old: Version | None
    new: Version | None


class Differing:
    """Reads both versions of each path, one path at a time."""

    def __init__(
        self, store: SnapshotStore, root: Path, made: Mapping[bytes, bytes] | None = None
    ) -> None:
        """*made* are the contents that a plan holds itself, by their blob ids."""
        self._store = store
        self._made = made or {}
        self._tree = WorkTree(root)

    def diff_changes(self, changes: Iterable[PathChange], most_lines: int | None) -> str:
        """Write the difference that carrying *changes* out would make."""
        texts = (
            diff_file(change.path, self._on_disk(change.path, change.now), self._planned(change))
            for change in changes
        )
        return _joined(texts, most_lines)

    def compare(
        self, old: SnapshotKey | None, new: SnapshotKey | None, limit: Limit
    ) -> Iterator[Compared]:
        """Read both versions of each file that differs between two captures; None is the disk."""
        for change in self.changes(old, new):
            if limit.covers(change.path) and not (
                (change.before is None or is_folder(change.before))
                and (change.after is None or is_folder(change.after))
            ):
                yield Compared(
                    change.path,
                    self._version(change.path, change.before, old),
                    self._version(change.path, change.after, new),
                )

    def count_lines(self, changes: Iterable[PathChange]) -> dict[bytes, tuple[int, int]]:
        """Count, for each text file, the lines that the restore adds and removes."""
        counts: dict[bytes, tuple[int, int]] = {}
        for change in changes:
            if not _is_about_a_file(change):
                continue
            old = self._on_disk(change.path, _file_only(change.now))
            new = self._planned(replace(change, then=_file_only(change.then)))
            counted = count_lines(old, new)
            if counted is not None:
                counts[change.path] = counted
        return counts

    def cut(self, change: PathChange) -> HunkedPath:
        """Cut what *change* does to a file or link into hunks. Raises RefusedError."""
        now = self._on_disk(change.path, change.now)
        if now is not None and change.now is not None and _blob_id(now.data) != change.now.oid:
            shown = change.path.decode("utf-8", "backslashreplace")
            raise RefusedError(f"{shown} is being written; pick again when that is over")
        return cut_into_hunks(change.path, now, self._planned(change))

    def changes(self, old: SnapshotKey | None, new: SnapshotKey | None) -> tuple[FileChange, ...]:
        """List what differs between two captures; None is the disk. Raises RefusedError."""
        if old == new:
            return ()
        if old is not None and new is not None:
            try:
                return self._store.changes(old, new)
            except KeyError:
                raise RefusedError("a snapshot that is needed is missing") from None
            except DamagedSnapshotError as error:
                raise RefusedError(
                    f"a snapshot that is needed is damaged: {error.detail}"
                ) from error
        key = old or new or SnapshotKey(0)
        then = load(self._store, key)
        now, _ = look_beside(self._store, key, then)
        if old is None:
            return differences(now.listing, then.listing)
        return differences(then.listing, now.listing)

    def _version(
        self, path: bytes, state: FileState | None, key: SnapshotKey | None
    ) -> Version | None:
        return self._on_disk(path, state) if key is None else self._kept(state)

    def _on_disk(self, path: bytes, state: FileState | None) -> Version | None:
        if state is None or is_folder(state):
            return None
        try:
            return Version(state.kind, state.mode, self._tree.read(path))
        except WorkTreeError as error:
            shown = path.decode("utf-8", "backslashreplace")
            raise RefusedError(f"{shown} cannot be read for the difference: {error}") from error

    def _planned(self, change: PathChange) -> Version | None:
        """Read what *change* puts there: a plan may hold it itself, or the disk already."""
        then, now = change.then, change.now
        if then is None or is_folder(then):
            return None
        if then.oid in self._made:
            return Version(then.kind, then.mode, self._made[then.oid])
        if now is not None and (now.kind, now.oid) == (then.kind, then.oid):
            return self._on_disk(change.path, then)
        return self._kept(then)

    def _kept(self, state: FileState | None) -> Version | None:
        if state is None or is_folder(state):
            return None
        try:
            return Version(state.kind, state.mode, self._store.read(state.oid))
        except DamagedSnapshotError as error:
            raise RefusedError(f"a snapshot that is needed is damaged: {error.detail}") from error


def _blob_id(data: bytes) -> bytes:
    return object_id(ObjectKind.BLOB, data)


def _is_about_a_file(change: PathChange) -> bool:
    return any(state and state.kind is Kind.FILE for state in (change.now, change.then))


def _file_only(state: FileState | None) -> FileState | None:
    return state if state is not None and state.kind is Kind.FILE else None


def _joined(texts: Iterable[str], most_lines: int | None) -> str:
    return "".join(texts if most_lines is None else _until(texts, most_lines))


def _until(texts: Iterable[str], most_lines: int) -> Iterator[str]:
    lines = 0
    for text in texts:
        yield text
        lines += text.count("\n")
        if lines >= most_lines:
            return
