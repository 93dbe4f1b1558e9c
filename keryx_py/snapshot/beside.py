"""Write beside the place that content goes to, under a name that says for which restore it was."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from keryx_py.snapshot.failures import WorkTreeError, in_words

_PREFIX = ".keryx-"


def new_mark() -> str:
    """Make a mark that nobody else's names bear."""
    return secrets.token_hex(8)


def bears(mark: str, name: bytes) -> bool:
    """Whether beside() made *name* with *mark*; no name of a person's is taken for one."""
    return name.startswith(f"{_PREFIX}{mark}-".encode())


@contextmanager
def beside(folder: int, name: bytes, mark: str) -> Iterator[bytes]:
    """Yield a free name beside *name*, and see to it that nothing is left there.

    A folder that stands at *name* is refused before anything is made. Raises WorkTreeError that
    names what had to be left.
    """
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise IsADirectoryError(errno.EISDIR, "a folder stands there")
    temporary = f"{_PREFIX}{mark}-{secrets.token_hex(4)}".encode()
    try:
        yield temporary
    except OSError as error:
        _clear(folder, temporary, in_words(error))
        raise
    except BaseException as error:
        _clear(folder, temporary, str(error) or type(error).__name__)
        raise


def _clear(folder: int, temporary: bytes, why: str) -> None:
    try:
        os.unlink(temporary, dir_fd=folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise WorkTreeError(
            f"{why}; what was written of it is left beside it as {temporary.decode()} "
            f"({in_words(error)})"
        ) from error


def write_new(folder: int, name: bytes, data: bytes, mode: int, *, flush: bool) -> None:
    """Write *data* as the new file *name* in the *folder* of that descriptor."""
    descriptor = os.open(
        name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder
    )
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fchmod(descriptor, mode)  # after the content: writing takes set-id bits away
        if flush:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
