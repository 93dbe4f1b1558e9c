"""Conversation and files move as the mode says, together or apart, and stay true to each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from keryx_py.messages import Message, Role
from keryx_py.session.archive import live_turns
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, edit, read, shell, write
from tests.cases.watching import look_at, shadow_git, stamps


def last_prompt(sitting: Sitting) -> str:
    """What the model was sent last from the person."""
    items = sitting.project.window.items()
    sent = [item.text for item in items if isinstance(item, Message) and item.role is Role.USER]
    return sent[-1]


def live(sitting: Sitting) -> tuple[int, ...]:
    return live_turns(sitting.project.session.entries)


# ---- history alone, files alone


def test_after_a_history_rewind_the_files_can_still_go_back(root: Path, sit: Sit) -> None:
    """SYNC-01: the point of the turn that went keeps its snapshot, and its number."""
    sitting = sit()
    sitting.play(write("f", "1\n"))

    cut = sitting.rewind(1, "history")
    during = look_at(root)
    said = sitting.rewind(1)

    assert "files left as they are; use /rewind 1 files" in cut
    assert during.keys() == {"f"}
    assert "  removed       f" in said
    assert look_at(root) == {}


def test_after_a_history_rewind_and_another_start_too(root: Path, sit: Sit) -> None:
    """SYNC-01: and with a turn after it, whose own point goes back to its own before."""
    sitting = sit()
    sitting.play(write("f", "1\n"))
    sitting.rewind(1, "history")
    sitting.resume()
    sitting.play(write("f", "2\n"))

    sitting.rewind(2)
    second = (root / "f").read_text()
    sitting.rewind(1)

    assert second == "1\n"
    assert look_at(root) == {}


@pytest.mark.parametrize("mode", ["files", "history", "both"])
@pytest.mark.parametrize(
    "command", ["echo new > f", "echo x > made", "rm f", "mv f g", "chmod 700 f", "true"]
)
def test_each_mode_moves_what_it_says_and_nothing_else(
    root: Path, sit: Sit, mode: str, command: str
) -> None:
    """SYNC-03: three modes times what a turn can do to a file."""
    (root / "f").write_text("old\n")
    before = look_at(root)
    sitting = sit()
    sitting.play((), shell(command))
    turned, times = look_at(root), stamps(root)

    said = sitting.rewind(2, mode)

    assert look_at(root) == (turned if mode == "history" else before)
    if mode == "history" or turned == before:
        assert stamps(root) == times
    unmoved = mode == "files" and turned == before
    assert live(sitting) == ((1, 2) if mode == "files" else (1,))
    assert ("history: 1 turn went" in said) is (mode != "files")
    assert ("nothing would change" in said) is unmoved
    if not unmoved:
        sitting.play("/redo", "/rewind confirm")
        assert (look_at(root), live(sitting)) == (turned, (1, 2))


# ---- all or nothing


def test_both_changes_nothing_when_the_snapshot_is_damaged(root: Path, sit: Sit) -> None:
    """SYNC-06: files first; when they cannot go back, the history does not go either (R6)."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(edit("f", "old", "new"))
    record = shadow_git(sitting, "rev-parse", "refs/keryx/1/before^").decode().strip()
    shadow_git(sitting, "update-ref", "refs/keryx/1/before", record)
    sitting.resume()
    before = stamps(root)

    said = sitting.play("/rewind", "/rewind 1 both", "/rewind confirm", "/rewind 1")

    assert stamps(root) == before
    assert live(sitting) == (1,)
    assert "damaged" in said
    assert "nothing to confirm" in said
    assert "bug" not in said
    assert "history: 1 turn went" in sitting.rewind(1, "history")


@pytest.mark.damaged_store
def test_both_changes_nothing_when_the_damage_shows_only_at_the_confirm(
    root: Path, sit: Sit
) -> None:
    """SYNC-06: every object needed is verified before the first write."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(edit("f", "old", "new"))
    packs = sitting.project.session.folder / "shadow.git" / "objects" / "pack"

    def damage() -> None:
        for pack in packs.glob("*.pack"):
            pack.chmod(0o600)
            content = bytearray(pack.read_bytes())
            content[12:-20] = b"\xff" * (len(content) - 32)
            pack.write_bytes(content)

    sitting.play("/rewind 1 both")
    before = stamps(root)
    said = sitting.play("/rewind 1 both", damage, "/rewind confirm")

    assert stamps(root) == before
    assert live(sitting) == (1,)
    assert "damaged" in said
    assert "bug" not in said


# ---- what the model is told


def test_the_model_is_told_which_paths_went_back(root: Path, sit: Sit) -> None:
    """SYNC-08: after a rewind of files alone, once; its tools see the restored bytes."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play((read("f"), edit("f", "old", "turn")))
    sitting.rewind(1)

    said = sitting.play(edit("f", "old", "again"))
    told = last_prompt(sitting)
    sitting.play(())
    later = last_prompt(sitting)

    assert "✗" not in said
    assert (root / "f").read_text() == "again\n"
    assert "f" in told
    assert "earlier state" in told
    assert told.endswith("turn 2")
    assert later == "turn 3"


def test_an_edit_that_rests_on_what_went_back_fails_and_changes_nothing(
    root: Path, sit: Sit
) -> None:
    """SYNC-08: an edit names the text that it replaces, so a stale idea is found out."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(edit("f", "old", "turn"))
    sitting.rewind(1)

    said = sitting.play(edit("f", "turn", "again"))

    assert "✗ edit_file f" in said
    assert (root / "f").read_text() == "old\n"


def test_after_both_the_model_is_told_nothing(root: Path, sit: Sit) -> None:
    """SYNC-08: files and conversation agree again, so there is nothing to tell."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(edit("f", "old", "turn"))
    sitting.rewind(1, "both")

    sitting.play(edit("f", "old", "again"))

    assert last_prompt(sitting) == "turn 2"


def test_a_files_rewind_that_is_taken_back_is_not_told(root: Path, sit: Sit) -> None:
    """SYNC-08: what never was for the model needs no word."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(edit("f", "old", "turn"))
    sitting.rewind(1)
    sitting.play("/redo")

    sitting.play(edit("f", "turn", "again"))

    assert last_prompt(sitting) == "turn 2"


def test_what_is_told_survives_another_start(root: Path, sit: Sit) -> None:
    """SYNC-08: a rewind right before the end is told at the next beginning."""
    sitting = sit()
    sitting.play(write("made", "1"))
    sitting.rewind(1)
    sitting.resume()

    sitting.play(())

    assert "made" in last_prompt(sitting)
