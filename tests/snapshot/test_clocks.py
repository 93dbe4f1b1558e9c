"""A clock that was set back by a day: what bears times of tomorrow is read again, never trusted."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.reading import TICK
from keryx_py.snapshot.store import SnapshotKey, SnapshotStore, WalkProgress
from tests.snapshot.ground import Project

DAY = 86_400 * 10**9


def bytes_read(store: SnapshotStore, number: int) -> int:
    """Take a capture; return how many bytes of content it had to read."""
    told: list[WalkProgress] = []
    store.take(SnapshotKey(number), 1.0, progress=told.append)
    return told[-1].content_bytes


def set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - DAY)


def changed_long_ago(project: Project, name: str, data: bytes) -> Path:
    file = project.write(name, data)
    time.sleep(2 * TICK / 10**9)
    return file


@pytest.mark.parametrize("resumed", [False, True])
def test_a_file_of_tomorrow_is_read_again_each_time(project: Project, resumed: bool) -> None:
    file = changed_long_ago(project, "f", b"1234")
    changed_long_ago(project, "usual", b"12")
    tomorrow = time.time_ns() + DAY
    os.utime(file, ns=(tomorrow, tomorrow))
    time.sleep(2 * TICK / 10**9)
    store = project.open()
    assert bytes_read(store, 1) == 6

    assert bytes_read(project.open() if resumed else store, 2) == 4


@pytest.mark.parametrize("resumed", [False, True])
def test_after_the_clock_was_set_back_nothing_recent_is_trusted(
    project: Project, monkeypatch: pytest.MonkeyPatch, resumed: bool
) -> None:
    """All that was changed in the day that comes twice may change again and bear the same time."""
    file = changed_long_ago(project, "f", b"1234")
    set_back(monkeypatch)
    store = project.open()
    assert bytes_read(store, 1) == 4
    status = file.stat()

    file.write_bytes(b"5678")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    held = (project.open() if resumed else store).take(SnapshotKey(2), 1.0).listing[b"f"]

    assert held.oid == object_id(ObjectKind.BLOB, b"5678")
    assert bytes_read(project.open() if resumed else store, 3) == 4
