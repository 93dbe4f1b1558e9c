"""Append to and read one archive file.

A line is `[number,length,"checksum",{entry}]`, so a torn, flipped, doubled or lost line is
known for what it is; only the first line, which names the format's version, is plain.
Nothing is said to be appended before it is on the disk.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from keryx_py.session.archive import Entry
from keryx_py.session.errors import SessionError
from keryx_py.session.lines import (
    Header,
    ReadArchive,
    entry_line,
    header_line,
    read_archive,
)

FILE_NAME = "archive.jsonl"
ASIDE_NAME = ".archive.jsonl.new"
"""Where an archive is written anew before it takes the place of the old one."""


@dataclass(frozen=True, slots=True)
class _Tail:
    """Where the next line goes."""

    size: int
    """The bytes of whole lines; what lies beyond is torn."""
    count: int
    """How many entries stand."""


class Journal:
    """One archive file, open for appending."""

    header: Header | None
    """None when the first line is damaged."""
    notices: tuple[str, ...]
    """What reading found amiss, each in one sentence."""

    def __init__(self, path: Path, descriptor: int, archive: ReadArchive) -> None:
        self.header = archive.header
        self.notices = archive.notices
        self._path = path
        self._descriptor = descriptor
        self._entries: list[Entry] = list(archive.entries)
        self._shown: tuple[Entry, ...] = archive.entries
        self._tail = _Tail(archive.size, len(archive.entries))
        self._torn = archive.torn > 0

    @classmethod
    def open(cls, path: Path) -> Journal:
        """Read the archive at *path*. Raises SessionError."""
        descriptor = open_archive(path, os.O_RDWR | os.O_APPEND)
        try:
            return cls(path, descriptor, read_archive(read_all(path, descriptor)))
        except BaseException:
            os.close(descriptor)
            raise

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Everything in the archive, in order."""
        if len(self._shown) != self._tail.count:
            self._shown = tuple(self._entries[: self._tail.count])
        return self._shown

    def append(self, entry: Entry) -> int:
        """Write *entry*, flush it to the disk, and return its position.

        Raises SessionError; then nothing was appended.
        """
        before = self._tail
        line = entry_line(before.count, entry)
        self._check_file()
        self._entries[before.count :] = [entry]
        try:
            _write(self._descriptor, line)
            _flush(self._descriptor)
            self._tail = _Tail(before.size + len(line), before.count + 1)
        except OSError as error:
            self._take_back()
            raise SessionError(_refused(self._path, error)) from error
        except BaseException:
            # Ctrl-C between the write and the note of it: one or the other, never half.
            if self._tail is before:
                self._take_back()
            raise
        return before.count

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _check_file(self) -> None:
        """Cut a torn end away, so that lines never glue together; refuse a file that moved on."""
        if self._descriptor < 0:
            raise SessionError("the session is closed, so nothing more can be written to it")
        found = os.fstat(self._descriptor)
        if found.st_nlink == 0:
            raise SessionError(
                f"{self._path} was deleted or replaced while keryx had it open; "
                "leave keryx and resume the session again"
            )
        if found.st_size == self._tail.size:
            return
        if not self._torn:
            raise SessionError(
                f"{self._path} was changed by another program while keryx had it open; "
                "leave keryx and resume the session again"
            )
        try:
            os.ftruncate(self._descriptor, self._tail.size)
        except OSError as error:
            raise SessionError(_refused(self._path, error)) from error
        self._torn = False

    def _take_back(self) -> None:
        """Cut away what a failed write left; when even that fails, the next append tries again."""
        self._torn = True
        try:
            os.ftruncate(self._descriptor, self._tail.size)
        except OSError:
            return
        self._torn = False


def write_archive(path: Path, header: Header, entries: Iterable[Entry]) -> None:
    """Write a whole archive as a new file at *path* and flush it. Raises SessionError."""
    lines = [entry_line(position, entry) for position, entry in enumerate(entries)]
    write_lines(path, (header_line(header), *lines))


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write *lines* as a new file at *path*, for this user only. Raises SessionError."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            # Whatever the umask says.
            os.fchmod(descriptor, 0o600)
            file.writelines(lines)
            file.flush()
            _flush(descriptor)
    except OSError as error:
        raise SessionError(_refused(path, error)) from error


def open_archive(path: Path, flags: int) -> int:
    """Open *path* without following a link; only a plain file will do. Raises SessionError."""
    try:
        # Not blocking: a pipe put in the file's place would wait for ever.
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EMLINK}:
            raise SessionError(f"{path} is a link, so keryx does not open it") from error
        raise SessionError(f"{path} cannot be opened: {_reason(error)}") from error
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise SessionError(f"{path} is no plain file, so keryx does not open it")


def read_all(path: Path, descriptor: int) -> bytes:
    """Read all of the open file *descriptor*. Raises SessionError."""
    try:
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read()
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {_reason(error)}") from error


def flush_folder(folder: Path) -> None:
    """Make the names in *folder* safe against a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot flush a folder; then there is nothing more to do.
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        os.close(descriptor)


def _write(descriptor: int, data: bytes) -> None:
    # One write: a line goes out whole, or it is known not to have.
    written = os.write(descriptor, data)
    if written != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _flush(descriptor: int) -> None:
    if sys.platform == "darwin":
        os.fsync(descriptor)
    else:
        os.fdatasync(descriptor)


def _refused(path: Path, error: OSError) -> str:
    return f"nothing was written to {path}: {_reason(error)}; make room or mend that, then go on"


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
