"""Write a file anew right after captures, its size unchanged: the next look has to see it.

As a program it does so with a project that lies on a file system of its own, of the kind whose
clock stands still for milliseconds; then it prints how many edits left a file's times as they were.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from keryx_py.snapshot.store import SnapshotKey
from tests.snapshot.ground import Project


def edit_after_captures(project: Project, edits: int) -> int:
    """Make *edits* same-size edits; return how many left the file's times as they were."""
    path = project.write("f", b"%08d" % 0)
    project.write("beside", b"stays")
    store = project.open()
    unmoved = 0
    for number in range(1, edits + 1):
        # Snapshots wait for the disk, and the clock goes on meanwhile; looks do not.
        if number % 10 == 0:
            store.take(SnapshotKey(number), 1.0)
            store.drop([SnapshotKey(number - 10)])
        before = _times(path)
        with path.open("r+b") as file:
            file.write(b"%08d" % number)
        unmoved += _times(path) == before

        seen = store.look()

        assert seen.listing[b"f"].oid == blob_id(b"%08d" % number), number
    return unmoved


def _times(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_ctime_ns


def blob_id(data: bytes) -> bytes:
    """The id that git gives to a file that holds *data*."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).digest()


def run_on_coarse_clock(base: Path, edits: int) -> subprocess.CompletedProcess[str]:
    """Run this program below *base*, where it alone sees the file system that is made for it.

    Raises FileNotFoundError where there is no program that can do so.
    """
    checkout = Path(__file__).parents[2]
    program = [sys.executable, "-m", "tests.snapshot.same_tick", str(base), str(edits)]
    mounting = 'mount -t ramfs none "$0/project" && exec "$@"'
    as_root = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    return subprocess.run(
        ["unshare", *as_root, "--mount", "sh", "-c", mounting, base, *program],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )


def main() -> None:
    """Do what the words on the command line say."""
    base, edits = Path(sys.argv[1]), int(sys.argv[2])
    project = Project(
        base / "project",
        base / "data" / "sessions" / "one" / "shadow.git",
        base / "data",
        base / "home",
    )
    sys.stdout.write(f"{edit_after_captures(project, edits)}\n")


if __name__ == "__main__":
    main()
