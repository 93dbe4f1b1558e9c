"""The words after /diff → which captures are compared, and of which paths. Nothing here acts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from keryx_py.rewind.comparing import OneTurn, Since, Span
from keryx_py.shell.line import UsageError
from keryx_py.shell.paths import typed_paths
from keryx_py.shell.point_names import with_numbers
from keryx_py.shell.rewind_words import parse_number

ALL = "all"
ONLY = "only"


@dataclass(frozen=True, slots=True)
class DiffWanted:
    """A difference."""

    span: Span
    paths: tuple[bytes, ...] = ()
    """Empty for all."""


def parse_diff(words: tuple[str, ...], root: Path, find: Callable[[str], int]) -> DiffWanted:
    """Read *words*: `all`, `N`, `N M` or `N only`, and then paths. Raises UsageError.

    *find* gives the number of a checkpoint's name; a path that looks like one of these words is
    written `./all`.
    """
    if not words:
        raise UsageError("write /diff N, /diff N M, /diff N only or /diff all; /rewind lists N")
    if words[0] == ALL:
        return DiffWanted(Since(None), typed_paths(words[1:], root))
    words = with_numbers(words, find, most=2)
    first = parse_number(words[0])
    match words[1:2]:
        case (second,) if second == ONLY:
            return DiffWanted(OneTurn(first), typed_paths(words[2:], root))
        case (second,) if second.isascii() and second.isdigit():
            span = Since(first, parse_number(second))
            return DiffWanted(span, typed_paths(words[2:], root))
        case _:
            return DiffWanted(Since(first), typed_paths(words[1:], root))
