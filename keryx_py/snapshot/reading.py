"""Read one file whole, as it was at one moment; a file that will not hold still is not read."""

from __future__ import annotations

import errno
import os
import stat
import time
from dataclasses import dataclass

_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_TRIES = 3
TICK = 10**9 // 20
"""How far apart two changes may lie and bear the same time, in nanoseconds: a wide guess."""
_OUR_OWN_TROUBLE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_NOT_FOR_US = frozenset(
    {errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO, errno.ENODEV, errno.ETXTBSY, errno.EBUSY}
    | {errno.EAGAIN, errno.EOPNOTSUPP, getattr(errno, "ENOKEY", errno.EACCES)}
)
"""What a sound disk says of a thing that is not to be read: closed, locked, or of another kind."""


class NotReadError(Exception):
    """What stands there is not held; the text is the reason in a few words."""


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file or the target of a link, and its status at the time."""

    status: os.stat_result
    data: bytes


def is_our_own(error: OSError) -> bool:
    """Whether *error* speaks of this process (too many open files), not of the file asked for."""
    return error.errno in _OUR_OWN_TROUBLE


def is_unreadable(error: OSError) -> bool:
    """Whether *error* means that what stands there is not for this person to read.

    Any other, such as a disk that fails, says nothing of the thing itself: a snapshot that left
    it out would be incomplete.
    """
    return error.errno in _NOT_FOR_US


def said_of(path: bytes, error: OSError) -> OSError:
    """Make of *error* one that names *path*, from the root on."""
    return OSError(error.errno, error.strerror or str(error), os.fsdecode(path))


def kind_reason(mode: int) -> str:
    """Say of what kind a thing is that is never held."""
    for is_kind, words in (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    ):
        if is_kind(mode):
            return words
    return "of an unknown kind"


def size_reason(limit: int) -> str:
    """Say that a file is larger than *limit* bytes."""
    if limit % 2**20 == 0:
        return f"larger than {limit // 2**20} MB"
    return f"larger than {limit} bytes"


def read_content(name: str | bytes, folder: int, limit: int | None) -> Content:
    """Read the file or link *name* in the *folder* of that descriptor.

    Raises FileNotFoundError when nothing is there, NotReadError when it is not held: unreadable,
    larger than *limit* bytes, of a kind that is never held, or changing during each of three reads.
    Raises OSError when the disk, or this process, cannot read what may be read.
    """
    for _ in range(_TRIES):
        try:
            content = _try_file(name, folder, limit)
        except FileNotFoundError:
            raise
        except OSError as error:
            if is_our_own(error):
                raise
            content = _try_other(name, folder, error)
        if content is not None:
            return content
    raise NotReadError("being written")


def _try_file(name: str | bytes, folder: int, limit: int | None) -> Content | None:
    """Read a regular file once; None when it changed meanwhile."""
    descriptor = os.open(name, _OPEN_FILE, dir_fd=folder)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            if stat.S_ISDIR(before.st_mode):
                return None
            raise NotReadError(kind_reason(before.st_mode))
        if limit is not None and before.st_size > limit:
            raise NotReadError(size_reason(limit))
        data = _read_all(descriptor, before.st_size)
        again = _read_again(descriptor, before)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    whole = len(data) == before.st_size and _same_moment(before, after) and again in (None, data)
    return Content(after, data) if whole else None


def _try_other(name: str | bytes, folder: int, error: OSError) -> Content | None:
    """Read a link, or say why what stands there could not be opened; None when it changed."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        try:
            return Content(status, os.readlink(os.fsencode(name), dir_fd=folder))
        except OSError as read:
            if read.errno == errno.EINVAL:
                return None  # no link any more
            raise
    if stat.S_ISDIR(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        raise NotReadError(kind_reason(status.st_mode)) from error
    if error.errno == errno.ESTALE:
        return None  # another file by now
    if is_unreadable(error):
        raise NotReadError("unreadable") from error
    raise said_of(os.fsencode(name), error) from error


def _read_all(descriptor: int, size: int) -> bytes:
    """Read *size* bytes, or one more when the file has grown."""
    data = os.read(descriptor, size + 1)
    if len(data) >= size or not data:
        return data
    parts = [data]
    left = size + 1 - len(data)
    while left > 0 and (data := os.read(descriptor, left)):
        parts.append(data)
        left -= len(data)
    return b"".join(parts)


def _read_again(descriptor: int, before: os.stat_result) -> bytes | None:
    """Read a file a second time if it changed just now; None when it did not.

    Within one tick of the file system's clock its times do not tell whether it changes still.
    """
    if before.st_ctime_ns < time.time_ns() - TICK:
        return None
    os.lseek(descriptor, 0, os.SEEK_SET)
    return _read_all(descriptor, before.st_size)


def _same_moment(before: os.stat_result, after: os.stat_result) -> bool:
    return (
        before.st_size == after.st_size
        and before.st_mtime_ns == after.st_mtime_ns
        and before.st_ctime_ns == after.st_ctime_ns
        and before.st_mode == after.st_mode
    )
