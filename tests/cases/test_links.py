"""Links are links: kept as such, never followed, and no way out of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cases.conftest import Sit
from tests.cases.sitting import edit, shell, write
from tests.cases.watching import captured, git, held, look_at, make_repository, stamps


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the project, which nothing may touch."""
    folder = tmp_path / "O"
    folder.mkdir()
    (folder / "x").write_text("outside\n")
    return folder


def test_a_link_to_a_folder_outside_comes_back_and_nothing_is_written_through_it(
    root: Path, outside: Path, sit: Sit
) -> None:
    """LINK-01: in its place the turn made a folder with files of the same names."""
    (root / "d").symlink_to(outside)
    before, there = look_at(root), stamps(outside)
    sitting = sit()
    sitting.play(shell("rm d; mkdir d; echo n > d/x; echo m > d/y"))

    sitting.rewind(1)

    assert look_at(root) == before
    assert stamps(outside) == there
    assert captured(sitting, 1) == {"d": "120000"}


def test_a_folder_comes_back_where_the_turn_put_a_link_out(
    root: Path, outside: Path, sit: Sit
) -> None:
    """LINK-01: the reverse; what stands behind the link is neither removed nor overwritten."""
    (root / "d").mkdir()
    (root / "d" / "x").write_text("mine\n")
    before, there = look_at(root), stamps(outside)
    sitting = sit()
    sitting.play(shell(f"rm -r d; ln -s {outside} d"))

    sitting.rewind(1)

    assert look_at(root) == before
    assert stamps(outside) == there


def test_a_link_swapped_in_after_the_preview_leads_nowhere(
    root: Path, outside: Path, sit: Sit
) -> None:
    """LINK-01: it makes the plan stale, and the next one takes the link away, not what it names."""
    (root / "d").mkdir()
    (root / "d" / "x").write_text("old\n")
    sitting = sit()
    sitting.play(edit("d/x", "old", "turn"))
    there = stamps(outside)

    def swap() -> None:
        (root / "d").rename(root.parent / "away")
        (root / "d").symlink_to(outside)

    said = sitting.play("/rewind 1", swap, "/rewind confirm", "/rewind confirm")

    assert "the project has changed since" in said
    assert stamps(outside) == there
    assert look_at(root) == {"d": ("folder", 0o755, b""), "d/x": ("file", 0o644, b"old\n")}


def test_the_turn_s_writes_through_a_link_out_are_not_undone_and_said(
    root: Path, outside: Path, sit: Sit
) -> None:
    """LINK-01: a command can write anywhere; a rewind never does."""
    (root / "d").symlink_to(outside)
    sitting = sit()
    sitting.play(shell("echo turn > d/x"))

    said = sitting.rewind(1)

    assert (outside / "x").read_text() == "turn\n"
    assert "turn 1 ran: echo turn > d/x" in said


def test_file_tools_do_not_write_through_a_link_out(root: Path, outside: Path, sit: Sit) -> None:
    """LINK-01: neither through a link to a folder nor through one to a file."""
    (root / "d").symlink_to(outside)
    (root / "f").symlink_to(outside / "x")
    there = stamps(outside)
    sitting = sit()

    sitting.play((write("d/x", "turn"), write("f", "turn"), edit("f", "outside", "turn")))

    assert stamps(outside) == there


def test_a_file_comes_back_where_the_turn_put_a_link(root: Path, outside: Path, sit: Sit) -> None:
    """LINK-03: a regular file again, and the link's victim is as it was."""
    (root / "f").write_text("old\n")
    (root / "f").chmod(0o640)
    there = stamps(outside)
    sitting = sit()
    sitting.play(shell(f"rm f; ln -s {outside / 'x'} f"))

    said = sitting.rewind(1)

    assert look_at(root) == {"f": ("file", 0o640, b"old\n")}
    assert stamps(outside) == there
    assert "  modified      f  link → file" in said


def test_a_file_made_a_link_after_the_preview_does_not_carry_the_write_out(
    root: Path, outside: Path, sit: Sit
) -> None:
    """LINK-03: nor does one that comes between."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(edit("f", "old", "turn"))
    there = stamps(outside)

    def swap() -> None:
        (root / "f").unlink()
        (root / "f").symlink_to(outside / "x")

    sitting.play("/rewind 1", swap, "/rewind confirm", "/rewind confirm")

    assert look_at(root) == {"f": ("file", 0o644, b"old\n")}
    assert stamps(outside) == there


def test_a_link_of_any_target_comes_back_letter_by_letter(root: Path, sit: Sit) -> None:
    """LINK-05: removed, replaced or pointed elsewhere by the turn; bytes are bytes."""
    (root / "CLAUDE.md").write_text("rules\n")
    targets = (b"CLAUDE.md", b"./CLAUDE.md", b"nowhere", b"/etc/passwd", b"..", b".")
    for number, target in enumerate((*targets, b"f" * 200, b"a\nb", b"\xff\xfe")):
        for name in ("removed", "replaced", "moved"):
            (root / f"{name}{number}").symlink_to(os.fsdecode(target))
    before = look_at(root)
    sitting = sit()
    sitting.play(
        shell(
            "rm removed*; for l in replaced*; do rm $l; echo x > $l; done;"
            "for l in moved*; do ln -sfn elsewhere $l; done"
        )
    )

    sitting.rewind(1)

    assert look_at(root) == before


def test_git_s_own_setting_about_links_has_no_say(root: Path, sit: Sit) -> None:
    """LINK-05: with core.symlinks=false a link is no phantom difference."""
    git(root, "config", "--global", "core.symlinks", "false")
    (root / "CLAUDE.md").write_text("rules\n")
    (root / "AGENTS.md").symlink_to("CLAUDE.md")
    (root / "other").write_text("old\n")
    make_repository(root)
    before = stamps(root)
    sitting = sit()
    sitting.play(edit("other", "old", "turn"))

    said = sitting.rewind(1)

    assert "files: 1 file (1 modified)" in said
    assert stamps(root)["AGENTS.md"] == before["AGENTS.md"]
    assert captured(sitting, 1)["AGENTS.md"] == "120000"


@pytest.mark.parametrize("inner", ["", "objects", "objects/pack", "refs"])
@pytest.mark.parametrize("process", ["another", "the same"])
@pytest.mark.damaged_store
def test_a_store_that_leads_into_another_repository_is_refused(
    root: Path, tmp_path: Path, sit: Sit, inner: str, process: str
) -> None:
    """LINK-07: seen without following the link, whole or within, before anything is written there;
    also by the process that has had the store open all the time."""
    victim = tmp_path / "victim"
    victim.mkdir()
    make_repository(victim)
    sitting = sit()
    sitting.play(write("f", "turn\n"))
    place = sitting.project.session.folder / "shadow.git" / inner
    place.rename(tmp_path / "aside")
    place.symlink_to(victim / ".git" / inner)
    before = stamps(victim)
    if process == "another":
        sitting.resume()

    said = sitting.play("/rewind 1", "/rewind confirm", shell("echo x > g"))

    assert stamps(victim) == before
    assert look_at(root).keys() == {"f"}
    assert "the call is denied" in said
    assert "shadow.git is a link, or holds one" in said
    assert "its project folder" not in said
    assert "bug" not in said


def test_a_store_of_another_user_is_refused(root: Path, sit: Sit) -> None:
    """LINK-07: only one's own is opened."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    sitting = sit()
    sitting.play(write("f", "turn\n"))
    os.chown(sitting.project.session.folder / "shadow.git", 65534, 65534)

    said = sitting.resume().play("/rewind 1", "/rewind confirm")

    assert "belongs to another user" in said
    assert look_at(root).keys() == {"f"}


def test_rules_behind_a_link_count_as_none(root: Path, outside: Path, sit: Sit) -> None:
    """LINK-09: as in git; and what they would have ignored is saved, so it can come back."""
    (outside / "ignore").write_text("*.log\n")
    (root / ".gitignore").symlink_to("../O/ignore")
    (root / "a.log").write_text("log\n")
    before = look_at(root)
    sitting = sit()
    sitting.play(shell("rm a.log; echo x > b.log"))

    sitting.rewind(1)

    assert look_at(root) == before
    assert captured(sitting, 1).keys() == {".gitignore", "a.log"}


def test_what_a_rule_behind_a_link_names_goes_only_when_held(
    root: Path, outside: Path, sit: Sit
) -> None:
    """LINK-09: the link comes or goes, no deletion depends on what it leads to."""
    (root / ".gitignore").write_text("*.log\n")
    (root / "a.log").write_text("log\n")
    (outside / "ignore").write_text("*.log\n")
    sitting = sit()
    sitting.play(shell("rm .gitignore; ln -s ../O/ignore .gitignore; echo x > b.log"))

    sitting.rewind(1)

    assert (root / ".gitignore").read_text() == "*.log\n"
    assert not (root / ".gitignore").is_symlink()
    assert (root / "a.log").read_text() == "log\n"
    assert (root / "b.log").exists() or held(sitting, 2, "b.log") == b"x\n"


def test_links_that_lead_round_in_a_circle_are_links(root: Path, sit: Sit) -> None:
    """LINK-01: to themselves, to each other, and to the root."""
    (root / "self").symlink_to("self")
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "d").mkdir()
    (root / "d" / "up").symlink_to("..")
    before = look_at(root)
    sitting = sit()
    sitting.play(shell("rm -r self a b d"))

    sitting.rewind(1)

    assert look_at(root) == before


def test_the_other_names_of_a_file_keep_their_mode(root: Path, outside: Path, sit: Sit) -> None:
    """LINK-06: one may lie outside, or in the project where it was not asked for."""
    (root / "a").write_text("inside\n")
    (root / "b").hardlink_to(root / "a")
    (root / "x").hardlink_to(outside / "x")
    sitting = sit()
    sitting.play(shell("chmod 700 a x"))
    there = stamps(outside)

    sitting.rewind(1, "files", "a", "x")

    assert [(root / name).stat().st_mode & 0o777 for name in "abx"] == [0o644, 0o700, 0o644]
    assert [(root / name).read_text() for name in "abx"] == ["inside\n", "inside\n", "outside\n"]
    assert (outside / "x").stat().st_mode & 0o777 == 0o700
    assert stamps(outside)["x"][:4] == there["x"][:4]
