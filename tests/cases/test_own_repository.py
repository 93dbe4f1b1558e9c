"""The project's own repository is byte-identical before and after, whatever state it is in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.conftest import Sit
from tests.cases.sitting import edit, shell, write
from tests.cases.watching import git, look_at, make_repository, needs_git, stamps


def dirty(root: Path) -> None:
    """Make a repository with a stash, a staged change, and a dirty file on top."""
    (root / "f").write_text("committed\n")
    (root / "g").write_text("committed\n")
    make_repository(root)
    (root / "f").write_text("stashed\n")
    git(root, "stash", "-q")
    (root / "f").write_text("staged\n")
    git(root, "add", "f")
    (root / "f").write_text("dirty\n")
    (root / "untracked").write_text("mine\n")


def _conflict(root: Path) -> None:
    dirty(root)
    git(root, "commit", "-qam", "second")
    git(root, "checkout", "-qb", "side", "HEAD~1")
    (root / "f").write_text("side\n")
    git(root, "commit", "-qam", "side")
    git(root, "merge", "-q", "main", "--no-commit", "-s", "ours")


def _detached(root: Path) -> None:
    dirty(root)
    git(root, "commit", "-qam", "second")
    git(root, "checkout", "-q", "--detach")


def _locked(root: Path) -> None:
    dirty(root)
    (root / ".git" / "index.lock").write_text("")


def _hooked(root: Path) -> None:
    dirty(root)
    for name in ("post-checkout", "pre-commit", "post-rewrite", "reference-transaction"):
        hook = root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\necho ran >> hook-ran\nexit 1\n")
        hook.chmod(0o755)


def _sparse_and_assumed(root: Path) -> None:
    dirty(root)
    git(root, "update-index", "--assume-unchanged", "g")
    git(root, "update-index", "--skip-worktree", "g")


@pytest.mark.parametrize(
    "state", [dirty, _conflict, _detached, _locked, _hooked, _sparse_and_assumed]
)
def test_rewinds_to_and_fro_leave_the_repository_alone(root: Path, sit: Sit, state: object) -> None:
    """REPO-03: HEAD, index, refs, stash, config and hooks, in both directions (R4)."""
    assert callable(state)
    state(root)
    repository, times = look_at(root / ".git"), stamps(root / ".git")
    files = look_at(root)
    sitting = sit()

    sitting.play((shell("echo turn > f; rm g untracked"), write("new", "x")))
    turned = look_at(root)
    sitting.rewind(1, "both")
    back = look_at(root)
    sitting.play("/redo", "/rewind confirm")
    again = look_at(root)
    sitting.play("/undo", "/rewind confirm")

    assert (look_at(root / ".git"), stamps(root / ".git")) == (repository, times)
    assert back == files
    assert again == turned
    assert look_at(root) == files


def test_the_dirty_version_comes_back_without_a_merge(root: Path, sit: Sit) -> None:
    """REPO-06: neither the committed nor the staged one."""
    dirty(root)
    status = git(root, "status", "--porcelain")
    sitting = sit()
    sitting.play(edit("f", "dirty", "turn"))

    sitting.rewind(1)

    assert (root / "f").read_text() == "dirty\n"
    assert git(root, "show", ":f") == b"staged\n"
    assert git(root, "status", "--porcelain") == status
    assert git(root, "stash", "list").count(b"\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        "git commit -qam turn",
        "git checkout -q -b other && git commit -qam turn",
        "git stash -q",
        "git reset -q --hard",
        "git add -A",
        "git rm -qf g",
        "git tag turn && git config user.name Turn",
    ],
)
def test_what_the_turn_did_to_the_repository_stays_and_the_files_go_back(
    root: Path, sit: Sit, command: str
) -> None:
    """REPO-06: a rewind moves files alone; the preview names the command that it does not undo."""
    dirty(root)
    files = {path: state for path, state in look_at(root).items() if not path.startswith(".git")}
    sitting = sit()
    sitting.play(
        shell(
            "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A"
            f" GIT_COMMITTER_EMAIL=a@b; {command}; echo turn >> f"
        )
    )
    repository, times = look_at(root / ".git"), stamps(root / ".git")

    said = sitting.rewind(1)

    assert (look_at(root / ".git"), stamps(root / ".git")) == (repository, times)
    after = {path: state for path, state in look_at(root).items() if not path.startswith(".git")}
    assert after == files
    assert "cannot be undone" in said
    assert "git" in said


@needs_git
def test_a_repository_that_the_turn_made_keeps_its_git_folder(root: Path, sit: Sit) -> None:
    """REPO-06: its files go, its history stays, and both are named."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(shell("mkdir sub; cd sub; git init -q; echo x > inner"))
    repository = look_at(root / "sub" / ".git")

    said = sitting.rewind(1)

    assert look_at(root / "sub" / ".git") == repository
    assert not (root / "sub" / "inner").exists()
    assert "sub/inner" in said
    assert "sub/.git" in said


def test_what_the_repository_s_own_excludes_hide_is_saved(root: Path, sit: Sit) -> None:
    """REPO-06: `.git/info/exclude` is not read, so a file that it hides comes back."""
    (root / "f").write_text("x\n")
    make_repository(root)
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text("secret\n")
    (root / "secret").write_text("mine\n")
    sitting = sit()
    sitting.play(shell("rm secret"))

    sitting.rewind(1)

    assert (root / "secret").read_text() == "mine\n"
