"""Read many objects out of packs, in the order in which they lie there.

Only what is held whole and is what its id says is given; the rest is left to slower readers.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection, Iterable, Iterator

from keryx_py.snapshot.deflate import Inflate, fastest_inflate
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.packs import PackIndex

_AT_FIRST = 1 << 14
_HEAD = 16
"""No entry's head is longer."""
_KINDS = frozenset(ObjectKind)


def read_in_order(
    packs: Iterable[PackIndex], oids: Collection[bytes]
) -> Iterator[tuple[bytes, ObjectKind, bytes]]:
    """Yield id, kind and content of those of *oids* that can be read so, each once."""
    inflate = fastest_inflate()
    waiting = set(oids)
    for pack in packs:
        if not waiting:
            return
        try:
            places = pack.places(waiting)
            descriptor = os.open(pack.pack, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            for offset, oid in places:
                kind, data = _read_at(descriptor, offset, inflate)
                if kind is not None and object_id(kind, data) == oid:
                    waiting.discard(oid)
                    yield oid, kind, data
        finally:
            os.close(descriptor)


def _read_at(descriptor: int, offset: int, inflate: Inflate) -> tuple[ObjectKind | None, bytes]:
    """Read the entry at *offset*; of no kind when it is a delta or damaged."""
    try:
        data = os.pread(descriptor, _AT_FIRST, offset)
        number, size, start = _parse_head(data)
        # What deflate cannot make smaller it makes larger by less than this.
        bound = start + size + (size >> 9) + 64
        if bound > len(data):
            data += os.pread(descriptor, bound - len(data), offset + len(data))
        content = inflate(data[start:bound], size)
        kind = ObjectKind(number) if number in _KINDS else None
        return kind, content
    except (OSError, ValueError, IndexError, zlib.error):
        return None, b""


def _parse_head(data: bytes) -> tuple[int, int, int]:
    """Read an entry's kind, the size of its content, and where that begins."""
    byte = data[0]
    number, size, shift, at = (byte >> 4) & 7, byte & 15, 4, 1
    while byte & 0x80:
        byte = data[at]
        size |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if at > _HEAD:
            raise ValueError("the head of an entry has no end")
    return number, size, at
