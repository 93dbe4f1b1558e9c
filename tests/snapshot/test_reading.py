"""What cannot be read: left out where it is not for us, an error where the disk fails."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from keryx_py.snapshot.reading import is_unreadable, read_content

FAILS_TO_READ = "/proc/self/mem"
"""A plain file whose first byte the kernel refuses with EIO."""


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
