"""Captures come back exactly, and plain git agrees with what is in the shadow repository."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from keryx_py.snapshot.listing import FileState, Kind, TreeState, differences
from keryx_py.snapshot.store import DamagedSnapshotError, Side, SnapshotKey, SnapshotStore
from keryx_py.snapshot.worktree import WorkTree
from tests.snapshot.ground import Picture, Project, fill_with_oddities, git, picture

FIRST = SnapshotKey(1)
FIRST_END = SnapshotKey(1, Side.END)


def pictured(store: SnapshotStore, state: TreeState) -> Picture:
    """Describe a capture as `picture` describes a tree."""
    return {
        path: (entry.kind.value, entry.mode, store.read(entry.oid) if entry.oid else b"")
        for path, entry in state.listing.items()
    }


def test_a_capture_holds_the_tree_exactly(project: Project) -> None:
    fill_with_oddities(project)
    store = project.open()

    state = store.take(FIRST, 1.0)

    assert pictured(store, state) == picture(project.root)


def test_what_is_seen_is_what_is_kept_and_what_another_process_reads(project: Project) -> None:
    fill_with_oddities(project)
    project.write("ignored.log")
    project.write(".gitignore", b"*.log\n\xff\n")
    os.mkfifo(project.root / "pipe")
    store = project.open()

    seen = store.look()
    taken = store.take(FIRST, 1.0)

    assert seen == taken == project.open().load(FIRST)
    assert seen.ignored == {b"ignored.log"}
    assert [item.path for item in seen.skipped] == [b"pipe"]
    assert seen.rules == {b"": b"*.log\n\xff\n"}


def test_git_finds_the_repository_sound_and_reads_the_files_at_the_ref(project: Project) -> None:
    fill_with_oddities(project)
    project.open().take(FIRST, 1.0)

    git(project.shadow, "fsck", "--full", "--strict")
    listed = git(project.shadow, "ls-tree", "-r", "-z", "--name-only", "refs/keryx/1/before")
    shown = git(project.shadow, "show", "refs/keryx/1/before:plain.txt")

    files = {path for path, entry in picture(project.root).items() if entry[0] != "folder"}
    assert set(listed.split(b"\0")) - {b""} == files
    assert shown == b"content 0\r\n"


def test_git_hashes_the_tree_to_the_same_id(project: Project, tmp_path: Path) -> None:
    fill_with_oddities(project)
    # Git itself refuses to add some of these.
    for name in ("git~1", ".GIT ", ".git.", ".gitattributes", ".gitmodules"):
        (project.root / name).unlink(missing_ok=True)
    project.open().take(FIRST, 1.0)
    judge = tmp_path / "judge.git"
    git(tmp_path, "init", "-q", "--bare", str(judge))
    here = (f"--git-dir={judge}", f"--work-tree={project.root}", "-c", "core.autocrlf=false")

    git(project.root, *here, "add", "-A")
    tree = git(project.root, *here, "write-tree")

    assert git(project.shadow, "rev-parse", "refs/keryx/1/before^{tree}") == tree


def test_a_tree_restored_by_hand_is_the_old_one(project: Project) -> None:
    fill_with_oddities(project)
    before = picture(project.root)
    store = project.open()
    state = store.take(FIRST, 1.0)
    for old in project.root.iterdir():
        shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()

    tree = WorkTree(project.root)
    for path, entry in sorted(state.listing.items()):
        restore(tree, store, path, entry)

    assert picture(project.root) == before


def restore(tree: WorkTree, store: SnapshotStore, path: bytes, entry: FileState) -> None:
    match entry.kind:
        case Kind.FOLDER:
            tree.make_folder(path, entry.mode)
        case Kind.LINK:
            tree.write_link(path, store.read(entry.oid))
        case Kind.FILE:
            tree.write_file(path, store.read(entry.oid), entry.mode)


def test_nothing_is_made_before_the_first_take(project: Project) -> None:
    project.write("a")
    store = project.open()

    store.look()

    assert store.keys() == frozenset()
    assert store.size() == 0
    assert not project.data.exists()


def test_the_work_tree_is_left_as_it_was(project: Project) -> None:
    fill_with_oddities(project)
    git(project.root, "init", "-q")
    before = picture(project.root)

    project.open().take(FIRST, 1.0)

    assert picture(project.root) == before


def test_an_empty_project_can_be_captured(project: Project) -> None:
    state = project.open().take(FIRST, 1.0)

    assert state == TreeState({}) == project.open().load(FIRST)
    git(project.shadow, "fsck", "--full", "--strict")


def test_captures_are_known_by_their_keys_and_times(project: Project) -> None:
    store = project.open()
    store.take(FIRST, 1700000000.123456)
    store.take(FIRST_END, 1700000001.5)

    again = project.open()

    assert again.keys() == {FIRST, FIRST_END}
    assert again.taken_at() == {FIRST: 1700000000.123456, FIRST_END: 1700000001.5}


def test_a_key_that_is_not_kept_is_a_key_error(project: Project) -> None:
    store = project.open()

    with pytest.raises(KeyError):
        store.load(FIRST)
    with pytest.raises(DamagedSnapshotError):
        store.read(b"\1" * 20)


def test_changes_are_the_differences_of_the_two_trees(project: Project) -> None:
    fill_with_oddities(project)
    store = project.open()
    before = store.take(FIRST, 1.0)
    project.write("f2/0", b"other", 0o755)
    project.write("empty/below/new")
    (project.root / "plain.txt").unlink()
    (project.root / "plain.txt").mkdir()
    (project.root / "closed").rmdir()
    (project.root / "f2" / "2").chmod(0o640)
    (project.root / "f2").chmod(0o711)
    (project.root / "out").unlink()
    (project.root / "out").symlink_to("/usr")

    after = store.take(FIRST_END, 2.0)
    changes = project.open().changes(FIRST, FIRST_END)

    assert changes == differences(before.listing, after.listing)
    assert len(changes) == 7


def test_changes_are_right_when_the_usual_mode_moves(project: Project) -> None:
    for number in range(4):
        project.write(f"{number}", b"x", 0o644)
    store = project.open()
    before = store.take(FIRST, 1.0)
    for number in range(3):
        (project.root / f"{number}").chmod(0o600)

    after = store.take(FIRST_END, 2.0)

    assert store.changes(FIRST, FIRST_END) == differences(before.listing, after.listing)
    assert len(store.changes(FIRST, FIRST_END)) == 3


@pytest.mark.damaged_store
def test_equal_subtrees_are_not_read_for_changes(project: Project) -> None:
    project.write("same/a")
    project.write("other/b")
    store = project.open()
    store.take(FIRST, 1.0)
    project.write("other/b", b"new")
    store.take(FIRST_END, 2.0)
    tree = git(project.shadow, "rev-parse", "refs/keryx/1/end:same").decode().strip()

    # With the equal subtree gone, the difference is still found.
    packs = project.shadow / "objects" / "pack"
    for pack in list(packs.glob("*.pack")):
        pack.rename(project.shadow / pack.name)
        pack.with_suffix(".idx").unlink()
        with (project.shadow / pack.name).open("rb") as data:
            command = ["git", "-C", str(project.shadow), "unpack-objects", "-q"]
            subprocess.run(command, stdin=data, check=True)
    (project.shadow / "objects" / tree[:2] / tree[2:]).unlink()

    assert [change.path for change in project.open().changes(FIRST, FIRST_END)] == [b"other/b"]


def test_a_thousand_files_go_through_threads_and_come_back(project: Project) -> None:
    for number in range(1000):
        project.write(f"d{number % 7}/{number}", os.urandom(number) + b"x" * (number % 3))
    store = project.open()

    state = store.take(FIRST, 1.0)

    assert pictured(store, state) == picture(project.root)
    git(project.shadow, "fsck", "--full", "--strict")


def test_what_is_held_is_not_stored_again(project: Project) -> None:
    data = os.urandom(300_000)
    project.write("a", data)
    project.write("b", data)
    store = project.open()
    store.take(FIRST, 1.0)
    first = store.size()
    project.write("c/d", data)
    (project.root / "a").rename(project.root / "e")

    store.take(FIRST_END, 2.0)

    assert first < 400_000
    assert store.size() - first < 60_000


def test_the_repository_is_private(project: Project) -> None:
    project.write("a")
    project.open().take(FIRST, 1.0)

    for path in [project.shadow, *project.shadow.rglob("*")]:
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


def test_the_work_tree_is_named_in_the_configuration_whatever_its_name(
    project: Project, tmp_path: Path
) -> None:
    odd = tmp_path / 'ro"ot \\ with\ttab #x;'
    project.root.rename(odd)
    moved = Project(odd, project.shadow, project.data, project.home)
    moved.write("a")

    moved.open().take(FIRST, 1.0)

    named = git(project.shadow, "config", "core.worktree")
    assert named == os.fsencode(odd) + b"\n"


def test_the_configuration_follows_a_moved_root(project: Project, tmp_path: Path) -> None:
    project.write("a")
    project.open().take(FIRST, 1.0)
    moved = Project(tmp_path / "moved", project.shadow, project.data, project.home)
    project.root.rename(moved.root)

    state = moved.open().take(FIRST_END, 2.0)

    assert set(state.listing) == {b"a"}
    assert git(project.shadow, "config", "core.worktree") == os.fsencode(moved.root) + b"\n"


def test_pygit2_is_not_imported_before_it_is_needed() -> None:
    code = (
        "import sys, keryx_py.snapshot.store, keryx_py.snapshot.worktree; "
        "sys.exit('pygit2' in sys.modules or 'isal' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=False)

    assert ran.returncode == 0
