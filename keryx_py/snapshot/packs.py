"""Write many new objects as one git pack and its index, and read what an index says.

A pack is written aside and flushed; its index is put in place last, and only then does the pack
count as being there. No pack that is in place is ever changed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import struct
import sys
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from keryx_py.snapshot.deflate import Deflate, fastest_deflate
from keryx_py.snapshot.objects import ID_BYTES, ObjectKind, object_id

_PACK_HEAD = struct.Struct(">4sII")
_INDEX_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_FAN = struct.Struct(">256I")
FAN_START = len(_INDEX_MAGIC)
"""Where in an index the table of first bytes begins: how many ids begin with each or a lesser."""
OIDS_START = FAN_START + _FAN.size
"""Where in an index the sorted ids begin."""
_LARGE = 0x8000_0000
_DELTAS = frozenset({6, 7})
_CHUNK = 1 << 20
_LARGE_PACK = 1 << 26
TEMPORARY = "tmp_"


class DamagedPackError(Exception):
    """A pack or its index is not what its checksums say."""


@dataclass(frozen=True, slots=True)
class PackedEntry:
    """One object as a pack holds it: head and compressed content."""

    oid: bytes
    data: bytes
    crc: int


def pack_entry(kind: ObjectKind, data: bytes, oid: bytes, deflate: Deflate) -> PackedEntry:
    """Build the bytes that stand for *data* in a pack."""
    packed = _entry_head(kind, len(data)) + deflate(data)
    return PackedEntry(oid, packed, zlib.crc32(packed))


def _entry_head(kind: ObjectKind, size: int) -> bytes:
    head = bytearray()
    byte = (kind << 4) | (size & 15)
    size >>= 4
    while size:
        head.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    head.append(byte)
    return bytes(head)


class PackWriter:
    """One new pack in *folder*, written aside until finish() puts it in place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._deflate = fastest_deflate()
        self._temporary = folder / f"{TEMPORARY}pack_{secrets.token_hex(8)}"
        self._index_temporary = self._temporary.with_name(self._temporary.name + "_idx")
        self._file = os.fdopen(_new_private(self._temporary), "wb", _CHUNK)
        self._file.write(_PACK_HEAD.pack(b"PACK", 2, 0))
        # Flat, not a mapping of pairs: there may be a hundred thousand.
        self.oids: set[bytes] = set()
        """The ids of what the pack holds so far."""
        self._order: list[bytes] = []
        self._offsets = array("Q")
        self._crcs = array("L")
        self.size = _PACK_HEAD.size
        """How many bytes the pack has so far."""

    def __contains__(self, oid: bytes) -> bool:
        return oid in self.oids

    def add(self, kind: ObjectKind, data: bytes) -> bytes:
        """Put *data* into the pack unless it is there; return its id."""
        oid = object_id(kind, data)
        if oid not in self.oids:
            self.put(pack_entry(kind, data, oid, self._deflate))
        return oid

    def put(self, entry: PackedEntry) -> None:
        """Put an *entry* that is ready into the pack; its id is not in it yet."""
        self.oids.add(entry.oid)
        self._order.append(entry.oid)
        self._offsets.append(self.size)
        self._crcs.append(entry.crc)
        self._file.write(entry.data)
        self.size += len(entry.data)

    def finish(self) -> PackIndex | None:
        """Put pack and index in place, safe against a power cut; None when nothing was added."""
        if not self.oids:
            self.abandon()
            return None
        checksum, index = self._seal()
        pack = self._folder / f"pack-{checksum.hex()}.pack"
        _write_flushed(self._index_temporary, index)
        self._temporary.replace(pack)
        self._index_temporary.replace(pack.with_suffix(".idx"))
        flush_folder(self._folder)
        return _read_back(pack.with_suffix(".idx"))

    def abandon(self) -> None:
        """Remove what was written aside."""
        with suppress(OSError):
            self._file.close()  # what is still in its buffer may not fit on a full disk
        self._temporary.unlink(missing_ok=True)
        self._index_temporary.unlink(missing_ok=True)

    def _seal(self) -> tuple[bytes, bytes]:
        """Finish and flush the pack; return its checksum, and its index's bytes."""
        # The count stands at the start and is known only now, so the checksum is taken afterwards.
        self._file.flush()
        self._file.seek(0)
        self._file.write(_PACK_HEAD.pack(b"PACK", 2, len(self._order)))
        self._file.flush()
        descriptor = self._file.fileno()
        if self.size < _LARGE_PACK:
            checksum = self._checksum()
            index = encode_index(self._order, self._offsets, self._crcs, checksum)
        else:
            # The disk, one processor and the other: each of the three takes a while.
            with ThreadPoolExecutor(2) as workers:
                flushed = workers.submit(os.fsync, descriptor)
                summed = workers.submit(self._checksum)
                front = _encode_entries(self._order, self._offsets, self._crcs)
                checksum = summed.result()
                flushed.result()
            index = _finish_index(front, checksum)
        self._file.seek(0, os.SEEK_END)
        self._file.write(checksum)
        self._file.flush()
        os.fsync(descriptor)
        self._file.close()
        return checksum, index

    def _checksum(self) -> bytes:
        digest = hashlib.sha1(usedforsecurity=False)
        with self._temporary.open("rb", buffering=0) as written:
            while chunk := written.read(_CHUNK):
                digest.update(chunk)
        return digest.digest()


def encode_index(
    oids: Sequence[bytes], offsets: Sequence[int], crcs: Sequence[int], pack_checksum: bytes
) -> bytes:
    """Encode a version 2 index of objects, given in any order, each id once."""
    return _finish_index(_encode_entries(oids, offsets, crcs), pack_checksum)


def _encode_entries(oids: Sequence[bytes], offsets: Sequence[int], crcs: Sequence[int]) -> bytes:
    """Encode an index up to the checksums at its end."""
    order = sorted(range(len(oids)), key=oids.__getitem__)
    counts = Counter(oid[0] for oid in oids)
    large = [offsets[at] for at in order if offsets[at] >= _LARGE]
    places = iter(range(len(large)))
    small = (offsets[at] if offsets[at] < _LARGE else _LARGE | next(places) for at in order)
    return b"".join(
        (
            _INDEX_MAGIC,
            _FAN.pack(*accumulate(counts[byte] for byte in range(256))),
            b"".join(map(oids.__getitem__, order)),
            _encode_column("I", map(crcs.__getitem__, order)),
            _encode_column("I", small),
            _encode_column("Q", large),
        )
    )


def _encode_column(kind: str, values: Iterable[int]) -> bytes:
    """Encode numbers with their highest byte first; not by way of a list, for they are many."""
    column = array(kind, values)
    if sys.byteorder == "little":
        column.byteswap()
    return column.tobytes()


def _finish_index(front: bytes, pack_checksum: bytes) -> bytes:
    body = front + pack_checksum
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


@dataclass(frozen=True, slots=True)
class PackIndex:
    """What the index of one pack says."""

    path: Path
    """The index file's path; the pack stands beside it."""
    count: int

    @property
    def data(self) -> bytes:
        """The index file's bytes, read anew: they are seldom needed and may be many."""
        return self.path.read_bytes()

    @property
    def pack(self) -> Path:
        """The pack file's path."""
        return self.path.with_suffix(".pack")

    def oids(self) -> Iterator[bytes]:
        """List the ids of the objects in the pack, sorted."""
        end = OIDS_START + self.count * ID_BYTES
        data = self.data
        return (data[start : start + ID_BYTES] for start in range(OIDS_START, end, ID_BYTES))

    def spans(self) -> dict[bytes, tuple[int, int]]:
        """List where each object starts and ends in the pack, in the pack's order."""
        offsets = self._offsets()
        order = sorted(zip(offsets, self.oids(), strict=True))
        ends = [offset for offset, _ in order[1:]]
        ends.append(self.pack.stat().st_size - ID_BYTES)
        return {oid: (start, end) for (start, oid), end in zip(order, ends, strict=True)}

    def places(self, oids: Iterable[bytes]) -> list[tuple[int, bytes]]:
        """Look up where those of *oids* start that the pack holds, in the pack's order."""
        data = self.data
        fan = (0, *_FAN.unpack_from(data, len(_INDEX_MAGIC)))
        found: list[tuple[int, bytes]] = []
        for oid in oids:
            low, high = fan[oid[0]], fan[oid[0] + 1]
            while low < high:
                middle = (low + high) // 2
                start = OIDS_START + middle * ID_BYTES
                if data[start : start + ID_BYTES] < oid:
                    low = middle + 1
                else:
                    high = middle
            start = OIDS_START + low * ID_BYTES
            if low < self.count and data[start : start + ID_BYTES] == oid:
                found.append((self._offset_at(data, low), oid))
        return sorted(found)

    def _offset_at(self, data: bytes, number: int) -> int:
        start = OIDS_START + self.count * (ID_BYTES + 4)
        small = int.from_bytes(data[start + 4 * number : start + 4 * number + 4], "big")
        if small < _LARGE:
            return small
        large = start + self.count * 4 + 8 * (small - _LARGE)
        return int.from_bytes(data[large : large + 8], "big")

    def crcs(self) -> dict[bytes, int]:
        """List the checksum of each object's bytes in the pack."""
        start = OIDS_START + self.count * ID_BYTES
        values = struct.unpack_from(f">{self.count}I", self.data, start)
        return dict(zip(self.oids(), values, strict=True))

    def _offsets(self) -> list[int]:
        start = OIDS_START + self.count * (ID_BYTES + 4)
        data = self.data
        small = struct.unpack_from(f">{self.count}I", data, start)
        large_at = start + self.count * 4
        return [
            offset
            if offset < _LARGE
            else int(struct.unpack_from(">Q", data, large_at + 8 * (offset - _LARGE))[0])
            for offset in small
        ]


def read_index(path: Path) -> PackIndex:
    """Read a pack's index, and check that the pack beside it is whole as far as its size shows.

    Raises DamagedPackError.
    """
    try:
        data = path.read_bytes()
        with path.with_suffix(".pack").open("rb") as pack:
            pack.seek(-ID_BYTES, os.SEEK_END)
            trailer = pack.read(ID_BYTES)
    except OSError as error:
        raise DamagedPackError(f"{path.name} cannot be read") from error
    if len(data) < OIDS_START + 2 * ID_BYTES or not data.startswith(_INDEX_MAGIC):
        raise DamagedPackError(f"{path.name} is not a pack's index")
    whole = hashlib.sha1(data[:-ID_BYTES], usedforsecurity=False).digest() == data[-ID_BYTES:]
    if not whole or data[-2 * ID_BYTES : -ID_BYTES] != trailer:
        raise DamagedPackError(f"{path.name} or its pack is damaged")
    count = _FAN.unpack_from(data, len(_INDEX_MAGIC))[255]
    return PackIndex(path, count)


def _read_back(path: Path) -> PackIndex:
    """Read the index of a pack that was just written; what cannot be read is not kept."""
    try:
        return read_index(path)
    except DamagedPackError as error:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path)) from error


def copy_entries(
    source: PackIndex,
    wanted: Callable[[bytes], bool],
    target: PackWriter,
    whole: Callable[[bytes], tuple[ObjectKind, bytes] | None],
) -> None:
    """Copy the *wanted* entries of a pack as they are, compressed; damaged ones stay behind.

    An entry that is a delta (keryx makes none, but the person's own git may have) is asked for
    *whole*, because what it builds on need not come along.
    """
    crcs = source.crcs()
    with source.pack.open("rb") as pack:
        for oid, (start, end) in source.spans().items():
            if oid in target or not wanted(oid):
                continue
            pack.seek(start)
            data = pack.read(end - start)
            if zlib.crc32(data) != crcs[oid]:
                continue
            if (data[0] >> 4) & 7 not in _DELTAS:
                target.put(PackedEntry(oid, data, crcs[oid]))
            elif (item := whole(oid)) is not None:
                target.add(*item)


def read_entry(source: PackIndex, oid: bytes) -> tuple[ObjectKind, bytes]:
    """Read an object that *source* holds. Raises DamagedPackError, also for one kept as a delta."""
    start, end = source.spans()[oid]
    try:
        with source.pack.open("rb") as pack:
            pack.seek(start)
            data = pack.read(end - start)
        head = 1
        while data[head - 1] & 0x80:
            head += 1
        return ObjectKind((data[0] >> 4) & 7), zlib.decompress(data[head:])
    except (OSError, IndexError, ValueError, zlib.error) as error:
        raise DamagedPackError(f"{source.pack.name} is damaged") from error


def write_aside(path: Path, data: bytes) -> None:
    """Put *data* at *path* whole or not at all: written aside, flushed, renamed into place."""
    aside = path.with_name(path.name + ".lock")
    try:
        _write_flushed(aside, data)
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Make the names in *folder* safe against a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def total_size(packs: Iterable[PackIndex]) -> int:
    """Add up the bytes of *packs*, their indexes left out."""
    return sum(pack.pack.stat().st_size for pack in packs)


def _write_flushed(path: Path, data: bytes) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(_new_private(path), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _new_private(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
