"""What the tests of this room stand on: a project, and judges other than keryx itself."""

from __future__ import annotations

import os
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from keryx_py.snapshot.store import Limits, SnapshotStore

NO_FLOOR = Limits(free_floor_bytes=0)
Picture: TypeAlias = dict[bytes, tuple[str, int, bytes]]


@dataclass(frozen=True, slots=True)
class Project:
    """A project root, with a session's folder beside it."""

    root: Path
    shadow: Path
    data: Path
    home: Path

    def open(
        self,
        *,
        exclude: tuple[str, ...] = (),
        limits: Limits = NO_FLOOR,
        like: Path | None = None,
    ) -> SnapshotStore:
        """Open the store anew, as another process would."""
        return SnapshotStore.open(
            self.shadow,
            self.root,
            home=self.home,
            data_dir=self.data,
            exclude=exclude,
            limits=limits,
            like=like,
        )

    def write(self, path: str | bytes, data: bytes = b"x", mode: int = 0o644) -> Path:
        """Put a file into the project, with the folders above it."""
        target = self.root / os.fsdecode(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod(mode)
        return target


def git(folder: Path, *arguments: str) -> bytes:
    """Run plain git in *folder*; return what it prints. A failure fails the test."""
    ran = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode(errors="replace")
    return ran.stdout


def picture(root: Path) -> Picture:
    """Describe a tree without keryx's own code: kind, mode and content of each path."""
    found: Picture = {}
    start = os.fsencode(root)
    for above, folders, names in os.walk(start):
        for name in [*folders, *names]:
            path = Path(os.fsdecode(above)) / os.fsdecode(name)
            found[os.fsencode(path)[len(start) + 1 :]] = _picture_of(path)
    return found


def _picture_of(path: Path) -> tuple[str, int, bytes]:
    status = path.lstat()
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return "link", 0, os.fsencode(path.readlink())
    if stat.S_ISDIR(status.st_mode):
        return "folder", mode, b""
    if stat.S_ISREG(status.st_mode):
        return "file", mode, path.read_bytes()
    return "other", mode, b""


ODD_NAMES = (
    b"plain.txt",
    b"git~1",
    b".GIT ",
    b".git.",
    b"CON",
    b"new\nline",
    b'quo"te',
    b"back\\slash",
    b"-rf",
    b"--",
    b":(top)x",
    b"*.py",
    b"[id].tsx",
    b" lead and trail ",
    b"\xff\xfe not utf-8",
    "\u00e9 composed".encode(),
    "e\u0301 decomposed".encode(),
    "公.cpp".encode(),
    b"tab\there",
    b"a" * 255,
    b"Foo",
    b"foo",
    b"f2.txt",
    b"f2-",
    b"f20",
)
"""Names that some tool or other stumbles over."""


def fill_with_oddities(project: Project) -> None:
    """Put odd names, modes, links, git's own files and empty folders into the project."""
    for number, name in enumerate(ODD_NAMES):
        project.write(name, b"content %d\r\n" % number)
    project.write(".gitattributes", b"* text=auto eol=crlf ident filter=lfs\n")
    project.write(".gitmodules", b'[submodule "../../x"]\n\turl = -u./payload\n\tpath = ..\n')
    for number, mode in enumerate((0o755, 0o700, 0o600, 0o444, 0o4755, 0o2755, 0o1644, 0o664)):
        project.write(f"f2/{number}", b"%d" % number, mode)
    (project.root / "empty" / "below").mkdir(parents=True)
    (project.root / "empty").chmod(0o2775)
    (project.root / "closed").mkdir(mode=0o700)
    (project.root / "dangling").symlink_to(os.fsdecode(b"\xff nowhere"))
    (project.root / "out").symlink_to("/etc")
    (project.root / "f2" / "up").symlink_to("../plain.txt")
    (project.root / ".mailmap").symlink_to("plain.txt")
