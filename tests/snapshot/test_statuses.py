"""Asking for many statuses at once tells the same as asking for each."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from keryx_py.snapshot.seen import row_to_trust
from keryx_py.snapshot.statuses import (
    NEVER,
    SIZE,
    Columns,
    Statuses,
    columns_of,
    mode_of,
    row_of,
)

YEAR = 365 * 86400 * 10**9


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def fill(folder: Path) -> list[bytes]:
    """Put one of each kind into *folder*; list the names."""
    (folder / "plain").write_bytes(b"x" * 5000)
    (folder / "set-id").touch(mode=0o600)
    (folder / "set-id").chmod(0o4755)
    (folder / "folder").mkdir()
    (folder / "link").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    for name, at in (("old", -30 * YEAR - 1), ("epoch", 0), ("far", 200 * YEAR + 7)):
        (folder / name).touch()
        os.utime(folder / name, ns=(at, at))
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\n")).touch()
    return os.listdir(os.fsencode(folder))


def test_rows_are_those_of_plain_statuses_whatever_the_kind_or_time(
    tmp_path: Path, folder: int
) -> None:
    names = fill(tmp_path)

    found = Statuses().read(folder, names)

    rows = [row_of(os.stat(name, dir_fd=folder, follow_symlinks=False)) for name in names]
    assert found == columns_of(rows)
    assert [Columns.over(found).row(index) for index in range(len(names))] == rows


def test_a_folder_of_more_names_than_are_asked_for_at_once_is_told_whole(
    tmp_path: Path, folder: int
) -> None:
    for number in range(2500):
        (tmp_path / f"{number}").touch()
    names = os.listdir(os.fsencode(tmp_path))

    found = Statuses().read(folder, names)

    rows = [row_of(os.stat(name, dir_fd=folder)) for name in names]
    assert found == columns_of(rows)


def test_a_name_that_is_gone_makes_the_answer_none(tmp_path: Path, folder: int) -> None:
    names = fill(tmp_path)

    assert Statuses().read(folder, [*names, b"gone"]) is None
    assert Statuses().read(folder, [b"gone", *names]) is None


def test_no_names_have_no_statuses(folder: int) -> None:
    assert Statuses().read(folder, []) == bytearray()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="statx is Linux's")
def test_without_statx_the_statuses_are_asked_for_plainly(tmp_path: Path, folder: int) -> None:
    names = fill(tmp_path)
    plain = Statuses(has_statx=False)

    assert plain.read(folder, names) == Statuses().read(folder, names)
    assert plain.read(folder, [*names, b"gone"]) is None


def test_a_row_that_is_put_is_read_back_and_others_stay(tmp_path: Path, folder: int) -> None:
    names = sorted(fill(tmp_path))
    found = Statuses().read(folder, names)
    assert found is not None
    columns = Columns.over(found)
    before = [columns.row(index) for index in range(len(names))]

    columns.put(2, before[0])
    columns.distrust(1)

    after = [columns.row(index) for index in range(len(names))]
    assert after[2] == before[0]
    assert after[1][SIZE] == NEVER
    assert [row for index, row in enumerate(after) if index not in (1, 2)] == [
        row for index, row in enumerate(before) if index not in (1, 2)
    ]
    assert columns.modes() == [mode_of(row[0]) for row in after]


def test_a_time_before_the_epoch_is_long_ago_not_far_ahead(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1234")
    times = {"st_mtime_ns": -5, "st_ctime_ns": -5, "st_atime_ns": -5}
    row = row_of(os.stat_result(tuple((tmp_path / "f").stat()), times))

    assert row_to_trust(row, 10**18) == row
