"""Compactions and new starts lose no point, and no cut that was made comes undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from keryx_py.messages import Item, Message, Role
from keryx_py.session.archive import live_turns
from tests.cases.children import elsewhere
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, Step, write
from tests.cases.watching import look_at

SUMMARY = "The conversation so far was played from a script."


def turns(count: int) -> list[Step]:
    return [write("f", f"{n}\n") for n in range(1, count + 1)]


def sent(sitting: Sitting) -> tuple[Item, ...]:
    """What the model would be sent next."""
    return sitting.project.window.items()


def prompts(sitting: Sitting) -> list[str]:
    items = sent(sitting)
    return [item.text for item in items if isinstance(item, Message) and item.role is Role.USER]


def numbers(sitting: Sitting) -> list[int]:
    rows = sitting.play("/rewind").splitlines()
    return [int(row.split()[0]) for row in rows if row[:1].isdigit()]


# ---- compaction


def test_turns_that_a_summary_stands_for_can_be_rewound(root: Path, sit: Sit) -> None:
    """RES-01: files and history, across the compaction; the summary is no point of its own."""
    sitting = sit()
    said = sitting.play(*turns(6), "/compact")
    listed = numbers(sitting)
    summed = prompts(sitting)

    sitting.rewind(2, "both")

    assert "compacted 3 turns" in said
    assert SUMMARY in summed[0]
    assert listed == [6, 5, 4, 3, 2, 1]
    assert (root / "f").read_text() == "1\n"
    assert prompts(sitting) == ["turn 1"]


def test_a_rewind_behind_the_summary_keeps_it(root: Path, sit: Sit) -> None:
    """RES-01: what it stands for is all still there."""
    sitting = sit()
    sitting.play(*turns(6), "/compact")

    sitting.rewind(5, "both")

    assert SUMMARY in prompts(sitting)[0]
    assert "turn 4" in prompts(sitting)[-1]
    assert (root / "f").read_text() == "4\n"


def test_a_redo_brings_the_summary_back_with_the_turns(root: Path, sit: Sit) -> None:
    """RES-01: the context is the same as before, item by item."""
    sitting = sit()
    sitting.play(*turns(6), "/compact")
    before = sent(sitting)

    sitting.rewind(2, "both")
    sitting.play("/redo", "/rewind confirm")
    redone = sent(sitting)
    sitting.resume()

    assert redone == before
    assert sent(sitting) == before
    assert (root / "f").read_text() == "6\n"


@pytest.mark.parametrize("number", range(1, 7))
def test_every_point_works_across_a_compaction_and_another_start(
    root: Path, sit: Sit, number: int
) -> None:
    """RES-01: two compactions, the second over the first, and a start in between."""
    sitting = sit()
    sitting.play(*turns(5), "/compact")
    sitting.resume()
    sitting.play(write("f", "6\n"), "/compact")
    sitting.resume()

    sitting.rewind(number, "both")
    at_once = sent(sitting)
    sitting.resume()

    assert ((root / "f").read_text() if number > 1 else "0\n") == f"{number - 1}\n"
    assert (root / "f").exists() is (number > 1)
    assert sent(sitting) == at_once
    assert live_turns(sitting.project.session.entries) == tuple(range(1, number))
    assert sitting.play(())


def test_with_few_turns_there_is_nothing_to_compact(root: Path, sit: Sit) -> None:
    """RES-01: and that is said, not done."""
    sitting = sit()

    said = sitting.play(*turns(3), "/compact")

    assert "nothing to compact" in said
    assert prompts(sitting) == ["turn 1", "turn 2", "turn 3"]


# ---- another start


@pytest.mark.parametrize("mode", ["history", "both"])
def test_a_cut_holds_when_keryx_is_left_without_another_word(
    root: Path, sit: Sit, mode: str
) -> None:
    """RES-03: it was on the disk before it was said, so also when the process is killed then."""
    sitting = sit()
    sitting.play(*turns(3))
    before = sent(sitting)

    def cut_and_die() -> None:
        said = sitting.rewind(2, mode)
        assert "history: 2 turns went" in said
        # The child ends without closing anything.

    elsewhere(sitting, cut_and_die)

    assert prompts(sitting) == ["turn 1"]
    assert len(sent(sitting)) < len(before)
    assert (root / "f").read_text() == ("1\n" if mode == "both" else "3\n")
    sitting.play(())
    assert prompts(sitting) == ["turn 1", "turn 4"]


def test_earlier_turns_are_there_after_any_number_of_starts(root: Path, sit: Sit) -> None:
    """RES-05: resume, rewind, resume; the rewind cuts what it said and nothing before it."""
    sitting = sit()
    sitting.play(*turns(4))
    sitting.resume()
    sitting.rewind(3, "both")
    sitting.resume()

    listed = numbers(sitting)
    sitting.play(write("f", "again\n"))
    sitting.resume()
    sitting.rewind(2, "both")
    sitting.resume()

    assert listed == [5, 4, 3, 2, 1]
    assert prompts(sitting) == ["turn 1"]
    assert (root / "f").read_text() == "1\n"
    sitting.rewind(1)
    assert look_at(root) == {}


def test_a_preview_does_not_outlive_the_process(root: Path, sit: Sit) -> None:
    """RES-05: what was shown in another process is not confirmed in this one."""
    sitting = sit()
    sitting.play(*turns(2), "/rewind 1 both")

    said = sitting.resume().play("/rewind confirm")

    assert "nothing to confirm" in said
    assert (root / "f").read_text() == "2\n"


def test_approvals_do_not_outlive_the_process(root: Path, sit: Sit) -> None:
    """RES-05: everything else does."""
    sitting = sit(settings={"approve": frozenset()})
    sitting.play("/approve write", write("f", "1\n"))

    said = sitting.resume().play(write("f", "2\n"))

    assert "denied" in said
    assert (root / "f").read_text() == "1\n"


def test_a_fork_goes_its_own_way(root: Path, sit: Sit) -> None:
    """RES-05: both have all the points; a rewind in one is none in the other."""
    sitting = sit()
    sitting.play(*turns(3))
    original = sitting.project.session.id
    sitting.play("/fork")
    sitting.rewind(2, "both")

    forked = prompts(sitting)
    sitting.play(f"/resume {original}")

    assert forked == ["turn 1"]
    assert prompts(sitting) == ["turn 1", "turn 2", "turn 3"]
    assert numbers(sitting) == [3, 2, 1]
    sitting.rewind(1)
    assert look_at(root) == {}
