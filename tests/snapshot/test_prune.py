"""The space of captures that go is really given back."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from keryx_py.snapshot.objectdb import ObjectDatabase
from keryx_py.snapshot.objects import ObjectKind
from keryx_py.snapshot.packs import PackWriter
from keryx_py.snapshot.store import Side, SnapshotKey
from tests.snapshot.ground import Project, git


def stored(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def test_many_captures_take_the_space_of_those_that_are_kept(project: Project) -> None:
    size, keep = 50_000, 12
    source = random.Random(7)
    store = project.open()
    for number in range(1, 61):
        project.write("f", source.randbytes(size))
        store.take(SnapshotKey(number), 1.0)
        store.drop(sorted(store.taken_at(), key=lambda key: key.number)[:-keep])
        packs = project.shadow / "objects" / "pack"
        assert stored(packs) < 1.25 * len(store.keys()) * size + 40 * 8192

    assert {key.number for key in store.taken_at()} == set(range(61 - keep, 61))
    git(project.shadow, "fsck", "--strict", "--full")
    again = project.open()
    for key in sorted(again.keys(), key=repr):
        again.verify([again.load(key).listing[b"f"].oid])


def test_dropping_gives_back_what_nothing_needs_and_keeps_the_rest(project: Project) -> None:
    project.write("stays", os.urandom(300_000))
    project.write("goes", os.urandom(900_000))
    store = project.open()
    store.take(SnapshotKey(1), 1.0)
    (project.root / "goes").unlink()
    state = store.take(SnapshotKey(2), 2.0)
    store.take(SnapshotKey(2, Side.END), 2.0)

    store.drop([SnapshotKey(1)])

    assert store.keys() == {SnapshotKey(2), SnapshotKey(2, Side.END)}
    assert stored(project.shadow) < 400_000
    for reader in (store, project.open()):
        assert reader.load(SnapshotKey(2)) == state
        reader.verify([state.listing[b"stays"].oid])
    git(project.shadow, "fsck", "--strict", "--full")


def test_content_that_was_dropped_is_stored_again_when_it_comes_back(project: Project) -> None:
    data = os.urandom(500_000)
    project.write("f", data)
    store = project.open()
    store.take(SnapshotKey(1), 1.0)
    os.utime(project.root / "f", ns=(10**18, 10**18))
    (project.root / "f").rename(project.root.parent / "f")
    store.take(SnapshotKey(2), 2.0)
    store.drop([SnapshotKey(1)])
    (project.root.parent / "f").rename(project.root / "f")

    state = store.take(SnapshotKey(3), 3.0)

    assert project.open().read(state.listing[b"f"].oid) == data


def test_dropping_what_is_not_there_changes_nothing(project: Project) -> None:
    store = project.open()
    store.drop([SnapshotKey(1)])
    assert not project.shadow.exists()

    project.write("f")
    state = store.take(SnapshotKey(1), 1.0)
    store.drop([SnapshotKey(2)])

    assert store.load(SnapshotKey(1)) == state


def test_dropping_everything_leaves_an_empty_repository(project: Project) -> None:
    project.write("f", os.urandom(100_000))
    store = project.open()
    store.take(SnapshotKey(1), 1.0)

    store.drop(store.keys())

    assert stored(project.shadow) < 50_000
    git(project.shadow, "fsck", "--strict", "--full")
    assert set(store.take(SnapshotKey(2), 2.0).listing) == {b"f"}
    assert set(project.open().load(SnapshotKey(2)).listing) == {b"f"}


def test_many_packs_become_few(project: Project) -> None:
    store = project.open()
    states = {}
    for number in range(1, 46):
        project.write("f", b"%d" % number)
        states[SnapshotKey(number)] = store.take(SnapshotKey(number), 1.0)

    assert len(list((project.shadow / "objects" / "pack").glob("*.pack"))) <= 30
    again = project.open()
    assert {key: again.load(key) for key in states} == states
    git(project.shadow, "fsck", "--strict", "--full")


def test_a_hard_linked_copy_is_not_changed_by_pruning_the_original(
    project: Project, tmp_path: Path
) -> None:
    project.write("f", os.urandom(200_000))
    store = project.open()
    state = store.take(SnapshotKey(1), 1.0)
    fork = Project(project.root, tmp_path / "fork.git", project.data, project.home)
    for path in sorted(project.shadow.rglob("*")):
        copy = fork.shadow / path.relative_to(project.shadow)
        if path.is_dir():
            copy.mkdir(parents=True, exist_ok=True)
        else:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.hardlink_to(path)
    project.write("f", b"small")
    store.take(SnapshotKey(2), 2.0)
    store.drop([SnapshotKey(1)])
    project.write("f", b"other")
    store.take(SnapshotKey(3), 3.0)

    forked = fork.open()

    assert forked.keys() == {SnapshotKey(1)}
    assert forked.load(SnapshotKey(1)) == state
    forked.verify([state.listing[b"f"].oid])
    forked.take(SnapshotKey(2), 9.0)
    assert set(project.open().keys()) == {SnapshotKey(2), SnapshotKey(3)}
    git(fork.shadow, "fsck", "--strict", "--full")


@pytest.mark.parametrize("seed", range(6))
def test_an_object_that_two_packs_hold_survives_the_end_of_both(tmp_path: Path, seed: int) -> None:
    objects = tmp_path / "objects"
    (objects / "pack").mkdir(parents=True)
    # Which pack is looked at first depends on their content.
    for extra in (random.Random(seed).randbytes(10_000), b"needed"):
        writer = PackWriter(objects / "pack")
        oid = writer.add(ObjectKind.BLOB, b"needed")
        writer.add(ObjectKind.BLOB, extra)
        writer.finish()

    database = ObjectDatabase(objects)
    database.collect({oid})

    assert database.read(oid, ObjectKind.BLOB) == b"needed"
    assert ObjectDatabase(objects).read(oid, ObjectKind.BLOB) == b"needed"
    assert len(list((objects / "pack").glob("*.pack"))) == 1
