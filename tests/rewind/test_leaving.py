"""Rewinds that leave what came later: keep, and only, on real trees."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from keryx_py.rewind.plan import Way
from keryx_py.rewind.rewinder import RefusedError, StalePlanError
from keryx_py.session.archive import Mode, RewindEntry, TurnEnd, pending_note
from tests.rewind.leave import leave, text
from tests.rewind.play import Project

LINES = "".join(f"line {number}\n" for number in range(1, 21))


def line(number: int, text: str, of: str) -> str:
    """Replace a line of *of*."""
    return of.replace(f"line {number}\n", text + "\n")


# ---- keep


def test_what_only_the_person_changed_stays_and_what_the_turn_changed_goes(
    project: Project,
) -> None:
    project.write("turn", "old\n")
    project.write("mine", "old\n")
    project.turn(lambda: project.write("turn", "new\n"))
    project.write("mine", "my own\n")
    project.write("mine-too", "new of mine\n")

    report = leave(project, 1)

    assert text(project, "turn") == "old\n"
    assert text(project, "mine") == "my own\n"
    assert text(project, "mine-too") == "new of mine\n"
    assert report.plan.files is not None
    assert report.plan.files.kept == (b"mine", b"mine-too")
    assert report.plan.files.conflicts == ()


def test_a_file_that_both_changed_is_merged(project: Project) -> None:
    project.write("f", LINES)
    project.turn(lambda: project.write("f", line(2, "the turn's", LINES)))
    project.write("f", line(18, "mine", line(2, "the turn's", LINES)))

    report = leave(project, 1)

    assert text(project, "f") == line(18, "mine", LINES)
    assert report.plan.files is not None
    assert report.plan.files.merged == (b"f",)


def test_the_difference_and_its_lines_are_those_of_the_merge(project: Project) -> None:
    project.write("f", LINES)
    project.turn(lambda: project.write("f", line(2, "the turn's", LINES)))
    project.write("f", line(18, "mine", line(2, "the turn's", LINES)))

    plan = project.rewinder().plan(1, Mode.FILES, way=Way.KEEP)

    assert project.rewinder().line_counts(plan) == {b"f": (1, 1)}
    assert "-the turn's\n+line 2\n" in project.rewinder().diff(plan)
    assert "mine" not in project.rewinder().diff(plan).replace(" mine", "")


def test_a_conflict_leaves_the_persons_file_as_it_is_and_names_it(project: Project) -> None:
    project.write("f", LINES)
    project.write("g", "old\n")

    def work() -> None:
        project.write("f", line(2, "the turn's", LINES))
        project.write("g", "new\n")

    project.turn(work)
    project.write("f", line(2, "mine", LINES))

    report = leave(project, 1)

    assert text(project, "f") == line(2, "mine", LINES)
    assert text(project, "g") == "old\n"
    assert report.plan.files is not None
    assert [one.path for one in report.plan.files.conflicts] == [b"f"]
    assert report.failed == ()


def test_each_edit_of_the_person_is_merged_in_its_order(project: Project) -> None:
    project.write("f", LINES)

    def turn(number: int) -> None:
        now = text(project, "f") or ""
        project.turn(lambda: project.write("f", line(number, f"turn {number}", now)))

    def mine(number: int) -> None:
        project.write("f", line(number, f"mine {number}", text(project, "f") or ""))

    mine(1)
    turn(3)
    mine(5)
    turn(7)
    mine(9)
    turn(11)
    mine(13)

    leave(project, 2)

    expected = LINES
    for number, who in ((1, "mine 1"), (3, "turn 3"), (5, "mine 5"), (9, "mine 9")):
        expected = line(number, who, expected)
    assert text(project, "f") == line(13, "mine 13", expected)


def test_an_edit_that_a_later_turn_took_back_returns(project: Project) -> None:
    project.write("f", LINES)
    project.turn(lambda: project.write("other", "x\n"))
    project.write("f", line(2, "mine", LINES))
    project.turn(lambda: project.write("f", LINES))

    leave(project, 1)

    assert text(project, "f") == line(2, "mine", LINES)
    assert text(project, "other") is None


def test_a_file_that_the_turn_removed_after_an_edit_comes_back_with_the_edit(
    project: Project,
) -> None:
    project.write("d/f", LINES)
    project.turn(lambda: project.write("x", "x\n"))
    project.write("d/f", line(4, "mine", LINES))
    project.turn(lambda: shutil.rmtree(project.root / "d"))

    leave(project, 1)

    assert text(project, "d/f") == line(4, "mine", LINES)
    assert text(project, "x") is None


def test_what_only_a_snapshot_in_between_holds_outlives_its_pruning(tmp_path: Path) -> None:
    project = Project(tmp_path, keep=2)
    project.turn(lambda: project.write("x", "x\n"))
    project.write("g", "mine\n")
    project.turn((project.root / "g").unlink)

    report = leave(project, 1)

    assert report.failed == ()
    assert text(project, "g") == "mine\n"
    kept = project.store.keys()
    assert {key.number for key in kept} == {1, 3}
    project.session.close()


def test_what_the_person_removed_stays_away(project: Project) -> None:
    project.write("f", "f\n")
    project.write("d/g", "g\n")
    project.turn(lambda: project.write("x", "x\n"))
    (project.root / "f").unlink()
    shutil.rmtree(project.root / "d")

    leave(project, 1)

    assert sorted(project.look()) == []


def test_a_folder_of_the_turn_stays_when_a_file_of_the_person_is_in_it(project: Project) -> None:
    project.turn(lambda: project.write("new/deep/by-turn", "x\n"))
    project.write("new/deep/mine", "mine\n")

    leave(project, 1)

    assert sorted(project.look()) == [b"new", b"new/deep", b"new/deep/mine"]


def test_a_file_of_the_turn_that_the_person_edited_stays_with_its_folder(project: Project) -> None:
    project.turn(lambda: project.write("new/f", "x\n"))
    project.write("new/f", "x\nand mine\n")
    project.write("other", "x\n")
    project.turn(lambda: project.write("other", "y\n"))

    report = leave(project, 1)

    assert text(project, "new/f") == "x\nand mine\n"
    assert text(project, "other") == "x\n"
    assert report.plan.files is not None
    assert [one.path for one in report.plan.files.conflicts] == [b"new/f"]


def test_a_file_in_place_of_the_turns_removed_folder_stays(project: Project) -> None:
    project.write("a/b", "b\n")
    project.turn(lambda: shutil.rmtree(project.root / "a"))
    project.write("a", "mine\n")
    project.write("z", "z\n")
    project.turn(lambda: project.write("z", "zz\n"))

    report = leave(project, 1)

    assert text(project, "a") == "mine\n"
    assert text(project, "z") == "z\n"
    assert report.plan.files is not None
    assert {one.path for one in report.plan.files.conflicts} == {b"a", b"a/b"}


def test_a_folder_in_place_of_the_turns_removed_file_stays(project: Project) -> None:
    project.write("a", "a\n")
    project.turn((project.root / "a").unlink)
    project.write("a/b", "mine\n")

    report = project.rewinder().plan(1, Mode.FILES, way=Way.KEEP)

    assert report.empty
    assert report.files is not None
    assert [one.path for one in report.files.conflicts] == [b"a"]


def test_a_mode_and_a_content_are_merged_whoever_changed_which(project: Project) -> None:
    project.write("f", "f\n", 0o644)
    project.write("g", "g\n", 0o644)

    def work() -> None:
        (project.root / "f").chmod(0o755)
        project.write("g", "by the turn\n")

    project.turn(work)
    project.write("f", "mine\n")
    (project.root / "g").chmod(0o600)

    leave(project, 1)

    assert project.look()[b"f"] == ("file", 0o644, b"mine\n")
    assert project.look()[b"g"] == ("file", 0o600, b"g\n")


def test_binary_files_and_links_are_one_or_the_other(project: Project) -> None:
    project.write("b", b"\0old")
    (project.root / "l").symlink_to("old")

    def work() -> None:
        project.write("b", b"\0new")
        (project.root / "l").unlink()
        (project.root / "l").symlink_to("new")
        project.write("x", "x\n")

    project.turn(work)
    project.write("b", b"\0mine")
    (project.root / "l").unlink()
    (project.root / "l").symlink_to("mine")

    report = leave(project, 1)

    assert (project.root / "b").read_bytes() == b"\0mine"
    assert (project.root / "l").readlink() == Path("mine")
    assert report.plan.files is not None
    assert [one.path for one in report.plan.files.conflicts] == [b"b", b"l"]


def test_after_a_crash_what_is_unknown_counts_as_the_persons(project: Project) -> None:
    project.write("f", "old\n")
    project.turn(lambda: project.write("f", "new\n"), how=None)

    plan = project.rewinder().plan(1, Mode.FILES, way=Way.KEEP)

    assert plan.empty
    assert plan.files is not None
    assert plan.files.kept == (b"f",)


def test_a_rewind_in_between_is_nobodys_edit(project: Project) -> None:
    project.write("f", LINES)
    project.turn(lambda: project.write("f", line(2, "turn 1", LINES)))
    project.write("f", line(18, "mine", line(2, "turn 1", LINES)))
    leave(project, 1)
    project.write("f", line(10, "mine too", line(18, "mine", LINES)))
    number = project.turn(
        lambda: project.write("f", (text(project, "f") or "").replace("line 5\n", "turn\n"))
    )
    assert number == 3

    leave(project, 1)

    assert text(project, "f") == line(10, "mine too", line(18, "mine", LINES))


@pytest.mark.parametrize("again", [False, True])
def test_what_a_rewind_to_before_the_point_wrote_is_taken_back(
    project: Project, again: bool
) -> None:
    """From an undo point on: the rewind's own writes go back, and the person's edits stay."""
    project.write("f", "old\n")
    project.write("g", "old\n")

    def work() -> None:
        project.write("f", "the turn's\n")
        project.write("n", "new\n")

    project.turn(work)
    undo = project.rewind(1).undo
    assert undo is not None
    if again:
        project.rewinder().apply(project.rewinder().plan_redo())
        project.rewind(1)
    project.write("g", "mine\n")

    report = leave(project, undo)

    assert text(project, "f") == "the turn's\n"
    assert text(project, "n") == "new\n"
    assert text(project, "g") == "mine\n"
    assert report.plan.files is not None
    assert report.plan.files.kept == (b"g",)


def test_an_edit_that_a_rewind_took_back_does_not_return(project: Project) -> None:
    project.write("f", LINES)
    project.turn(lambda: project.write("f", line(2, "turn 1", LINES)))
    project.write("f", line(18, "mine", line(2, "turn 1", LINES)))
    project.rewind(1)
    assert text(project, "f") == LINES
    project.turn(lambda: project.write("f", line(5, "turn 3", LINES)))

    leave(project, 1)

    assert text(project, "f") == LINES


def test_what_was_ignored_meanwhile_is_not_lost(project: Project) -> None:
    project.write("log", "old\n")
    project.turn(lambda: project.write(".gitignore", "log\n"))
    project.write("log", "mine\n")

    leave(project, 1)

    assert text(project, "log") == "mine\n"
    assert text(project, ".gitignore") is None


def test_what_comes_to_light_in_a_turn_is_not_taken_for_the_turns(project: Project) -> None:
    project.turn(lambda: project.write(".gitignore", "log\n"))
    project.write("log", "mine\n")
    project.turn(lambda: project.write(".gitignore", ""))

    leave(project, 1)

    assert text(project, "log") == "mine\n"
    assert text(project, ".gitignore") is None


def test_keep_with_paths_looks_at_nothing_else(project: Project) -> None:
    project.write("a", LINES)
    project.write("b", LINES)

    def work() -> None:
        project.write("a", line(2, "turn", LINES))
        project.write("b", line(2, "turn", LINES))

    project.turn(work)
    project.write("a", line(9, "mine", line(2, "turn", LINES)))

    plan = project.rewinder().plan(1, Mode.FILES, [b"a"], way=Way.KEEP)
    project.rewinder().apply(plan)

    assert text(project, "a") == line(9, "mine", LINES)
    assert text(project, "b") == line(2, "turn", LINES)


def test_both_cuts_the_history_and_redo_brings_everything_back(project: Project) -> None:
    project.write("f", LINES)
    project.turn(lambda: project.write("f", line(2, "turn", LINES)))
    project.write("f", line(9, "mine", line(2, "turn", LINES)))
    before = project.look()

    report = leave(project, 1, mode=Mode.BOTH)

    assert report.history_cut
    project.resume()
    plan = project.rewinder().plan_redo()
    assert project.rewinder().may_apply_at_once(plan)
    project.rewinder().apply(plan)
    assert project.look() == before


def test_an_edit_after_the_preview_makes_it_stale(project: Project) -> None:
    project.write("f", LINES)
    project.turn(lambda: project.write("f", line(2, "turn", LINES)))
    project.write("f", line(9, "mine", line(2, "turn", LINES)))
    plan = project.rewinder().plan(1, Mode.FILES, way=Way.KEEP)
    project.write("f", line(12, "mine", line(2, "turn", LINES)))
    again = project.rewinder().plan(1, Mode.FILES, way=Way.KEEP, previous=plan)

    with pytest.raises(StalePlanError) as caught:
        project.rewinder().apply(plan)

    assert caught.value.fresh.id == again.id
    assert caught.value.fresh.way is Way.KEEP
    project.rewinder().apply(again)
    assert text(project, "f") == line(12, "mine", LINES)


def test_history_has_nothing_to_keep(project: Project) -> None:
    project.turn(lambda: project.write("f"))

    with pytest.raises(RefusedError, match="keep goes with files or both"):
        project.rewinder().plan(1, Mode.HISTORY, way=Way.KEEP)


# ---- only


def test_one_turn_alone_goes_and_later_turns_and_edits_stay(project: Project) -> None:
    project.write("f", LINES)
    project.turn(lambda: project.write("f", line(2, "turn 1", LINES)))

    def work() -> None:
        project.write("f", line(9, "turn 2", text(project, "f") or ""))
        project.write("g", "by turn 2\n")

    project.turn(work)
    project.write("f", line(18, "mine", text(project, "f") or ""))

    report = leave(project, 1, Way.ONLY)

    assert text(project, "f") == line(18, "mine", line(9, "turn 2", LINES))
    assert text(project, "g") == "by turn 2\n"
    assert not report.history_cut
    assert "f" in pending_note(project.session.entries)
    assert isinstance(project.session.entries[-2], RewindEntry)


def test_what_one_turn_made_removed_and_moved_is_taken_back(project: Project) -> None:
    project.write("gone", "gone\n")
    project.write("d/f", "f\n")
    before = project.look()

    def work() -> None:
        (project.root / "gone").unlink()
        (project.root / "d").rename(project.root / "e")
        project.write("made/x", "x\n")

    project.turn(work)
    project.turn(lambda: project.write("later", "later\n"))

    leave(project, 1, Way.ONLY)

    after = project.look()
    assert after.pop(b"later") == ("file", 0o644, b"later\n")
    assert after == before


def test_a_later_change_of_the_same_lines_stays_and_is_named(project: Project) -> None:
    project.write("f", "1\n")
    project.turn(lambda: project.write("f", "2\n"))
    project.turn(lambda: project.write("f", "3\n"))

    plan = project.rewinder().plan(1, Mode.FILES, way=Way.ONLY)

    assert plan.empty
    assert plan.files is not None
    assert [one.path for one in plan.files.conflicts] == [b"f"]


def test_only_and_redo_is_the_identity(project: Project) -> None:
    project.write("f", LINES)
    project.turn(lambda: project.write("f", line(2, "turn 1", LINES)))
    project.write("f", line(9, "mine", text(project, "f") or ""))
    before = project.look()

    leave(project, 1, Way.ONLY)
    assert project.look() != before
    project.rewinder().apply(project.rewinder().plan_redo())

    assert project.look() == before


def test_what_was_ignored_then_is_never_removed(project: Project) -> None:
    project.write(".gitignore", "log\n")
    project.write("log", "mine\n")
    project.turn((project.root / ".gitignore").unlink)

    leave(project, 1, Way.ONLY)

    assert text(project, "log") == "mine\n"
    assert text(project, ".gitignore") == "log\n"


def no_end(project: Project) -> None:
    project.turn(lambda: project.write("f", "2\n"), how=None)


def only_read(project: Project) -> None:
    project.turn()


def checkpoint(project: Project) -> None:
    project.recorder().checkpoint("here")


def changed_nothing(project: Project) -> None:
    project.turn(lambda: None)


@pytest.mark.parametrize(
    ("first", "says"),
    [
        (no_end, "what turn 1 changed is not known: its end was not captured"),
        (only_read, "turn 1 changed no file"),
        (checkpoint, "point 1 is no turn"),
    ],
)
def test_what_cannot_be_taken_back_alone_is_refused(
    project: Project, first: Callable[[Project], None], says: str
) -> None:
    first(project)
    before = project.look(), len(project.session.entries)

    with pytest.raises(RefusedError, match=says):
        project.rewinder().plan(1, Mode.FILES, way=Way.ONLY)

    assert (project.look(), len(project.session.entries)) == before


def test_a_turn_that_changed_nothing_leaves_nothing_to_confirm(project: Project) -> None:
    changed_nothing(project)

    assert project.rewinder().plan(1, Mode.FILES, way=Way.ONLY).empty


def test_one_turn_alone_never_cuts_the_history(project: Project) -> None:
    project.turn(lambda: project.write("f"), how=TurnEnd.DONE)

    with pytest.raises(RefusedError, match="moves files only"):
        project.rewinder().plan(1, Mode.BOTH, way=Way.ONLY)
