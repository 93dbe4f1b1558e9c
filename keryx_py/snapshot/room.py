"""How much a store may hold, and whether what is new still fits."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from keryx_py.snapshot import shadow
from keryx_py.snapshot.failures import SizeLimitError, SnapshotError
from keryx_py.snapshot.sorting import Unread

_NAMED = 3
_LEAST = 1 << 16
_CHECK_EVERY = 1 << 24


@dataclass(frozen=True, slots=True)
class Limits:
    """What a store may hold."""

    max_file_bytes: int = 5 * 2**20
    size_limit_bytes: int = 4 * 10**9
    free_floor_bytes: int = 10**9


class Room:
    """What one capture may still store."""

    def __init__(self, folder: Path, limits: Limits, unread: Collection[Unread]) -> None:
        """Measure *folder* and its disk, before the content of *unread* is stored.

        Raises SnapshotError when less than the floor is free already.
        """
        self._folder = folder
        self._limits = limits
        self._stored = shadow.size_on_disk(folder)
        self._new = sum(item.size for item in unread)
        self._largest = _largest_folders(unread)
        self._next_look = 0
        self.check(0, 0)

    def check(self, written: int, read: int) -> None:
        """Raise SnapshotError when *written* bytes, made of *read* bytes of content, do not fit."""
        if self._stored + written > self._limits.size_limit_bytes:
            raise self._over_limit(written, read)
        if written >= self._next_look:
            self._next_look = written + _CHECK_EVERY
            self._check_floor()

    def _check_floor(self) -> None:
        disk = os.statvfs(self._folder)
        free = disk.f_bavail * disk.f_frsize
        if free < self._limits.free_floor_bytes:
            raise SnapshotError(
                f"the snapshot cannot be taken: only {_human(free)} are free on the disk of "
                f"{self._folder}, and {_human(self._limits.free_floor_bytes)} are to stay free; "
                "free some space, delete old sessions with `keryx sessions delete`, or lower "
                "free_floor_gb in the settings"
            )

    def _over_limit(self, written: int, read: int) -> SizeLimitError:
        limit = self._limits.size_limit_bytes
        # What is still to come is taken to compress as what has been written did.
        whole = int(written * self._new / read) if read else self._new
        whole = max(whole, written, _LEAST)
        return SizeLimitError(
            f"the snapshot cannot be taken: it would add about {_human(whole)} to the "
            f"{_human(self._stored)} stored, and a session may store {_human(limit)}; "
            f"{self._where()}leave out what need not be saved with .gitignore, or raise "
            "size_limit_gb in the settings",
            needed=self._stored + whole - limit,
            fits_alone=whole <= limit,
        )

    def _where(self) -> str:
        if not self._largest:
            return ""
        named = ", ".join(f"{name} ({_human(size)})" for name, size in self._largest)
        return f"most of what is new is in {named}; "


def _largest_folders(unread: Collection[Unread]) -> list[tuple[str, int]]:
    sizes: Counter[str] = Counter()
    for item in unread:
        above, _, _ = item.folder.path.partition(b"/")
        name = above + b"/" if above else item.name
        sizes[name.decode("utf-8", "backslashreplace")] += item.size
    return [(name, size) for name, size in sizes.most_common(_NAMED) if size]


def _human(size: int) -> str:
    if size >= 10**9:
        return f"{size / 10**9:.1f} GB"
    if size >= 10**6:
        return f"{size / 10**6:.1f} MB"
    return f"{max(size, 0) / 1000:.1f} kB"
