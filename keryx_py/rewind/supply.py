"""The contents that a restore writes: read many at a time, in the order that is quick."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from keryx_py.snapshot.store import DamagedSnapshotError, SnapshotStore

_AT_ONCE_BYTES = 32 * 2**20
"""As much is kept of what was checked, and as much of what was read ahead."""
_AT_ONCE = 512


class Supply:
    """Gives the blobs that one restore writes; each one was checked when it was read."""

    def __init__(
        self, store: SnapshotStore, order: Iterable[bytes], made: Mapping[bytes, bytes]
    ) -> None:
        """*order* names blobs about as they will be asked for; *made* holds some already."""
        self._store = store
        self._made = made
        self._order = tuple(dict.fromkeys(oid for oid in order if oid not in made))
        self._places = {oid: place for place, oid in enumerate(self._order)}
        self._checked: Mapping[bytes, bytes] = {}
        self._ahead: Mapping[bytes, bytes] = {}

    def check(self) -> None:
        """Check that the store holds all of them. Raises DamagedSnapshotError."""
        self._checked = self._read(self._order, whole=True)

    def read(self, oid: bytes) -> bytes:
        """Give one blob. Raises DamagedSnapshotError."""
        if oid not in self._places:
            return self._store.read(oid) if oid not in self._made else self._made[oid]
        if oid not in self._checked and oid not in self._ahead:
            rest = islice(self._order, self._places[oid], None)
            missing = (other for other in rest if other not in self._checked)
            # What is damaged is told when it is asked for itself.
            with suppress(DamagedSnapshotError):
                self._ahead = self._read(tuple(islice(missing, _AT_ONCE)), whole=False)
        content = self._checked.get(oid, self._ahead.get(oid))
        return self._store.read(oid) if content is None else content

    def _read(self, oids: Sequence[bytes], *, whole: bool) -> Mapping[bytes, bytes]:
        """Read *oids* as far as they may be in memory; the rest only when *whole*, to check it."""
        kept: dict[bytes, bytes] = {}
        room = _AT_ONCE_BYTES
        for oid, content in self._store.read_each(oids):
            room -= len(content)
            if room >= 0:
                kept[oid] = content
            elif not whole:
                break
        return kept
