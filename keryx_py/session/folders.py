"""Folders for one person only: made, checked, measured, removed."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from keryx_py.session.archive import shown_path
from keryx_py.session.errors import SessionError

_OWNER_ONLY = 0o700


def make_private(folder: Path) -> None:
    """Make *folder* with the folders above it, for this user only, if it is not there.

    Raises SessionError when what stands there is a link, no folder, or another's.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.mkdir(_OWNER_ONLY)
        except FileExistsError:
            check_own(folder)
        else:
            # Whatever the umask says.
            folder.chmod(_OWNER_ONLY)
    except OSError as error:
        raise SessionError(
            f"{_shown(folder)} cannot be made: {error.strerror or error}; "
            "make room or set KERYX_DATA_DIR to a folder of yours"
        ) from error


def close_to_others(folder: Path) -> None:
    """Take away what others may do in *folder*, which is keryx's own. Raises SessionError."""
    check_own(folder)
    if stat.S_IMODE(folder.lstat().st_mode) != _OWNER_ONLY:
        folder.chmod(_OWNER_ONLY)


def check_own(folder: Path) -> None:
    """Raise SessionError unless *folder* is a real folder of this user."""
    try:
        found = folder.lstat()
    except OSError as error:
        raise SessionError(
            f"{_shown(folder)} cannot be opened: {error.strerror or error}"
        ) from error
    if stat.S_ISLNK(found.st_mode):
        raise SessionError(
            f"{_shown(folder)} is a link; keryx keeps sessions only in a real folder, "
            "so name the folder itself"
        )
    if not stat.S_ISDIR(found.st_mode):
        raise SessionError(f"{_shown(folder)} is no folder; move it away")
    if found.st_uid != os.geteuid():
        raise SessionError(
            f"{_shown(folder)} belongs to another user; "
            "set KERYX_DATA_DIR to a folder of yours, or run keryx as its owner"
        )


def remove_tree(folder: Path) -> None:
    """Remove *folder* and all in it, read-only folders too; what is gone already is fine.

    Raises OSError for what cannot be removed.
    """
    for path, names, _ in os.walk(folder):
        for name in names:
            below = Path(path) / name
            # Opened on the way down, so that the walk can enter it.
            if not below.is_symlink() and not os.access(below, os.R_OK | os.W_OK | os.X_OK):
                below.chmod(_OWNER_ONLY)
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        # Another process clears the same leftovers.
        shutil.rmtree(folder, ignore_errors=True)


def bytes_on_disk(folder: Path) -> int:
    """Measure what *folder* takes on disk, each file once however many names it has here."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for path, folders, files in os.walk(folder):
        for name in (*folders, *files):
            try:
                found = (Path(path) / name).lstat()
            except OSError:
                # Gone since it was listed.
                continue
            if (found.st_dev, found.st_ino) not in seen:
                seen.add((found.st_dev, found.st_ino))
                total += found.st_blocks * 512
    return total


def _shown(folder: Path) -> str:
    return shown_path(str(folder))
