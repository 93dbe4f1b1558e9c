"""A second session on the same project starts from the first one's packs, and stands alone."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from keryx_py.snapshot.store import Side, SnapshotKey, WalkProgress
from tests.snapshot.ground import Project, git

FIRST = SnapshotKey(1)


@pytest.fixture
def second(project: Project) -> Project:
    """Make another session on the project."""
    shadow = project.shadow.parent.parent / "two" / "shadow.git"
    return Project(project.root, shadow, project.data, project.home)


def test_little_is_read_or_stored_anew(project: Project, second: Project) -> None:
    project.write("large", os.urandom(300_000))
    time.sleep(0.12)
    state = project.open().take(FIRST, 1.0)
    told: list[WalkProgress] = []

    taken = second.open(like=project.shadow).take(FIRST, 2.0, progress=told.append)

    assert taken == state == second.open().load(FIRST)
    assert told[-1].content_bytes == 0
    fresh = [path for path in second.shadow.rglob("*.pack") if path.stat().st_nlink == 1]
    assert sum(path.stat().st_size for path in fresh) < 2000
    git(second.shadow, "fsck", "--strict", "--full")


def test_each_stands_alone(project: Project, second: Project) -> None:
    project.write("f", os.urandom(10_000))
    state = project.open().take(FIRST, 1.0)
    store = second.open(like=project.shadow)
    store.take(FIRST, 2.0)
    shutil.rmtree(project.shadow.parent)

    again = second.open()

    assert again.load(FIRST) == state
    again.verify([state.listing[b"f"].oid])


def test_what_the_second_does_not_need_goes_again(project: Project, second: Project) -> None:
    project.write("f", os.urandom(400_000))
    store = project.open()
    old = store.take(FIRST, 1.0)
    project.write("f", b"now")
    store.take(SnapshotKey(2), 2.0)
    mine = second.open(like=project.shadow)
    mine.take(FIRST, 3.0)

    mine.take(SnapshotKey(1, Side.END), 4.0)

    assert mine.size() < 100_000
    assert store.read(old.listing[b"f"].oid)
    assert second.open().read(mine.load(FIRST).listing[b"f"].oid) == b"now"


def test_a_first_look_reads_nothing_anew(project: Project, second: Project) -> None:
    project.write("f", b"x" * 1000)
    time.sleep(0.12)
    state = project.open().take(FIRST, 1.0)
    told: list[WalkProgress] = []

    seen = second.open(like=project.shadow).look(progress=told.append)

    assert seen == state
    assert told[-1].content_bytes == 0
    assert not second.shadow.exists()


@pytest.mark.parametrize("what", ["missing", "link", "file", "foreign"])
def test_what_is_no_shadow_repository_is_not_shared(
    project: Project, second: Project, tmp_path: Path, what: str
) -> None:
    project.write("f")
    like = tmp_path / "like"
    match what:
        case "link":
            project.open().take(FIRST, 1.0)
            like.symlink_to(project.shadow)
        case "file":
            like.write_text("")
        case "foreign":
            git(tmp_path, "init", "-q", "--bare", "like")
        case _:
            pass

    state = second.open(like=like).take(FIRST, 2.0)

    assert set(state.listing) == {b"f"}
    assert len(list(second.shadow.rglob("*.pack"))) == 1
