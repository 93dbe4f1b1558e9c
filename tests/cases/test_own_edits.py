"""What the person changes is told apart from what the turns change, and is never lost unseen."""

from __future__ import annotations

from pathlib import Path

from tests.cases.conftest import Sit
from tests.cases.sitting import edit, read, shell, write
from tests.cases.watching import captured, held, look_at, stamps


def test_an_edit_after_a_turn_that_only_read_is_left_alone(root: Path, sit: Sit) -> None:
    """USER-01: no mutating call, no snapshot, nothing to restore."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(read("f"), lambda: (root / "f").write_text("mine\n"))
    before = stamps(root)

    said = sitting.rewind(1, "both")

    assert stamps(root) == before
    assert sitting.project.store is not None
    assert sitting.project.store.keys() == frozenset()
    assert "files: this turn changed nothing" in said


def test_an_edit_between_a_reading_turn_and_a_writing_one_survives_the_latter(
    root: Path, sit: Sit
) -> None:
    """USER-01: the snapshot of the writing turn is taken after the edit, and holds it."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(read("f"), lambda: (root / "f").write_text("mine\n"), write("f", "turn\n"))

    sitting.rewind(2)

    assert (root / "f").read_text() == "mine\n"


def test_edits_between_turns_are_counted_named_and_held(root: Path, sit: Sit) -> None:
    """USER-03: ten files of one's own, changed over three turns, go with a rewind to the first."""
    for n in range(10):
        (root / f"own{n}").write_text("old\n")
    sitting = sit()

    def mine(*numbers: int) -> None:
        for n in numbers:
            (root / f"own{n}").write_text(f"mine {n}\n")

    sitting.play(
        write("t1", "1"),
        lambda: mine(0, 1, 2, 3),
        write("t2", "2"),
        lambda: mine(4, 5, 6),
        write("t3", "3"),
        lambda: mine(7, 8, 9),
    )
    before = look_at(root)
    said = sitting.play("/rewind", "/rewind 1")
    sitting.play("/rewind 1", "/rewind confirm")

    assert "edits of yours would go, in 10 paths" in said
    assert "files: 13 files (10 modified, 3 removed)" in said
    rows = [line.split() for line in said.splitlines() if line.startswith("  modified")]
    assert sorted(row[1] for row in rows) == [f"own{n}" for n in range(10)]
    assert {row[-1] for row in rows} == {"you"}
    listed = {line[:1]: line for line in said.splitlines() if line[:1].isdigit()}
    assert listed["1"].endswith("1 file, you changed 4 since")
    assert listed["2"].endswith("1 file, you changed 3 since")
    assert listed["3"].endswith("1 file, you changed 3 since")
    assert {f"own{n}": held(sitting, 4, f"own{n}") for n in range(10)} == {
        f"own{n}": f"mine {n}\n".encode() for n in range(10)
    }
    sitting.play("/redo", "/rewind confirm")
    assert look_at(root) == before


def test_what_the_turn_left_is_told_from_what_changed_since(root: Path, sit: Sit) -> None:
    """USER-07: the one file as the turn left it, the other with an edit of one's own on it."""
    (root / "a").write_text("old\n")
    (root / "b").write_text("old\n")
    sitting = sit()
    sitting.play(
        (edit("a", "old", "turn"), edit("b", "old", "turn")),
        lambda: (root / "a").write_text("turn and me\n"),
    )

    said = sitting.play("/rewind 1")

    assert "  modified      a  +1 -1     turn 1, you\n" in said
    assert "  modified      b  +1 -1     turn 1\n" in said


def test_a_file_put_back_by_hand_is_nobody_s_change(root: Path, sit: Sit) -> None:
    """USER-07: what is already as it was then is neither listed nor touched."""
    (root / "a").write_text("old\n")
    (root / "b").write_text("old\n")
    sitting = sit()
    sitting.play(
        (edit("a", "old", "turn"), edit("b", "old", "turn")),
        lambda: (root / "a").write_text("old\n"),
    )
    before = stamps(root)

    said = sitting.rewind(1)

    assert stamps(root)["a"] == before["a"]
    assert "files: 1 file (1 modified)" in said


def test_a_file_that_the_person_removed_since_comes_back_named(root: Path, sit: Sit) -> None:
    """USER-07: a removal of one's own is an edit like any other."""
    (root / "a").write_text("old\n")
    sitting = sit()
    sitting.play(edit("a", "old", "turn"), (root / "a").unlink)

    said = sitting.rewind(1)

    assert "  brought back  a  +1 -0     turn 1, you\n" in said
    assert (root / "a").read_text() == "old\n"


def test_undo_waits_for_confirm_when_an_edit_of_ones_own_would_go(root: Path, sit: Sit) -> None:
    """USER-07: what the turn alone changed goes at once; what one changed since does not."""
    (root / "a").write_text("old\n")
    sitting = sit()
    sitting.play(edit("a", "old", "turn"), lambda: (root / "a").write_text("mine\n"))

    said = sitting.play("/undo")
    waiting = (root / "a").read_text()
    sitting.play("/undo", "/rewind confirm")

    assert "an edit of yours would go" in said
    assert waiting == "mine\n"
    assert (root / "a").read_text() == "old\n"


def test_edits_of_ones_own_outside_the_paths_asked_for_stay(root: Path, sit: Sit) -> None:
    """USER-03: a rewind of one path takes nothing else."""
    (root / "own").write_text("old\n")
    sitting = sit()
    sitting.play((write("t", "1"), write("d/u", "1")), lambda: (root / "own").write_text("mine\n"))

    sitting.rewind(1, "files", "t")

    assert look_at(root) == {
        "own": ("file", 0o644, b"mine\n"),
        "d": ("folder", 0o755, b""),
        "d/u": ("file", 0o644, b"1"),
    }


def test_what_changed_while_keryx_was_away_is_the_person_s(root: Path, sit: Sit) -> None:
    """USER-03: also in another process, after the turn's end was captured."""
    sitting = sit()
    sitting.play(write("a", "turn\n"))
    sitting.resume()
    (root / "mine").write_text("mine\n")

    said = sitting.play("/rewind 1", "/rewind confirm")

    assert "  removed       mine  +0 -1     you\n" in said
    assert captured(sitting, 2).keys() == {"a", "mine"}


def test_what_the_person_changes_during_a_turn_counts_as_the_turn_s(root: Path, sit: Sit) -> None:
    """USER-07: between a turn's snapshot and its end nobody can tell whose hand it was."""
    sitting = sit()

    sitting.play(shell("echo turn > a; echo meanwhile > b"))
    said = sitting.play("/rewind 1")

    assert "  removed       b  +0 -1     turn 1\n" in said


def test_what_a_rule_of_the_turn_hides_is_not_called_the_person_s(root: Path, sit: Sit) -> None:
    """USER-07: the turn's end could not hold it, so who wrote it since is unknown, and said so."""
    for name in ("a.log", "b.log"):
        (root / name).write_text("old\n")
    sitting = sit()
    sitting.play(
        shell("echo '*.log' > .gitignore; echo turn > a.log; echo turn > b.log"),
        lambda: (root / "b.log").write_text("mine\n"),
    )

    said = sitting.rewind(1)

    assert "  modified      a.log       +1 -1     turn 1, unknown\n" in said
    assert "  modified      b.log       +1 -1     turn 1, unknown\n" in said
    assert held(sitting, 2, "b.log") == b"mine\n"


def test_what_a_rule_hid_for_a_while_is_still_the_turn_s(root: Path, sit: Sit) -> None:
    """USER-07: it came out of hiding as it went in, so nobody changed it meanwhile."""
    (root / ".gitignore").write_text("*.log\n")
    (root / "a.log").write_text("old\n")
    sitting = sit()
    sitting.play(shell("rm .gitignore"), shell("echo turn > a.log"))
    sitting.rewind(1)

    said = sitting.play("/rewind 2")

    assert "  modified      a.log       +1 -1     turn 2\n" in said
