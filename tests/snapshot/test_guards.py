"""Which roots and shadow folders are refused, and that no setting of the person's has influence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keryx_py.snapshot.store import RootRefusedError, SnapshotError, SnapshotKey, SnapshotStore
from tests.snapshot.ground import NO_FLOOR, Project, fill_with_oddities, git, picture

FIRST = SnapshotKey(1)


def open_on(root: Path, project: Project) -> SnapshotStore:
    return SnapshotStore.open(
        project.shadow, root, home=project.home, data_dir=project.data, limits=NO_FLOOR
    )


def test_the_home_folder_is_refused_also_by_another_name(project: Project, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(project.home)

    for root in (project.home, tmp_path / "way"):
        with pytest.raises(RootRefusedError, match=r"home folder.*--root"):
            open_on(root, project)


def test_a_folder_in_the_home_folder_is_accepted(project: Project) -> None:
    (project.home / "p").mkdir()

    assert open_on(project.home / "p", project).look().listing == {}


def test_a_file_systems_root_is_refused(project: Project) -> None:
    with pytest.raises(RootRefusedError, match="file system's root"):
        open_on(Path("/"), project)


def test_git_directories_are_refused(project: Project, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    git(project.root, "init", "-q")

    for root in (tmp_path / "bare.git", project.root / ".git", project.root / ".git" / "hooks"):
        with pytest.raises(RootRefusedError, match="git directory"):
            open_on(root, project)


def test_a_root_that_is_gone_or_a_file_is_refused(project: Project, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    for root in (tmp_path / "gone", tmp_path / "file"):
        with pytest.raises(RootRefusedError):
            open_on(root, project)


def test_the_data_folder_is_refused(project: Project) -> None:
    project.data.mkdir()

    with pytest.raises(RootRefusedError, match="data folder"):
        open_on(project.data, project)


def test_another_directory_at_the_roots_place_is_refused(project: Project, tmp_path: Path) -> None:
    project.write("a")
    store = project.open()
    store.take(FIRST, 1.0)
    project.root.rename(tmp_path / "away")
    project.root.mkdir()

    with pytest.raises(SnapshotError, match="another directory"):
        store.look()
    with pytest.raises(SnapshotError, match="another directory"):
        store.take(SnapshotKey(2), 2.0)

    assert store.keys() == {FIRST}


def test_a_shadow_folder_that_is_a_link_is_refused(project: Project, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "victim.git")
    project.shadow.parent.mkdir(parents=True)
    project.shadow.symlink_to(tmp_path / "victim.git")

    with pytest.raises(SnapshotError, match="is a link"):
        project.open()


@pytest.mark.parametrize("inner", ["objects", "objects/pack", "refs", "refs/keryx"])
def test_a_link_in_place_of_an_own_folder_is_refused(
    project: Project, tmp_path: Path, inner: str
) -> None:
    project.open().take(FIRST, 1.0)
    (project.shadow / inner).rename(tmp_path / "elsewhere")
    (project.shadow / inner).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(SnapshotError, match="holds one"):
        project.open()


def test_a_shadow_folder_swapped_for_a_link_while_open_is_refused(
    project: Project, tmp_path: Path
) -> None:
    store = project.open()
    store.take(FIRST, 1.0)
    project.shadow.rename(tmp_path / "moved.git")
    project.shadow.symlink_to(tmp_path / "moved.git")

    with pytest.raises(SnapshotError, match="is a link"):
        store.take(SnapshotKey(2), 2.0)


def test_a_repository_with_files_in_it_is_refused_and_left_alone(
    project: Project, tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q", str(project.shadow))
    (project.shadow / ".git" / "description").unlink()
    (project.shadow / "f").write_text("mine")
    git(project.shadow, "add", "f")
    git(project.shadow, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "m")
    inner = Project(project.root, project.shadow / ".git", project.data, project.home)
    before = picture(project.shadow)

    with pytest.raises(SnapshotError, match="not a shadow repository"):
        project.open()
    with pytest.raises(SnapshotError, match="not a shadow repository"):
        inner.open()

    assert picture(project.shadow) == before


def test_an_empty_folder_or_repository_is_set_aside_and_said(project: Project) -> None:
    project.write("a")
    project.shadow.mkdir(parents=True)
    empty = project.open()
    git(project.shadow.parent, "init", "-q", "--bare", str(project.shadow))
    tree = git(project.shadow, "mktree", "--missing", "-z").decode().strip()
    made = git(
        project.shadow, "-c", "user.name=n", "-c", "user.email=e", "commit-tree", tree, "-m", "x"
    )
    git(project.shadow, "update-ref", "refs/heads/master", made.decode().strip())
    older = project.open()

    older.take(FIRST, 1.0)

    assert ["set aside" in notice for notice in (*empty.notices, *older.notices)] == [True, True]
    assert (project.shadow.parent / "shadow.git.old-2" / "refs/heads/master").exists()
    assert project.open().notices == ()
    assert set(project.open().load(FIRST).listing) == {b"a"}


def test_a_repository_cut_short_in_the_making_is_finished(project: Project) -> None:
    project.write("a")
    (project.shadow / "objects").mkdir(parents=True)
    (project.shadow / "config.lock").write_text("[co")

    store = project.open()
    store.take(FIRST, 1.0)

    assert store.notices == ()
    git(project.shadow, "fsck", "--strict")


def test_leftovers_of_a_dead_process_are_cleared(project: Project) -> None:
    project.write("a")
    state = project.open().take(FIRST, 1.0)
    packs = project.shadow / "objects" / "pack"
    leftovers = [
        packs / "tmp_pack_0123456789abcdef",
        packs / "tmp_pack_0123456789abcdef_idx",
        packs / f"pack-{'0' * 40}.pack",
        project.shadow / "refs" / "keryx" / "1" / "end.lock",
        project.shadow / "config.lock",
        project.shadow / "keryx-seen.lock",
    ]
    for path in leftovers:
        path.write_bytes(b"half")

    again = project.open()

    assert not any(path.exists() for path in leftovers)
    assert again.load(FIRST) == state


def test_git_variables_and_configuration_have_no_influence(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_with_oddities(project)
    sealed = project.open().look()
    victim = tmp_path / "victim.git"
    git(tmp_path, "init", "-q", "--bare", str(victim))
    before = picture(victim)
    hook = tmp_path / "hooks" / "reference-transaction"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    (project.home / ".gitconfig").write_text(
        f"[core]\nautocrlf = true\nhooksPath = {hook.parent}\nfileMode = false\n"
        "symlinks = false\nignoreCase = true\nprecomposeUnicode = true\nfsmonitor = true\n"
        f"attributesFile = {tmp_path}/attributes\n[init]\ntemplateDir = {tmp_path}/template\n"
        "[commit]\ngpgSign = true\n[gpg]\nprogram = /bin/false\n[include]\npath = missing\n"
        "[broken\n"
    )
    (tmp_path / "attributes").write_text("* text=auto eol=crlf\n")
    (tmp_path / "template" / "hooks").mkdir(parents=True)
    for name in ("GIT_DIR", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_CEILING_DIRECTORIES"):
        monkeypatch.setenv(name, str(victim))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "template"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(victim / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(victim / "objects"))
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(victim / "objects"))
    monkeypatch.setenv("EMAIL", "not an address <<")

    state = project.open().take(FIRST, 1.0)
    read = project.open().load(FIRST)

    assert state == read == sealed
    assert picture(victim) == before
    assert not (tmp_path / "ran").exists()
    monkeypatch.undo()
    os.environ["HOME"] = str(tmp_path)
    author = git(project.shadow, "log", "-1", "--format=%an <%ae>", "refs/keryx/1/before")
    assert author == b"keryx <keryx@localhost>\n"
