"""Which objects packs hold: looked up in their indexes, or in a set when many are asked for."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable

from keryx_py.snapshot.objects import ID_BYTES
from keryx_py.snapshot.packs import FAN_START, OIDS_START, PackIndex

_PATIENCE = 500
"""With so many questions, a set of all ids is the quicker way; for a few it takes too long."""
_NUMBER = struct.Struct(">I")


class HeldObjects:
    """The ids of the objects in a repository's packs. Several threads may ask at once."""

    def __init__(self) -> None:
        self._packs: list[PackIndex] = []
        self._indexes: list[bytes] | None = None
        self._ids: set[bytes] | None = None
        self._more: set[bytes] = set()
        self._less: set[bytes] = set()
        self._asked = 0

    def begin(self, packs: Iterable[PackIndex]) -> None:
        """Forget everything, and begin with what is in *packs*."""
        self._packs = list(packs)
        self._indexes = self._ids = None
        self._more, self._less = set(), set()
        self._asked = 0

    def __contains__(self, oid: object) -> bool:
        if oid in self._more:
            return True
        if oid in self._less or not isinstance(oid, bytes):
            return False
        ids = self._ids
        if ids is None and self._asked < _PATIENCE:
            self._asked += 1
            return self._is_indexed(oid)
        if ids is None:
            # Whole before anybody sees it: several threads ask.
            ids = {held for pack in self._packs for held in pack.oids()}
            self._ids, self._indexes = ids, None
        return oid in ids

    def add(self, oids: Collection[bytes]) -> None:
        """Count *oids* in."""
        self._more.update(oids)
        self._less.difference_update(oids)

    def discard(self, oid: bytes) -> None:
        """Count *oid* out, whatever the packs say."""
        self._more.discard(oid)
        self._less.add(oid)

    def _is_indexed(self, oid: bytes) -> bool:
        indexes = self._indexes
        if indexes is None:
            indexes = self._indexes = [pack.data for pack in self._packs]
        return any(_has(index, oid) for index in indexes)


def _has(index: bytes, oid: bytes) -> bool:
    """Look *oid* up in the sorted ids of a pack's *index*; a table of first bytes leads there."""
    first = oid[0]
    low = _NUMBER.unpack_from(index, FAN_START + 4 * (first - 1))[0] if first else 0
    high = _NUMBER.unpack_from(index, FAN_START + 4 * first)[0]
    while low < high:
        middle = (low + high) // 2
        start = OIDS_START + middle * ID_BYTES
        found = index[start : start + ID_BYTES]
        if found == oid:
            return True
        if found < oid:
            low = middle + 1
        else:
            high = middle
    return False
