"""Another process writes, renames and swaps folders for links while keryx works on the tree.

Nothing outside is opened, by the kernel's own word; nothing that is captured is torn; what moved
since the preview is left, or the plan is refused; what does not move is restored all the same.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from keryx_py.rewind.rewinder import RefusedError, RewindReport, StalePlanError
from keryx_py.session.archive import Mode
from keryx_py.snapshot.store import SnapshotError, SnapshotStore
from tests.cases.children import Child
from tests.cases.sitting import Sitting, shell
from tests.cases.witness import nothing_touches
from tests.machine.racers import LAST, MANY, SECRET, TIMES, Hitter, Racer, hit_content
from tests.machine.sight import see

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells who opens what"
)


class Course:
    """A project beside a folder that nobody may touch, and what came of the rounds on it."""

    def __init__(self, base: Path) -> None:
        self.root, self.outside = base / "P", base / "outside"
        self.root.mkdir()
        (self.outside / "in").mkdir(parents=True)
        for name in ("x", "f", "in/f"):
            (self.outside / name).write_bytes(SECRET)
        self.sitting = Sitting(self.root, base / "data")
        self.came = Counter[str]()

    @contextmanager
    def beside(self, run: Callable[[], None]) -> Iterator[None]:
        """Have another process *run* as long as the context lasts, and nothing touch outside."""
        before = see(self.outside)
        with nothing_touches(self.outside):
            child = Child(run)
            try:
                yield
            finally:
                child.kill()
        assert see(self.outside) == before

    def round(self, mode: Mode, paths: Sequence[bytes] = ()) -> RewindReport | None:
        """Take a turn and rewind it; None when that was refused."""
        before = self._own()
        self.sitting.play(shell("echo $$ >>own; mkdir -p made/deep; echo x >made/deep/f"))
        report = self.rewind(mode, paths)
        if report is not None and not report.failed:
            assert self._own() == before
        return report

    def rewind(self, mode: Mode, paths: Sequence[bytes] = ()) -> RewindReport | None:
        rewinder = self.sitting.project.rewinder()
        try:
            report = rewinder.apply(
                rewinder.plan(rewinder.list_points()[0].point.number, mode, paths)
            )
        except StalePlanError:
            self.came["refused as stale"] += 1
        except (RefusedError, SnapshotError):
            self.came["refused"] += 1
        else:
            self.came["carried out"] += 1
            self.came["paths left because they moved"] += len(report.failed)
            assert not (report.history_cut and report.failed)
            return report
        return None

    def finish(self) -> Counter[str]:
        """Look at all that was captured; say what came of it."""
        store = self.sitting.project.store
        assert store is not None
        self.came["captures"] = len(store.keys())
        check_captures(store, self.came)
        self.sitting.close()
        return self.came

    def _own(self) -> bytes | None:
        own, made = self.root / "own", self.root / "made/deep/f"
        return None if made.exists() or not own.exists() else own.read_bytes()


def check_captures(store: SnapshotStore, came: Counter[str]) -> None:
    """No capture holds a torn file, or what lies outside; count the files that were held."""
    for key in sorted(store.keys(), key=lambda key: (key.number, key.side.value)):
        for path, state in store.load(key).listing.items():
            if not state.oid:
                continue
            content, name = store.read(state.oid), path.rpartition(b"/")[2]
            assert content != SECRET, (key, path)
            if name in (b"torn", b"torn too"):
                came["files held of those that moved"] += 1
                if content != content[:8] * TIMES:
                    assert name == b"torn", (key, path)
                    check_half_written(content)
                    came["files held as one write had come half way"] += 1


def check_half_written(content: bytes) -> None:
    """*content* is what stood there while the system was half through a single write.

    That is a moment like others: the writer may have been stopped for as long as two readings take.
    What was put together from two moments has the older number in front, or more than two.
    """
    newer, older = content[:8] * TIMES, content[-8:] * TIMES
    assert len(content) == len(newer)
    written = next(at for at in range(len(newer)) if content[at] != newer[at])
    assert content == newer[:written] + older[written:]
    assert int(content[:8]) > int(content[-8:])


def race(base: Path, seconds: float) -> Counter[str]:
    """Take turns and rewinds of everything beside a racer."""
    course = Course(base)
    racer = Racer(course.root, course.outside)
    racer.prepare()
    end = time.monotonic() + seconds
    with course.beside(racer.run):
        while time.monotonic() < end:
            course.round(Mode.BOTH)
    return course.finish()


def race_beside(base: Path, rounds: int) -> Counter[str]:
    """The same where what moves is not what is rewound: each rewind is to be carried out."""
    course = Course(base)
    (course.root / "ignored").mkdir()
    (course.root / ".gitignore").write_text("ignored/\n")
    seen = Racer(course.root / "racing", course.outside)
    unseen = Racer(course.root / "ignored", course.outside)
    for racer in (seen, unseen):
        racer.prepare()
    for racer, mode, paths in ((seen, Mode.FILES, [b"own", b"made"]), (unseen, Mode.BOTH, [])):
        if racer is unseen:
            shutil.rmtree(course.root / "racing")
        with course.beside(racer.run):
            for _ in range(rounds):
                report = course.round(mode, paths)
                assert report is not None
                assert not report.failed
    return course.finish()


def race_into_restores(base: Path, rounds: int) -> Counter[str]:
    """Have each restore hit between its undo point and the paths that it comes to last."""
    course = Course(base)
    root = course.root
    (root / "made").mkdir()
    for number in range(MANY):
        (root / f"made/{number:03}").write_text(f"{number}\n")
    hitter = Hitter(course.sitting.project.session.folder, root, course.outside)
    with course.beside(hitter.run):
        for _ in range(rounds):
            one_hit_round(course, hitter)
    return course.finish()


def one_hit_round(course: Course, hitter: Hitter) -> None:
    root, hits = course.root, hitter.hits()
    for name in ("away", "swapped"):
        clear(root / name)
    (root / "swapped/in").mkdir(parents=True)
    for name in (LAST, "swapped/f", "swapped/in/f"):
        (root / name).write_text("before\n")
    course.sitting.play(shell("for f in made/* swapped/f swapped/in/f; do echo turn >$f; done"))
    report = course.rewind(Mode.BOTH)
    assert report is not None
    was_hit, failed = hitter.hits() > hits, {one.path for one in report.failed}
    last = (root / LAST).read_bytes()
    if was_hit and last != hit_content(hits):
        course.came["hits that were lost"] += 1
    course.came["hits"] += was_hit
    course.came["hits that were seen and left"] += LAST.encode() in failed
    assert (LAST.encode() not in failed) or last == hit_content(hits)
    if not failed:
        assert last in (b"before\n", hit_content(hits))
    for number in range(MANY):
        assert (root / f"made/{number:03}").read_text() == f"{number}\n"


def clear(path: Path) -> None:
    """Take away what a hit left there."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


NEWER, OLDER = b"%08d" % 12 * TIMES, b"%08d" % 11 * TIMES


@pytest.mark.parametrize(
    "mixed",
    [
        pytest.param(OLDER[:5000] + NEWER[5000:], id="the older in front"),
        pytest.param(NEWER[:5000] + OLDER[5000:9000] + NEWER[9000:], id="three parts"),
    ],
)
def test_what_is_put_together_from_two_moments_is_told_from_what_is_half_written(
    mixed: bytes,
) -> None:
    check_half_written(NEWER[:5000] + OLDER[5000:])

    with pytest.raises(AssertionError):
        check_half_written(mixed)


def test_what_moves_meanwhile_is_neither_torn_nor_followed_outside(tmp_path: Path) -> None:
    came = race(tmp_path, 2.0)

    assert came["captures"] >= 2, came


def test_what_does_not_move_is_rewound_while_the_rest_moves(tmp_path: Path) -> None:
    came = race_beside(tmp_path, 4)

    assert came["carried out"] == 8, came


def test_what_is_hit_after_the_undo_point_was_taken_is_left_and_named(tmp_path: Path) -> None:
    came = race_into_restores(tmp_path, 5)

    assert came["carried out"] == 5, came
    assert came["hits that were seen and left"] >= 1, came
    assert came["hits that were lost"] == 0, came


@pytest.mark.soak
def test_an_endless_race_is_neither_torn_nor_followed_outside(tmp_path: Path) -> None:
    came = race(tmp_path, 60.0)

    print(came)  # noqa: T201 - the figures of docs/reliability.md
    assert came["refused as stale"] >= 10, came


@pytest.mark.soak
def test_a_hundred_rewinds_are_carried_out_while_the_rest_moves(tmp_path: Path) -> None:
    came = race_beside(tmp_path, 50)

    print(came)  # noqa: T201 - see above
    assert came["carried out"] == 100, came


@pytest.mark.soak
def test_fifty_restores_that_are_hit_leave_what_hit_them(tmp_path: Path) -> None:
    came = race_into_restores(tmp_path, 50)

    print(came)  # noqa: T201 - see above
    assert came["hits that were seen and left"] >= 25, came
    assert came["hits that were lost"] <= 1, came
