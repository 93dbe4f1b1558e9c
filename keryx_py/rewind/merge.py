"""Three versions of one path → one, or a conflict. Nothing here touches a disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from keryx_py.snapshot.listing import FileState, Kind
from keryx_py.snapshot.merging import is_text, merge_text
from keryx_py.snapshot.objects import ObjectKind, object_id

MERGED_AT_MOST = 20 * 2**20
"""Larger contents, in bytes, are not merged by lines."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two changes of one path that cannot be joined."""

    reason: str
    instead: FileState | None = None
    """What is to stand there; None for what stands there now."""


Joined: TypeAlias = FileState | Conflict | None
"""What comes of joining; None when nothing is to stand there."""


class Merging:
    """Joins changes, and holds the contents that this makes."""

    def __init__(self, read: Callable[[FileState], bytes | None]) -> None:
        """*read* gives the content of a state; None when it cannot be had as it was."""
        self._read = read
        self._made: dict[bytes, bytes] = {}

    @property
    def made(self) -> Mapping[bytes, bytes]:
        """The contents that joining made, by their blob ids."""
        return self._made

    def join(
        self, base: FileState | None, ours: FileState | None, theirs: FileState | None
    ) -> Joined:
        """Bring what changed from *base* to *theirs* into *ours*."""
        if theirs in (base, ours):
            return ours
        if ours == base:
            return theirs
        if ours is None or theirs is None:
            return Conflict("removed on one side and changed on the other")
        if base is None:
            return _joined_new(ours, theirs)
        if {base.kind, ours.kind, theirs.kind} == {Kind.FOLDER}:
            return _with_joined_mode(base, ours, theirs, ours)
        if {base.kind, ours.kind, theirs.kind} == {Kind.FILE}:
            return self._join_files(base, ours, theirs)
        return Conflict("both sides changed it, and it is not a file on each")

    def hold(self, state: FileState) -> bool:
        """Hold the content of *state* as well; say whether it could be read."""
        content = self.content(state)
        if content is not None:
            self._made[state.oid] = content
        return content is not None

    def _join_files(self, base: FileState, ours: FileState, theirs: FileState) -> Joined:
        if theirs.oid in (base.oid, ours.oid):
            return _with_joined_mode(base, ours, theirs, ours)
        if ours.oid == base.oid:
            return _with_joined_mode(base, ours, theirs, theirs)
        content = self._join_contents(base, ours, theirs)
        if isinstance(content, Conflict):
            return content
        oid = object_id(ObjectKind.BLOB, content)
        joined = _with_joined_mode(base, ours, theirs, replace(ours, oid=oid))
        if not isinstance(joined, Conflict):
            self._made[oid] = content
        return joined

    def _join_contents(
        self, base: FileState, ours: FileState, theirs: FileState
    ) -> bytes | Conflict:
        contents = [self.content(side) for side in (base, ours, theirs)]
        found = [content for content in contents if content is not None]
        if len(found) != len(contents):
            return Conflict("a version that is needed cannot be read")
        if not all(is_text(content) for content in found):
            return Conflict("both sides changed it, and it is binary")
        if any(len(content) > MERGED_AT_MOST for content in found):
            return Conflict("both sides changed it, and it is too large to merge")
        merged = merge_text(*found)
        return Conflict("both sides changed the same lines") if merged is None else merged

    def content(self, state: FileState) -> bytes | None:
        """Give the content of *state*; None when it cannot be had."""
        made = self._made.get(state.oid)
        return self._read(state) if made is None else made


def _joined_new(ours: FileState, theirs: FileState) -> Joined:
    if ours.kind is theirs.kind is Kind.FOLDER:
        return Conflict("both sides set its mode")
    return Conflict("both sides made it")


def _with_joined_mode(
    base: FileState, ours: FileState, theirs: FileState, state: FileState
) -> Joined:
    """Give *state* the mode that comes of joining the three."""
    if theirs.mode in (base.mode, ours.mode):
        return replace(state, mode=ours.mode)
    if ours.mode == base.mode:
        return replace(state, mode=theirs.mode)
    return Conflict("both sides changed its mode")
