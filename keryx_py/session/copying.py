"""Copy a session's archive and shadow repository as they were at one moment.

The original may be in use: what it writes meanwhile is seen, and copied again.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from pathlib import Path
from typing import TypeAlias

from keryx_py.session.errors import SessionError
from keryx_py.session.journal import FILE_NAME, open_archive, read_all

SHADOW_NAME = "shadow.git"

_NEVER_CHANGED = "objects"
"""What lies in this folder is only ever added or removed, so one file can have two names."""
_PASSES = 40
_PAUSE_S = 0.05

_Stamp: TypeAlias = "tuple[int, int, int] | None"
"""A file's inode, size and time; None for a folder."""


def copy_session(source: Path, target: Path) -> bytes:
    """Copy the shadow repository of *source* into *target*; return the archive's whole lines.

    Raises SessionError, also when the original does not hold still.
    """
    copied: dict[str, _Stamp] = {}
    archive: bytes | None = None
    for attempt in range(_PASSES):
        if attempt > 1:
            time.sleep(_PAUSE_S)
        found = _listed(source / SHADOW_NAME)
        if found == copied and archive is not None:
            # Nothing moved since before the archive was read.
            return archive
        archive = _read_lines(source / FILE_NAME)
        copied = _matched(source / SHADOW_NAME, target / SHADOW_NAME, copied, found)
    raise SessionError(
        f"session {source.name} changes all the time; fork it when its turn has ended"
    )


def _read_lines(path: Path) -> bytes:
    descriptor = open_archive(path, os.O_RDONLY)
    try:
        data = read_all(path, descriptor)
    finally:
        os.close(descriptor)
    return data[: data.rfind(b"\n") + 1]


def _listed(shadow: Path) -> dict[str, _Stamp]:
    """List all below *shadow*; links and the like are no part of it."""
    if shadow.is_symlink():
        raise SessionError(f"{shadow} is a link, so keryx does not copy it")
    found: dict[str, _Stamp] = {}
    if shadow.is_dir():
        found["."] = None
    for path, folders, files in os.walk(shadow):
        for name in (*folders, *files):
            below = Path(path) / name
            try:
                state = below.lstat()
            except OSError:
                continue
            if stat.S_ISDIR(state.st_mode):
                found[str(below.relative_to(shadow))] = None
            elif stat.S_ISREG(state.st_mode):
                stamp = state.st_ino, state.st_size, state.st_mtime_ns
                found[str(below.relative_to(shadow))] = stamp
    return found


def _matched(
    source: Path, target: Path, copied: dict[str, _Stamp], wanted: dict[str, _Stamp]
) -> dict[str, _Stamp]:
    """Make *target* hold what is *wanted*; return what it holds, the vanished left out."""
    for name in copied.keys() - wanted.keys():
        if copied[name] is not None:
            (target / name).unlink(missing_ok=True)
    holds: dict[str, _Stamp] = {}
    for name, stamp in wanted.items():
        if name in copied and copied[name] == stamp:
            holds[name] = stamp
            continue
        try:
            _copy(source / name, target / name, stamp, may_share=_is_shared(name))
        except FileNotFoundError:
            # It went since it was listed; the next pass sees that.
            continue
        holds[name] = stamp
    return holds


def _is_shared(name: str) -> bool:
    return Path(name).parts[:1] == (_NEVER_CHANGED,)


def _copy(source: Path, target: Path, stamp: _Stamp, *, may_share: bool) -> None:
    if stamp is None:
        target.mkdir(0o700, exist_ok=True)
        target.chmod(0o700)
        return
    target.unlink(missing_ok=True)
    if may_share:
        try:
            os.link(source, target, follow_symlinks=False)
        except FileNotFoundError:
            raise
        except OSError:
            # Another file system, no links there, or too many of them.
            pass
        else:
            return
    # With its times: a cache of file states is only as old as its file says.
    shutil.copy2(source, target, follow_symlinks=False)
