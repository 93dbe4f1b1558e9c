"""A large tree is gone over by two processes, and what either finds changed is seen."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keryx_py.snapshot.scout import PART_FILES, Scout, list_parts
from keryx_py.snapshot.seen import Folder, Totals

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only on Linux is a second process forked"
)

CHANGE_AND_COMPARE = """
import os, random, sys, time
from pathlib import Path
from keryx_py.snapshot import scout
from keryx_py.snapshot.store import Limits, SnapshotKey, SnapshotStore

root, data = Path(sys.argv[1]), Path(sys.argv[2])
folders = [root / f"a{n % 7}" / f"b{n % 23}" / f"c{n}" for n in range(90)]
for folder in folders:
    folder.mkdir(parents=True)
    for n in range(70):
        os.mknod(folder / str(n))
past = time.time() - 1000
for folder in folders:
    os.utime(folder, (past, past))
limits = Limits(free_floor_bytes=0)

def opened(name):
    return SnapshotStore.open(data / name, root, home=data, data_dir=data, limits=limits)

store = opened("one")
store.take(SnapshotKey(1), 1.0)
time.sleep(0.2)
forks = []
os.register_at_fork(before=lambda: forks.append(1))
dice = random.Random(int(sys.argv[3]))
for turn in range(6):
    for _ in range(dice.choice((0, 1, 5))):
        file = dice.choice(folders) / str(dice.randrange(70))
        match dice.randrange(4):
            case 0:
                file.write_bytes(b"%d" % turn)
            case 1:
                file.unlink(missing_ok=True)
            case 2 if file.exists():
                file.chmod(dice.choice((0o600, 0o755)))
            case _:
                file.with_name(f"new{turn}").mkdir(exist_ok=True)
    before = len(forks)
    quick = store.take(SnapshotKey(turn + 2), 1.0)
    assert len(forks) == before + 1, "nobody was sent out"
    plain = opened(f"plain{turn}").look()
    assert quick == plain
    assert dict(quick.listing) == dict(plain.listing)
assert len(os.listdir("/proc/self/task")) == 1
try:
    os.waitpid(-1, os.WNOHANG)
    sys.exit("a child is left")
except ChildProcessError:
    print("all the same")
"""


@pytest.mark.parametrize("seed", [1])
def test_a_large_tree_comes_out_the_same_with_a_second_process(tmp_path: Path, seed: int) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "data").mkdir()
    command = [sys.executable, "-c", CHANGE_AND_COMPARE]

    done = subprocess.run(
        [*command, str(tmp_path / "root"), str(tmp_path / "data"), str(seed)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "all the same\n"), done.stderr


def tree(files: int, *below: Folder, path: bytes = b"") -> Folder:
    """Make a folder that holds *files* files in all."""
    totals = Totals({}, files, has_bare=False, has_notes=False)
    return Folder(path, 0o755, 1, folders={one.name: one for one in below}, totals=totals)


def test_parts_are_small_lie_apart_and_come_in_the_walks_order() -> None:
    small = tree(3, path=b"big/small")
    large = tree(PART_FILES + 5, path=b"big/large")
    big = tree(2 * PART_FILES, small, large, path=b"big")
    last = tree(1, path=b"last")
    root = tree(3 * PART_FILES, big, last)

    parts = list_parts(root)

    assert [part.path for part in parts] == [b"last", b"big/large", b"big/small"]


def test_a_part_is_vouched_for_only_when_it_was_found_unchanged() -> None:
    parts = [tree(1, path=b"%d" % number) for number in range(6)]
    scout = Scout(parts, lambda part: part.path in (b"5", b"3"))
    try:
        end = time.monotonic() + 20
        while scout.is_at_work() and time.monotonic() < end:
            time.sleep(0.01)
        found = [scout.vouches_for(part) for part in parts]
        unknown = scout.vouches_for(tree(1, path=b"elsewhere"))
    finally:
        scout.dismiss()

    assert found == [False, False, False, True, False, True]
    assert not unknown


def test_a_scout_that_dies_vouches_for_nothing_more() -> None:
    parts = [tree(1, path=b"%d" % number) for number in range(3)]

    def die(_: Folder) -> bool:
        os.kill(os.getpid(), 9)
        return True

    scout = Scout(parts, die)
    try:
        end = time.monotonic() + 20
        while scout.is_at_work() and time.monotonic() < end:
            time.sleep(0.01)
        found = [scout.vouches_for(part) for part in parts]
    finally:
        scout.dismiss()

    assert found == [False, False, False]
