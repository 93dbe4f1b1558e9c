"""The project root: where it is, that it is still the same folder, and roots of every odd kind."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from keryx_py.shell.opening import project_root
from tests.cases.conftest import Sit
from tests.cases.sitting import edit, shell, write
from tests.cases.watching import (
    captured,
    git,
    look_at,
    make_repository,
    needs_git,
    shadow_git,
    stamps,
)


@pytest.fixture
def worktree(root: Path, tmp_path: Path) -> Path:
    """Make the project a repository, and give a linked worktree of it."""
    (root / "f").write_text("old\n")
    (root / "d").mkdir()
    (root / "d" / "g").write_text("old\n")
    make_repository(root)
    git(root, "worktree", "add", "-q", str(tmp_path / "w"))
    return tmp_path / "w"


# ---- linked worktrees


def test_a_linked_worktree_is_rewound_like_any_folder(root: Path, worktree: Path, sit: Sit) -> None:
    """WT-01: its `.git` file stays, and the repository that it leads to."""
    link, repository = stamps(worktree)[".git"], look_at(root / ".git")
    before = look_at(worktree)
    sitting = sit(worktree)
    sitting.play((edit("f", "old", "turn"), write("new", "x")))

    sitting.rewind(1)

    assert look_at(worktree) == before
    assert stamps(worktree)[".git"] == link
    assert look_at(root / ".git") == repository
    assert git(worktree, "status", "--porcelain") == b""


def test_a_snapshot_of_a_worktree_is_that_of_the_main_one(
    root: Path, worktree: Path, sit: Sit
) -> None:
    """WT-03: the same files make the same tree, whatever `.git` is; nothing more is walked."""
    trees = []
    for folder in (root, worktree):
        sitting = sit(folder)
        sitting.play(shell("true"))
        trees.append(shadow_git(sitting, "rev-parse", "refs/keryx/1/before^{tree}"))

    assert trees[0] == trees[1]
    assert captured(sitting, 1).keys() == {"f", "d/g"}


# ---- subfolders


def test_the_root_is_the_repository_s_and_is_said(
    root: Path, sit: Sit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WT-05: started in a subfolder, keryx protects the whole project, and prints which."""
    (root / "src").mkdir()
    (root / "src" / "foo").write_text("old\n")
    make_repository(root)
    monkeypatch.chdir(root / "src")
    sitting = sit()

    found = project_root(sitting.settings, None)
    said = sitting.play(shell("echo turn > src/foo; echo x > above"))
    sitting.rewind(1)

    assert found == root
    assert said.startswith(f"root       {root}\n")
    assert (root / "src" / "foo").read_text() == "old\n"
    assert not (root / "above").exists()


def test_a_root_that_is_named_is_taken(root: Path, sit: Sit) -> None:
    """WT-05: a subfolder of a repository may be a root; nothing above it is read or written."""
    (root / "src").mkdir()
    (root / "src" / "foo").write_text("old\n")
    make_repository(root)
    sitting = sit(root / "src")
    sitting.play(shell("echo turn > foo; echo x > ../above"))

    sitting.rewind(1)

    assert (root / "src" / "foo").read_text() == "old\n"
    assert (root / "above").exists()
    assert captured(sitting, 1).keys() == {"foo"}


def test_work_in_a_subfolder_is_listed(root: Path, sit: Sit) -> None:
    """WT-07: a command may go where it likes inside the root."""
    (root / "sub").mkdir()
    sitting = sit()

    said = sitting.play(shell("cd sub && echo x > f"), "/rewind", "/rewind 1 files sub/f")

    assert "  1 file, you changed 0 since" in said
    assert "  removed       sub/f  +0 -1     turn 1\n" in said


# ---- identity


def test_a_root_reached_through_a_link_is_the_folder_behind_it(
    tmp_path: Path, sit: Sit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WT-09: what takes the link's place is another folder, and is left alone."""
    real, link = tmp_path / "real", tmp_path / "L"
    real.mkdir()
    link.symlink_to("real")
    monkeypatch.chdir(link)
    sitting = sit()
    sitting = sit(project_root(sitting.settings, link))
    sitting.play(write("f", "turn\n"))
    link.unlink()
    link.mkdir()
    (link / "f").write_text("another\n")

    sitting.rewind(1)

    assert look_at(link) == {"f": ("file", 0o644, b"another\n")}
    assert look_at(real) == {}


@pytest.mark.parametrize("how", ["folder", "link", "file", "nothing"])
def test_a_root_that_was_replaced_is_refused(
    root: Path, tmp_path: Path, sit: Sit, how: str
) -> None:
    """WT-09: device and inode are checked again, before snapshots and before restores."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(edit("f", "old", "turn"), "/rewind 1")
    root.rename(tmp_path / "moved")
    other = tmp_path / "other"
    other.mkdir()
    (other / "f").write_text("another\n")
    match how:
        case "folder":
            other.rename(root)
        case "link":
            root.symlink_to("other")
        case "file":
            root.write_text("a file\n")
    before = stamps(tmp_path / "moved"), (stamps(root) if root.exists() else {})

    said = sitting.play("/rewind 1 both", "/rewind confirm", shell("echo x > f"))

    assert (stamps(tmp_path / "moved"), (stamps(root) if root.exists() else {})) == before
    assert "nothing to confirm" in said
    assert "the call is denied" in said
    assert "bug" not in said


def test_a_root_replaced_after_the_preview_is_refused_at_the_confirm(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """WT-09: between the two words as well."""
    sitting = sit()
    sitting.play(write("f", "turn\n"))

    def replace() -> None:
        root.rename(tmp_path / "moved")
        root.mkdir()
        (root / "f").write_text("turn\n")

    said = sitting.play("/rewind 1", replace, "/rewind confirm")

    assert (root / "f").exists()
    assert (tmp_path / "moved" / "f").exists()
    assert f"another directory now stands at {root}" in said


def test_a_session_whose_root_is_gone_can_be_read_and_cut(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """WT-11: its history is all there, and a restore of files is refused with the way on."""
    sitting = sit()
    sitting.play(write("f", "turn\n"))
    (root / "f").unlink()
    root.rmdir()
    sitting.resume()

    said = sitting.play("/rewind", "/rewind 1", "/rewind 1 both", "/rewind confirm")
    cut = sitting.rewind(1, "history")

    assert f"the project's folder {root} is gone" in said
    assert "turn 1" in said
    assert "history only: files cannot be restored in this session" in said
    assert said.count("use /rewind 1 history") == 2
    assert "nothing to confirm" in said
    assert "history: 1 turn went" in cut
    assert not root.exists()


def test_another_folder_where_the_root_was_is_said_on_resume(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """WT-11: it is named, and from then on it is the root; the preview shows what would go."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(edit("f", "old", "turn"))
    root.rename(tmp_path / "moved")
    root.mkdir()
    (root / "mine").write_text("mine\n")

    said = sitting.resume().play("/rewind 1")

    assert str(root) in said
    assert "another" in said
    assert "mine" in said
    assert (root / "mine").exists()


def test_a_project_that_moved_can_be_rewound_at_its_new_place(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """WT-11: `-r ID --root DIR` gives the session its new root."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(edit("f", "old", "turn"))
    root.rename(tmp_path / "moved")

    sitting.resume(tmp_path / "moved").rewind(1)

    assert (tmp_path / "moved" / "f").read_text() == "old\n"


# ---- no repository, and repositories of odd kinds


def test_a_plain_folder_is_rewound_and_gets_no_git_folder(root: Path, sit: Sit) -> None:
    """NOGIT-01: neither then nor later."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play((edit("f", "old", "turn"), write("d/new", "x")))
    during = look_at(root)

    sitting.rewind(1, "both")

    assert look_at(root) == {"f": ("file", 0o644, b"old\n")}
    assert ".git" not in during


@needs_git
@pytest.mark.parametrize(
    ("make", "where", "warned"),
    [
        ("git init -q repo", "repo", ""),
        ("git init -q --bare bare.git", "bare.git", "git directory"),
        ("git init -q repo", "repo/.git", "git directory"),
        ("git init -q repo", "repo/.git/hooks", "git directory"),
        ("git init -q repo; : > repo/.git/HEAD", "repo", ""),
        ("git init -q repo; rm -r repo/.git/objects", "repo", ""),
        ("mkdir -p repo/.git", "repo", ""),
        ("mkdir repo; echo nonsense > repo/.git", "repo", ""),
        ("mkdir repo; ln -s nowhere repo/.git", "repo", ""),
        ("mkdir repo; mkfifo repo/.git", "repo", ""),
        ("git init -q --bare bare.git; mkdir bare.git/w", "bare.git/w", ""),
    ],
)
def test_keryx_starts_in_every_kind_of_folder(
    root: Path, sit: Sit, make: str, where: str, warned: str
) -> None:
    """NOGIT-03: what hinders snapshots is said at the start, and nothing runs unsaved unasked."""
    subprocess.run(["/bin/sh", "-c", make], cwd=root, check=True)
    folder = root / where
    sitting = sit(folder)
    before = look_at(folder)

    started = sitting.play()
    said = sitting.play(shell("echo x > f"))
    sitting.rewind(1)

    assert look_at(folder) == before
    assert ("snapshots  on" in started) == (warned == "")
    assert warned in started
    assert ("the call is denied" in said) == (warned != "")


@pytest.mark.parametrize("which", ["home", "data", "system root"])
def test_folders_too_wide_to_save_are_refused_with_the_way_out(
    root: Path, tmp_path: Path, sit: Sit, which: str
) -> None:
    """NOGIT-03: the home folder, keryx's own, and a file system's root."""
    (tmp_path / "home").mkdir()
    (tmp_path / "data").mkdir()
    folder = {"home": tmp_path / "home", "data": tmp_path / "data", "system root": Path("/")}[which]
    sitting = sit(folder)

    said = sitting.play(shell("true"))

    assert "snapshots  off" in said
    assert "start keryx in" in said
    assert "the call is denied" in said


def test_started_inside_a_git_folder_the_root_is_its_work_tree(
    root: Path, sit: Sit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NOGIT-03: a bare repository has none, and is its own root; snapshots are refused there."""
    make_repository(root)
    git(root, "init", "-q", "--bare", "bare.git")
    sitting = sit()

    monkeypatch.chdir(root / ".git" / "hooks")
    assert project_root(sitting.settings, None) == root
    (root / ".git").rename(root / "away")
    monkeypatch.chdir(root / "bare.git")
    assert project_root(sitting.settings, None) == root / "bare.git"


def test_the_search_for_a_root_stops_at_home(tmp_path: Path, sit: Sit) -> None:
    """NOGIT-03: a repository of one's dotfiles is not the project of every folder below it."""
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    make_repository(home)
    sitting = sit()

    assert project_root(sitting.settings, home / "work") == home / "work"


def test_the_project_s_repository_is_as_it_was(root: Path, sit: Sit) -> None:
    """NOGIT-03: turns and rewinds leave HEAD, index, refs, stash, config and hooks alone."""
    (root / "f").write_text("old\n")
    make_repository(root)
    (root / "f").write_text("stashed\n")
    git(root, "stash")
    (root / "f").write_text("staged\n")
    git(root, "add", "f")
    (root / "f").write_text("dirty\n")
    before = stamps(root / ".git"), look_at(root / ".git")
    sitting = sit()

    sitting.play(write("f", "turn\n"), write("g", "x"))
    sitting.rewind(1, "both")
    sitting.play("/redo")
    sitting.rewind(2)

    assert (stamps(root / ".git"), look_at(root / ".git")) == before
