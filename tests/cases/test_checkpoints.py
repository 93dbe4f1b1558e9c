"""Named checkpoints: taken, listed, used for a number, taken away, and never pruned."""

from __future__ import annotations

from pathlib import Path

import pytest

from keryx_py.session.archive import UnpinnedEntry
from tests.cases.conftest import Sit
from tests.cases.sitting import write


def test_a_name_and_its_note_stand_in_the_list(root: Path, sit: Sit) -> None:
    said = sit().play(
        write("f", "1\n"), "/checkpoint before-refactor all tests don't fail yet", "/rewind"
    )

    assert "checkpoint 2, @before-refactor, taken" in said
    assert "[checkpoint] @before-refactor all tests don't fail yet" in said


def test_a_name_stands_wherever_a_number_may(root: Path, sit: Sit) -> None:
    sitting = sit()
    sitting.play(write("f", "1\n"), "/checkpoint good", write("f", "2\n"), write("g", "x\n"))

    diff = sitting.play("/diff @good", "/diff 1 @good f", "/rewind @good files f")
    said = sitting.play("/rewind @good both", "/rewind confirm")

    assert "2 files changed, +2 -1" in diff
    assert "1 file changed, +1 -0" in diff
    assert "rewind files to checkpoint 2: @good" in diff
    assert "history: 2 turns went" in said
    assert {path.name: path.read_text() for path in root.iterdir()} == {"f": "1\n"}


def test_history_to_a_checkpoint_cuts_what_is_numbered_above_it(root: Path, sit: Sit) -> None:
    sitting = sit()
    sitting.play(write("f", "1\n"), "/checkpoint good", write("f", "2\n"), write("f", "3\n"))

    said = sitting.play("/rewind @good history")
    after = sitting.play("/rewind @good history", "/rewind confirm", "/rewind")

    assert "history: 2 turns (3, 4) and" in said
    assert (root / "f").read_text() == "3\n"
    assert "[rewound] turn 3" in after
    assert "[rewound] turn 1" not in after


def test_an_unknown_name_names_the_nearest(root: Path, sit: Sit) -> None:
    sitting = sit()

    none = sitting.play("/rewind @good")
    said = sitting.play("/checkpoint good", "/rewind @godo", "/diff @goood", "/rewind @")

    assert "there is no checkpoint @good: none has a name yet" in none
    assert "there is no checkpoint @godo; the nearest is @good" in said
    assert "there is no checkpoint @goood; the nearest is @good" in said
    assert "there is no checkpoint @; the nearest is @good" in said


def test_a_name_is_given_once_until_it_is_taken_away(root: Path, sit: Sit) -> None:
    sitting = sit()
    sitting.play(write("f", "1\n"), "/checkpoint good")

    twice = sitting.play("/checkpoint good")
    said = sitting.play("/checkpoint -d good", "/rewind @good", "/checkpoint good", "/rewind @good")

    assert "checkpoint 2 has the name good; /checkpoint -d good takes it away" in twice
    assert "checkpoint 2 has no name any more" in said
    assert "there is no checkpoint @good" in said
    assert "checkpoint 3, @good, taken" in said
    assert "rewind files to checkpoint 3: @good" in said
    assert [e.number for e in sitting.project.session.entries if isinstance(e, UnpinnedEntry)] == [
        2
    ]


def test_a_checkpoint_that_failed_leaves_its_name_free(root: Path, sit: Sit) -> None:
    sitting = sit(settings={"free_floor_gb": 1e9})

    said = sitting.play("/checkpoint good", "/checkpoint good", "/rewind @good")

    assert said.count("the checkpoint could not be saved") == 2
    assert "there is no checkpoint @good" in said


def test_a_name_that_was_taken_away_pins_nothing(root: Path, sit: Sit) -> None:
    sitting = sit(settings={"keep": 2})
    sitting.play(write("f", "1\n"), "/checkpoint a", "/checkpoint b")
    assert sitting.project.snapshot_count() == 1

    sitting.play(*(write("f", f"{n}\n") for n in range(4)), "/checkpoint -d a")
    said = sitting.play("/rewind", "/rewind 2", "/rewind @b")

    assert sitting.project.snapshot_count() == 2
    assert "[checkpoint] @b" in said
    assert "rewind files to checkpoint 3: @b" in said
    assert "the files before point 2 cannot be restored (pruned)" in said


def test_names_are_there_after_a_resume_and_in_a_fork(root: Path, sit: Sit) -> None:
    sitting = sit()
    sitting.play(write("f", "1\n"), "/checkpoint good a note", write("f", "2\n"), "/checkpoint bad")
    sitting.play("/checkpoint -d bad")

    said = sitting.resume().play("/rewind", "/fork", "/rewind @good", "/rewind @bad")

    assert "[checkpoint] @good a note" in said
    assert "rewind files to checkpoint 2: @good" in said
    assert "there is no checkpoint @bad" in said


@pytest.mark.parametrize(
    "line", ["/checkpoint files", "/checkpoint 12", "/checkpoint a/b", "/checkpoint -d x"]
)
def test_what_is_refused_leaves_no_point(root: Path, sit: Sit, line: str) -> None:
    sitting = sit()

    sitting.play(line)

    assert sitting.project.session.entries == ()
