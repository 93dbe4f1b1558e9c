"""One line → a command, a prompt, or nothing. Nothing here acts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from keryx_py.errors import KeryxError

_BLANKS = " \t\r\n"
_CODED = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9A-Fa-f]{1,2})|(?P<letter>.))", re.DOTALL
)
_LETTERS = {"a": 7, "b": 8, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


class UsageError(KeryxError):
    """The line does not say what to do; the text says how to write it."""


@dataclass(frozen=True, slots=True)
class Command:
    """A line that starts with a slash."""

    name: str
    """The word after the slash; empty when there is none."""
    rest: str = ""
    """All that follows the name, as it was typed, without blanks around it."""

    @property
    def args(self) -> tuple[str, ...]:
        """The words of the rest, quoted as in a shell. Raises UsageError for an open quote."""
        return split_words(self.rest)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A line for the model."""

    text: str


Line: TypeAlias = Command | Prompt | None
"""What a person typed; None for a blank line."""


def parse_line(line: str) -> Line:
    """Say what *line* is. `/name` is a command, `//` begins a prompt with a slash."""
    line = line.rstrip("\r\n")
    if not line.strip():
        return None
    if line.startswith("//"):
        return Prompt(whole_text(line[1:]))
    if not line.startswith("/"):
        return Prompt(whole_text(line))
    parts = line[1:].split(None, 1) if line[1:2].strip() else ["", line[1:]]
    return Command(parts[0], parts[1].strip(_BLANKS) if len(parts) > 1 else "")


def whole_text(text: str) -> str:
    """Make *text* fit to be sent: bytes that were not UTF-8 become the replacement character."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def split_words(text: str) -> tuple[str, ...]:
    """Split *text* into words as a shell would: blanks, quotes, backslashes, and $'…'."""
    words: list[str] = []
    at = 0
    while (at := _skip_blanks(text, at)) < len(text):
        word, at = _take_word(text, at)
        words.append(word)
    return tuple(words)


def quote_word(word: str) -> str:
    """Write *word* so that split_words reads it back; plain where it needs no quotes."""
    if re.fullmatch(r"[^\s'\"\\$\x00-\x1f\x7f-\x9f\ud800-\udfff]+", word):
        return word
    if not re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", word):
        return "'" + word.replace("'", "'\\''") + "'"
    raw = word.encode("utf-8", "surrogateescape")
    plain = (
        chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\{byte:03o}" for byte in raw
    )
    return "$'" + "".join(plain) + "'"


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def _take_word(text: str, at: int) -> tuple[str, int]:
    pieces: list[str] = []
    while at < len(text) and text[at] not in _BLANKS:
        piece, at = _take_piece(text, at)
        pieces.append(piece)
    return "".join(pieces), at


def _take_piece(text: str, at: int) -> tuple[str, int]:
    match text[at]:
        case "'":
            end = _closing(text, at, text.find("'", at + 1))
            return text[at + 1 : end], end + 1
        case '"':
            end = _closing(text, at, _end_of(text, at + 1, '"'))
            return re.sub(r'\\(["\\$`])', r"\1", text[at + 1 : end]), end + 1
        case "$" if text.startswith("$'", at):
            end = _closing(text, at + 1, _end_of(text, at + 2, "'"))
            return _decoded(text[at + 2 : end]), end + 1
        case "\\":
            return text[at + 1 : at + 2] or "\\", at + 2
        case letter:
            return letter, at + 1


def _end_of(text: str, at: int, quote: str) -> int:
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at if at < len(text) else -1


def _closing(text: str, start: int, end: int) -> int:
    if end < 0:
        raise UsageError(
            f"the quote {text[start]} is not closed; close it, or put a backslash before it"
        )
    return end


def _decoded(text: str) -> str:
    raw = _CODED.sub(_byte, text).encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "surrogateescape")


def _byte(match: re.Match[str]) -> str:
    if match["octal"]:
        code = int(match["octal"], 8) & 0xFF
    elif match["hex"]:
        code = int(match["hex"], 16)
    elif match["letter"] in _LETTERS:
        code = _LETTERS[match["letter"]]
    else:
        return match["letter"]
    return bytes([code]).decode("ascii", "surrogateescape")
