"""Folders come and go with what is in them, and what is already right is not touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cases.conftest import Sit
from tests.cases.sitting import edit, shell, write
from tests.cases.watching import held, look_at, stamps


def test_folders_that_the_turn_made_go_with_its_file(root: Path, sit: Sit) -> None:
    """DIR-01: all the way up, and named."""
    sitting = sit()
    sitting.play(write("x/y/z", "turn\n"))

    said = sitting.rewind(1)

    assert look_at(root) == {}
    assert "files: 1 file (1 removed) and 2 folders" in said


def test_a_folder_that_was_empty_before_stays(root: Path, sit: Sit) -> None:
    """DIR-01: emptied again, and it is the same folder."""
    (root / "x" / "deep").mkdir(parents=True)
    before = look_at(root)
    inode = (root / "x" / "deep").stat().st_ino
    sitting = sit()
    sitting.play((write("x/deep/y/z", "turn\n"), write("x/w", "turn\n")))

    sitting.rewind(1)

    assert look_at(root) == before
    assert (root / "x" / "deep").stat().st_ino == inode


def test_an_empty_folder_that_the_turn_removed_comes_back(root: Path, sit: Sit) -> None:
    """DIR-01: empty folders are part of the project, with their modes."""
    (root / "empty" / "inner").mkdir(parents=True)
    (root / "empty" / "inner").chmod(0o700)
    (root / "full").mkdir()
    (root / "full" / "f").write_text("old\n")
    before = look_at(root)
    sitting = sit()
    sitting.play(shell("rm -r empty full"))

    sitting.rewind(1)

    assert look_at(root) == before


def test_an_empty_folder_that_the_turn_made_goes(root: Path, sit: Sit) -> None:
    """DIR-01: a turn that made only folders can be taken back, too."""
    sitting = sit()
    sitting.play(shell("mkdir -p a/b/c d"))

    said = sitting.rewind(1)

    assert look_at(root) == {}
    assert "files: 4 folders" in said


def test_ones_own_file_in_a_folder_of_the_turn_s_is_shown_and_held(root: Path, sit: Sit) -> None:
    """DIR-01: a full rewind takes it, named as one's own; the undo point holds it."""
    sitting = sit()
    sitting.play(write("x/y/z", "turn\n"), lambda: (root / "x" / "mine").write_text("mine\n"))
    before = look_at(root)

    said = sitting.rewind(1)

    assert look_at(root) == {}
    assert "  removed       x/mine" in said
    assert "an edit of yours would go" in said
    assert held(sitting, 2, "x/mine") == b"mine\n"
    sitting.play("/redo", "/rewind confirm")
    assert look_at(root) == before


def test_a_folder_in_which_something_stays_stays(root: Path, sit: Sit) -> None:
    """DIR-01: a file of one's own that was not asked for keeps the folders above it."""
    sitting = sit()
    sitting.play(write("x/y/z", "turn\n"), lambda: (root / "x" / "mine").write_text("mine\n"))

    sitting.rewind(1, "files", "x/y")

    assert look_at(root) == {
        "x": ("folder", 0o755, b""),
        "x/mine": ("file", 0o644, b"mine\n"),
    }


def test_a_folder_that_holds_an_ignored_file_stays(root: Path, sit: Sit) -> None:
    """DIR-01: and is named with what it holds."""
    (root / ".gitignore").write_text("*.log\n")
    sitting = sit()
    sitting.play(write("x/y/z", "turn\n"), lambda: (root / "x" / "a.log").write_text("log\n"))

    said = sitting.rewind(1)

    assert look_at(root).keys() == {".gitignore", "x", "x/a.log"}
    assert "x (holds x/a.log)" in said
    assert "failed" not in said


def test_ones_own_file_put_into_the_folder_after_the_preview_stays(root: Path, sit: Sit) -> None:
    """DIR-01: the plan is stale; nothing is done before the person has seen it."""
    sitting = sit()
    sitting.play(write("x/z", "turn\n"))

    said = sitting.play(
        "/rewind 1", lambda: (root / "x" / "mine").write_text("mine\n"), "/rewind confirm"
    )

    assert look_at(root).keys() == {"x", "x/mine", "x/z"}
    assert "nothing was done" in said


def test_a_file_comes_back_where_the_turn_made_a_folder(root: Path, sit: Sit) -> None:
    """DIR-03: what one put into that folder is listed, and in the undo point."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(
        shell("rm f; mkdir f; echo k > f/k"), lambda: (root / "f" / "mine").write_text("mine\n")
    )
    before = look_at(root)

    said = sitting.rewind(1)

    assert look_at(root) == {"f": ("file", 0o644, b"old\n")}
    assert "  removed       f/mine  +0 -1" in said
    assert held(sitting, 2, "f/mine") == b"mine\n"
    sitting.play("/redo", "/rewind confirm")
    assert look_at(root) == before


def test_a_folder_comes_back_where_the_turn_made_a_file(root: Path, sit: Sit) -> None:
    """DIR-03: the reverse, with one's own edit of that file."""
    (root / "d" / "e").mkdir(parents=True)
    (root / "d" / "e" / "f").write_text("old\n")
    (root / "d" / "empty").mkdir()
    before = look_at(root)
    sitting = sit()
    sitting.play(shell("rm -r d; echo turn > d"), lambda: (root / "d").write_text("mine\n"))

    said = sitting.rewind(1)

    assert look_at(root) == before
    assert "turn 1, you" in said
    assert held(sitting, 2, "d") == b"mine\n"


def test_a_file_waits_where_something_stays_in_the_folder(root: Path, sit: Sit) -> None:
    """DIR-03: both are named, the rest is done, and that is no failure."""
    (root / ".gitignore").write_text("*.log\n")
    (root / "f").write_text("old\n")
    (root / "g").write_text("old\n")
    sitting = sit()
    sitting.play(shell("rm f; mkdir f; echo k > f/k; echo log > f/a.log; echo turn > g"))

    said = sitting.rewind(1, "both")

    assert look_at(root).keys() == {".gitignore", "f", "f/a.log", "g"}
    assert (root / "g").read_text() == "old\n"
    assert "f (holds f/a.log)" in said
    assert "failed" not in said
    assert "history: 1 turn went" in said


@pytest.mark.parametrize(
    "command",
    [
        "rm -r a; echo x > a; mkdir b.new; mv b b.new/b",
        "mv a c; mv b a; mv c b",
        "rm -r a/*; mkdir a/f; echo x > a/f/f; rm -r b; ln -s a b",
        "find . -type f -delete; find . -depth -type d -empty -delete; true",
        "mkdir -p a/f2/g; mv a/f a/f2/g/h; mv b a/f2/",
    ],
)
def test_swaps_and_moves_come_back_in_one_piece(root: Path, sit: Sit, command: str) -> None:
    """DIR-03: and forth again."""
    for name in ("a/f", "a/d/g", "b/h", "top"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{name}\n")
    (root / "a" / "empty").mkdir()
    before = look_at(root)
    sitting = sit()
    sitting.play(shell(command))
    between = look_at(root)

    said = sitting.rewind(1)
    back = look_at(root)
    sitting.play("/redo", "/rewind confirm")

    assert "of yours would go" not in said
    assert back == before
    assert look_at(root) == between


# ---- needless rewriting


def test_paths_that_are_right_keep_their_times_and_inodes(root: Path, sit: Sit) -> None:
    """TIME-01: of a hundred old files one was edited, and that one alone is written."""
    for n in range(100):
        path = root / f"d{n % 5}" / f"f{n}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{n}\n")
        os.utime(path, (1_000_000_000 + n, 1_000_000_000 + n))
    sitting = sit()
    before = stamps(root)
    sitting.play(edit("d2/f7", "7", "turn"))

    said = sitting.rewind(1)

    after = stamps(root)
    assert "files: 1 file (1 modified)" in said
    assert {name for name in before if after[name] != before[name]} == {"d2", "d2/f7"}
    assert after["d2"][:2] == before["d2"][:2]


def test_a_rewind_and_its_redo_write_only_what_differs(root: Path, sit: Sit) -> None:
    """TIME-01: the way back touches no more than the way there; a look touches nothing."""
    for n in range(20):
        (root / f"f{n}").write_text(f"{n}\n")
    before = stamps(root)
    sitting = sit()
    sitting.play(edit("f3", "3", "turn"))
    turn = stamps(root)
    sitting.play("/rewind", "/rewind 1 files diff", "/diff 1")
    looked = stamps(root)

    sitting.rewind(1)
    sitting.play("/redo", "/rewind confirm")

    assert looked == turn
    after = stamps(root)
    assert {name for name in before if after[name] != before[name]} == {".", "f3"}


def test_a_file_touched_but_the_same_is_left_alone(root: Path, sit: Sit) -> None:
    """TIME-01: a newer time alone is no change, and is not taken back."""
    (root / "touched").write_text("old\n")
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(shell("touch -d '2001-01-01' touched; cp touched c; mv c touched; echo x > f"))
    before = stamps(root)["touched"]

    said = sitting.rewind(1)

    assert stamps(root)["touched"] == before
    assert "files: 1 file (1 modified)" in said
