"""The errors of snapshots, and operating system errors in a person's words."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from keryx_py.errors import KeryxError

_WORDS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ENOENT: "it is gone",
    errno.EISDIR: "a folder stands there",
    errno.ENOTDIR: "a file stands in the way",
    errno.ELOOP: "a link stands in the way",
    errno.EEXIST: "something stands there",
    errno.ENOTEMPTY: "the folder is not empty",
}


class SnapshotError(KeryxError):
    """The snapshot could not be taken whole; nothing incomplete was kept."""


class DamagedSnapshotError(KeryxError):
    """An object that a snapshot needs is missing or does not hold what its id says."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"the snapshot is damaged: {detail}")
        self.detail = detail
        """What is wrong, for who says himself that it is damaged."""


class WorkTreeError(KeryxError):
    """A path could not be read or changed; the text says why in a few words."""


class SizeLimitError(SnapshotError):
    """The new content would take the session over its size limit."""

    def __init__(self, text: str, needed: int, *, fits_alone: bool) -> None:
        super().__init__(text)
        self.needed = needed
        """About how many stored bytes must be given back first."""
        self.fits_alone = fits_alone
        """Whether it would fit if nothing else were kept; else giving back is of no use."""


def in_words(error: OSError) -> str:
    """Say what *error* means, in a few words."""
    if error.errno in _WORDS:
        return _WORDS[error.errno]
    return (error.strerror or str(error)).lower()


@contextmanager
def told_as_snapshot_errors(doing: str) -> Iterator[None]:
    """Raise a SnapshotError that begins with *doing* in place of an OSError."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if isinstance(error.filename, str) else ""
        raise SnapshotError(f"{doing}: {in_words(error)}{where}") from error
