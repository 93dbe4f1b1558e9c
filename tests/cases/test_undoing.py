"""Every rewind can be taken back, byte for byte, also after another start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, shell, write
from tests.cases.watching import look_at

WORK = (
    "printf 'a\\r\\nb' > crlf; head -c 3000 /dev/urandom > bin; mkdir -p e/f; ln -s bin link",
    "rm bin; chmod 755 crlf; mv e g; printf x > $(printf 'odd\\nname')",
    "rm -r g link; mkdir link; echo y > link/inner; chmod 600 crlf",
)


def worked(sit: Sit) -> Sitting:
    """Take three turns that change files of every kind."""
    sitting = sit()
    sitting.play(*(shell(command) for command in WORK))
    return sitting


@pytest.mark.parametrize("restart", ["never", "before the redo", "after it", "both"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_rewind_is_taken_back_byte_for_byte(
    root: Path, sit: Sit, number: int, restart: str
) -> None:
    """REDO-01: files and conversation as before, also across another start."""
    sitting = worked(sit)
    files, context = look_at(root), sitting.project.window.items()

    sitting.rewind(number, "both")
    rewound = look_at(root)
    if restart in ("before the redo", "both"):
        sitting.resume()
    said = sitting.play("/redo")
    if restart in ("after it", "both"):
        sitting.resume()

    assert rewound != files
    assert look_at(root) == files
    assert sitting.project.window.items() == context
    assert "history: as it was before the rewind" in said


def test_several_rewinds_are_taken_back_one_by_one(root: Path, sit: Sit) -> None:
    """REDO-01: the latest first, each with its own mode, until none is left."""
    sitting = worked(sit)
    states = [(look_at(root), sitting.project.window.items())]
    for number, mode in ((3, "both"), (2, "files"), (2, "history"), (1, "both")):
        sitting.rewind(number, mode)
        states.append((look_at(root), sitting.project.window.items()))

    for expected in reversed(states[:-1]):
        sitting.play("/redo", "/rewind confirm")
        assert (look_at(root), sitting.project.window.items()) == expected
    said = sitting.play("/redo")

    assert "there is no rewind to take back" in said
    assert look_at(root) == states[0][0]


def test_a_redo_can_itself_be_undone(root: Path, sit: Sit) -> None:
    """REDO-01: it takes an undo point first, like any restore."""
    sitting = worked(sit)
    sitting.rewind(2, "both")
    rewound = look_at(root)

    sitting.play("/redo")
    points = sitting.play("/rewind")
    number = int(next(row for row in points.splitlines() if "before a redo" in row).split()[0])
    sitting.rewind(number)

    assert look_at(root) == rewound


def test_a_redo_keeps_what_the_person_changed_since(root: Path, sit: Sit) -> None:
    """REDO-01: it is shown first and waits for a word, and its own undo point holds it."""
    sitting = worked(sit)
    sitting.rewind(2, "both")
    (root / "crlf").write_text("mine\n")
    (root / "own").write_text("mine\n")
    before = look_at(root)

    said = sitting.play("/redo")
    waiting = look_at(root)
    sitting.play("/redo", "/rewind confirm")
    redone = look_at(root)
    points = sitting.play("/rewind")
    number = int(next(row for row in points.splitlines() if "before a redo" in row).split()[0])
    sitting.rewind(number)

    assert waiting == before
    assert "an edit of yours would go, in 1 path" in said
    assert redone["crlf"][2] == b"a\r\nb"
    assert redone["own"] == before["own"]
    assert look_at(root) == before


def test_once_a_turn_has_begun_the_number_that_brings_the_files_back_is_named(
    root: Path, sit: Sit
) -> None:
    """REDO-01: and it does."""
    sitting = worked(sit)
    files = look_at(root)
    sitting.rewind(2, "both")

    said = sitting.play((), "/redo")
    sitting.rewind(4)

    assert "/rewind 4 files brings its files back" in said
    assert look_at(root) == files


def test_undo_and_redo_go_to_and_fro_through_all_turns(root: Path, sit: Sit) -> None:
    """REDO-01: each step is a state that there was."""
    sitting = worked(sit)
    states = [look_at(root)]
    for _ in WORK:
        sitting.play("/undo")
        states.append(look_at(root))
    nothing = sitting.play("/undo")

    for expected in reversed(states[:-1]):
        sitting.play("/redo")
        assert look_at(root) == expected

    assert states[-1] == {}
    assert "there is no turn to undo" in nothing
    assert len({str(sorted(state)) for state in states}) == 4


def test_a_rewind_of_named_paths_is_taken_back_alone(root: Path, sit: Sit) -> None:
    """REDO-01: what it did not touch is not touched by its undoing."""
    sitting = sit()
    sitting.play((write("a", "1"), write("b", "1")), (write("a", "2"), write("b", "2")))
    sitting.rewind(2, "files", "a")
    (root / "b").write_text("mine")

    sitting.play("/redo")

    assert (root / "a").read_text() == "2"
    assert (root / "b").read_text() == "mine"


def test_a_rewind_that_could_not_be_done_whole_is_taken_back(root: Path, sit: Sit) -> None:
    """REDO-03: what was left as the person had it stays, and the rest is as before."""
    sitting = sit()
    sitting.play(shell("echo 1 > a; echo 1 > b; mkdir d; echo 1 > d/f"))
    (root / ".gitignore").write_text("d/ignored\n")
    (root / "d" / "ignored").write_text("mine\n")
    before = look_at(root)

    said = sitting.rewind(1)
    during = look_at(root)
    sitting.play("/redo", "/rewind confirm")

    assert "d/ignored" in said
    assert during.keys() == {"d", "d/ignored"}
    assert look_at(root) == before
