"""Look at a project and at its shadow repository without any of keryx's own code."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.cases.sitting import Sitting

Look: TypeAlias = dict[str, tuple[str, int, bytes]]
"""What stands at each path: its kind, permission bits and content; times and inodes apart."""

Stamp: TypeAlias = tuple[int, int, int, int, int]

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="a turn runs git in it")

IDENTITY = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    # A status that refreshes the index would write into it.
    "GIT_OPTIONAL_LOCKS": "0",
}


def look_at(root: Path) -> Look:
    """Read everything under *root*, `.git` too, as a plain recursive copy would."""
    found: Look = {}
    for path in _walk(root):
        status = path.lstat()
        mode = stat.S_IMODE(status.st_mode)
        name = str(path.relative_to(root))
        if stat.S_ISLNK(status.st_mode):
            found[name] = ("link", 0, os.fsencode(path.readlink()))
        elif stat.S_ISDIR(status.st_mode):
            found[name] = ("folder", mode, b"")
        elif stat.S_ISREG(status.st_mode):
            found[name] = ("file", mode, path.read_bytes())
        else:
            found[name] = ("other", mode, b"")
    return found


def stamps(root: Path) -> dict[str, Stamp]:
    """Note what any write to a path under *root*, or to *root* itself, would change."""
    return {str(path.relative_to(root)): _stamp(path) for path in (root, *_walk(root))}


def captured(sitting: Sitting, number: int, side: str = "before") -> dict[str, str]:
    """List with plain git what a capture holds: each file's and link's path, and its git mode."""
    listed = shadow_git(sitting, "ls-tree", "-r", "-z", f"refs/keryx/{number}/{side}")
    lines = [os.fsdecode(line) for line in listed.split(b"\0") if line]
    return {line.partition("\t")[2]: line.split()[0] for line in lines}


def held(sitting: Sitting, number: int, path: str, side: str = "before") -> bytes:
    """Read with plain git what a capture holds at *path*."""
    return shadow_git(sitting, "cat-file", "blob", f"refs/keryx/{number}/{side}:{path}")


def shadow_git(sitting: Sitting, *words: str) -> bytes:
    """Run git on the session's shadow repository."""
    return git(sitting.root, f"--git-dir={sitting.project.session.folder / 'shadow.git'}", *words)


def git(folder: Path, *words: str, **more: str) -> bytes:
    """Run git in *folder*, with *more* in its environment; return what it printed."""
    ran = subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**os.environ, **IDENTITY, **more},
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode("utf-8", "replace")
    return ran.stdout


def make_repository(folder: Path) -> None:
    """Make *folder* a git repository in which all that it holds is committed."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")


def _walk(root: Path) -> list[Path]:
    return sorted(
        Path(above, name) for above, folders, files in os.walk(root) for name in (*folders, *files)
    )


def _stamp(path: Path) -> Stamp:
    status = path.lstat()
    return (
        status.st_ino,
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
