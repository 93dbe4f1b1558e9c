"""Repositories inside the project: their files are like others, their `.git` is never touched."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
import warnings
from pathlib import Path

import pytest

from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, edit, shell, write
from tests.cases.watching import (
    IDENTITY,
    captured,
    git,
    look_at,
    make_repository,
    needs_git,
    stamps,
)


@pytest.fixture
def superproject(root: Path, tmp_path: Path) -> Path:
    """Make the project a repository with a submodule `sm`, which holds a file `f`."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "f").write_text("old\n")
    make_repository(library)
    (root / "top").write_text("top\n")
    make_repository(root)
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "sm")
    git(root, "commit", "-q", "-m", "with a submodule")
    return root


def _repositories(root: Path) -> dict[str, tuple[object, object]]:
    """Everything in every `.git` under *root*, folder or file, with its times and inode."""
    contents, marks = look_at(root), stamps(root)
    return {name: (contents[name], marks[name]) for name in contents if ".git" in name.split("/")}


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_during_a_snapshot_leaves_every_repository_alone(
    root: Path, tmp_path: Path, seed: int
) -> None:
    """NEST-01: keryx never renames or hides a `.git`, so there is nothing to put back."""
    for name in ("sub", "sub/deep"):
        (root / name).mkdir()
        (root / name / "f").write_text("x\n")
        make_repository(root / name)
    for n in range(800):
        (root / f"f{n}").write_text(f"{n}\n" * 50)
    before = _repositories(root)
    sitting = Sitting(root, tmp_path / "data")
    session = sitting.project.session.id
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            sitting.play(write("f1", "turn\n"))
        finally:
            os._exit(0)
    time.sleep(random.Random(seed).uniform(0, 0.2))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    sitting.close()

    assert _repositories(root) == before
    again = Sitting(root, tmp_path / "data")
    again.project.resume(session)
    again.play(write("f2", "later\n"))
    assert _repositories(root) == before
    again.close()


def test_a_submodule_s_status_is_constant_during_turns(superproject: Path, sit: Sit) -> None:
    """NEST-03: asked over and over while three turns and a rewind run."""
    (superproject / "sm" / "f").write_text("dirty\n")
    script = "while :; do git -C sm status --porcelain=v2 --branch; echo; sleep 0.03; done"
    sitting = sit()
    watcher = subprocess.Popen(
        ["/bin/sh", "-c", script],
        cwd=superproject,
        env={**os.environ, **IDENTITY},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        sitting.play(write("a", "1"), shell("echo 2 > b; sleep 0.2"), write("top", "3"))
        sitting.rewind(1)
        time.sleep(0.1)
    finally:
        watcher.kill()
        said, _ = watcher.communicate()

    answers = said.decode().split("\n\n")[:-1]
    assert len(answers) > 3
    assert set(answers) == {answers[0]}
    assert " f" in answers[0]


@pytest.mark.parametrize("mode", ["files", "both"])
def test_a_submodule_s_file_comes_back(superproject: Path, sit: Sit, mode: str) -> None:
    """NEST-05: its content, and not a byte of either repository."""
    before = _repositories(superproject)
    sitting = sit()
    sitting.play((edit("sm/f", "old", "turn"), write("sm/new", "x"), edit("top", "top", "turn")))

    sitting.rewind(1, mode)

    assert (superproject / "sm" / "f").read_text() == "old\n"
    assert not (superproject / "sm" / "new").exists()
    assert _repositories(superproject) == before
    assert git(superproject, "status", "--porcelain") == b""


def test_a_submodule_that_the_turn_removed_comes_back_without_its_repository(
    superproject: Path, sit: Sit
) -> None:
    """NEST-05: what is never saved cannot come back; the files do."""
    sitting = sit()
    sitting.play(shell("rm -rf sm"))

    sitting.rewind(1)

    assert look_at(superproject / "sm") == {"f": ("file", 0o644, b"old\n")}


def test_a_folder_that_became_a_repository_keeps_its_files(root: Path, sit: Sit) -> None:
    """NEST-07: captured before and after it became one; never removed by a rewind of either."""
    (root / "d").mkdir()
    (root / "d" / "f").write_text("old\n")
    sitting = sit()
    sitting.play(write("one", "1"), shell("git -C d init -q"), write("three", "3"))
    before = _repositories(root)

    sitting.rewind(3)
    after_three = look_at(root)
    sitting.rewind(1)

    assert after_three["d/f"] == ("file", 0o644, b"old\n")
    assert "three" not in after_three
    assert (root / "d" / "f").read_text() == "old\n"
    assert not (root / "one").exists()
    assert _repositories(root) == before


@needs_git
def test_of_a_repository_made_in_the_turn_the_files_go_and_its_own_folder_stays(
    root: Path, sit: Sit
) -> None:
    """NEST-07: both are named."""
    sitting = sit()
    sitting.play(shell("mkdir d; echo x > d/f; git -C d init -q; git -C d add f"))
    before = _repositories(root)

    said = sitting.rewind(1)

    assert "  removed       d/f" in said
    assert "d/.git (a repository's own folder)" in said
    assert "d (holds d/.git)" in said
    assert not (root / "d" / "f").exists()
    assert _repositories(root) == before


@needs_git
def test_a_file_that_stood_where_the_turn_made_a_repository_is_named_and_waits(
    root: Path, sit: Sit
) -> None:
    """NEST-07: its `.git` may not go, so what stood there cannot come back, and both are named."""
    (root / "d").write_text("a file\n")
    (root / "e").write_text("old\n")
    sitting = sit()
    sitting.play(shell("rm d; mkdir d; echo x > d/f; git -C d init -q; echo new > e"))
    before = _repositories(root)

    said = sitting.rewind(1)

    assert _repositories(root) == before
    assert (root / "e").read_text() == "old\n"
    assert "d (holds d/.git)" in said


def test_a_dirty_submodule_is_no_trouble(superproject: Path, sit: Sit) -> None:
    """NEST-09: changed, untracked and staged files, a detached HEAD, and a merge under way."""
    (superproject / "sm" / "f").write_text("dirty\n")
    (superproject / "sm" / "untracked").write_text("x\n")
    (superproject / "sm" / "staged").write_text("x\n")
    git(superproject / "sm", "add", "staged")
    git(superproject / "sm", "checkout", "-q", "--detach")
    before = look_at(superproject)
    sitting = sit()
    sitting.play(write("sm/f", "turn\n"))

    said = sitting.rewind(1)

    assert captured(sitting, 1).keys() == {
        ".gitmodules",
        "top",
        "sm/f",
        "sm/untracked",
        "sm/staged",
    }
    assert "  modified      sm/f  +1 -1     turn 1\n" in said
    assert look_at(superproject) == before


@pytest.mark.parametrize(
    "damage",
    [
        "rm -rf sm/f sm/.git",
        "echo 'gitdir: /nowhere' > sm/.git",
        "rm sm/.git; mkdir sm/.git",
        "rm sm/.git; ln -s . sm/.git",
        ": > .git/HEAD",
        "chmod 000 .git/modules",
    ],
)
def test_a_broken_submodule_is_no_trouble(superproject: Path, sit: Sit, damage: str) -> None:
    """NEST-09: not initialised, pointing nowhere, half made, a link; nobody opens it."""
    subprocess.run(["/bin/sh", "-c", damage], cwd=superproject, check=True)
    before = look_at(superproject)
    sitting = sit()
    sitting.play(shell("echo turn >> top; mkdir -p sm; echo x > sm/new"))

    said = sitting.rewind(1)

    assert "files: 2 files (1 modified, 1 removed)" in said
    assert look_at(superproject) == before


def test_a_bare_repository_inside_is_kept_like_any_folder(root: Path, sit: Sit) -> None:
    """NEST-09: only what is named `.git` is a repository's own."""
    git(root, "init", "-q", "--bare", "fixtures/bare.git")
    before = look_at(root)
    sitting = sit()
    sitting.play(shell("rm -rf fixtures"))

    sitting.rewind(1)

    assert look_at(root) == before
