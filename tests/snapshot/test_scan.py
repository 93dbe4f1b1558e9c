"""What a capture holds, what it leaves out, and that every path it leaves out is named."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from keryx_py.snapshot.listing import Kind, Skipped
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.store import Limits, SnapshotError, SnapshotKey
from tests.snapshot.ground import Project, git, picture

FIRST = SnapshotKey(1)


def age() -> None:
    """Wait until what was just written is old enough to be trusted."""
    time.sleep(0.12)


def paths(project: Project) -> set[bytes]:
    return set(project.open().look().listing)


def test_git_folders_and_node_modules_are_left_out_at_any_depth(project: Project) -> None:
    for path in (".git/config", "a/.git/HEAD", "a/node_modules/x", "node_modules/y", "a/keep"):
        project.write(path)
    project.write("worktree/.git", b"gitdir: elsewhere")
    (project.root / "linked").mkdir()
    (project.root / "linked" / ".git").symlink_to("/etc")

    state = project.open().look()

    assert set(state.listing) == {b"a", b"a/keep", b"worktree", b"linked"}
    assert state.ignored == {
        b".git",
        b"a/.git",
        b"a/node_modules",
        b"node_modules",
        b"worktree/.git",
        b"linked/.git",
    }


def test_names_that_only_look_like_git_folders_are_held(project: Project) -> None:
    for name in (".gitx", "x.git", ".GIT", "git", ".git ", "node_modules2"):
        project.write(name)

    assert paths(project) == {b".gitx", b"x.git", b".GIT", b"git", b".git ", b"node_modules2"}


def test_a_nested_repository_is_held_without_its_git_folder(project: Project) -> None:
    git(project.root, "init", "-q", "sub")
    project.write("sub/deep/f")

    state = project.open().look()

    assert set(state.listing) == {b"sub", b"sub/deep", b"sub/deep/f"}
    assert state.ignored == {b"sub/.git"}


def test_metaproject_data_is_left_out_at_the_root_only(project: Project) -> None:
    project.write(".metaproject/data/x")
    project.write(".metaproject/y")
    project.write("a/.metaproject/data/z")

    assert paths(project) == {
        b".metaproject",
        b".metaproject/y",
        b"a",
        b"a/.metaproject",
        b"a/.metaproject/data",
        b"a/.metaproject/data/z",
    }


def test_keryxs_own_data_is_left_out_wherever_it_is(project: Project) -> None:
    inside = Project(
        project.root, project.root / "x/.data/s/shadow.git", project.root / "x/.data", project.home
    )
    project.write("x/.data/secret")
    project.write("y")
    (project.root / "way").symlink_to("x/.data")

    state = inside.open().take(FIRST, 1.0)

    assert set(state.listing) == {b"x", b"y", b"way"}
    assert state.ignored == {b"x/.data"}


def test_exclude_patterns_hold_from_the_root_whatever_a_gitignore_says(project: Project) -> None:
    for path in ("big/a", "sub/big/b", "x.iso", "sub/x.iso", "sub/keep.iso"):
        project.write(path)
    project.write(".gitignore", b"!x.iso\n")

    state = project.open(exclude=("/big", "*.iso", "!keep.iso")).look()

    assert set(state.listing) == {b".gitignore", b"sub", b"sub/big", b"sub/big/b", b"sub/keep.iso"}
    assert state.ignored == {b"big", b"x.iso", b"sub/x.iso"}


def test_ignored_paths_are_named_a_wholly_ignored_folder_once(project: Project) -> None:
    project.write(".gitignore", b"*.log\n/build/\n")
    project.write("sub/.gitignore", b"!keep.log\n.gitignore\n")
    for path in ("a.log", "build/x/y", "sub/keep.log", "sub/b.log", "sub/build/z"):
        project.write(path)

    state = project.open().look()

    assert set(state.listing) == {
        b".gitignore",
        b"sub",
        b"sub/keep.log",
        b"sub/build",
        b"sub/build/z",
    }
    assert state.ignored == {b"a.log", b"build", b"sub/b.log", b"sub/.gitignore"}
    assert state.rules == {b"": b"*.log\n/build/\n", b"sub": b"!keep.log\n.gitignore\n"}


def test_the_persons_own_excludes_are_not_read(project: Project) -> None:
    git(project.root, "init", "-q")
    (project.root / ".git" / "info" / "exclude").write_text("secret\n")
    (project.home / ".gitconfig").write_text(f"[core]\nexcludesFile = {project.home}/gi\n")
    (project.home / "gi").write_text("*.log\n")
    project.write("secret")
    project.write("app.log")

    assert paths(project) == {b"secret", b"app.log"}


def test_a_gitignore_that_is_a_link_is_held_and_counts_as_no_rules(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / "shared").write_text("*.log\n")
    (project.root / ".gitignore").symlink_to("../shared")
    project.write("a.log")

    state = project.open().look()

    assert state.listing[b".gitignore"].kind is Kind.LINK
    assert b"a.log" in state.listing
    assert state.rules == {}


def test_a_gitignore_that_is_a_folder_counts_as_no_rules(project: Project) -> None:
    project.write(".gitignore/inner")

    assert paths(project) == {b".gitignore", b".gitignore/inner"}


def test_a_gitignore_of_an_unreadable_kind_fails_the_capture(project: Project) -> None:
    project.write("sub/a")
    os.mkfifo(project.root / "sub" / ".gitignore")
    store = project.open()

    with pytest.raises(SnapshotError, match=r"sub/\.gitignore cannot be read"):
        store.take(FIRST, 1.0)

    assert store.keys() == frozenset()


def test_pipes_sockets_and_devices_are_skipped_by_kind(project: Project) -> None:
    os.mkfifo(project.root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(project.root)
        try:
            listening.bind("sock")
        finally:
            os.chdir(here)
        state = project.open().look()

    assert state.skipped == (Skipped(b"pipe", "a pipe"), Skipped(b"sock", "a socket"))
    assert state.listing == {}


def test_a_file_of_exactly_the_limit_is_held_and_one_byte_more_is_named(project: Project) -> None:
    project.write("exact", b"x" * (5 * 2**20))
    project.write("more", b"x" * (5 * 2**20 + 1))

    state = project.open().look()

    assert set(state.listing) == {b"exact"}
    assert state.skipped == (Skipped(b"more", "larger than 5 MB"),)


def test_links_are_not_followed(project: Project, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("no")
    (project.root / "d").symlink_to(tmp_path / "outside")
    (project.root / "self").symlink_to(".")

    state = project.open().look()

    assert set(state.listing) == {b"d", b"self"}


def test_a_folder_swapped_for_a_link_between_captures_is_not_followed(
    project: Project, tmp_path: Path
) -> None:
    project.write("d/x", b"inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_bytes(b"inside")
    store = project.open()
    store.take(FIRST, 1.0)
    (project.root / "d").rename(project.root / "e")
    (project.root / "d").symlink_to(tmp_path / "outside")

    state = store.take(SnapshotKey(2), 2.0)

    assert set(state.listing) == {b"d", b"e", b"e/x"}
    assert state.listing[b"d"].kind is Kind.LINK


def test_a_path_asked_for_is_held_whatever_rule_or_limit(project: Project) -> None:
    project.write(".gitignore", b"ignored*\nvendor/\n")
    project.write("ignored.txt", b"i")
    project.write("ignored2.txt", b"i")
    project.write("vendor/deep/a", b"a")
    project.write("vendor/deep/b", b"b")
    project.write("vendor/c", b"c")
    project.write("node_modules/m/x", b"n")
    project.write("big", b"x" * 11)
    limits = Limits(max_file_bytes=10, free_floor_bytes=0)
    project.write(".gitignore", b"ignored*\nvendor/")  # fits the limit no more
    store = project.open(limits=limits)
    asked = (b"ignored.txt", b"vendor/deep/a", b"node_modules/m/x", b"big", b"not/there")

    taken = store.take(FIRST, 1.0, also=asked)

    assert set(taken.listing) == {
        b"ignored.txt",
        b"vendor",
        b"vendor/deep",
        b"vendor/deep/a",
        b"node_modules",
        b"node_modules/m",
        b"node_modules/m/x",
        b"big",
    }
    left_out = {b"ignored.txt", b"ignored2.txt", b"vendor", b"node_modules"}
    assert taken.ignored == left_out | {b"vendor/deep/b", b"vendor/c"}
    assert [item.path for item in taken.skipped] == [b".gitignore"]
    assert project.open(limits=limits).load(FIRST) == taken
    git(project.shadow, "fsck", "--full", "--strict")


@pytest.mark.parametrize("anew", [False, True])
def test_what_was_asked_for_once_is_left_out_again_next_time(project: Project, anew: bool) -> None:
    project.write(".gitignore", b"ignored\nvendor/\n")
    project.write("ignored")
    project.write("vendor/a")
    project.write("d/ignored")
    age()
    store = project.open()
    plain = store.take(FIRST, 1.0)
    also = (b"ignored", b"vendor/a", b"d/ignored")
    asked = store.take(SnapshotKey(2), 2.0, also=also)

    again = (project.open() if anew else store).take(SnapshotKey(3), 3.0)

    assert set(also) <= set(asked.listing)
    assert again == plain == project.open().load(SnapshotKey(3))
    assert git(project.shadow, "rev-parse", "refs/keryx/1/before^{tree}") == git(
        project.shadow, "rev-parse", "refs/keryx/3/before^{tree}"
    )


def test_a_folder_asked_for_is_held_alone(project: Project) -> None:
    project.write(".gitignore", b"vendor/\n")
    project.write("vendor/a/b")

    state = project.open().take(FIRST, 1.0, also=(b"vendor/a",))

    assert set(state.listing) == {b".gitignore", b"vendor", b"vendor/a"}
    assert project.open().load(FIRST) == state


def test_git_folders_are_never_held_not_even_when_asked_for(project: Project) -> None:
    project.write(".git/config")
    project.write("a/.git", b"gitdir: x")

    state = project.open().look(also=(b".git/config", b".git", b"a/.git"))

    assert set(state.listing) == {b"a"}


def test_deep_and_long_paths_are_captured(project: Project) -> None:
    depth, name = 1100, "n" * 5
    here = os.open(project.root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        for leaf in ("a", "z"):
            os.close(os.open(leaf, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=here))
        os.close(here)
        here = below
    os.close(here)
    open_before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    store = project.open()

    state = store.take(FIRST, 1.0)

    assert len(state.listing) == 3 * depth
    assert store.load(FIRST) == state
    if open_before:
        assert len(os.listdir("/proc/self/fd")) - open_before < 10
    remove_deep(project.root, name)


def remove_deep(root: Path, name: str) -> None:
    """Remove what shutil.rmtree cannot, because it recurses."""
    # Fold the tree up from the top: each level's inside is moved up, then the level goes.
    while (root / name).exists():
        (root / name).rename(root / "old")
        if (root / "old" / name).exists():
            (root / "old" / name).rename(root / name)
        for leaf in (root / "old").iterdir():
            leaf.unlink()
        (root / "old").rmdir()


def test_a_tree_in_motion_is_captured_without_an_error(project: Project) -> None:
    for number in range(200):
        project.write(f"d{number % 10}/f{number}", b"x")
    stop = threading.Event()

    def churn() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            here = project.root / f"d{turn % 10}"
            here.rename(project.root / "moved")
            here.symlink_to("/etc")
            here.unlink()
            (project.root / "moved").rename(here)
            file = here / f"f{turn % 10}"
            file.rename(here / "other")
            os.mkfifo(file)
            file.unlink()
            (here / "other").rename(file)

    mover = threading.Thread(target=churn)
    mover.start()
    try:
        states = [project.open().look() for _ in range(30)]
    finally:
        stop.set()
        mover.join()

    allowed = {b"d%d" % number for number in range(10)} | {b"moved"}
    content = object_id(ObjectKind.BLOB, b"x")
    for state in states:
        assert {path.split(b"/")[0] for path in state.listing} <= allowed
        held = {entry.oid for entry in state.listing.values() if entry.kind is Kind.FILE}
        assert held == {content}


WRITE_ALL_THE_TIME = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY)
print("ready", flush=True)
turn = 0
while True:
    turn += 1
    os.pwrite(file, b"%08d" % turn, 2**20 - 8)
    os.pwrite(file, b"%08d" % turn, 0)
"""


def test_a_file_that_is_written_all_the_time_is_named(project: Project) -> None:
    live = project.write("live", b"x" * 2**20)
    project.write("still")
    command = [sys.executable, "-c", WRITE_ALL_THE_TIME, str(live)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        try:
            # The two processes must meet; on a busy machine that takes a while.
            skipped: tuple[Skipped, ...] = ()
            end = time.monotonic() + 60
            while not skipped and time.monotonic() < end:
                skipped = project.open().look().skipped
        finally:
            writer.kill()

    assert skipped == (Skipped(b"live", "being written"),)


def test_the_picture_and_the_walk_agree_on_a_real_tree(project: Project) -> None:
    project.write("a/b/c/d", b"1", 0o750)
    project.write("a/b/e", b"2", 0o640)
    (project.root / "a" / "b").chmod(0o500)

    state = project.open().look()

    modes = {path: (entry.kind.value, entry.mode) for path, entry in state.listing.items()}
    assert modes == {path: entry[:2] for path, entry in picture(project.root).items()}
