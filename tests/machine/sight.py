"""Look at a whole tree as only root can, also from a process that has become a normal user."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from keryx_py.snapshot.early import EARLY_WALK
from tests.rewind.play import Look

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Stamp: TypeAlias = tuple[int, ...]
"""What a write to a path would change: its inode and times."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A whole tree, `.git` folders and what keryx does not hold among it."""

    look: Look
    stamps: dict[bytes, Stamp]
    """Of what is no folder."""


@contextmanager
def as_root() -> Iterator[None]:
    """Be root again, where this process only lent its rights away (see as_user)."""
    real, effective, saved = os.getresuid()
    if saved != 0 or effective == 0:
        yield
        return
    # A walk begun early would go on as root: its thread has the rights that the process has.
    for thread in threading.enumerate():
        if thread.name == EARLY_WALK:
            thread.join()
    os.seteuid(0)
    try:
        yield
    finally:
        os.seteuid(real)


def see(root: Path) -> Seen:
    """Copy all that lies in *root*, by descriptors, so that no path is too long."""
    seen = Seen({}, {})
    with as_root():
        descriptor = os.open(root, _FOLDER)
        try:
            _see_folder(descriptor, b"", seen)
        finally:
            os.close(descriptor)
    return seen


def _see_folder(folder: int, prefix: bytes, seen: Seen) -> None:
    for name in map(os.fsencode, os.listdir(folder)):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        path, mode = prefix + name, stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            seen.look[path] = ("folder", mode, b"")
            _see_below(folder, name, path, seen)
            continue
        seen.stamps[path] = _stamp(status)
        if stat.S_ISLNK(status.st_mode):
            seen.look[path] = ("link", 0, os.readlink(name, dir_fd=folder))
        elif stat.S_ISREG(status.st_mode):
            seen.look[path] = ("file", mode, _content(folder, name))
        else:
            seen.look[path] = ("other", mode, b"")


def _see_below(folder: int, name: bytes, path: bytes, seen: Seen) -> None:
    try:
        below = os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        return  # a normal user alone; root sees all
    try:
        _see_folder(below, path + b"/", seen)
    except PermissionError:
        return
    finally:
        os.close(below)


def _content(folder: int, name: bytes) -> bytes:
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except PermissionError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _stamp(status: os.stat_result) -> Stamp:
    times = (status.st_ino, status.st_mtime_ns)
    # Taking one name of a file away changes that time of all others.
    return times if status.st_nlink > 1 else (*times, status.st_ctime_ns)


def untouched(before: Stamp, after: Stamp | None) -> bool:
    """Whether nothing was written at a path; what it is told by depends on its names."""
    return after is not None and all(was == now for was, now in zip(before, after, strict=False))


def blob_id(content: bytes) -> bytes:
    """The id that git gives to *content*."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).digest()
