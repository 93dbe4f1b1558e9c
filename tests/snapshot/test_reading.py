"""One file is read whole, as it was at one moment, or named as not held."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keryx_py.snapshot.reading import TICK, NotReadError, is_unreadable, read_content

LIMIT = 100
FAILS_TO_READ = "/proc/self/mem"
"""A plain file whose first byte the kernel refuses with EIO."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def test_a_file_of_just_the_limit_is_read(tmp_path: Path, folder: int) -> None:
    (tmp_path / "f").write_bytes(b"x" * LIMIT)

    assert read_content("f", folder, LIMIT).data == b"x" * LIMIT


def test_a_file_that_has_grown_past_the_limit_since_it_was_listed_is_not_read(
    tmp_path: Path, folder: int
) -> None:
    (tmp_path / "f").write_bytes(b"x" * (LIMIT + 1))

    with pytest.raises(NotReadError, match="larger than 100 bytes"):
        read_content("f", folder, LIMIT)


def test_a_file_that_changed_just_now_is_read_twice(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = count_reads(monkeypatch)
    (tmp_path / "f").write_bytes(b"x")

    read_content("f", folder, None)

    assert reads == [1, 1]


def test_a_file_that_has_not_changed_for_a_while_is_read_once(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"x")
    time.sleep(2 * TICK / 10**9)
    reads = count_reads(monkeypatch)

    read_content("f", folder, None)

    assert reads == [1]


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have each reading of a descriptor noted down by its bytes, and done all the same."""
    reads: list[int] = []
    read = os.read

    def noted(descriptor: int, size: int) -> bytes:
        data = read(descriptor, size)
        reads.append(len(data))
        return data

    monkeypatch.setattr(os, "read", noted)
    return reads


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux has a file that fails")
def test_a_file_that_fails_to_be_read_is_an_error_and_is_named() -> None:
    folder = os.open(Path(FAILS_TO_READ).parent, os.O_RDONLY)
    try:
        with pytest.raises(OSError, match="'mem'") as raised:
            read_content("mem", folder, None)
    finally:
        os.close(folder)

    assert raised.value.errno == errno.EIO


@pytest.mark.parametrize(
    ("number", "left_out"),
    [
        (errno.EACCES, True),
        (errno.EPERM, True),
        (errno.ELOOP, True),
        (errno.ENXIO, True),
        (errno.ETXTBSY, True),
        (errno.EIO, False),
        (errno.EDQUOT, False),
        (errno.ENOSPC, False),
        (errno.ENODATA, False),
        (errno.ETIMEDOUT, False),
        (errno.EMFILE, False),
    ],
)
def test_only_what_is_not_for_us_is_left_out(number: int, left_out: bool) -> None:
    assert is_unreadable(OSError(number, "")) is left_out
