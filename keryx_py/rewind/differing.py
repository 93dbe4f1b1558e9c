"""Show what differs between captures, or between a capture and the disk, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from keryx_py.rewind.difference import Limit, is_folder
from keryx_py.rewind.plan import PathChange
from keryx_py.rewind.report import RefusedError
from keryx_py.rewind.survey import load, look
from keryx_py.rewind.textdiff import Version, count_lines, diff_file
from keryx_py.snapshot.listing import FileChange, FileState, Kind, differences
from keryx_py.snapshot.store import DamagedSnapshotError, SnapshotKey, SnapshotStore
from keryx_py.snapshot.worktree import WorkTree, WorkTreeError


class Differing:
    """Reads both versions of each path, one path at a time."""

    def __init__(self, store: SnapshotStore, root: Path) -> None:
        self._store = store
        self._tree = WorkTree(root)

    def diff_changes(self, changes: Iterable[PathChange], most_lines: int | None) -> str:
        """Write the difference that carrying *changes* out would make."""
        texts = (
            diff_file(change.path, self._on_disk(change.path, change.now), self._kept(change.then))
            for change in changes
        )
        return _joined(texts, most_lines)

    def diff_captures(
        self,
        old: SnapshotKey | None,
        new: SnapshotKey | None,
        limit: Limit,
        most_lines: int | None,
    ) -> str:
        """Write the difference from one capture to another; None is the disk now."""
        texts = (
            diff_file(
                change.path,
                self._version(change.path, change.before, old),
                self._version(change.path, change.after, new),
            )
            for change in self._changes(old, new)
            if limit.covers(change.path)
        )
        return _joined(texts, most_lines)

    def count_lines(self, changes: Iterable[PathChange]) -> dict[bytes, tuple[int, int]]:
        """Count, for each text file, the lines that the restore adds and removes."""
        counts: dict[bytes, tuple[int, int]] = {}
        for change in changes:
            if not _is_about_a_file(change):
                continue
            old = self._on_disk(change.path, _file_only(change.now))
            counted = count_lines(old, self._kept(_file_only(change.then)))
            if counted is not None:
                counts[change.path] = counted
        return counts

    def _changes(self, old: SnapshotKey | None, new: SnapshotKey | None) -> tuple[FileChange, ...]:
        if old == new:
            return ()
        if old is not None and new is not None:
            try:
                return self._store.changes(old, new)
            except KeyError:
                raise RefusedError("a snapshot that is needed is missing") from None
            except DamagedSnapshotError as error:
                raise RefusedError(f"a snapshot that is needed is damaged: {error}") from error
        then = load(self._store, old or new or SnapshotKey(0))
        now = look(self._store, then)
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

    def _kept(self, state: FileState | None) -> Version | None:
        if state is None or is_folder(state):
            return None
        try:
            return Version(state.kind, state.mode, self._store.read(state.oid))
        except DamagedSnapshotError as error:
            raise RefusedError(f"a snapshot that is needed is damaged: {error}") from error


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
