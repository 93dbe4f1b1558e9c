"""A model's path into a place inside the project root, judged after every link is resolved.

No place outside the root and none in or below a `.git` is ever returned.
"""

from __future__ import annotations

import json
import os
import posixpath
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from keryx_py.tools.base import ToolError

_MOST_LINKS = 40
_MOST_CHARACTERS = 4096
"""Longer paths are opened by no program in one step, so a person could do little with them."""
# What HFS+ leaves out when it compares names, so that ".g\u200cit" opens ".git" there.
_IGNORED_IN_NAMES = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class PathError(ToolError):
    """The path is not one that the tools work on, or it cannot be reached."""


def shown_name(name: bytes) -> str:
    """Show *name* on one line: as it is, or as a JSON string when it is not plain to read.

    The JSON string, sent back as it stands, names the same file again.
    """
    text = os.fsdecode(name)
    if text.isprintable() and '"' not in text and "\\" not in text and text == text.strip():
        return text
    return "".join(
        char if char.isprintable() and char not in '"\\' else json.dumps(char)[1:-1]
        for char in text
    ).join('""')


def is_git_name(name: bytes) -> bool:
    """Say whether a file system may take *name* for `.git`."""
    text = name.decode("utf-8", "replace").translate(_IGNORED_IN_NAMES)
    return text.casefold() == ".git"


@dataclass(frozen=True, slots=True)
class Location:
    """A place inside the project root; nothing need be there."""

    relative: bytes
    """The path below the root, free of links, dots and doubled slashes; empty for the root."""

    @property
    def parent(self) -> bytes:
        """The path of the folder that it is in."""
        return posixpath.dirname(self.relative)

    @property
    def name(self) -> bytes:
        """The last part of the path."""
        return posixpath.basename(self.relative)

    @property
    def shown(self) -> str:
        """The path as text for the model and the person."""
        return shown_name(self.relative) if self.relative else "."


class ProjectRoot:
    """The folder that the tools stay inside."""

    def __init__(self, root: Path) -> None:
        self.path = os.path.realpath(os.fsencode(root))

    def resolve(self, path: str) -> Location:
        """Find the place that *path* leads to, every link followed.

        Raises PathError when the place is outside the root, or in or below a `.git`.
        """
        return self._locate(path, self._follow(self._absolute(path), follow_last=True))

    def resolve_entry(self, path: str) -> Location:
        """Find the place of the entry *path* itself: when that is a link, the link's own."""
        return self._locate(path, self._follow(self._absolute(path), follow_last=False))

    def below(self, location: Location, name: bytes) -> Location:
        """Name the entry *name* in the folder at *location*.

        Raises PathError when it is a `.git`.
        """
        if is_git_name(name):
            raise _git_refusal()
        return Location(posixpath.join(location.relative, name))

    @contextmanager
    def folder(self, relative: bytes, make: bool = False) -> Iterator[int]:
        """Open the folder at *relative*, step by step and through no link, for as long as needed.

        Raises PathError when there is no such folder, or it cannot be made.
        """
        descriptor = self._open_folder(relative, make)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def look(self, location: Location) -> os.stat_result | None:
        """Look at what is at *location*, following no link; None when nothing is there."""
        try:
            with self.folder(location.parent) as parent:
                name = location.name or b"."
                return os.stat(name, dir_fd=parent, follow_symlinks=False)
        except (FileNotFoundError, MissingFolderError):
            return None
        except OSError as error:
            raise refusal(location.shown, error) from error

    def _open_folder(self, relative: bytes, make: bool) -> int:
        try:
            current = os.open(self.path, _FOLDER)
        except OSError as error:
            raise refusal("the project root", error) from error
        for name in relative.split(b"/") if relative else ():
            try:
                inner = _step_into(current, name, make)
            except FileNotFoundError as error:
                raise MissingFolderError(
                    f"the folder {shown_name(relative)} does not exist"
                ) from error
            except OSError as error:
                raise refusal(shown_name(relative), error) from error
            finally:
                os.close(current)
            current = inner
        return current

    def _absolute(self, path: str) -> bytes:
        if not path:
            raise PathError('the path is empty; "." is the project root')
        if "\0" in path:
            raise PathError("the path holds a NUL character")
        if path == "~" or path.startswith("~/"):
            raise PathError('"~" is not expanded; give a path relative to the project root')
        if len(path) > _MOST_CHARACTERS:
            raise PathError(f"the path is longer than {_MOST_CHARACTERS:,} characters")
        try:
            return posixpath.join(self.path, os.fsencode(path))
        except UnicodeEncodeError as error:
            raise PathError("the path holds a character that no file name can hold") from error

    def _locate(self, path: str, place: bytes) -> Location:
        if not self._holds(place):
            raise PathError(
                f"{shown_name(os.fsencode(path))} is outside the project root; "
                "file tools work only inside it"
            )
        return Location(posixpath.relpath(place, self.path) if place != self.path else b"")

    def _holds(self, place: bytes) -> bool:
        return place == self.path or place.startswith(self.path.rstrip(b"/") + b"/")

    def _follow(self, path: bytes, follow_last: bool) -> bytes:
        """Walk *path* from the file system's root, name by name, as the kernel would.

        Not realpath(): a `.git` that is itself a link must be seen on the way.
        """
        place = b"/"
        ahead = _names(path)[::-1]
        links = 0
        while ahead:
            name = ahead.pop()
            if name == b"..":
                place = posixpath.dirname(place)
                continue
            if is_git_name(name) and self._holds(place):
                raise _git_refusal()
            place = posixpath.join(place, name)
            target = None if not ahead and not follow_last else _link_target(place)
            if target is None:
                continue
            links += 1
            if links > _MOST_LINKS:
                raise PathError(f"{shown_name(path)} leads through too many links")
            place = b"/" if target.startswith(b"/") else posixpath.dirname(place)
            ahead.extend(_names(target)[::-1])
        return place


class MissingFolderError(PathError):
    """A folder on the way does not exist."""


def refusal(shown: str, error: OSError) -> PathError:
    """Say in one sentence why the operating system refused *shown*."""
    reason = (error.strerror or str(error)).lower()
    return PathError(f"{shown}: {reason}")


def kind_name(mode: int) -> str:
    """Name what a file of *mode* is, for a sentence."""
    match stat.S_IFMT(mode):
        case stat.S_IFREG:
            return "a file"
        case stat.S_IFDIR:
            return "a folder"
        case stat.S_IFLNK:
            return "a link"
        case stat.S_IFIFO:
            return "a pipe"
        case stat.S_IFSOCK:
            return "a socket"
        case _:
            return "a device"


def _git_refusal() -> PathError:
    return PathError("file tools do not touch .git; use git commands through shell_exec")


def _names(path: bytes) -> list[bytes]:
    return [name for name in path.split(b"/") if name not in (b"", b".")]


def _link_target(place: bytes) -> bytes | None:
    try:
        return os.readlink(place)  # noqa: PTH115 (pathlib takes no bytes)
    except OSError:
        # Not a link, or nothing there; what cannot be looked at is refused when it is opened.
        return None


def _step_into(folder: int, name: bytes, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    os.mkdir(name, dir_fd=folder)
    return os.open(name, _FOLDER, dir_fd=folder)
