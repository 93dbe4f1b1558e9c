"""A number always means the point that the list shows there, and a wrong line changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from keryx_py.messages import Message, Role
from keryx_py.session.archive import live_turns
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, call, read, shell, write
from tests.cases.watching import look_at, stamps


def prompts_sent(sitting: Sitting) -> list[str]:
    """The prompts that the model would be sent next."""
    items = sitting.project.window.items()
    return [item.text for item in items if isinstance(item, Message) and item.role is Role.USER]


def listed(sitting: Sitting) -> dict[int, str]:
    """The list's lines by their numbers."""
    rows = sitting.play("/rewind").splitlines()
    return {int(row.split()[0]): row for row in rows if row[:1].isdigit()}


@pytest.mark.parametrize("number", range(1, 11))
def test_a_number_cuts_where_the_list_shows_it(root: Path, sit: Sit, number: int) -> None:
    """NUM-01: ten turns of five calls each; the cut is checked by what is left of both halves."""
    sitting = sit()
    sitting.play(
        *(
            (read("f"), write("f", f"{n}\n"), read("f"), call("list_dir", path="."), read("f"))
            for n in range(1, 11)
        )
    )
    row = listed(sitting)[number]

    said = sitting.rewind(number, "both")

    assert f"turn {number} " in row
    assert prompts_sent(sitting) == [f"turn {n}" for n in range(1, number)]
    assert (root / "f").exists() is (number > 1)
    if number > 1:
        assert (root / "f").read_text() == f"{number - 1}\n"
    assert f"the prompt was: turn {number}\n" in said


def test_numbers_are_never_reused_or_shifted(root: Path, sit: Sit) -> None:
    """NUM-01: prompts, checkpoints and undo points share one row of numbers, across rewinds and
    another start."""
    sitting = sit()
    sitting.play(write("a", "1"), "/checkpoint mark", write("a", "3"))
    sitting.rewind(3, "both")
    sitting.play(write("b", "5"))
    sitting.resume()
    sitting.rewind(1)
    sitting.play(())

    rows = listed(sitting)

    assert list(rows) == [7, 6, 5, 4, 3, 2, 1]
    assert "mark" in rows[2]
    assert "turn 2" in rows[3]
    assert "before the rewind to 3" in rows[4]
    assert "turn 3" in rows[5]
    assert "before the rewind to 1" in rows[6]
    assert live_turns(sitting.project.session.entries) == (1, 5, 7)


def test_a_failed_and_a_refused_turn_have_their_number_too(root: Path, sit: Sit) -> None:
    """NUM-01: every prompt that was sent counts, whatever became of it."""
    sitting = sit(settings={"approve": frozenset()})

    sitting.play("nobody answers this", write("a", "denied"), ())

    assert list(listed(sitting)) == [3, 2, 1]
    assert "nobody answers this" in listed(sitting)[1]


WRONG = {
    "/rewind 0": "0 is not the number of a point",
    "/rewind -1": "-1 is not the number of a point",
    "/rewind 99": "there is no point 99; the points are 1 to 2",
    "/rewind 1x": "1x is not the number of a point",
    "/rewind 1.5": "is not the number of a point",
    "/rewind ١": "is not the number of a point",
    "/rewind 99999999999999999999999": "is not the number of a point",
    "/rewind one": "one is not the number of a point",
    "/rewind 1 file": "did you mean files?",
    "/rewind 1 FILES": "did you mean files?",
    "/rewind 1 2": "is not a mode",
    "/rewind 1 both f": "paths go with the mode files only",
    "/rewind 1 history f": "paths go with the mode files only",
    "/rewind 1 files nowhere": "names nothing, neither now nor then",
    "/rewind 1 files ../x": "outside the project",
    "/rewind 1 files 'unclosed": "quot",
    "/rewind confirm": "nothing to confirm",
    "/rewind confirm 1": "nothing was done: /rewind confirm stands alone",
    "/rewind confrim": "is not the number of a point",
    "/rewnd 1": "did you mean /rewind?",
    "/undo 1": "",
    "/redo": "there is no rewind to take back",
    "/diff 99": "there is no point 99",
    "/diff": "/diff N",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_is_one_clear_sentence_and_changes_nothing(
    root: Path, sit: Sit, line: str
) -> None:
    """NUM-06: with no preview pending, nothing can be confirmed by it."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(write("f", "1\n"), shell("echo 2 > f"))
    before, entries = stamps(root), sitting.project.session.entries

    said = sitting.play(line, "/rewind confirm")

    assert stamps(root) == before
    assert sitting.project.session.entries == entries
    assert WRONG[line] in said
    assert "nothing to confirm" in said
    assert "bug" not in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "line", ["/rewind 99", "/rewind 1 file", "/rewind confirm 1", "/rewnd 1", "/redo", "/status"]
)
def test_a_wrong_line_withdraws_a_preview(root: Path, sit: Sit, line: str) -> None:
    """NUM-06: any other line than the confirm does; what was shown is not applied after it."""
    sitting = sit()
    sitting.play(write("f", "1\n"), write("f", "2\n"))
    before = look_at(root)

    said = sitting.play("/rewind 1 both", line, "/rewind confirm")

    assert look_at(root) == before
    assert "preview withdrawn" in said
    assert "nothing to confirm" in said


def test_a_confirm_counts_once(root: Path, sit: Sit) -> None:
    """NUM-06: the second one of a pair confirms nothing."""
    sitting = sit()
    sitting.play(write("f", "1\n"), write("f", "2\n"))

    said = sitting.play("/rewind 2 both", "/rewind confirm", "/rewind confirm")

    assert said.count("history: 1 turn went") == 1
    assert "nothing to confirm" in said
    assert (root / "f").read_text() == "1\n"


def test_the_first_lines_of_a_new_session_have_nothing_to_go_to(root: Path, sit: Sit) -> None:
    """NUM-06: an empty list, and refusals that say so."""
    sitting = sit()

    said = sitting.play("/rewind", "/rewind 1", "/undo", "/redo", "/rewind confirm", "/diff all")

    assert "no points yet" in said
    assert "there is nothing to rewind to yet" in said
    assert "there is no turn to undo" in said
    assert "bug" not in said


def test_a_point_of_a_turn_that_went_can_roll_back_files_only(root: Path, sit: Sit) -> None:
    """NUM-06: its number still means that turn, and history cannot be cut there again."""
    sitting = sit()
    sitting.play(write("f", "1\n"), write("f", "2\n"))
    sitting.rewind(2, "both")
    before = stamps(root)

    said = sitting.play("/rewind 2 both", "/rewind 2 history", "/rewind confirm")

    assert stamps(root) == before
    assert said.count("point 2 can roll back files only; use /rewind 2 files") == 2
    assert "nothing to confirm" in said
