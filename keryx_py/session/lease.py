"""One writer a session: a lock that the operating system keeps, and a note of who holds it.

The lock ends with the process, however that ends. Whoever deletes or replaces the lock file
takes the lease away: the holder sees it before the next write.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from keryx_py.session.codec import DecodeError, Fields
from keryx_py.session.errors import HeldError, LeaseLostError, SessionError

if TYPE_CHECKING:
    from filelock import BaseFileLock

FILE_NAME = "lease"
NOTE_NAME = "lease.json"
"""Beside the lock, not in it: some versions of the lock library empty a file that they only try."""

_PATIENCE_S = 0.3
"""Long enough to outlast another process that only looks whether the session is held."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lease."""

    pid: int
    host: str
    since: float
    """Seconds since the epoch."""


class Lease:
    """This process's claim on one session's folder."""

    def __init__(self, folder: Path, lock: BaseFileLock) -> None:
        self._folder = folder
        self._lock = lock
        self._pid = os.getpid()
        self._identity = _identity(folder / FILE_NAME)

    @classmethod
    def take(cls, folder: Path, now: float) -> Lease:
        """Claim *folder*. Raises HeldError when another claim stands, SessionError."""
        # Not at import: the library takes as long to load as the rest of the room together.
        from filelock import FileLock, Timeout

        path = folder / FILE_NAME
        if os.path.islink(path):  # noqa: PTH114 - Path.is_symlink raises where it may not look
            raise SessionError(f"{path} is a link, so keryx does not open it")
        # Not a lock a thread: Ctrl-C and background work may close from another one.
        lock = FileLock(path, timeout=_PATIENCE_S, mode=0o600, thread_local=False)
        try:
            lock.acquire(poll_interval=0.02)
        except Timeout as error:
            raise HeldError(_held_text(folder, read_holder(folder))) from error
        except OSError as error:
            raise SessionError(f"{path} cannot be locked: {error.strerror or error}") from error
        lease = cls(folder, lock)
        try:
            lease.check()
            path.chmod(0o600)
            _write_note(folder, Holder(os.getpid(), socket.gethostname(), now))
        except BaseException:
            lock.release()
            raise
        return lease

    def check(self) -> None:
        """Raise LeaseLostError when this process is no longer the holder."""
        lost = self._identity is None or _identity(self._folder / FILE_NAME) != self._identity
        if lost or os.getpid() != self._pid or not self._lock.is_locked:
            raise LeaseLostError(
                "this process no longer holds the session (its lease was deleted or taken over); "
                "nothing more is written to it, so leave keryx and resume the session again"
            )

    def moved(self, folder: Path) -> None:
        """Say that the folder was renamed to *folder*, lock and all."""
        self._folder = folder

    def release(self) -> None:
        """Let the claim go; harmless when it is gone already."""
        if self._lock.is_locked:
            with suppress(LeaseLostError, OSError):
                # Another's note is not ours to remove.
                self.check()
                (self._folder / NOTE_NAME).unlink(missing_ok=True)
            self._lock.release()


def is_held(folder: Path) -> bool:
    """Look whether any process, this one included, holds *folder*; claims nothing."""
    try:
        descriptor = os.open(
            folder / FILE_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
    except OSError:
        return False
    try:
        # Shared, so that two who look do not see each other.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def read_holder(folder: Path) -> Holder | None:
    """Read who noted down that they hold *folder*; None when nobody did or it cannot be read."""
    try:
        descriptor = os.open(
            folder / NOTE_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
        with os.fdopen(descriptor, "rb") as file:
            fields = Fields.of(json.loads(file.read(10_000)))
        return Holder(fields.whole("pid"), fields.text("host"), fields.moment("since"))
    except (OSError, ValueError, RecursionError, DecodeError):
        # The note only serves the message; the lock alone decides.
        return None


def _write_note(folder: Path, holder: Holder) -> None:
    record = {"pid": holder.pid, "host": holder.host, "since": holder.since}
    aside = folder / f".{NOTE_NAME}.new"
    # A full disk must not keep a session from being opened and read.
    with suppress(OSError):
        aside.unlink(missing_ok=True)
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            os.fchmod(descriptor, 0o600)
            json.dump(record, file)
        aside.replace(folder / NOTE_NAME)


def _held_text(folder: Path, holder: Holder | None) -> str:
    who = "another process"
    if holder:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder.since))
        who = f"process {holder.pid} on {holder.host}, since {since}"
    return f"session {folder.name} is in use by {who}; leave it there, or go on in a fork"


def _identity(path: Path) -> tuple[int, int] | None:
    """Name the file at *path*, links not followed; None when there is none."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
