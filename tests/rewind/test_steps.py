"""Only what the undo point holds as the preview showed it becomes a step, and is then changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from keryx_py.rewind.apply import Outcome, Step, carry_out
from keryx_py.rewind.confirm import steps_from
from keryx_py.rewind.plan import PathChange
from keryx_py.snapshot.listing import FileState, Kind, Skipped, TreeState
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.worktree import WorkTree

SHOWN = FileState(Kind.FILE, 0o644, b"s" * 20)
MOVED = FileState(Kind.FILE, 0o644, b"m" * 20)
LINK = FileState(Kind.LINK, 0, b"l" * 20)
THEN = FileState(Kind.FILE, 0o644, b"t" * 20)


def steps_when(
    held: FileState | None, shown: FileState | None, *, being_written: bool = False
) -> tuple[tuple[Step, ...], tuple[Skipped, ...]]:
    change = PathChange(b"p", shown, THEN, (), being_written)
    listing = {} if held is None else {b"p": held}
    return steps_from((change,), TreeState(listing))


def test_a_path_that_is_held_as_shown_is_a_step() -> None:
    assert steps_when(SHOWN, SHOWN) == ((Step(b"p", SHOWN, THEN),), ())


@pytest.mark.parametrize(
    ("held", "shown"), [(MOVED, SHOWN), (LINK, SHOWN), (None, SHOWN), (SHOWN, None)]
)
def test_a_path_that_moved_since_the_preview_is_left_and_named(
    held: FileState | None, shown: FileState | None
) -> None:
    steps, left = steps_when(held, shown)

    assert steps == ()
    assert left == (Skipped(b"p", "it changed while the undo point was taken"),)


def test_a_path_that_is_being_written_may_have_other_content_and_no_other_kind() -> None:
    assert steps_when(MOVED, SHOWN, being_written=True)[0] == (Step(b"p", MOVED, THEN),)
    assert steps_when(LINK, SHOWN, being_written=True)[0] == ()


def test_a_path_that_the_undo_point_cannot_hold_is_left_with_the_reason() -> None:
    change = PathChange(b"p", SHOWN, THEN, ())
    skipped = TreeState({}, skipped=(Skipped(b"p", "a pipe"),))

    assert steps_from((change,), skipped) == (
        (),
        (Skipped(b"p", "the undo point cannot hold it: a pipe"),),
    )


def test_a_path_that_is_right_by_the_time_it_is_come_to_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("as planned\n")
    (tmp_path / "d").mkdir(0o750)
    tree = WorkTree(tmp_path)
    before = [path.stat() for path in (tmp_path, tmp_path / "p", tmp_path / "d")]
    steps = [
        Step(b"p", MOVED, tree.state(b"p")),
        Step(b"d", None, tree.state(b"d")),
        Step(b"gone", SHOWN, None),
    ]

    outcome = carry_out(steps, tree, lambda oid: oid, lambda: "")

    assert outcome == Outcome((b"d", b"gone", b"p"), ())
    after = [path.stat() for path in (tmp_path, tmp_path / "p", tmp_path / "d")]
    assert [(one.st_ino, one.st_ctime_ns) for one in after] == [
        (one.st_ino, one.st_ctime_ns) for one in before
    ]


def test_nothing_more_is_done_once_there_is_a_reason_not_to(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("old\n")
    tree = WorkTree(tmp_path)
    new = FileState(Kind.FILE, 0o644, object_id(ObjectKind.BLOB, b"new\n"))
    steps = [Step(path, tree.state(path), new) for path in (b"a", b"b")]
    reasons = iter(("", "it is over", "it is over"))

    outcome = carry_out(steps, tree, lambda _: b"new\n", lambda: next(reasons))

    assert outcome == Outcome((b"a",), (Skipped(b"b", "it is over"),))
    assert (tmp_path / "a").read_text() == "new\n"
    assert (tmp_path / "b").read_text() == "old\n"


def test_a_folder_that_is_swapped_after_the_look_does_not_get_what_was_meant_for_the_other(
    tmp_path: Path,
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("old\n")
    tree = WorkTree(tmp_path)
    old = tree.state(b"d/f")
    new = FileState(Kind.FILE, 0o644, object_id(ObjectKind.BLOB, b"new\n"))

    def swap_and_read(_: bytes) -> bytes:
        (tmp_path / "d").rename(tmp_path / "moved")
        (tmp_path / "d").mkdir()
        (tmp_path / "d" / "f").write_text("never looked at\n")
        return b"new\n"

    carry_out([Step(b"d/f", old, new)], tree, swap_and_read, lambda: "")

    assert (tmp_path / "d" / "f").read_text() == "never looked at\n"
    assert (tmp_path / "moved" / "f").read_text() == "new\n"
