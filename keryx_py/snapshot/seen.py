"""What the last walk saw: each folder's files with the status that tells whether they changed.

Kept from capture to capture, so that only what is new is read and hashed again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter

from keryx_py.snapshot.listing import FileState
from keryx_py.snapshot.reading import TICK

NEVER = -1
"""In place of a size: the status proves nothing, because the file may change without a trace."""


@dataclass(slots=True)
class Seen:
    """One file or link: its status when its content was read, its path and state."""

    modified: int
    changed: int
    size: int
    inode: int
    mode: int
    path: bytes
    state: FileState


@dataclass(slots=True, eq=False)
class Folder:
    """One folder as a walk found it."""

    path: bytes
    mode: int
    device: int
    files: dict[str, Seen] = field(default_factory=dict)
    """Files and links that are held, by name."""
    forced: dict[str, Seen] = field(default_factory=dict)
    """Those that are held only because the caller asked for them; never looked up again."""
    folders: dict[str, Folder] = field(default_factory=dict)
    left_out: dict[str, bool] = field(default_factory=dict)
    """The names that rules leave out, and whether each is a folder."""
    text: bytes | None = None
    """The text of its `.gitignore`; None when it has none."""
    tree: bytes = b""
    """The id of its git tree; empty while unknown, and when git can hold nothing of it."""
    modes: Counter[int] | None = None
    """How many of its files and links have each mode; None until someone counts."""
    narrow: bool = False
    """Whether only some names were looked at, because the folder itself is left out."""

    @property
    def prefix(self) -> bytes:
        """What stands before a name in the path of what is in this folder."""
        return self.path + b"/" if self.path else b""

    def held(self) -> Iterator[Seen]:
        """List the files and links that are held."""
        return chain(self.files.values(), self.forced.values())

    def items(self) -> Iterator[tuple[bytes, int, bytes]]:
        """List the files and links that are held: name, mode with the kind's bits, object id."""
        start = len(self.prefix)
        return ((seen.path[start:], seen.mode, seen.state.oid) for seen in self.held())

    def find(self, path: bytes) -> Folder | None:
        """Find the folder *path*, relative to the root, from this one, which is the root."""
        folder: Folder | None = self
        for name in path.split(b"/") if path else ():
            if folder is None:
                break
            folder = folder.folders.get(os.fsdecode(name))
        return folder

    def count_modes(self) -> Counter[int]:
        """Count its files and links by mode, the kind's bits included."""
        if self.modes is None:
            self.modes = Counter(map(attrgetter("mode"), self.held()))
        return self.modes

    def below(self) -> Iterator[Folder]:
        """List this folder and all below it, each before what is in it."""
        waiting = [self]
        while waiting:
            folder = waiting.pop()
            yield folder
            waiting.extend(folder.folders.values())


def seen_now(status: os.stat_result, path: bytes, state: FileState, trusted_before: int) -> Seen:
    """Remember a file by its *status*, unless it changed too lately to be told from a later change.

    A file system's clock moves in ticks: a second change within one leaves the same times.
    """
    modified, changed = status.st_mtime_ns, status.st_ctime_ns
    size = status.st_size
    if changed == modified:
        changed = modified  # one number in memory, not two equal ones
    if max(modified, changed) >= trusted_before - _coarseness(modified, changed):
        size = NEVER
    if not -_TIME_LIMIT < modified < _TIME_LIMIT:
        modified, size = 0, NEVER
    return Seen(modified, changed, size, status.st_ino, status.st_mode, path, state)


_SECOND = 10**9
_TIME_LIMIT = 2**63
_COARSE_TICK = 2 * _SECOND + _SECOND // 10


def _coarseness(modified: int, changed: int) -> int:
    """Guess how far apart two changes may lie and bear the same time, in nanoseconds."""
    # Whole seconds only: a file system that counts no fractions, or (FAT) every second one.
    return TICK if modified % _SECOND or changed % _SECOND else _COARSE_TICK
