"""The words of a parsed shell command: what each is, as far as the text alone says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

HOLE = "\0"
"""Stands in a word for what is only known when the command runs. No command holds a NUL."""

_EXPANSIONS = frozenset(
    {
        "simple_expansion",
        "expansion",
        "command_substitution",
        "arithmetic_expansion",
        "brace_expression",
    }
)
# What a backslash before them means in $'…'; any other stays as it is.
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
_ANSI_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL
)
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command, quotes and escapes removed."""

    text: str
    """With HOLE for each part that is only known when the command runs."""
    splits: bool = False
    """Whether it may become several words, or none."""

    @property
    def exact(self) -> bool:
        """Whether the text says it all."""
        return HOLE not in self.text and not self.splits

    @property
    def may_be_option(self) -> bool:
        """Whether it is an option, or could turn out to be one."""
        if not self.text.startswith(HOLE):
            return self.text.startswith("-") or (self.splits and HOLE in self.text)
        # "$dir/file" and *.txt are no options that any program takes.
        return self.splits or not ("/" in self.text or "." in self.text)


UNKNOWN = Word(HOLE, splits=True)
"""Any number of words of which nothing is known."""


def joined(words: Iterable[Word]) -> Word:
    """Join *words* with blanks, as eval does."""
    listed = list(words)
    return Word(" ".join(word.text for word in listed), any(word.splits for word in listed))


def read_word(node: Node) -> Word:
    """Read the word that *node* is. What is not understood is UNKNOWN."""
    match node.type:
        case "command_name":
            return read_word(node.children[0]) if node.child_count == 1 else UNKNOWN
        case "concatenation":
            return _read_concatenation(node)
        case "word" | "number" | "variable_name" | "file_descriptor" | "test_operator":
            return _read_bare(_text(node))
        case "raw_string":
            return Word(_text(node)[1:-1])
        case "string":
            return _read_string(node)
        case "translated_string":
            return _read_string(node.children[-1])
        case "ansi_c_string":
            return Word(_ANSI_ESCAPE.sub(_unescaped, _text(node)[2:-1]))
        case "process_substitution":
            return Word(f"/dev/fd/{HOLE}")
        case "extglob_pattern" | "regex":
            return Word(HOLE)
        case kind if kind in _EXPANSIONS:
            return UNKNOWN
        case _ if not node.is_named:
            return Word(_text(node))
        case _:
            return UNKNOWN


def _read_concatenation(node: Node) -> Word:
    bare = "".join(_text(child) if child.type == "word" else "_" for child in node.children)
    if _BRACES.search(re.sub(r"\\.", "_", bare)):
        return UNKNOWN
    parts = [read_word(child) for child in node.children]
    return Word("".join(part.text for part in parts), any(part.splits for part in parts))


def _read_bare(text: str) -> Word:
    """Remove backslashes, and see what a glob may stand for."""
    out, index = [], 0
    while index < len(text):
        char = text[index]
        if char == "\\":
            index += 1
            # A backslash before a line end takes both away.
            out.append("" if text[index : index + 1] == "\n" else text[index : index + 1])
        else:
            out.append(HOLE if char in "*?[" else char)
        index += 1
    return Word("".join(out))


def _read_string(node: Node) -> Word:
    text, start = "", node.start_byte + 1
    splits = False
    source = node.text or b""
    for child in node.children[1:-1]:
        if child.type == "string_content":
            continue
        text += _unquoted(source[start - node.start_byte : child.start_byte - node.start_byte])
        text += HOLE
        # "$@" and "${list[@]}" are many words, or none, also in quotes.
        splits = splits or "@" in _text(child)
        start = child.end_byte
    text += _unquoted(source[start - node.start_byte : len(source) - 1])
    return Word(text, splits)


def _unquoted(piece: bytes) -> str:
    text = piece.decode("utf-8", "surrogateescape").replace("\\\n", "")
    return re.sub(r'\\([$`"\\])', r"\1", text)


def _unescaped(escape: re.Match[str]) -> str:
    hexadecimal, short, long, octal, other = escape.groups()
    code = hexadecimal or short or long
    if code is not None:
        number = int(code, 16)
        return chr(number) if 0 < number < 0x110000 else HOLE
    if octal is not None:
        return chr(int(octal, 8) & 0xFF)
    if other == "c":
        return HOLE
    return _ANSI.get(other, other if other in "\\'\"?" else f"\\{other}")


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "surrogateescape")
