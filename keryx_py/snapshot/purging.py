"""Take captures out of a shadow repository for good, also where the project's root is gone."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from keryx_py.snapshot import refs, shadow
from keryx_py.snapshot.failures import told_as_snapshot_errors
from keryx_py.snapshot.settling import settle


def purge_captures(folder: Path, numbers: Collection[int]) -> None:
    """Remove the captures of the points *numbers* from *folder*, and all that they alone held.

    Unlike dropping, this leaves no garbage: no byte stays that no other capture needs.
    Raises SnapshotError.
    """
    # At first use: pygit2 is slow to import.
    from keryx_py.snapshot.captures import CaptureReader
    from keryx_py.snapshot.objectdb import ObjectDatabase

    with told_as_snapshot_errors("the snapshots cannot be erased"):
        settle(folder)
        if shadow.examine(folder) is not shadow.Standing.OURS:
            return
        named = refs.read_refs(folder)
        refs.remove_refs(folder, [name for name in named if _number(name) in numbers])
        objects = ObjectDatabase(folder / "objects")
        objects.purge(CaptureReader(objects).reachable(refs.read_refs(folder).values()))


def _number(name: str) -> int | None:
    number = name.partition("/")[0]
    return int(number) if number.isdecimal() else None
