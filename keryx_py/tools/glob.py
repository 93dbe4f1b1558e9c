"""Glob patterns over paths: `*` within a name, `**` over folders, `{a,b}` for choices.

Matching takes time in step with the path's and the pattern's length, whatever the pattern.
"""

from __future__ import annotations

import os
import re
from fnmatch import translate

from keryx_py.tools.base import ToolError

_MOST_CHARACTERS = 1_000
_MOST_CHOICES = 64
_CHOICE = re.compile(r"\{([^{}]*,[^{}]*)\}")


class Glob:
    """A pattern to match paths below the project root with.

    Raises ToolError when it is empty, too long, or leads out of the root.
    """

    def __init__(self, pattern: str) -> None:
        if len(pattern) > _MOST_CHARACTERS:
            raise ToolError(f"the pattern is longer than {_MOST_CHARACTERS} characters")
        self._choices = [_segments(choice) for choice in _expand(pattern)]

    def matches(self, relative: bytes) -> bool:
        """Say whether the whole path matches."""
        return any(
            len(choice) in _positions(choice, os.fsdecode(relative)) for choice in self._choices
        )

    def may_match_below(self, folder: bytes) -> bool:
        """Say whether a path below *folder* may match."""
        return any(
            any(position < len(choice) for position in _positions(choice, os.fsdecode(folder)))
            for choice in self._choices
        )


_Segment = re.Pattern[str] | None
"""A name's pattern; None for `**`."""


def _expand(pattern: str) -> list[str]:
    ready, ahead = [], [pattern]
    while ahead:
        current = ahead.pop()
        choice = _CHOICE.search(current)
        if choice is None:
            ready.append(current)
        else:
            before, after = current[: choice.start()], current[choice.end() :]
            ahead.extend(before + part + after for part in choice[1].split(","))
        if len(ready) + len(ahead) > _MOST_CHOICES:
            raise ToolError(f"the pattern has more than {_MOST_CHOICES} choices in braces")
    return ready


def _segments(pattern: str) -> list[_Segment]:
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if not names:
        raise ToolError('the pattern is empty; "**/*" matches every file')
    if ".." in names or pattern.startswith("~/"):
        raise ToolError("the pattern must stay inside the project root")
    if names[-1] == "**":
        # What is below, not the folder itself.
        names.append("*")
    return [None if name == "**" else re.compile(translate(name)) for name in names]


def _positions(segments: list[_Segment], path: str) -> set[int]:
    """Where in *segments* one can stand after *path*."""
    standing = _over_folders(segments, {0})
    for name in path.split("/"):
        moved: set[int] = set()
        for position in standing:
            if position == len(segments):
                continue
            segment = segments[position]
            if segment is None:
                moved.add(position)
            elif segment.match(name):
                moved.add(position + 1)
        standing = _over_folders(segments, moved)
    return standing


def _over_folders(segments: list[_Segment], standing: set[int]) -> set[int]:
    """Add the places reached when `**` stands for no folder at all."""
    reached = set(standing)
    for position in standing:
        while position < len(segments) and segments[position] is None:
            position += 1
            reached.add(position)
    return reached
