"""What a normal user may not read or write: named, refused in a sentence, never half done."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from keryx_py.snapshot.listing import Skipped
from keryx_py.snapshot.store import SnapshotError, SnapshotKey
from keryx_py.snapshot.worktree import WorkTree, WorkTreeError
from tests.cases.as_user import as_user
from tests.snapshot.ground import Project

FIRST = SnapshotKey(1)
SECOND = SnapshotKey(2)


@pytest.fixture
def base(place: Path) -> Path:
    """Give the folder that holds the project and the data folder."""
    return place


@pytest.fixture
def project(base: Path, sealed: Path) -> Project:
    """Make an empty project where another user can get to it."""
    root, data = base / "project", base / "data"
    shadow = data / "sessions" / "one" / "shadow.git"
    root.mkdir()
    shadow.parent.mkdir(parents=True)
    return Project(root, shadow, data, sealed)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_unreadable_files_and_folders_are_named(project: Project, base: Path) -> None:
    project.write("a")
    project.write("locked", b"x", 0o000)
    project.write("shut/x")
    project.write("listed/x")
    (project.root / "empty").mkdir()
    (project.root / "shut").chmod(0o000)
    for name in ("listed", "empty"):  # their names may be read, what they name may not
        (project.root / name).chmod(0o600)

    def act() -> None:
        state = project.open().take(FIRST, 1.0)

        assert set(state.listing) == {b"a"}
        assert state.skipped == tuple(
            Skipped(path, "unreadable") for path in (b"empty", b"listed", b"locked", b"shut")
        )
        assert project.open().load(FIRST) == state

    as_user(base, act)


def test_an_unreadable_gitignore_fails_the_capture(project: Project, base: Path) -> None:
    project.write("sub/.gitignore", b"secret\n", 0o000)
    project.write("sub/secret")

    def act() -> None:
        store = project.open()

        with pytest.raises(SnapshotError, match=r"sub/\.gitignore cannot be read"):
            store.take(FIRST, 1.0)

        assert store.keys() == frozenset()

    as_user(base, act)


def test_a_store_that_cannot_be_made_is_one_sentence(project: Project, base: Path) -> None:
    project.write("a")
    project.shadow.parent.chmod(0o500)

    def act() -> None:
        with pytest.raises(SnapshotError, match="cannot be taken: permission denied"):
            project.open().take(FIRST, 1.0)

    as_user(base, act)


@pytest.mark.parametrize("folder", ["objects/pack", "refs/keryx"])
def test_a_store_that_cannot_be_written_keeps_what_it_has(
    project: Project, base: Path, folder: str
) -> None:
    project.write("a")

    def act() -> None:
        store = project.open()
        state = store.take(FIRST, 1.0)
        project.write("b")
        (project.shadow / folder).chmod(0o500)

        with pytest.raises(SnapshotError, match="permission denied"):
            store.take(SECOND, 2.0)

        (project.shadow / folder).chmod(0o700)
        assert store.keys() == {FIRST}
        assert store.load(FIRST) == state
        assert len(list((project.shadow / "objects" / "pack").iterdir())) == 2

    as_user(base, act)


def test_a_read_only_folder_is_opened_and_gets_its_mode_back(project: Project, base: Path) -> None:
    for name in ("x", "gone"):
        project.write(f"d/{name}")
    (project.root / "d" / "sub").mkdir()
    (project.root / "d").chmod(0o555)

    def act() -> None:
        tree = WorkTree(project.root)

        tree.write_file(b"d/x", b"new", 0o444)
        tree.write_file(b"d/y", b"made", 0o644)
        tree.write_link(b"d/l", b"x")
        tree.make_folder(b"d/e", 0o500)
        tree.remove_file(b"d/gone")
        assert tree.remove_folder(b"d/sub")

        assert sorted(os.listdir(project.root / "d")) == ["e", "l", "x", "y"]
        assert mode(project.root / "d") == 0o555
        assert mode(project.root / "d" / "e") == 0o500

    as_user(base, act)


def test_a_refusal_in_a_read_only_folder_gives_its_mode_back(project: Project, base: Path) -> None:
    project.write("d/e/f")
    (project.root / "d").chmod(0o555)

    def act() -> None:
        with pytest.raises(WorkTreeError, match="a folder stands there"):
            WorkTree(project.root).write_file(b"d/e", b"", 0o600)
        with pytest.raises(WorkTreeError, match="the name is too long"):
            WorkTree(project.root).write_file(b"d/" + b"n" * 256, b"", 0o600)

        assert mode(project.root / "d") == 0o555
        assert os.listdir(project.root / "d") == ["e"]

    as_user(base, act)


def test_the_mode_of_an_unreadable_file_can_be_set(project: Project, base: Path) -> None:
    project.write("f", b"x", 0o000)

    def act() -> None:
        WorkTree(project.root).set_mode(b"f", 0o640)

        assert mode(project.root / "f") == 0o640

    as_user(base, act)


def test_an_unreadable_file_has_no_state(project: Project, base: Path) -> None:
    project.write("f", b"x", 0o000)

    def act() -> None:
        with pytest.raises(WorkTreeError, match=r"^unreadable$"):
            WorkTree(project.root).state(b"f")

    as_user(base, act)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_another_users_folder_is_permission_denied(project: Project, base: Path) -> None:
    project.write("theirs/f", b"safe")

    def act() -> None:
        tree = WorkTree(project.root)
        with pytest.raises(WorkTreeError, match=r"^permission denied$"):
            tree.write_file(b"theirs/f", b"", 0o644)
        with pytest.raises(WorkTreeError, match=r"^permission denied$"):
            tree.remove_file(b"theirs/f")

    as_user(base, act, not_owned=[project.root / "theirs"])
    assert os.listdir(project.root / "theirs") == ["f"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_a_shadow_folder_of_another_user_is_refused(project: Project, base: Path) -> None:
    project.write("a")
    project.shadow.mkdir()

    def act() -> None:
        with pytest.raises(SnapshotError, match="belongs to another user"):
            project.open()

    as_user(base, act, not_owned=[project.shadow])
