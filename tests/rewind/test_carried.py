"""A rewind that keeps loses no line that a turn carried from where the person had written it."""

from __future__ import annotations

import os

import pytest

from keryx_py.rewind.plan import RewindPlan, Way
from keryx_py.session.archive import Mode
from tests.rewind.leave import leave, text
from tests.rewind.play import Project
from tests.rewind.stores import meddled
from tests.rewind.test_other_sessions import Seat

GONE = "removed on one side and changed on the other"


def conflicts(plan: RewindPlan) -> dict[str, str]:
    assert plan.files is not None
    return {os.fsdecode(one.path): one.reason for one in plan.files.conflicts}


def move(project: Project, source: str, target: str) -> None:
    (project.root / source).replace(project.root / target)


def edited(project: Project) -> None:
    """A turn makes `notes`, and the person adds a line to it."""
    project.turn(lambda: project.write("notes", "the turn's\n"))
    project.write("notes", "the turn's\nMINE ONE\n")


def test_a_file_of_the_turn_that_was_edited_and_then_moved_comes_back_as_it_was_edited(
    project: Project,
) -> None:
    """Its old path is in conflict and empty now: what the person wrote is in what goes."""
    project.turn(lambda: project.write("notes", "the turn's\n"))
    project.write("notes", "the turn's\nmine\n")
    project.turn(lambda: (project.root / "notes").rename(project.root / "docs"))

    report = leave(project, 1)

    assert text(project, "notes") == "the turn's\nmine\n"
    assert text(project, "docs") is None
    assert report.plan.files is not None
    (conflict,) = report.plan.files.conflicts
    assert conflict.path == b"notes"
    assert conflict.reason.endswith("it comes back as you left it")
    assert report.plan.files.merged == ()


@pytest.mark.parametrize("moved", ["one\nMINE\nthree\n", "head\nMINE\ntail\n"])
def test_what_a_turn_carried_to_another_file_stays_where_its_own_is_taken(
    project: Project, moved: str
) -> None:
    """Moved whole or in part, and another file put in its place."""
    project.write("f", "one\ntwo\nthree\n")
    project.turn(lambda: project.write("f", "one\nTURN\nthree\n"))
    project.write("f", "one\nMINE\nthree\n")

    def move() -> None:
        project.write("g", moved)
        project.write("h", "the turn's alone\n")
        project.write("f", "it is in g now\n")

    project.turn(move)

    report = leave(project, 1)

    assert text(project, "f") == "it is in g now\n"
    assert text(project, "g") == moved
    assert text(project, "h") is None
    assert report.plan.files is not None
    assert [(one.path, one.reason) for one in report.plan.files.conflicts] == [
        (b"f", "both sides changed the same lines"),
        (b"g", "it holds what you wrote in f"),
    ]


def test_what_the_person_took_away_again_does_not_hold_a_turns_file(project: Project) -> None:
    project.turn(lambda: project.write("f", "the turn's\n"))
    project.write("f", "mine\n")
    project.turn(lambda: project.write("g", "mine\n"))
    (project.root / "f").unlink()

    leave(project, 1)

    assert text(project, "f") is None
    assert text(project, "g") is None


def test_what_was_carried_stays_also_where_the_person_edits_what_the_turn_left_behind(
    project: Project,
) -> None:
    edited(project)

    def work() -> None:
        move(project, "notes", "docs")
        project.write("notes", "see docs\n")

    project.turn(work)
    project.write("notes", "see docs\nMINE TWO\n")

    plan = project.rewinder().plan(1, Mode.FILES, way=Way.KEEP)

    assert plan.empty
    assert conflicts(plan)["docs"] == "it holds what you wrote in notes"


def test_what_comes_back_is_not_all_where_the_person_wrote_anew_in_its_place(
    project: Project,
) -> None:
    edited(project)
    project.turn(lambda: move(project, "notes", "docs"))
    project.write("notes", "MINE TWO\n")
    project.turn((project.root / "notes").unlink)

    report = leave(project, 1)

    assert text(project, "notes") == "MINE TWO\n"
    assert text(project, "docs") == "the turn's\nMINE ONE\n"
    assert conflicts(report.plan) == {
        "docs": "it holds what you wrote in notes",
        "notes": f"{GONE}; it comes back as you left it",
    }


def test_a_path_outside_the_limit_takes_nothing_back_and_so_holds_nothing(
    project: Project,
) -> None:
    edited(project)
    project.turn(lambda: move(project, "notes", "docs"))

    plan = project.rewinder().plan(1, Mode.FILES, [b"docs"], way=Way.KEEP)

    assert plan.empty
    assert conflicts(plan) == {"docs": "it holds what you wrote in notes"}


def test_what_cannot_come_back_for_what_stands_in_its_way_is_held_where_it_is(
    project: Project,
) -> None:
    """A rule hides the folder that stands there now; nobody took the lines away."""
    project.write(".gitignore", "notes/\n")
    edited(project)

    def work() -> None:
        move(project, "notes", "docs")
        project.write("notes/cache", "x\n")

    project.turn(work)

    plan = project.rewinder().plan(1, Mode.FILES, way=Way.KEEP)

    assert plan.empty
    assert conflicts(plan) == {"docs": "it holds what you wrote in notes"}


def test_an_edit_that_a_rewind_took_back_does_not_come_back_with_a_removed_file(
    project: Project,
) -> None:
    project.turn(lambda: project.write("f", "v1\n"))
    project.write("f", "v1\nMINE\n")
    project.turn(lambda: project.write("f", "v1\nMINE\nturn\n"))
    project.write("f", "v1\nMINE\nturn\nTAKEN BACK\n")
    project.rewind(2)
    project.turn((project.root / "f").unlink)

    leave(project, 1)

    assert text(project, "f") == "v1\nMINE\n"


def test_a_line_that_others_have_as_well_holds_no_file_that_is_the_turns_alone(
    project: Project,
) -> None:
    """`kept` had it all along, and will."""
    project.write("f", "def f():\n    x\n")
    project.write("kept", "    return None\nold\n")

    def work() -> None:
        project.write("f", "def f():\n    TURN\n")
        project.write("made", "    return None\n")

    project.turn(work)
    project.write("f", "def f():\n    return None\n")

    def rework() -> None:
        project.write("f", "def f():\n    other\n")
        project.write("kept", "    return None\nthe turn's\n")

    project.turn(rework)

    report = leave(project, 1)

    assert text(project, "kept") == "    return None\nold\n"
    assert text(project, "made") is None
    assert list(conflicts(report.plan)) == ["f"]


def test_what_only_held_a_line_before_the_person_wrote_it_is_not_what_it_was_carried_to(
    project: Project,
) -> None:
    project.write("f", "one\n")

    def work() -> None:
        project.write("f", "TURN\n")
        project.write("made", "common\n")

    project.turn(work)
    project.write("f", "common\n")

    def rework() -> None:
        project.write("f", "other\n")
        project.write("made", "common\nand more\n")

    project.turn(rework)

    leave(project, 1)

    assert text(project, "made") is None


def test_what_stands_elsewhere_afterwards_holds_nothing(project: Project) -> None:
    edited(project)
    project.write("diary", "MINE ONE\n")

    def work() -> None:
        move(project, "notes", "docs")
        project.write("notes", "see docs\n")

    project.turn(work)

    leave(project, 1)

    assert text(project, "docs") is None
    assert text(project, "diary") == "MINE ONE\n"


def test_a_line_that_the_person_took_away_again_holds_nothing(project: Project) -> None:
    edited(project)

    def work() -> None:
        project.write("notes", "the turn's\nMINE ONE\nmore\n")
        project.write("docs", "MINE ONE\n")

    project.turn(work)
    project.write("notes", "the turn's\nmore\n")

    leave(project, 1)

    assert text(project, "docs") is None


def test_what_cannot_come_back_is_not_said_to(project: Project) -> None:
    project.turn(lambda: project.write("d/notes", "the turn's\n"))
    project.write("d/notes", "the turn's\nMINE\n")

    def work() -> None:
        (project.root / "d/notes").unlink()
        (project.root / "d").rmdir()
        os.mkfifo(project.root / "d")

    project.turn(work)

    plan = project.rewinder().plan(1, Mode.FILES, way=Way.KEEP)

    assert plan.empty
    assert "comes back" not in str(conflicts(plan))


def test_lines_of_another_session_are_not_called_yours(project: Project) -> None:
    mine, theirs = Seat(project), Seat(project)
    mine.work("f", "v1\n")
    theirs.work("f", "v1\nTHEIRS\n")
    mine.begin()
    move(project, "f", "g")
    mine.end()
    mine.begin()
    project.write("f", "anew\n")
    mine.end()

    plan = mine.rewinder().plan(1, Mode.FILES, way=Way.KEEP)

    assert conflicts(plan)["g"] == "it holds what another session wrote in f"


def test_what_another_session_left_comes_back_as_that(project: Project) -> None:
    mine, theirs = Seat(project), Seat(project)
    mine.work("f", "v1\n")
    theirs.work("f", "v1\nTHEIRS\n")
    mine.begin()
    (project.root / "f").unlink()
    mine.end()

    plan = mine.rewinder().plan(1, Mode.FILES, way=Way.KEEP)

    assert conflicts(plan) == {"f": f"{GONE}; it comes back as another session left it"}


def test_of_two_origins_the_first_is_named(project: Project) -> None:
    for name in "ab":
        project.write(name, "one\n")

    def change() -> None:
        for name in "ab":
            project.write(name, "TURN\n")

    project.turn(change)
    for name in "ab":
        project.write(name, f"MINE {name}\n")

    def work() -> None:
        for name in "ab":
            project.write(name, "moved\n")
        project.write("g", "MINE b\nMINE a\n")

    project.turn(work)

    plan = project.rewinder().plan(1, Mode.FILES, way=Way.KEEP)

    assert conflicts(plan)["g"] == "it holds what you wrote in a"


# ---- what rewinds wrote in between


@pytest.mark.parametrize("way", [Way.PLAIN, Way.KEEP])
def test_what_an_earlier_rewind_wrote_is_nobodys_where_nothing_of_the_persons_is_in_it(
    project: Project, way: Way
) -> None:
    project.write("f", "0\n")
    project.turn(lambda: project.write("f", "1\n"))

    def work() -> None:
        project.write("f", "2\n")
        project.write("n", "new\n")

    project.turn(work)
    leave(project, 1, way)

    report = leave(project, 2)
    second = text(project, "f")
    undo = leave(project, 3)

    assert conflicts(report.plan) == {}
    assert second == "1\n"
    assert (text(project, "f"), text(project, "n")) == ("2\n", "new\n")
    assert undo.plan.files is not None
    assert undo.plan.files.kept == ()


def test_what_is_saved_while_a_rewind_runs_is_not_the_rewinds(project: Project) -> None:
    project.write("f", "old\n")
    project.write("g", "old\n")
    project.turn(lambda: project.write("f", "the turn's\n"))
    meddled(project, lambda key: project.write("g", "MINE\n") if key.number == 2 else None)
    undo = project.rewind(1).undo
    project.store = project.open_store()
    assert undo is not None

    report = leave(project, undo)

    assert text(project, "f") == "the turn's\n"
    assert text(project, "g") == "MINE\n"
    assert report.plan.files is not None
    assert report.plan.files.kept == (b"g",)


def test_a_redo_is_told_as_what_it_brought_back(project: Project) -> None:
    """To a point between a rewind and its redo, the redo goes like a turn would."""
    project.write("f", "old\n")
    project.turn(lambda: project.write("f", "the turn's\n"))
    project.rewind(1)
    point = project.recorder().checkpoint("")
    project.rewinder().apply(project.rewinder().plan_redo())

    leave(project, point)

    assert text(project, "f") == "old\n"
