"""The words after /rewind and /diff → what is asked for. Nothing here acts."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias

from keryx_py.rewind.plan import Way
from keryx_py.session.archive import Mode
from keryx_py.shell.line import UsageError
from keryx_py.shell.paths import typed_paths
from keryx_py.shell.visible import shown_name

MODES = tuple(mode.value for mode in Mode)
ONLY = "only"
"""Stands in the mode's place: one turn alone is taken back."""
KEEP = "keep"
DIFF = "diff"
OPTIONS = (KEEP, DIFF)
"""Words that follow the mode; a path that is named like one is written ./keep."""
_OTHER_WORDS = frozenset({*MODES, *OPTIONS, ONLY, "all", "confirm", "pick"})
_READ_AS_OTHER = re.compile(r"[-@].*|[0-9,-]+", re.DOTALL)
_LONGEST_NUMBER = 9
_HUNKS = re.compile(r"[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*")
"""Which hunks: 1,3-4. A path that is written so begins with ./"""
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
    way: Way = Way.PLAIN


@dataclass(frozen=True, slots=True)
class PickWanted:
    """That a point is chosen with the keys."""


@dataclass(frozen=True, slots=True)
class HunksWanted:
    """That hunks are chosen."""

    number: int
    paths: tuple[bytes, ...] = ()
    """The paths whose hunks are gone through; empty for all that differ."""
    hunks: tuple[range, ...] = ()
    """The numbers of those that go back; empty where they are still to be chosen."""
    typed: tuple[str, ...] = ()
    """The paths as they were typed."""


RewindWanted: TypeAlias = ListWanted | ConfirmWanted | PreviewWanted | PickWanted | HunksWanted


def path_word(path: bytes) -> str:
    """Write *path* so that, after /rewind or /diff, it is read as a path and nothing else."""
    word = os.fsdecode(path)
    if word in _OTHER_WORDS or _READ_AS_OTHER.fullmatch(word):
        return f"./{word}"
    return word


def parse_rewind(words: tuple[str, ...], root: Path) -> RewindWanted:
    """Read the *words* after /rewind. Raises UsageError."""
    match words:
        case ():
            return ListWanted()
        case ("confirm",):
            return ConfirmWanted()
        case ("confirm", *_):
            raise UsageError("nothing was done: /rewind confirm stands alone")
        case ("pick",):
            return PickWanted()
        case ("pick", *_):
            raise UsageError("/rewind pick stands alone; for hunks write /rewind N pick PATH")
    number = parse_number(words[0])
    match words[1:]:
        case ("pick", *named) | ("files", "pick", *named):
            return _hunks(number, tuple(named), root)
    if words[1:2] == (ONLY,):
        return _only(number, words[2:], root)
    if "pick" in words[1:]:
        raise UsageError(
            f"pick comes first, and moves files only: write /rewind {number} pick PATH"
        )
    mode, rest = _mode(words[1:], number)
    paths = tuple(word for word in rest if word not in OPTIONS)
    if ONLY in paths:
        raise UsageError(
            f"only stands in the mode's place: /rewind {number} only; "
            "a file of that name is written ./only"
        )
    if paths and mode is not Mode.FILES:
        raise UsageError(
            f"paths go with the mode files only: /rewind {number} files {_said(paths[0])}"
        )
    if KEEP in rest and not mode.moves_files:
        raise UsageError(
            "keep goes with files or both, as history holds no edits of yours: "
            f"/rewind {number} both keep"
        )
    way = Way.KEEP if KEEP in rest else Way.PLAIN
    return PreviewWanted(number, mode, typed_paths(paths, root), DIFF in rest, way)


def _only(number: int, rest: tuple[str, ...], root: Path) -> PreviewWanted:
    if KEEP in rest:
        raise UsageError(
            f"/rewind {number} only leaves what came later as it is; it goes without keep"
        )
    paths = tuple(word for word in rest if word != DIFF)
    return PreviewWanted(number, Mode.FILES, typed_paths(paths, root), DIFF in rest, Way.ONLY)


def _hunks(number: int, words: tuple[str, ...], root: Path) -> HunksWanted:
    """Tell paths and the numbers of hunks, which stand last, apart."""
    first = len(words)
    while first and _HUNKS.fullmatch(words[first - 1]):
        first -= 1
    runs = [run for word in words[first:] for run in word.split(",")]
    paths = words[:first]
    return HunksWanted(number, typed_paths(paths, root), tuple(map(_run, runs)), paths)


def _run(said: str) -> range:
    first, _, last = said.partition("-")
    if int(first) < 1 or int(last or first) < int(first):
        raise UsageError(f"{_said(said)} are not the numbers of hunks: write 1, or 1,3-4")
    return range(int(first), int(last or first) + 1)


def parse_number(word: str) -> int:
    """Read the number of a point. Raises UsageError."""
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
    if not words or words[0] in OPTIONS:
        if not set(words) <= set(OPTIONS):
            raise UsageError(f"the mode comes before {words[0]}: /rewind {number} files {words[0]}")
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
