"""Permission bits come back exactly, all twelve, of files and of folders."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.cases.conftest import Sit
from tests.cases.sitting import shell
from tests.cases.watching import captured, git, look_at, make_repository, stamps

FILE_MODES = (0o400, 0o444, 0o600, 0o640, 0o664, 0o666, 0o700, 0o711, 0o755, 0o777, 0o4755, 0o2755)
FOLDER_MODES = (0o700, 0o711, 0o755, 0o775, 0o2775, 0o1777, 0o3770)


def mode_of(path: Path) -> int:
    """Look at the permission bits of *path*."""
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize("command", ["chmod -x run.sh; echo x >> run.sh", "chmod -x run.sh"])
def test_a_script_may_run_again(root: Path, sit: Sit, command: str) -> None:
    """MODE-01: with other content or with the mode alone changed, whatever git's setting says."""
    git(root, "config", "--global", "core.fileMode", "false")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    make_repository(root)
    before = look_at(root)
    sitting = sit()
    sitting.play(shell(command))

    said = sitting.rewind(1)

    assert look_at(root) == before
    assert captured(sitting, 1) == {"run.sh": "100755"}
    assert "mode 0644 → 0755" in said or "mode 0755" in said


def test_a_mode_alone_is_changed_without_rewriting_the_content(root: Path, sit: Sit) -> None:
    """MODE-01: the same inode, and the time of the content as it was."""
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    sitting = sit()
    sitting.play(shell("chmod 600 run.sh"))
    before = (root / "run.sh").stat()

    sitting.rewind(1)

    after = (root / "run.sh").stat()
    assert mode_of(root / "run.sh") == 0o755
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("command", ["chmod 644 f*", "rm -f f*", "rm -f f*; ln -s x f755"])
def test_every_mode_of_a_file_comes_back(root: Path, sit: Sit, command: str) -> None:
    """MODE-03: set-id bits too, which any write into such a file takes away."""
    for mode in FILE_MODES:
        (root / f"f{mode:o}").write_text("old\n")
        (root / f"f{mode:o}").chmod(mode)
    before = look_at(root)
    sitting = sit()
    sitting.play(shell(command))

    sitting.rewind(1)

    assert look_at(root) == before


@pytest.mark.parametrize(
    "command", ["chmod 750 d*", "rm -r d*", "rm -r d*; echo x > d755; echo x > d2775", "rm d*/f"]
)
def test_every_mode_of_a_folder_comes_back(root: Path, sit: Sit, command: str) -> None:
    """MODE-03: of a folder that stayed, that went, and that became a file."""
    for mode in FOLDER_MODES:
        (root / f"d{mode:o}").mkdir()
        (root / f"d{mode:o}" / "f").write_text("old\n")
        (root / f"d{mode:o}").chmod(mode)
    before = look_at(root)
    sitting = sit()
    sitting.play(shell(command))

    sitting.rewind(1)

    assert look_at(root) == before


def test_a_folder_that_was_not_removed_keeps_its_set_group_bit(root: Path, sit: Sit) -> None:
    """MODE-03: what is already right is not touched, not even when files in it come and go."""
    (root / "d").mkdir()
    (root / "d").chmod(0o2775)
    (root / "d" / "f").write_text("old\n")
    sitting = sit()
    sitting.play(shell("rm d/f; echo x > d/new"))
    before = stamps(root)["d"][:2]

    sitting.rewind(1)

    assert stamps(root)["d"][:2] == before
    assert mode_of(root / "d") == 0o2775


def test_the_umask_has_no_say(root: Path, sit: Sit) -> None:
    """MODE-03: what comes back has its own bits, whatever new files of this process would get."""
    (root / "d").mkdir()
    (root / "d" / "f").write_text("old\n")
    (root / "d" / "f").chmod(0o666)
    (root / "d").chmod(0o777)
    before = look_at(root)
    sitting = sit()
    sitting.play(shell("rm -r d"))
    was = os.umask(0o077)
    try:
        sitting.rewind(1)
    finally:
        os.umask(was)

    assert look_at(root) == before


def test_the_mode_of_the_root_itself_is_not_a_path_of_the_project(root: Path, sit: Sit) -> None:
    """MODE-03: it is neither saved nor changed."""
    sitting = sit()
    sitting.play(shell("chmod 700 .; echo x > f"))

    sitting.rewind(1)

    assert mode_of(root) == 0o700
    assert look_at(root) == {}
