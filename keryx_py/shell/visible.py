"""Text that cannot drive a terminal: what models, tools and file names say, made visible."""

from __future__ import annotations

import re

# Controls, bidi overrides, joiners and other characters without a width of their own, and the
# surrogates that stand for bytes which are not UTF-8. The two common emoji selectors stay.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0"
    "\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SHORT = {"\r": r"\r", "\n": r"\n", "\t": r"\t", "\b": r"\b", "\a": r"\a"}
_GIT_NAMES = zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True)
_QUOTED = {letter: "\\" + name for letter, name in _GIT_NAMES}


def visible(text: str) -> str:
    """Make whatever in *text* could drive a terminal visible; newlines and tabs stay."""
    return _INVISIBLE.sub(_escape, text)


def visible_output(text: str) -> str:
    """The same for a program's output, where a carriage return before a newline says nothing."""
    return visible(text.replace("\r\n", "\n"))


def on_one_line(text: str) -> str:
    """Put *text* on one line: runs of blanks and newlines become one blank, the rest visible."""
    return visible(" ".join(text.split()))


def shown_path(path: bytes) -> str:
    """Write *path* so that it can be mistaken for no other: an odd name is quoted as git does."""
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        return _quoted(path)
    plain = text == text.strip() and not any(letter in text for letter in '\n\t"\\')
    return text if text and plain and not _INVISIBLE.search(text) else _quoted(path)


def shown_name(path: str) -> str:
    """The same for a path as text, in which surrogates stand for bytes that are not UTF-8."""
    return shown_path(path.encode("utf-8", "surrogateescape"))


def _escape(match: re.Match[str]) -> str:
    letter = match.group()
    code = ord(letter)
    if letter in _SHORT:
        return _SHORT[letter]
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _quoted(path: bytes) -> str:
    text = path.decode("utf-8", "surrogateescape")
    return '"' + "".join(_quoted_letter(letter) for letter in text) + '"'


def _quoted_letter(letter: str) -> str:
    if letter in _QUOTED:
        return _QUOTED[letter]
    if not _INVISIBLE.match(letter):
        return letter
    return "".join(f"\\{byte:03o}" for byte in letter.encode("utf-8", "surrogateescape"))
