"""What the person changed is left, or one turn alone is taken back, at the shell."""

from __future__ import annotations

from pathlib import Path

from keryx_py.session.archive import TurnEntry
from tests.cases.conftest import Sit
from tests.cases.sitting import edit, read, shell, write

LINES = "".join(f"line {number}\n" for number in range(1, 13))


def test_a_plain_preview_that_takes_edits_offers_keep_in_its_first_line(
    root: Path, sit: Sit
) -> None:
    sitting = sit()

    said = sitting.play(
        write("f", "turn\n"),
        lambda: (root / "f").write_text("mine\n"),
        "/rewind 1 both",
    )

    warning = next(row for row in said.splitlines() if row.startswith("warning: "))
    assert "an edit of yours would go, in 1 path" in warning
    assert warning.endswith("/rewind 1 both keep leaves them")


def test_what_stays_what_is_merged_and_what_conflicts_is_said_before_anything_happens(
    root: Path, sit: Sit
) -> None:
    for name in ("merged", "clash"):
        (root / name).write_text(LINES)
    (root / "mine").write_text("old\n")
    sitting = sit()

    def edit_all() -> None:
        for name, old in (("merged", "line 11"), ("clash", "TURN")):
            text = (root / name).read_text()
            (root / name).write_text(text.replace(old, "MINE"))
        (root / "mine").write_text("mine\n")

    said = sitting.play(
        (edit("merged", "line 2\n", "TURN\n"), edit("clash", "line 2\n", "TURN\n")),
        edit_all,
        "/rewind 1 both keep diff",
    )

    rows = [row.strip() for row in said.splitlines()]
    assert "rewind both to before turn 1, keeping what you changed: turn 1" in rows
    assert "modified      merged  +1 -1     turn 1, merged" in rows
    assert "clash (both sides changed the same lines): /diff 1 clash shows both sides" in rows
    assert rows[rows.index("stays, because you changed it:") + 1] == "mine"
    assert "-TURN" in rows
    assert "+line 2" in rows
    assert "would go" not in said
    assert (root / "merged").read_text().count("TURN") == 1

    said = sitting.play("/rewind 1 both keep", "/rewind confirm")

    assert (root / "merged").read_text() == LINES.replace("line 11", "MINE")
    assert (root / "clash").read_text() == LINES.replace("line 2\n", "MINE\n")
    assert (root / "mine").read_text() == "mine\n"
    assert "history: 1 turn went" in said
    assert "in conflict, stays as it is:" in said


def test_the_command_that_a_conflict_names_shows_both_sides(root: Path, sit: Sit) -> None:
    (root / "a b").write_text("old\n")
    sitting = sit()

    said = sitting.play(
        write("a b", "turn\n"),
        lambda: (root / "a b").write_text("mine\n"),
        "/rewind 1 files keep",
        "/diff 1 'a b'",
    )

    assert "/diff 1 'a b' shows both sides" in said
    assert "-old\n+mine\n" in said


def test_edits_between_turns_stay_each_in_its_place(root: Path, sit: Sit) -> None:
    (root / "f").write_text(LINES)
    sitting = sit()

    def mine(number: int) -> None:
        text = (root / "f").read_text()
        (root / "f").write_text(text.replace(f"line {number}\n", f"mine {number}\n"))

    sitting.play(
        edit("f", "line 1\n", "TURN 1\n"),
        lambda: mine(4),
        edit("f", "line 7\n", "TURN 2\n"),
        lambda: mine(10),
        "/rewind 1 files keep",
        "/rewind confirm",
    )

    expected = LINES.replace("line 4\n", "mine 4\n").replace("line 10\n", "mine 10\n")
    assert (root / "f").read_text() == expected


def test_keep_is_undone_by_redo_also_after_a_restart(root: Path, sit: Sit) -> None:
    (root / "f").write_text(LINES)
    sitting = sit()
    sitting.play(
        edit("f", "line 1\n", "TURN 1\n"),
        lambda: (root / "f").write_text((root / "f").read_text() + "mine\n"),
        "/rewind 1 both keep",
        "/rewind confirm",
    )
    assert (root / "f").read_text() == LINES + "mine\n"

    said = sitting.resume().play("/redo")

    assert (root / "f").read_text() == LINES.replace("line 1\n", "TURN 1\n") + "mine\n"
    assert "history: as it was before the rewind" in said


def test_an_edit_after_the_preview_is_seen_before_anything_happens(root: Path, sit: Sit) -> None:
    (root / "f").write_text(LINES)
    sitting = sit()

    def mine(text: str) -> None:
        (root / "f").write_text((root / "f").read_text() + text)

    said = sitting.play(
        edit("f", "line 1\n", "TURN 1\n"),
        lambda: mine("mine\n"),
        "/rewind 1 files keep",
        lambda: mine("more\n"),
        "/rewind confirm",
    )

    assert "the project has changed since; nothing was done" in said
    assert (root / "f").read_text().startswith("TURN 1\n")
    sitting.play("/rewind 1 files keep", "/rewind confirm")
    assert (root / "f").read_text() == LINES + "mine\nmore\n"


def test_one_turn_alone_is_taken_back_and_the_model_is_told(root: Path, sit: Sit) -> None:
    (root / "f").write_text(LINES)
    sitting = sit()

    said = sitting.play(
        (edit("f", "line 2\n", "TURN 1\n"), write("new", "x\n")),
        edit("f", "line 6\n", "TURN 2\n"),
        lambda: (root / "f").write_text((root / "f").read_text() + "mine\n"),
        "/rewind 1 only",
        "/rewind confirm",
        read("f"),
    )

    assert "take back turn 1 alone: turn 1" in said
    assert (root / "f").read_text() == LINES.replace("line 6\n", "TURN 2\n") + "mine\n"
    assert not (root / "new").exists()
    turns = [e for e in sitting.project.session.entries if isinstance(e, TurnEntry)]
    assert len(turns) == 3
    assert "f, new" in turns[-1].note


def test_one_turn_alone_says_why_it_cannot(root: Path, sit: Sit) -> None:
    sitting = sit()

    said = sitting.play(read("f"), "/rewind 1 only", "/checkpoint here", "/rewind 2 only")

    assert "turn 1 changed no file, so there is nothing to take back" in said
    assert "point 2 is no turn" in said


def test_history_has_no_edits_to_keep(root: Path, sit: Sit) -> None:
    sitting = sit()

    said = sitting.play(write("f", "x\n"), "/rewind 1 history keep", "/rewind confirm")

    assert "keep goes with files or both" in said
    assert "nothing to confirm" in said


def test_a_file_named_keep_is_named_with_a_dot(root: Path, sit: Sit) -> None:
    sitting = sit()

    sitting.play(
        shell("echo x > keep; echo x > other"), "/rewind 1 files ./keep", "/rewind confirm"
    )

    assert not (root / "keep").exists()
    assert (root / "other").exists()
