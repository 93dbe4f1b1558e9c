"""The words after /rewind and /diff → what is asked for. Nothing here acts."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias

from keryx_py.session.archive import Mode
from keryx_py.shell.line import UsageError
from keryx_py.shell.paths import typed_paths
from keryx_py.shell.visible import shown_name

MODES = tuple(mode.value for mode in Mode)
LATER = ("keep", "only", "pick")
"""Words that are kept for what this version cannot do."""
_LONGEST_NUMBER = 9
_LONGEST_SAID = 120


@dataclass(frozen=True, slots=True)
class ListWanted:
    """The list of points."""


@dataclass(frozen=True, slots=True)
class ConfirmWanted:
    """That the pending preview is applied."""


@dataclass(frozen=True, slots=True)
class PreviewWanted:
    """A preview."""

    number: int
    mode: Mode = Mode.FILES
    paths: tuple[bytes, ...] = ()
    in_full: bool = False


RewindWanted: TypeAlias = ListWanted | ConfirmWanted | PreviewWanted


def parse_rewind(words: tuple[str, ...], root: Path) -> RewindWanted:
    """Read the *words* after /rewind. Raises UsageError."""
    match words:
        case ():
            return ListWanted()
        case ("confirm",):
            return ConfirmWanted()
        case ("confirm", *_):
            raise UsageError("nothing was done: /rewind confirm stands alone")
        case ("pick", *_):
            raise _later("/rewind pick")
    number = parse_number(words[0])
    mode, rest = _mode(words[1:], number)
    for word in (word for word in rest if word in LATER):
        raise _later(f"/rewind N … {word}")
    paths = tuple(word for word in rest if word != "diff")
    if paths and mode is not Mode.FILES:
        raise UsageError(
            f"paths go with the mode files only: /rewind {number} files {_said(paths[0])}"
        )
    return PreviewWanted(number, mode, typed_paths(paths, root), in_full="diff" in rest)


def parse_number(word: str) -> int:
    """Read the number of a point. Raises UsageError."""
    if word.startswith("@"):
        raise _later(f"naming a checkpoint as {_said(word)}")
    number = int(word) if _is_number(word) else 0
    if number < 1:
        raise UsageError(f"{_said(word)} is not the number of a point; /rewind lists the points")
    return number


def parse_mode(word: str) -> Mode:
    """Read a mode. Raises UsageError, which names the nearest."""
    if word not in MODES:
        near = get_close_matches(word.lower(), MODES, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; the modes are {', '.join(MODES)}"
        raise UsageError(f"{_said(word)} is not a mode{hint}")
    return Mode(word)


def _mode(words: tuple[str, ...], number: int) -> tuple[Mode, tuple[str, ...]]:
    """Take the mode off the front; without one it is files, and no path may follow."""
    if not words or words[0] == "diff" or words[0] in LATER:
        if len(words) > 1 and words[0] == "diff":
            raise UsageError(f"the mode comes before diff: /rewind {number} files diff")
        return Mode.FILES, words
    if words[0] not in MODES and not get_close_matches(words[0].lower(), MODES, n=1):
        raise UsageError(
            f"{_said(words[0])} is not a mode ({', '.join(MODES)}); "
            f"paths come after one: /rewind {number} files {_said(words[0])}"
        )
    return parse_mode(words[0]), words[1:]


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= _LONGEST_NUMBER


def _said(word: str) -> str:
    return shown_name(word if len(word) <= _LONGEST_SAID else word[:_LONGEST_SAID] + "…")


def _later(what: str) -> UsageError:
    return UsageError(f"{what} is not available in this version; nothing was done")


@dataclass(frozen=True, slots=True)
class DiffWanted:
    """What changed since *first*, or between two points; None is the session's beginning or now."""

    first: int | None
    second: int | None = None


def parse_diff(words: tuple[str, ...]) -> DiffWanted:
    """Read the *words* after /diff. Raises UsageError."""
    match words:
        case ("all",):
            return DiffWanted(None)
        case (_, "only"):
            raise _later("/diff N only")
        case (first,):
            return DiffWanted(parse_number(first))
        case (first, second):
            return DiffWanted(parse_number(first), parse_number(second))
    raise UsageError("write /diff N, /diff N M or /diff all; /rewind lists the points")
