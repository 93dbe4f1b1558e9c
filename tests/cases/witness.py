"""See, by the kernel's own word, whether anything in some folders was opened, read or changed."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_EVENT = struct.Struct("iIII")
_DO_NOT_FOLLOW = 0x02000000
_WORDS = {
    0x00000001: "read",
    0x00000002: "written",
    0x00000004: "given other attributes",
    0x00000020: "opened",
    0x00000040: "moved away",
    0x00000080: "moved in",
    0x00000100: "made",
    0x00000200: "removed",
    0x00000400: "removed",
    0x00000800: "moved away",
    0x00004000: "too often touched to tell",
}


class Witness:
    """Watches files, and folders with all below them, whoever comes to them and by whatever way."""

    def __init__(self, places: tuple[Path, ...]) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._queue = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self._queue >= 0, os.strerror(ctypes.get_errno())
        self._watched: dict[int, Path] = {}
        for place in places:
            self._watch(place)
            for above, folders, _ in os.walk(place):
                for name in folders:
                    self._watch(Path(above, name))
        self.seen()  # the watching itself had to look

    def seen(self) -> list[str]:
        """Say what happened since this was asked last."""
        happened: list[str] = []
        while True:
            try:
                data = os.read(self._queue, 1 << 16)
            except BlockingIOError:
                return happened
            while data:
                watch, mask, _, length = _EVENT.unpack_from(data)
                name = os.fsdecode(data[_EVENT.size : _EVENT.size + length].rstrip(b"\0"))
                data = data[_EVENT.size + length :]
                where = self._watched.get(watch, Path("?")) / name
                happened += [f"{where} was {word}" for bit, word in _WORDS.items() if mask & bit]

    def close(self) -> None:
        """Watch no more."""
        os.close(self._queue)

    def _watch(self, path: Path) -> None:
        if path.is_symlink():
            return
        mask = sum(_WORDS) & ~0x00004000 | _DO_NOT_FOLLOW
        watch = self._libc.inotify_add_watch(self._queue, os.fsencode(path), mask)
        assert watch >= 0, (path, os.strerror(ctypes.get_errno()))
        self._watched[watch] = path


@contextmanager
def nothing_touches(*places: Path) -> Iterator[Witness]:
    """Assert that nothing in *places* is opened, read or changed as long as the context lasts."""
    witness = Witness(places)
    try:
        yield witness
        assert witness.seen() == []
    finally:
        witness.close()
