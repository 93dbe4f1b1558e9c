"""Go through the project's files in order, by folder descriptors; links are named, not followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from keryx_py.tools.base import ToolError
from keryx_py.tools.paths import Location, ProjectRoot, is_git_name

MOST_VISITED = 500_000
"""A walk stops after so many entries."""


@dataclass(frozen=True, slots=True)
class Found:
    """One entry of a walk."""

    relative: bytes
    is_folder: bool
    is_file: bool
    """Both false for a link or a special file."""


@dataclass(slots=True)
class Walk:
    """A walk below one folder, sorted by name, and what came in its way."""

    root: ProjectRoot
    enter: Callable[[bytes], bool] = lambda relative: True
    """Whether to look into a folder, given its path."""
    unread: int = 0
    """How many folders could not be read."""
    stopped: bool = False
    """Whether the walk ended because there was too much."""
    _visited: int = field(default=0, repr=False)

    def below(self, start: Location) -> Iterator[Found]:
        """Yield what is below *start*, a folder before what is in it.

        Skips every `.git` and `node_modules`.
        """
        ahead = self._read(start.relative)
        while ahead:
            found = ahead.pop()
            self._visited += 1
            if self._visited > MOST_VISITED:
                self.stopped = True
                return
            yield found
            if found.is_folder and self.enter(found.relative):
                ahead.extend(self._read(found.relative))

    def _read(self, relative: bytes) -> list[Found]:
        """Read one folder, last name first."""
        try:
            with self.root.folder(relative) as folder, os.scandir(folder) as entries:
                found = [_found(relative, entry) for entry in entries]
        except (OSError, ToolError):
            self.unread += 1
            return []
        kept = [one for one in found if one is not None]
        return sorted(kept, key=lambda one: one.relative, reverse=True)


def _found(folder: bytes, entry: os.DirEntry[str]) -> Found | None:
    name = os.fsencode(entry.name)
    if is_git_name(name) or name == b"node_modules":
        return None
    relative = folder + b"/" + name if folder else name
    try:
        is_folder = entry.is_dir(follow_symlinks=False)
        is_file = not is_folder and stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        # Gone since the folder was read.
        return None
    return Found(relative, is_folder, is_file)
