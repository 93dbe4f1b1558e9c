"""Look at other sessions without their lease: who was used since, and what their archives say.

Nothing here writes. Another process may be writing, erasing or deleting what is read; what cannot
be read then raises SessionError or names nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from keryx_py.session.archive import Entries, RootEntry
from keryx_py.session.journal import FILE_NAME, open_archive, read_all
from keryx_py.session.lines import read_archive
from keryx_py.session.overview import glance


def list_used_since(folders: Iterable[Path], root: Path, since: float) -> tuple[Path, ...]:
    """Those of the sessions' *folders* that are about *root* and were used after *since*.

    The time alone is looked at first, so that of a session not used since nothing is read.
    """
    wanted = os.path.realpath(root)
    return tuple(sorted(folder for folder in folders if _is_one(folder, wanted, since)))


def read_other(folder: Path, root: Path) -> Entries:
    """Read what the archive in *folder* says of its time at *root*. Raises SessionError."""
    path = folder / FILE_NAME
    descriptor = open_archive(path, os.O_RDONLY)
    try:
        archive = read_archive(read_all(path, descriptor))
    finally:
        os.close(descriptor)
    if archive.header is None:
        return ()
    wanted = os.path.realpath(root)
    here = os.path.realpath(archive.header.root) == wanted
    start = 0
    for position, entry in enumerate(archive.entries):
        if isinstance(entry, RootEntry):
            now_here = os.path.realpath(entry.root) == wanted
            # What was captured under another root speaks of other files.
            start = start if here and now_here else position
            here = now_here
    return archive.entries[start:] if here else ()


def _is_one(folder: Path, wanted: str, since: float) -> bool:
    try:
        if (folder / FILE_NAME).lstat().st_mtime < since:
            return False
    except OSError:
        return False
    root = glance(folder).root
    return root is not None and os.path.realpath(root) == wanted
