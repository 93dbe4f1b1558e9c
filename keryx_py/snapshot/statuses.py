"""The statuses of all names in a folder at once, as bytes that are equal when nothing changed.

A walk spends its time asking for statuses. So they are asked for without a Python value for each:
Linux's statx(2) writes them into one buffer, and what matters of each is cut out by columns.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TypeAlias

NEVER = 2**64 - 1
"""In place of a size: the status proves nothing, because the file may change without a trace."""

WORDS = 8
"""How many 64-bit words of a status are kept."""

Row: TypeAlias = tuple[int, int, int, int, int, int, int, int]
"""One status: mode and group, inode, size, change and modification time (s, ns each), device."""

SIZE, CHANGED, MODIFIED = 2, 3, 5
"""Where in a row the size and the two times begin."""

_BATCH = 1024
_STATX_BYTES = 256
_STATX_WORDS = _STATX_BYTES // 8
_COLUMNS = (3, 4, 5, 12, 13, 14, 15, 17)
"""Where the words stand in Linux's struct statx, which is the same on every 64-bit machine."""
_AT_FDCWD = -100
_AT_SYMLINK_NOFOLLOW = 0x100
_STATX_BASIC = 0x7FF
_WORD = 2**64
_SECOND = 10**9


def mode_of(word: int) -> int:
    """Read the mode, the kind's bits included, out of a row's first word."""
    return word >> 32 & 0xFFFF


def row_of(status: os.stat_result) -> Row:
    """Write *status* as the row that statx(2) gives of it."""
    changed, changed_ns = divmod(status.st_ctime_ns, _SECOND)
    modified, modified_ns = divmod(status.st_mtime_ns, _SECOND)
    device = status.st_dev
    return (
        status.st_mode << 32 | status.st_gid & 0xFFFFFFFF,
        status.st_ino % _WORD,
        status.st_size,
        changed % _WORD,
        changed_ns,
        modified % _WORD,
        modified_ns,
        os.minor(device) << 32 | os.major(device) & 0xFFFFFFFF,
    )


def columns_of(rows: Sequence[Row]) -> bytearray:
    """Write *rows* column by column, as Statuses gives them."""
    columns = chain.from_iterable(zip(*rows, strict=True))
    return bytearray(struct.pack(f"={len(rows) * WORDS}Q", *columns))


@dataclass(slots=True)
class Columns:
    """The statuses of *count* names, column by column, to be read and mended by row."""

    words: memoryview
    count: int

    @classmethod
    def over(cls, data: bytearray) -> Columns:
        """Look at *data*, as Statuses or columns_of() wrote it."""
        return cls(memoryview(data).cast("Q"), len(data) // (WORDS * 8))

    def row(self, index: int) -> Row:
        """Read one row."""
        group, inode, size, changed, changed_ns, modified, modified_ns, device = self.words[
            index :: self.count
        ]
        return (group, inode, size, changed, changed_ns, modified, modified_ns, device)

    def column(self, at: int) -> Sequence[int]:
        """Read one word of every row."""
        return self.words[at * self.count : (at + 1) * self.count].tolist()

    def differing(self, other: Columns) -> set[int]:
        """List the rows that are not as in *other*, which has as many."""
        found: set[int] = set()
        for at in range(0, len(self.words), self.count or 1):
            mine, others = self.words[at : at + self.count], other.words[at : at + self.count]
            if mine.tobytes() != others.tobytes():
                pairs = zip(mine, others, strict=True)
                found.update(index for index, (one, two) in enumerate(pairs) if one != two)
        return found

    def modes(self) -> list[int]:
        """Read every mode."""
        # Written out, not mode_of(): it is run once for every file of a first capture.
        return [word >> 32 & 0xFFFF for word in self.words[: self.count]]

    def put(self, index: int, row: Row) -> None:
        """Overwrite one row."""
        for column, word in enumerate(row):
            self.words[column * self.count + index] = word

    def distrust(self, index: int) -> None:
        """Make one row equal to none that a walk can find."""
        self.words[SIZE * self.count + index] = NEVER


class Statuses:
    """Asks for the statuses of names, through statx(2) where that is to be had."""

    def __init__(self, *, has_statx: bool = True) -> None:
        self._statx = _find_statx() if has_statx else None

    def read(self, folder: int, names: Sequence[bytes]) -> bytearray | None:
        """Ask for all *names* in the *folder* of that descriptor; links are not followed.

        None when a name cannot be asked for: it may be gone, or the folder closed to us.
        """
        if self._statx is None:
            return self._read_plainly(folder, names)
        if len(names) <= _BATCH:
            return self._read_batch(folder, names)
        parts = []
        for start in range(0, len(names), _BATCH):
            part = self._read_batch(folder, names[start : start + _BATCH])
            if part is None:
                return None
            parts.append(part)
        cut = [_cut(part) for part in parts]
        return bytearray().join(chain.from_iterable(zip(*cut, strict=True)))

    def _read_batch(self, folder: int, names: Sequence[bytes]) -> bytearray | None:
        assert self._statx is not None
        if self._statx.ask(folder, names):
            return self._statx.columns(len(names))
        return None

    def _read_plainly(self, folder: int, names: Sequence[bytes]) -> bytearray | None:
        try:
            return columns_of(
                [row_of(os.stat(name, dir_fd=folder, follow_symlinks=False)) for name in names]
            )
        except OSError:
            return None


def _cut(columns: bytearray) -> list[bytearray]:
    size = len(columns) // WORDS
    return [columns[start : start + size] for start in range(0, len(columns), size)]


class _Statx:
    """Linux's statx(2), called for many names in a row."""

    def __init__(
        self, call: Callable[..., int], buffer: memoryview, slots: Sequence[object]
    ) -> None:
        self._call = call
        self._words = buffer.cast("B").cast("Q")
        self._slots = slots

    def ask(self, folder: int, names: Sequence[bytes]) -> bool:
        """Fill the buffer; say whether each name had a status."""
        answers = map(
            self._call,
            repeat(folder),
            names,
            repeat(_AT_SYMLINK_NOFOLLOW),
            repeat(_STATX_BASIC),
            self._slots,
        )
        return not any(answers)

    def columns(self, count: int) -> bytearray:
        """Cut the columns that matter out of the first *count* statuses."""
        words = self._words[: count * _STATX_WORDS]
        return bytearray().join([words[column::_STATX_WORDS].tobytes() for column in _COLUMNS])


def _find_statx() -> _Statx | None:
    if not sys.platform.startswith("linux") or sys.byteorder != "little":
        return None
    # Here, not above: other systems have no use for it.
    import ctypes

    try:
        call = ctypes.CDLL(None).statx
    except (OSError, AttributeError):
        return None  # a C library from before 2018
    buffer = ctypes.create_string_buffer(_BATCH * _STATX_BYTES)
    start = ctypes.addressof(buffer)
    slots = [ctypes.c_void_p(start + number * _STATX_BYTES) for number in range(_BATCH)]
    statx = _Statx(call, memoryview(buffer), slots)
    # Where the system refuses the call (an old kernel, a sandbox), it refuses it for every name.
    return statx if statx.ask(_AT_FDCWD, [b"/"]) else None
