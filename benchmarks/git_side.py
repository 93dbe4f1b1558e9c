"""git as a program: captures and restores of a work tree in a bare repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from benchmarks.measuring import Measured, What, seconds
from benchmarks.trees import CHANGED_FILES, REPEATS, WorkTreeMade, change_files, restored_files


class GitRepository:
    """An empty bare repository with a project as its work tree; the person's settings are out."""

    def __init__(self, folder: Path, root: Path) -> None:
        """Make it in *folder*, which is not there yet."""
        self.objects = folder / "objects"
        self._root = root
        self._here = (f"--git-dir={folder}", f"--work-tree={root}")
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        self._run("init", "-q", "--bare", str(folder))

    def capture(self) -> str:
        """Store the work tree; return the tree's id."""
        self._run(*self._here, "add", "-A")
        return self._run(*self._here, "write-tree")

    def restore(self, tree: str) -> None:
        """Store the work tree, then make it what it was in *tree*."""
        now = self.capture()
        # What `git checkout` of a commit does beneath: it compares the two trees, writes what
        # differs, removes what is new, and leaves every other file alone. `checkout-index -a` and
        # `checkout TREE -- .` would look at each file once more, or leave the new ones.
        self._run(*self._here, "read-tree", "-m", "-u", now, tree)

    def _run(self, *words: str) -> str:
        ran = subprocess.run(
            ["git", *words],
            cwd=self._root,
            env=self._environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return ran.stdout.strip()


def measure_git(tree: WorkTreeMade, work: Path, mark: str) -> Measured:
    """Time git's captures and restores of *tree*; the repository goes to *work*."""
    repository = GitRepository(work / f"git-{mark}", tree.root)
    first = seconds(repository.capture)
    unchanged = [seconds(repository.capture) for _ in range(REPEATS)]
    changed = []
    for number in range(REPEATS):
        change_files(tree, CHANGED_FILES, f"git-{mark}-{number}")
        changed.append(seconds(repository.capture))
    return {
        What.FIRST: (first,),
        What.UNCHANGED: tuple(unchanged),
        What.CHANGED: tuple(changed),
        What.RESTORE: _measure_restores(tree, repository, mark),
    }


def _measure_restores(
    tree: WorkTreeMade, repository: GitRepository, mark: str
) -> tuple[float, ...]:
    wanted = repository.capture()
    times = []
    for number in range(REPEATS):
        change_files(tree, restored_files(tree), f"git-restore-{mark}-{number}")
        times.append(seconds(lambda: repository.restore(wanted)))
        assert repository.capture() == wanted, "git did not bring the files back"
    return tuple(times)
