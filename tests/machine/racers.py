"""Other processes that do not hold still while keryx works on a tree."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from keryx_py.rewind.restore_journal import journal_path

SECRET = b"outside\n"
TIMES = 8192
"""How often the number that a file holds is repeated in it."""
MANY = 150
"""How many files a rewind that is hit brings back: it takes long enough to be met half way."""
LAST = "made/z"
"""The path of such a rewind that comes last."""


class Racer:
    """Writes two files and swaps folders for links that lead outside, as fast as it can."""

    def __init__(self, folder: Path, outside: Path) -> None:
        self._folder = folder
        self._outside = outside
        self._number = 0

    def prepare(self) -> None:
        for name in ("swap", "deep/swap"):
            (self._folder / name).mkdir(parents=True)
            (self._folder / name / "x").write_bytes(b"inside\n")
        self._write_at_once()

    def run(self) -> None:
        """Never hold still; whoever started this kills it."""
        while True:
            self._number += 1
            self._write_at_once()
            self._replace()
            for name in ("swap", "deep/swap"):
                self._swap(self._folder / name)

    def _content(self) -> bytes:
        return b"%08d" % self._number * TIMES

    def _write_at_once(self) -> None:
        torn = self._folder / "torn"
        with torn.open("r+b" if torn.exists() else "wb") as file:
            os.pwrite(file.fileno(), self._content(), 0)

    def _replace(self) -> None:
        beside = self._folder / f"beside{self._number % 3}"
        beside.write_bytes(self._content())
        beside.rename(self._folder / "torn too")

    def _swap(self, place: Path) -> None:
        """Put a link where the folder is, then the folder again, whatever a restore does to it."""
        away = place.with_name(f"{place.name} away")
        with suppress(OSError):
            place.rename(away)
        with suppress(OSError):
            place.symlink_to(os.path.relpath(self._outside, place.parent))
        with suppress(OSError):
            place.unlink()
        with suppress(OSError):
            away.rename(place)
        with suppress(OSError):
            (place / "x").write_bytes(b"inside %d\n" % self._number)


class Hitter:
    """Waits for a restore to begin, its undo point taken, and then hits what it will come to."""

    def __init__(self, session: Path, root: Path, outside: Path) -> None:
        self._journal = journal_path(session)
        self._root = root
        self._outside = outside
        self._log = root.parent / "hits"
        self._log.touch()

    def run(self) -> None:
        """Hit each restore once; whoever started this kills it."""
        for number in self._restores():
            self._write(number)
            self._swap()
            with self._log.open("a") as log:
                log.write("hit\n")

    def hits(self) -> int:
        """How many restores were hit by now."""
        return len(self._log.read_text().splitlines())

    def _restores(self) -> Iterator[int]:
        number = 0
        while True:
            while not self._journal.exists():
                pass
            yield number
            number += 1
            while self._journal.exists():
                pass

    def _write(self, number: int) -> None:
        """Put other content at the last path, whole."""
        beside = self._root / "hitting"
        beside.write_bytes(hit_content(number))
        with suppress(OSError):
            beside.rename(self._root / LAST)

    def _swap(self) -> None:
        """Put a link that leads outside where a folder is that the restore writes in."""
        place = self._root / "swapped"
        with suppress(OSError):
            place.rename(self._root / "away")
        with suppress(OSError):
            place.symlink_to(self._outside)


def hit_content(number: int) -> bytes:
    """What the *number*-th hit writes."""
    return b"hit %d\n" % number
