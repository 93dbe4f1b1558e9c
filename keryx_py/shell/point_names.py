"""The names of checkpoints: which may be given, and `@name` where a number stands.

Nothing here acts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from keryx_py.shell.line import UsageError, whole_text
from keryx_py.shell.visible import shown_name

SIGN = "@"
"""What begins a name where a number could stand."""
KEYWORDS = frozenset(
    {"files", "history", "both", "diff", "keep", "only", "confirm", "pick", "all", "now"}
)
LONGEST_NAME = 60


def checked_name(word: str) -> str:
    """Read *word* as a name that a checkpoint may have. Raises UsageError."""
    name = plain_name(word)
    if len(name) > LONGEST_NAME:
        raise UsageError(f"a checkpoint's name has at most {LONGEST_NAME} characters")
    if not name or not all(letter.isalnum() or letter in "-_." for letter in name):
        raise UsageError(
            f"{shown_name(word)} cannot be a checkpoint's name: "
            "it is made of letters, digits and - _ ."
        )
    if not (name[0].isalnum() or name[0] == "_"):
        raise UsageError(f"a checkpoint's name begins with a letter, a digit or _, not {name[0]}")
    if all(letter.isdigit() for letter in name):
        raise UsageError(f"{name} is a number, so it cannot be a checkpoint's name; add a letter")
    if name.lower() in KEYWORDS:
        raise UsageError(f"{name} is a word of /rewind, so it cannot be a checkpoint's name")
    return name


def plain_name(word: str) -> str:
    """Write *word* without the sign, its letters composed, as names are kept."""
    return unicodedata.normalize("NFC", word.removeprefix(SIGN))


@dataclass(frozen=True, slots=True)
class CheckpointWanted:
    """A checkpoint to take, or a name to take away."""

    name: str = ""
    note: str = ""
    removes: bool = False


def parse_checkpoint(rest: str) -> CheckpointWanted:
    """Read what follows /checkpoint. Raises UsageError."""
    if not rest:
        return CheckpointWanted()
    word, *after = rest.split(None, 1)
    note = whole_text(after[0].strip()) if after else ""
    if word not in ("-d", "--delete"):
        return CheckpointWanted(checked_name(word), note)
    if not note or len(note.split()) > 1:
        raise UsageError("write /checkpoint -d NAME, one name; nothing was done")
    return CheckpointWanted(plain_name(note), removes=True)


def with_numbers(
    words: tuple[str, ...], find: Callable[[str], int], most: int = 1
) -> tuple[str, ...]:
    """Put numbers in place of the names among the first *most* of *words*.

    *find* gives the number of a name.
    """
    return tuple(
        str(find(plain_name(word))) if at < most and word.startswith(SIGN) else word
        for at, word in enumerate(words)
    )
