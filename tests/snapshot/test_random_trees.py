"""Random trees that keep changing: every capture is exact, and what was seen never misleads."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from keryx_py.snapshot.listing import TreeState, compare_all, differences
from keryx_py.snapshot.store import SnapshotKey, SnapshotStore
from tests.snapshot.ground import Picture, Project, git, picture

NAMES = ("a", "b", "c.log", "build", "d e", "\udcff", "é")
NEVER_HELD = (".git", "node_modules")
RULES = ("", "*.log\n", "build/\n", "!c.log\n/a\n", "*\n!*/\n!a\n", "b\n!build\n")
MODES = (0o644, 0o644, 0o755, 0o600, 0o640)


class Mutator:
    """Changes a tree at random."""

    def __init__(self, root: Path, seed: int, names: tuple[str, ...] = NAMES) -> None:
        self._root = root
        self._names = names
        self._random = random.Random(seed)

    def change(self) -> None:
        """Make one change somewhere."""
        folders = [self._root, *(path for path in self._root.rglob("*") if self._is_folder(path))]
        path = self._random.choice(folders) / self._random.choice(self._names)
        if path.is_symlink() or path.exists():
            self._touch(path)
        else:
            self._make(path)
        if self._random.random() < 0.2:
            rules = self._random.choice(folders) / ".gitignore"
            if rules.parent.is_dir():
                rules.write_text(self._random.choice(RULES))

    def _is_folder(self, path: Path) -> bool:
        return path.is_dir() and not path.is_symlink() and len(path.parts) < 12

    def _touch(self, path: Path) -> None:
        match self._random.randrange(4):
            case 0 | 1 if path.is_file() and not path.is_symlink():
                path.write_bytes(self._random.randbytes(4))
            case 2 if not path.is_symlink():
                path.chmod(0o700 if path.is_dir() else self._random.choice(MODES))
            case _:
                shutil.rmtree(path) if self._is_folder(path) else None
                path.unlink(missing_ok=True) if not path.is_dir() or path.is_symlink() else None

    def _make(self, path: Path) -> None:
        match self._random.randrange(5):
            case 0 | 1:
                path.mkdir()
            case 2:
                path.symlink_to(self._random.choice(("a", "/etc", "..", "nowhere")))
            case _:
                path.write_bytes(self._random.randbytes(4))
                path.chmod(self._random.choice(MODES))


def pictured(store: SnapshotStore, state: TreeState) -> Picture:
    return {
        path: (entry.kind.value, entry.mode, store.read(entry.oid) if entry.oid else b"")
        for path, entry in state.listing.items()
    }


def left_out(state: TreeState, path: bytes) -> bool:
    names = path.split(b"/")
    above = (b"/".join(names[:depth]) for depth in range(1, len(names) + 1))
    return any(part in state.ignored for part in above)


@pytest.mark.parametrize("seed", range(3))
def test_every_capture_of_a_changing_tree_is_exact(
    project: Project, tmp_path: Path, seed: int
) -> None:
    mutator = Mutator(project.root, seed, NAMES + NEVER_HELD)
    store = project.open()
    states: list[TreeState] = []
    for turn in range(9):
        for _ in range(8):
            mutator.change()
        if turn % 4 == 3:
            store = project.open()
        state = store.take(SnapshotKey(turn), float(turn))
        states.append(state)

        fresh = Project(project.root, tmp_path / "none" / "x.git", project.data, project.home)
        assert state == fresh.open().look()
        assert state == store.load(SnapshotKey(turn))
        there = picture(project.root)
        assert pictured(store, state) == {
            path: entry for path, entry in there.items() if not left_out(state, path)
        }
        assert state.ignored <= set(there)

    for turn in range(1, len(states)):
        found = store.changes(SnapshotKey(turn - 1), SnapshotKey(turn))
        before, after = states[turn - 1].listing, states[turn].listing
        assert found == differences(before, after) == compare_all(before, after)
        stored = store.load(SnapshotKey(turn - 1)).listing
        assert differences(stored, after) == differences(before, after)
    git(project.shadow, "fsck", "--strict", "--full")


@pytest.mark.parametrize("seed", range(2))
def test_what_is_left_out_is_what_git_leaves_out(project: Project, seed: int) -> None:
    mutator = Mutator(project.root, seed + 100)
    store = project.open()
    for _ in range(6):
        for _ in range(10):
            mutator.change()
        state = store.look()

        git(project.root, "init", "-q")
        listed = git(project.root, "ls-files", "-o", "-z", "--exclude-standard").split(b"\0")
        shutil.rmtree(project.root / ".git")

        held = {path for path, entry in state.listing.items() if entry.oid}
        assert held == set(listed) - {b""}, os.fsencode(project.root)
