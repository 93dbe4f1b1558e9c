"""What is begun early saves reading twice, is never the snapshot itself, and can be stopped."""

from __future__ import annotations

import os
import time

import pytest

from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.store import (
    Limits,
    SizeLimitError,
    SnapshotError,
    SnapshotKey,
    SnapshotStore,
    WalkProgress,
)
from tests.snapshot.ground import Project, git

FIRST = SnapshotKey(1)


def fill(project: Project, count: int = 60, size: int = 3000) -> None:
    for number in range(count):
        project.write(f"d{number % 7}/{number}", os.urandom(size))


def age() -> None:
    """Wait until what was just written is old enough to be trusted."""
    time.sleep(0.12)


def leftovers(project: Project) -> list[str]:
    return [path.name for path in project.shadow.rglob("*tmp*") if path.is_file()]


def test_what_was_stored_early_is_not_read_again(project: Project) -> None:
    fill(project)
    age()
    store = project.open()
    told: list[WalkProgress] = []

    store.begin_early()
    store.look()
    state = store.take(FIRST, 1.0, progress=told.append)

    assert told[-1] == WalkProgress(60, 0)
    assert dict(project.open().load(FIRST).listing) == dict(state.listing)
    assert all(store.read(entry.oid) for entry in state.listing.values() if entry.oid)
    git(project.shadow, "fsck", "--full", "--strict")


def test_early_work_keeps_nothing_under_any_key(project: Project) -> None:
    fill(project)
    store = project.open()

    store.begin_early()
    store.look()

    assert store.keys() == frozenset()
    assert git(project.shadow, "for-each-ref") == b""
    git(project.shadow, "fsck", "--full", "--strict")


def test_the_snapshot_is_the_tree_as_it_is_then_not_as_it_was_early(project: Project) -> None:
    fill(project)
    file = project.write("f", b"early")
    age()
    store = project.open()
    store.begin_early()
    store.look()

    file.write_bytes(b"later")
    (project.root / "d1" / "1").unlink()
    project.write("new", b"new")
    state = store.take(FIRST, 1.0)

    assert state.listing[b"f"].oid == object_id(ObjectKind.BLOB, b"later")
    assert b"d1/1" not in state.listing
    assert b"new" in state.listing


def test_a_take_waits_for_early_work_and_tells_how_far_it_is(project: Project) -> None:
    fill(project, 400, 40_000)
    store = project.open()
    told: list[WalkProgress] = []

    store.begin_early()
    store.take(FIRST, 1.0, progress=told.append)

    assert told[-1].files == 400
    assert len(store.load(FIRST).listing) == 407


def test_ctrl_c_while_waiting_stops_the_early_work_and_leaves_no_rubbish(project: Project) -> None:
    fill(project, 2000, 20_000)
    store = project.open()

    def interrupt(progress: WalkProgress) -> None:
        raise KeyboardInterrupt

    store.begin_early()
    with pytest.raises(KeyboardInterrupt):
        store.take(FIRST, 1.0, progress=interrupt)

    assert store.keys() == frozenset()
    assert leftovers(project) == []
    assert len(store.take(FIRST, 1.0).listing) == 2007


def test_early_work_that_is_ended_leaves_no_rubbish(project: Project) -> None:
    fill(project, 1000, 20_000)
    store = project.open()

    store.begin_early()
    store.end_early()

    assert leftovers(project) == []
    assert list(project.shadow.rglob("*.pack")) == []


def test_early_work_that_fails_is_of_no_account_and_the_take_says_why(project: Project) -> None:
    fill(project)
    limits = Limits(size_limit_bytes=1000, free_floor_bytes=0)
    store = project.open(limits=limits)

    store.begin_early()
    with pytest.raises(SizeLimitError, match="a session may store"):
        store.take(FIRST, 1.0)

    assert leftovers(project) == []


def test_early_work_at_a_replaced_root_touches_nothing(project: Project) -> None:
    project.write("f")
    store: SnapshotStore = project.open()
    project.root.rename(project.root.with_name("moved"))
    project.root.mkdir()

    store.begin_early()
    with pytest.raises(SnapshotError, match="another directory now stands"):
        store.take(FIRST, 1.0)

    assert not project.shadow.exists()
