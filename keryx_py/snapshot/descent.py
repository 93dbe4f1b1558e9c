"""Move through folders below a root by descriptors, few open at a time, never through a link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_OPEN = 48


class Identity(NamedTuple):
    """What tells one file or folder from another, whatever its path."""

    # Not a dataclass: a walk makes one for every folder, and asks for it in sets.

    device: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Identity:
        """Read the identity out of *status*."""
        return cls(status.st_dev, status.st_ino)


@dataclass(slots=True)
class _Step:
    name: str | bytes
    path: bytes
    """Where it is below the root, with a slash at the end; empty for the root."""
    identity: Identity
    descriptor: int | None
    """None while it is closed because too many others are open."""


class Descent:
    """The chain of folders from the root down to the current one."""

    def __init__(self, root: int, identity: Identity) -> None:
        """*root* is the root's open descriptor; it belongs to the caller."""
        self._steps = [_Step(b"", b"", identity, root)]

    @property
    def identity(self) -> Identity:
        """The current folder's identity."""
        return self._steps[-1].identity

    def identities(self) -> Iterator[Identity]:
        """List the identities of the folders from the root down to the current one."""
        return (step.identity for step in self._steps)

    def descriptor(self) -> int:
        """The current folder's descriptor; raises OSError when it cannot be opened again."""
        step = self._steps[-1]
        if step.descriptor is None:
            step.descriptor = self._reopened()
        return step.descriptor

    def enter(self, name: str | bytes) -> os.stat_result:
        """Go into the subfolder *name*; raises OSError when no folder stands there."""
        descriptor = os.open(name, OPEN_FOLDER, dir_fd=self.descriptor())
        try:
            status = os.fstat(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        raw = name if isinstance(name, bytes) else os.fsencode(name)
        path = self._steps[-1].path + raw + b"/"
        self._steps.append(_Step(name, path, Identity.of(status), descriptor))
        self._close_far_ones()
        return status

    def leave(self) -> None:
        """Go back to the folder above."""
        step = self._steps.pop()
        if step.descriptor is None:
            return
        try:
            above = self._steps[-1]
            if above.descriptor is None:
                above.descriptor = _parent(step.descriptor, above.identity)
        finally:
            os.close(step.descriptor)

    def go(self, path: bytes) -> int:
        """Go to the folder *path* below the root; return its descriptor. Raises OSError."""
        wanted = path + b"/" if path else b""
        while not wanted.startswith(self._steps[-1].path):
            self.leave()
        for name in wanted[len(self._steps[-1].path) :].split(b"/")[:-1]:
            self.enter(name)
        return self.descriptor()

    def close(self) -> None:
        """Close every descriptor but the root's."""
        for step in self._steps[1:]:
            if step.descriptor is not None:
                os.close(step.descriptor)
        del self._steps[1:]

    def _close_far_ones(self) -> None:
        far = len(self._steps) - _MAX_OPEN
        if far > 0 and (step := self._steps[far]).descriptor is not None:
            os.close(step.descriptor)
            step.descriptor = None

    def _reopened(self) -> int:
        """Open the current folder from the nearest open one above."""
        start = len(self._steps) - 1
        while self._steps[start].descriptor is None:
            start -= 1
        descriptor = os.dup(self._steps[start].descriptor or 0)
        for step in self._steps[start + 1 :]:
            try:
                below = os.open(step.name, OPEN_FOLDER, dir_fd=descriptor)
            finally:
                os.close(descriptor)
            descriptor = below
        if Identity.of(os.fstat(descriptor)) != self.identity:
            os.close(descriptor)
            raise FileNotFoundError("the folder was replaced")
        return descriptor


def _parent(descriptor: int, expected: Identity) -> int | None:
    """Open the folder above *descriptor*; None when that is no longer the *expected* one."""
    try:
        parent = os.open("..", OPEN_FOLDER, dir_fd=descriptor)
    except OSError:
        return None
    if Identity.of(os.fstat(parent)) == expected:
        return parent
    os.close(parent)
    return None
