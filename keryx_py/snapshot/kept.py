"""The captures in a shadow repository that another session owns, and may be writing.

Only ever read: nothing is settled, cleared or made there. What goes meanwhile raises SnapshotError.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from keryx_py.snapshot import refs, shadow
from keryx_py.snapshot.failures import SnapshotError, told_as_snapshot_errors
from keryx_py.snapshot.keys import SnapshotKey, parse_ref_name
from keryx_py.snapshot.listing import FileChange

if TYPE_CHECKING:
    from keryx_py.snapshot.captures import CaptureReader

_CANNOT = "another session's snapshots cannot be read"


class KeptCaptures:
    """What one shadow repository kept when it was looked at."""

    def __init__(self, folder: Path) -> None:
        """Look into *folder*. Raises SnapshotError unless it is a sound shadow repository."""
        self._folder = folder
        self._opened: CaptureReader | None = None
        with told_as_snapshot_errors(_CANNOT):
            if shadow.examine(folder) is not shadow.Standing.OURS:
                raise SnapshotError(f"{_CANNOT}: {folder} is no shadow repository of keryx")
            found = refs.read_refs(folder)
        keyed = ((parse_ref_name(name), oid) for name, oid in found.items())
        self._commits = {key: oid for key, oid in keyed if key is not None}

    @property
    def keys(self) -> frozenset[SnapshotKey]:
        """The captures that are kept."""
        return frozenset(self._commits)

    def taken_at(self) -> Mapping[SnapshotKey, float]:
        """When each capture was taken, in seconds since the epoch; no damaged ones.

        Raises SnapshotError.
        """
        with told_as_snapshot_errors(_CANNOT):
            return self._reader().times(self._commits)

    def changes(self, before: SnapshotKey, after: SnapshotKey) -> tuple[FileChange, ...]:
        """List what differs between two captures, visiting only folders that differ.

        Raises SnapshotError, DamagedSnapshotError, or KeyError for a capture that is not kept.
        """
        with told_as_snapshot_errors(_CANNOT):
            reader = self._reader()
            one = reader.capture(self._commits[before])
            return reader.changes(one, reader.capture(self._commits[after]))

    def _reader(self) -> CaptureReader:
        # Here, not above: pygit2 is slow to import, and nobody else may have been at work.
        from keryx_py.snapshot.captures import CaptureReader
        from keryx_py.snapshot.objectdb import ObjectDatabase

        if self._opened is None:
            self._opened = CaptureReader(ObjectDatabase(self._folder / "objects"))
        return self._opened
