"""Another process writes, renames and swaps folders for links while keryx works on the tree.

Nothing outside is opened, by the kernel's own word; nothing that is captured is torn; what moved
since the preview is left, or the plan is refused.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from keryx_py.rewind.rewinder import RefusedError, StalePlanError
from keryx_py.session.archive import Mode
from keryx_py.snapshot.store import SnapshotError, SnapshotStore
from tests.cases.children import Child
from tests.cases.sitting import Sitting, shell
from tests.cases.witness import nothing_touches
from tests.machine.sight import see

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells who opens what"
)

SECRET = b"outside\n"
TIMES = 8192
"""How often the number that a file holds is repeated in it."""


class Racer:
    """The other process."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._number = 0

    def prepare(self) -> None:
        for name in ("swap", "deep/swap"):
            (self._root / name).mkdir(parents=True)
            (self._root / name / "x").write_bytes(b"inside\n")
        self._write_at_once()

    def run(self) -> None:
        """Never hold still; whoever started this kills it."""
        while True:
            self._number += 1
            self._write_at_once()
            self._replace()
            for name, target in (("swap", "../outside"), ("deep/swap", "../../outside")):
                self._swap(name, target)

    def _content(self) -> bytes:
        return b"%08d" % self._number * TIMES

    def _write_at_once(self) -> None:
        with (self._root / "torn").open("r+b" if (self._root / "torn").exists() else "wb") as file:
            os.pwrite(file.fileno(), self._content(), 0)

    def _replace(self) -> None:
        beside = self._root / f"beside{self._number % 3}"
        beside.write_bytes(self._content())
        beside.rename(self._root / "torn too")

    def _swap(self, name: str, target: str) -> None:
        """Put a link where the folder is, then the folder again, whatever a restore does to it."""
        place, away = self._root / name, self._root / f"{name} away"
        with suppress(OSError):
            place.rename(away)
        with suppress(OSError):
            place.symlink_to(target)
        with suppress(OSError):
            place.unlink()
        with suppress(OSError):
            away.rename(place)
        with suppress(OSError):
            (place / "x").write_bytes(b"inside %d\n" % self._number)


def race(base: Path, seconds: float) -> Counter[str]:
    """Take turns and rewinds beside a racer; say what came of them."""
    root, outside = base / "P", base / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "x").write_bytes(SECRET)
    racer = Racer(root)
    racer.prepare()
    sitting = Sitting(root, base / "data")
    before = see(outside)
    came = Counter[str]()
    with nothing_touches(outside):
        child = Child(racer.run)
        try:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                one_round(sitting, came)
        finally:
            child.kill()
    assert see(outside) == before
    store = sitting.project.store
    assert store is not None
    came["captures"] = len(store.keys())
    came["files held of those that moved"] = check_captures(store)
    sitting.close()
    return came


def one_round(sitting: Sitting, came: Counter[str]) -> None:
    sitting.play(shell("echo $$ >own; mkdir -p made/deep; echo x >made/deep/f"))
    number = sitting.project.rewinder().list_points()[0].point.number
    try:
        plan = sitting.project.rewinder().plan(number, Mode.BOTH)
        report = sitting.project.rewinder().apply(plan)
    except StalePlanError:
        came["refused as stale"] += 1
    except (RefusedError, SnapshotError):
        came["refused"] += 1
    else:
        came["carried out"] += 1
        came["paths left because they moved"] += len(report.failed)
        assert report.history_cut is not bool(report.failed)


def check_captures(store: SnapshotStore) -> int:
    """No capture holds a torn file, or what lies outside; say how many files were held."""
    held = 0
    for key in sorted(store.keys(), key=lambda key: (key.number, key.side.value)):
        for path, state in store.load(key).listing.items():
            name = path.rpartition(b"/")[2]
            if state.oid and name in (b"torn", b"torn too"):
                content = store.read(state.oid)
                assert content == content[:8] * TIMES, (key, path)
                held += 1
            assert not (state.oid and name == b"x" and store.read(state.oid) == SECRET)
    return held


def test_what_moves_meanwhile_is_neither_torn_nor_followed_outside(tmp_path: Path) -> None:
    came = race(tmp_path, 2.0)

    assert came["captures"] >= 2, came


@pytest.mark.soak
def test_an_endless_race_is_neither_torn_nor_followed_outside(tmp_path: Path) -> None:
    came = race(tmp_path, 60.0)

    print(came)  # noqa: T201 - the figures of docs/reliability.md
    assert came["refused as stale"] >= 10, came
