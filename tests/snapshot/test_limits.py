"""The size limit and the floor of free space are minded, and a failed take leaves nothing."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest

from keryx_py.snapshot.store import (
    Limits,
    SizeLimitError,
    SnapshotError,
    SnapshotKey,
    WalkProgress,
)
from tests.snapshot.ground import Project, git

FIRST = SnapshotKey(1)
SECOND = SnapshotKey(2)


def pack_files(project: Project) -> set[str]:
    return set(os.listdir(project.shadow / "objects" / "pack"))


def test_content_over_the_limit_is_refused_and_the_largest_folders_are_named(
    project: Project,
) -> None:
    project.write("small/a", b"a")
    limits = Limits(size_limit_bytes=500_000, free_floor_bytes=0)
    store = project.open(limits=limits)
    store.take(FIRST, 1.0)
    before = pack_files(project)
    for name, size in (("data", 400_000), ("build", 300_000), ("lib", 200_000), ("x", 1000)):
        project.write(f"{name}/deep/f", os.urandom(size))

    with pytest.raises(SizeLimitError) as raised:
        store.take(SECOND, 2.0)

    assert "data/ (400.0 kB), build/ (300.0 kB), lib/ (200.0 kB)" in str(raised.value)
    assert ".gitignore" in str(raised.value)
    assert 350_000 < raised.value.needed < 600_000
    assert not raised.value.fits_alone
    assert store.keys() == {FIRST}
    assert pack_files(project) == before


def test_content_that_fits_once_older_snapshots_are_gone_says_so(project: Project) -> None:
    limits = Limits(size_limit_bytes=500_000, free_floor_bytes=0)
    store = project.open(limits=limits)
    project.write("f", os.urandom(300_000))
    store.take(FIRST, 1.0)
    project.write("f", os.urandom(300_000))

    with pytest.raises(SizeLimitError) as raised:
        store.take(SECOND, 2.0)
    store.drop([FIRST])
    state = store.take(SECOND, 2.0)

    assert raised.value.fits_alone
    assert project.open().load(SECOND) == state
    assert store.size() < 500_000


def test_the_limit_counts_what_is_stored_not_what_is_read(project: Project) -> None:
    project.write("f", b"abcd" * 1_000_000)
    store = project.open(limits=Limits(size_limit_bytes=200_000, free_floor_bytes=0))

    state = store.take(FIRST, 1.0)

    assert state == store.load(FIRST)


def test_too_little_free_space_is_refused_before_anything_is_stored(project: Project) -> None:
    project.write("f")
    store = project.open(limits=Limits(free_floor_bytes=2**60))

    with pytest.raises(SnapshotError, match="are to stay free"):
        store.take(FIRST, 1.0)

    assert store.keys() == frozenset()
    assert pack_files(project) == set()


def test_ctrl_c_leaves_no_rubbish_and_no_ref(project: Project) -> None:
    for number in range(600):
        project.write(f"{number}", os.urandom(4000))
    store = project.open()

    def stop(progress: WalkProgress) -> None:
        if progress.content_bytes > 1_000_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.take(FIRST, 1.0, progress=stop)

    assert store.keys() == frozenset()
    assert pack_files(project) == set()
    store.take(FIRST, 1.0)
    git(project.shadow, "fsck", "--strict", "--full")


def test_a_ref_that_cannot_be_written_takes_the_pack_back(project: Project) -> None:
    project.write("f")
    store = project.open()
    store.take(FIRST, 1.0)
    before = pack_files(project)
    project.write("g")
    (project.shadow / "refs" / "keryx" / "2").write_text("in the way")

    with pytest.raises(SnapshotError):
        store.take(SECOND, 2.0)

    assert pack_files(project) == before
    assert store.keys() == {FIRST}
    (project.shadow / "refs" / "keryx" / "2").unlink()
    assert store.take(SECOND, 2.0) == project.open().load(SECOND)


def test_a_full_disk_is_one_sentence(project: Project) -> None:
    """A limit on the size of files stands in for the disk."""
    project.write("f", os.urandom(2_000_000))
    store = project.open()
    store.take(FIRST, 1.0)
    project.write("g", os.urandom(3_000_000))
    before = pack_files(project)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        with pytest.raises(SnapshotError, match="the snapshot cannot be taken: "):
            store.take(SECOND, 2.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)

    assert pack_files(project) == before
    assert store.keys() == {FIRST}


def test_progress_is_told_while_it_works(project: Project) -> None:
    for number in range(500):
        project.write(f"{number % 10}/{number}", b"x" * 100)
    told: list[WalkProgress] = []

    project.open().take(FIRST, 1.0, progress=told.append)

    assert len(told) > 10
    assert told[-1] == WalkProgress(500, 50_000)
    assert told == sorted(told, key=lambda item: (item.files, item.content_bytes))


def test_the_shadow_folder_can_be_lost_and_is_made_anew(project: Project, tmp_path: Path) -> None:
    project.write("f")
    store = project.open()
    store.take(FIRST, 1.0)
    project.shadow.rename(tmp_path / "lost")

    state = store.take(SECOND, 2.0)

    assert project.open().load(SECOND) == state
    git(project.shadow, "fsck", "--strict", "--full")
