"""Nothing is lost on a restore that the person did not see and confirm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keryx_py.agent.approval import Approval, Question
from keryx_py.tools.base import Shown
from tests.cases.as_user import as_user
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, edit, read, shell, write
from tests.cases.watching import captured, held, look_at, make_repository, shadow_git, stamps

SIX_MB = 6 * 2**20


class Willing:
    """A person who says yes to everything, and keeps the questions."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def approve(self, question: Question) -> Approval:
        return Approval(granted=True)

    def go_on_without_snapshot(self, reason: str) -> bool:
        self.asked.append(reason)
        return True

    def go_on_after(self, steps: int) -> bool:
        return True

    def confirm(self, question: str) -> bool:
        return True

    def was_shown(self, shown: Shown) -> bool:
        return False


def test_a_large_untracked_file_survives_in_a_git_repository(root: Path, sit: Sit) -> None:
    """LOSS-01: untracked and not ignored, and too large for a snapshot."""
    make_repository(root)
    (root / "output").mkdir()
    content = os.urandom(SIX_MB)
    (root / "output" / "r.bin").write_bytes(content)
    before = stamps(root / "output")
    sitting = sit()

    sitting.play(write("a.txt", "a"))
    said = sitting.rewind(1, "both")

    assert not (root / "a.txt").exists()
    assert (root / "output" / "r.bin").read_bytes() == content
    assert stamps(root / "output") == before
    assert "output/r.bin (larger than 5 MB)" in said


def test_a_large_file_made_by_the_turn_stays_and_is_named(root: Path, sit: Sit) -> None:
    """LOSS-01: no undo point could hold it, so it may not go, nor the folder around it."""
    sitting = sit()

    sitting.play(shell(f"mkdir d; head -c {SIX_MB} /dev/zero > d/big; echo x > d/small"))
    said = sitting.rewind(1)

    assert (root / "d" / "big").stat().st_size == SIX_MB
    assert not (root / "d" / "small").exists()
    assert "d/big (larger than 5 MB)" in said


def test_a_turn_that_changed_nothing_restores_nothing(root: Path, sit: Sit) -> None:
    """LOSS-03: a file of one's own, made after a turn that only failed to read it."""
    sitting = sit()

    sitting.play(read("notes.md"), lambda: (root / "notes.md").write_text("mine"))
    said = sitting.rewind(1, "both")

    assert (root / "notes.md").read_text() == "mine"
    assert "files: this turn changed nothing" in said


def test_a_denied_call_takes_no_snapshot_and_costs_nothing(root: Path, sit: Sit) -> None:
    """LOSS-03: what was refused did not happen, and what one makes afterwards is one's own."""
    sitting = sit(settings={"approve": frozenset()})

    sitting.play(write("a", "a"), lambda: (root / "notes.md").write_text("mine"))
    said = sitting.rewind(1, "both")

    assert look_at(root) == {"notes.md": ("file", 0o644, b"mine")}
    assert "files: this turn changed nothing" in said


def test_five_turns_leave_five_different_trees(root: Path, sit: Sit) -> None:
    """LOSS-05: each snapshot is of its own moment, and the last turn's rewind moves one path."""
    sitting = sit()

    sitting.play(*(write(f"f{n}", f"{n}\n") for n in range(1, 6)))
    trees = {
        shadow_git(sitting, "rev-parse", f"refs/keryx/{n}/before^{{tree}}") for n in range(1, 6)
    }
    before = stamps(root)
    said = sitting.rewind(5)

    assert len(trees) == 5
    assert "files: 1 file (1 removed)" in said
    after = stamps(root)
    assert before.keys() - after.keys() == {"f5"}
    assert {name for name in after if after[name] != before[name]} == {"."}


def test_a_rewind_of_words_alone_writes_no_file(root: Path, sit: Sit) -> None:
    """LOSS-07: a dirty project, a turn of text alone, and not a single write."""
    (root / "f").write_text("committed\n")
    make_repository(root)
    (root / "f").write_text("dirty\n")
    (root / "untracked").write_text("mine\n")
    before = stamps(root)
    sitting = sit()

    sitting.play(())
    said = sitting.rewind(1, "both")

    assert "history: 1 turn went" in said
    assert stamps(root) == before


def test_a_rewind_of_history_alone_writes_no_file(root: Path, sit: Sit) -> None:
    """LOSS-07: also when the turn did change files."""
    sitting = sit()
    sitting.play(write("a", "a"))
    before = stamps(root)

    said = sitting.rewind(1, "history")

    assert "history: 1 turn went" in said
    assert stamps(root) == before


def test_a_file_of_ones_own_goes_only_when_shown_and_held(root: Path, sit: Sit) -> None:
    """LOSS-09: a later turn's file with one's own edits is named as such, and can be had back."""
    sitting = sit()
    sitting.play(
        shell("echo a > A"), shell("echo b > A"), read("A"), read("A"), shell("echo n > B")
    )
    (root / "B").write_text("mine\n")

    said = sitting.rewind(3)

    assert not (root / "B").exists()
    row = next(line for line in said.splitlines() if line.startswith("  removed"))
    assert row.split() == ["removed", "B", "+0", "-1", "turn", "5,", "you"]
    assert held(sitting, 6, "B") == b"mine\n"
    sitting.play("/redo", "/rewind confirm")
    assert (root / "B").read_text() == "mine\n"


@pytest.mark.parametrize("which", ["tree", "file", "record"])
@pytest.mark.parametrize("mode", ["files", "both"])
@pytest.mark.damaged_store
def test_a_damaged_snapshot_is_noticed_before_the_first_write(
    root: Path, sit: Sit, which: str, mode: str
) -> None:
    """LOSS-11: one object that the restore needs is no longer what its id says."""
    (root / "d").mkdir()
    (root / "d" / "f").write_text("old\n")
    (root / "g").write_text("old\n")
    sitting = sit()
    sitting.play(shell("echo new > d/f; echo new > g; echo new > h"))
    before = stamps(root)
    wanted = {"tree": "1/before:d", "file": "1/before:d/f", "record": "1/before^:record.json"}
    _damage(sitting, f"refs/keryx/{wanted[which]}")
    sitting.resume()

    said = sitting.rewind(1, mode)

    assert stamps(root) == before
    assert "damaged" in said
    assert "history: 1 turn went" not in said


@pytest.mark.damaged_store
def test_damage_that_no_preview_sees_is_noticed_before_the_first_write(
    root: Path, sit: Sit
) -> None:
    """LOSS-11: of a file beyond those that the preview compares, and after the preview."""
    for n in range(20):
        (root / f"f{n:02}").write_text(f"old {n}\n")
    sitting = sit()
    sitting.play(shell("for f in f*; do echo turn > $f; done"))
    sitting.resume()
    before = stamps(root)

    def damage() -> None:
        _damage(sitting, "refs/keryx/1/before:f19")

    said = sitting.play("/rewind 1 both", damage, "/rewind confirm")

    assert stamps(root) == before
    assert "the snapshot is damaged" in said
    assert "nothing was changed" in said
    assert "turn went" not in said


def test_an_unsaved_turn_is_told_of_before_its_tool_runs(place: Path) -> None:
    """LOSS-13: the store cannot be written, and with nobody to ask nothing runs."""

    def act() -> None:
        root, sitting = _with_closed_store(place)
        said = sitting.play(shell("rm -rf src"), "/rewind")

        assert (root / "src" / "f").read_text() == "kept\n"
        assert said.index("the snapshot failed: ") < said.index("shell_exec rm -rf src")
        assert "permission denied" in said
        assert "the call is denied" in said

    as_user(place, act)


def test_an_unsaved_turn_runs_only_when_the_person_says_so(place: Path) -> None:
    """LOSS-13: then its point says why its files cannot be had back, and refuses them."""

    def act() -> None:
        root, sitting = _with_closed_store(place)
        sitting.person = Willing()

        sitting.play(shell("rm -rf src"), shell("echo x > g"))
        (root / "mine").write_text("mine\n")
        said = sitting.play("/rewind", "/rewind 2", "/rewind 2 both", "/rewind confirm")

        assert len(sitting.person.asked) == 2
        assert not (root / "src").exists()
        assert (root / "mine").exists()
        assert said.count("history only: ") == 2
        assert said.count("the files before point 2 cannot be restored") == 2
        assert "nothing to confirm" in said

    as_user(place, act)


def test_the_turn_after_a_failed_snapshot_is_saved_afresh(place: Path) -> None:
    """LOSS-13: one bad moment costs one turn."""

    def act() -> None:
        root, sitting = _with_closed_store(place)
        sitting.play(shell("echo x > refused"))
        sitting.project.session.folder.chmod(0o700)

        sitting.play(write("src/f", "new\n"))
        sitting.rewind(2)

        assert look_at(root)["src/f"] == ("file", 0o644, b"kept\n")
        assert not (root / "refused").exists()

    as_user(place, act)


def test_a_store_that_was_closed_later_loses_no_earlier_point(place: Path) -> None:
    """LOSS-13: nothing is changed while no undo point can be taken; once one can, all is there."""

    def act() -> None:
        root = place / "P"
        root.mkdir()
        sitting = Sitting(root, place / "data")
        sitting.play(write("a", "one\n"))
        packs = sitting.project.session.folder / "shadow.git" / "objects" / "pack"
        packs.chmod(0o500)
        said = sitting.play(write("a", "two\n"), "/rewind 1", "/rewind confirm")
        refused = (root / "a").read_text()
        packs.chmod(0o700)
        sitting.rewind(1)

        assert "the call is denied" in said
        assert "nothing was changed" in said
        assert refused == "one\n"
        assert not (root / "a").exists()

    as_user(place, act)


def test_what_the_person_edits_while_the_preview_stands_is_not_lost(root: Path, sit: Sit) -> None:
    """LOSS-09: a file of the turn's is made one's own between the preview and the word confirm."""
    sitting = sit()
    sitting.play(write("a", "turn\n"))

    said = sitting.play("/rewind 1", lambda: (root / "a").write_text("mine\n"), "/rewind confirm")

    assert (root / "a").read_text() == "mine\n"
    assert "the project has changed since; nothing was done" in said


def test_an_edit_that_failed_still_leaves_the_person_s_later_work_held(
    root: Path, sit: Sit
) -> None:
    """LOSS-03: the snapshot was taken, so the rewind goes back to it, named and held."""
    (root / "f").write_text("a\n")
    sitting = sit()
    sitting.play(edit("f", "not there", "b"), lambda: (root / "f").write_text("mine\n"))

    said = sitting.rewind(1)

    assert "an edit of yours would go" in said
    assert captured(sitting, 2).keys() == {"f"}
    assert held(sitting, 2, "f") == b"mine\n"


def _with_closed_store(place: Path) -> tuple[Path, Sitting]:
    root = place / "P"
    (root / "src").mkdir(parents=True)
    (root / "src" / "f").write_text("kept\n")
    sitting = Sitting(root, place / "data")
    sitting.project.session.folder.chmod(0o500)
    return root, sitting


def _damage(sitting: Sitting, name: str) -> None:
    """Overwrite the stored bytes of the object *name* with others."""
    oid = shadow_git(sitting, "rev-parse", name).decode().strip()
    packs = sitting.project.session.folder / "shadow.git" / "objects" / "pack"
    for index in packs.glob("*.idx"):
        for line in shadow_git(sitting, "verify-pack", "-v", str(index)).decode().splitlines():
            if line.startswith(oid):
                _, _, _, length, offset = line.split()
                _overwrite(index.with_suffix(".pack"), int(offset) + 2, int(length) - 2)


def _overwrite(file: Path, offset: int, length: int) -> None:
    file.chmod(0o600)
    with file.open("r+b") as opened:
        opened.seek(offset)
        opened.write(b"\xff" * length)
