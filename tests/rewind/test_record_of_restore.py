"""The record of a restore: on the disk before the first change, and gone after the last line."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path

import pytest

from keryx_py.rewind.apply import FLUSHED_EACH, Step
from keryx_py.rewind.recovery import recover
from keryx_py.rewind.restore_journal import Restore, journal_path, read_journal, write_journal
from keryx_py.rewind.retention import Keeping, prune_snapshots
from keryx_py.session.archive import Mode, PrunedEntry, RewindEntry
from keryx_py.snapshot.listing import FileState, Kind, TreeState
from keryx_py.snapshot.store import Progress, Side, SnapshotError, SnapshotKey, SnapshotStore
from tests.rewind.play import Project

CLOSED = FileState(Kind.FOLDER, 0o555, b"")


class LosingStore(SnapshotStore):
    """A store at whose end captures somebody deletes the session's lease."""

    lease: Path

    def take(
        self,
        key: SnapshotKey,
        taken_at: float,
        also: Collection[bytes] = (),
        progress: Progress | None = None,
    ) -> TreeState:
        if key.side is Side.END:
            self.lease.unlink()
        return super().take(key, taken_at, also, progress)


class StuckStore(SnapshotStore):
    """A store that lets nothing go."""

    def drop(self, keys: Iterable[SnapshotKey], *, wholly: bool = False) -> None:
        raise SnapshotError("the disk is full")


def open_as(kind: type[SnapshotStore], project: Project) -> SnapshotStore:
    return kind.open(
        project.session.folder / "shadow.git",
        project.root,
        home=project.home,
        data_dir=project.data,
    )


def test_who_loses_the_lease_in_a_restore_leaves_its_record_to_the_next(project: Project) -> None:
    project.write("shut/f", "old\n")
    (project.root / "shut").chmod(0o555)
    project.turn(lambda: project.write("shut/f", "new\n"))
    losing = open_as(LosingStore, project)
    assert isinstance(losing, LosingStore)
    losing.lease = project.session.folder / "lease"
    project.store = losing

    report = project.rewind(1)
    left = read_journal(project.session.folder)
    project.resume()
    said = recover(project.session, project.store, project.now)

    assert "no longer holds the session" in report.history_error
    assert left is not None
    assert Step(b"shut", CLOSED, CLOSED) in left.steps  # opened for a while, so looked after
    assert said.endswith("it is finished now")
    assert sum(isinstance(entry, RewindEntry) for entry in project.session.entries) == 1
    assert read_journal(project.session.folder) is None


def test_the_record_is_flushed_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[bool] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        flushed.append(journal_path(tmp_path).exists())

    monkeypatch.setattr(os, "fsync", noted)
    write_journal(tmp_path, Restore(2, 1, Mode.FILES, cuts=False, redoes=None, steps=()))

    assert flushed == [False, True]  # the file without its name, then the folder with it


def test_many_files_are_flushed_once_before_the_record_goes(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"f{number}" for number in range(FLUSHED_EACH + 1)]

    def write_all(text: str) -> None:
        for name in names:
            project.write(name, text)

    write_all("old\n")
    project.turn(lambda: write_all("new\n"))
    flushed: list[bool] = []
    sync = os.sync

    def noted() -> None:
        sync()
        written = all((project.root / name).read_text() == "old\n" for name in names)
        flushed.append(written and journal_path(project.session.folder).exists())

    monkeypatch.setattr(os, "sync", noted)
    project.rewind(1)

    assert flushed == [True]


def test_what_the_store_does_not_let_go_counts_as_pruned_all_the_same(project: Project) -> None:
    for at in range(3):
        project.turn(lambda at=at: project.write("f", f"{at}\n"))  # type: ignore[misc]
    stuck = open_as(StuckStore, project)

    pruned = prune_snapshots(Keeping(project.session, stuck, 1, project.now))

    assert pruned == (1, 2)
    assert PrunedEntry in {type(entry) for entry in project.session.entries}
