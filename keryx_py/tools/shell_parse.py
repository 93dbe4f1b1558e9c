"""Parse a shell command, and refuse a parse that a shell may not share.

`/bin/sh` may be dash, bash or another. Where the parser guesses, or shells differ, the answer is
a DoubtfulError: a command that cannot be parsed for sure is not judged harmless.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from keryx_py.errors import KeryxError

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_CHARACTERS = 10_000
"""On longer texts the parser could take minutes to recover from an error, and cannot be stopped."""
MOST_DEPTH = 150

_OPAQUE = frozenset({"raw_string", "ansi_c_string", "comment"})
_RESERVED = frozenset(
    {"!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if"}
    | {"select", "then", "until", "while", "[["}
)
# A line end taken away by a backslash with no blank on either side of it.
_SPLIT_WORD = re.compile(rb"(?:[^\s\\]|\\\\)\\\n[^\s]|=\\\n")
_SPECIAL_IN_WORD = re.compile(r"[\s;&|<>()'\"`]")
_STARTS = re.compile(rb"\\.|`|\$\(", re.DOTALL)
_ONE_COMMAND = frozenset(
    {"command", "declaration_command", "unset_command", "file_redirect", "herestring_redirect"}
    | {"redirected_statement", "variable_assignments"}
)
_WITH_TEXT = frozenset(
    {"string", "translated_string", "heredoc_body", "heredoc_redirect", "expansion", "regex"}
)
# The parser leaves out a dash that stands alone.
_BLANKS = re.compile(rb"(?:[ \t]|\\\n|(?<=[ \t])-(?=[ \t\n]))*")
_BLANK_LINES = re.compile(rb"(?:[ \t\n]|\\\n|(?<=[ \t])-(?=[ \t\n]))*")
_SPECIAL_IN_REGEX = re.compile(r"[;&\n]|\|.*\s|\s.*\|")


class DoubtfulError(KeryxError):
    """The command cannot be parsed, or shells may read it in different ways."""


def parse(command: str) -> Node:
    """Parse *command* and return the root of its tree. Raises DoubtfulError."""
    if len(command) > MOST_CHARACTERS:
        raise DoubtfulError("it is too long to be judged")
    if any((not char.isprintable() or char.isspace()) and char not in " \n\t" for char in command):
        raise DoubtfulError("it holds characters that cannot be shown")
    from tree_sitter import Language, Parser
    from tree_sitter_bash import language

    # Without a last line end a heredoc's end may be missed.
    source = command.encode("utf-8") + b"\n"
    root = Parser(Language(language())).parse(source).root_node
    if root.has_error:
        raise DoubtfulError("it cannot be parsed")
    _check(root, source)
    return root


def nodes_below(node: Node) -> Iterator[Node]:
    """Yield *node* and all below it, in order. Raises DoubtfulError when nested too deeply."""
    ahead = [(node, 0)]
    while ahead:
        current, depth = ahead.pop()
        if depth > MOST_DEPTH:
            raise DoubtfulError("it is nested too deeply to be judged")
        yield current
        ahead.extend((child, depth + 1) for child in reversed(current.children))


def text_of_node(node: Node) -> str:
    """Return the text of *node*."""
    return (node.text or b"").decode("utf-8", "surrogateescape")


def heredoc_is_quoted(heredoc: Node) -> bool:
    """Say whether the body of *heredoc* is taken as it stands."""
    return any(
        child.type == "heredoc_start" and re.search(r"['\"\\]", text_of_node(child))
        for child in heredoc.children
    )


def _check(root: Node, source: bytes) -> None:
    """Compare the tree with the text. Raises DoubtfulError where they may not agree."""
    bare = bytearray(source)
    tokens: set[int] = set()
    for node in nodes_below(root):
        _check_node(node, source)
        _check_gaps(node, source)
        if node.type in _OPAQUE or _is_quoted_body(node):
            bare[node.start_byte : node.end_byte] = b"_" * (node.end_byte - node.start_byte)
        elif not node.is_named:
            tokens.add(node.end_byte)
    if _SPLIT_WORD.search(bare):
        raise DoubtfulError("a word in it goes on in the next line")
    for start in _STARTS.finditer(bare):
        # The token is `$(`, or `$((` which is one longer.
        if not start[0].startswith(b"\\") and not tokens & {start.end(), start.end() + 1}:
            raise DoubtfulError("a substitution in it cannot be parsed")


def _check_node(node: Node, source: bytes) -> None:
    text = text_of_node(node)
    match node.type:
        case "comment":
            before = source[max(0, node.start_byte - 2) : node.start_byte]
            if "\n" in text or before == b"\\\n" or before[-1:].strip(b" \t\n;&|()"):
                raise DoubtfulError("sh may not take a part of it for a comment")
        case "command_name" if text in _RESERVED:
            # As in "$(! case x in x) …", where the parser ends the substitution too early.
            raise DoubtfulError("it cannot be parsed for sure")
        case "ansi_c_string" if "\\'" in text:
            raise DoubtfulError("sh may end its $'…' at another place")
        case "file_descriptor" if not re.fullmatch(r"[0-9]+|\{\w+\}", text):
            # As in -rf2>&1, which is a word and then a redirect.
            raise DoubtfulError("a word in it cannot be parsed")
        case "file_descriptor" if source[: node.start_byte][-1:].strip(b" \t\n;&|()"):
            raise DoubtfulError("a word in it cannot be parsed")
        case "simple_expansion" if re.search(r"\$\s", text):
            # A dollar alone, and the next word, which the parser takes for a name.
            raise DoubtfulError("a word in it cannot be parsed")
        case "expansion" if re.search(r"[{}'\"\\\n]", _flat(node)[2:-1]):
            raise DoubtfulError("a ${…} in it may end at another place")
        case "file_redirect" if node.children[0].type.startswith("&>") and node.child_count > 2:
            # dash ends a command at the &.
            raise DoubtfulError("sh may run what stands after &> in it")
        case "word" if not _is_in_braces(node):
            if _SPECIAL_IN_WORD.search(re.sub(r"\\.", "", text, flags=re.DOTALL)):
                raise DoubtfulError("a word in it cannot be parsed")
        case "regex" if _SPECIAL_IN_REGEX.search(text) and not _is_in_braces(node):
            raise DoubtfulError("sh may run a part of the pattern in [[ … ]]")
        case "test_command" if node.children[0].type == "[[":
            if any(child.type == "||" for child in nodes_below(node)):
                raise DoubtfulError("sh may run what stands after || in [[ … ]]")
        case "heredoc_redirect":
            _check_heredoc(node, source)


def _check_gaps(node: Node, source: bytes) -> None:
    """See that only blanks lie between the parts of *node*, and no line end inside a command."""
    if node.type in _WITH_TEXT:
        return
    allowed = _BLANKS if node.type in _ONE_COMMAND else _BLANK_LINES
    for before, after in pairwise(node.children):
        if not allowed.fullmatch(source, before.end_byte, after.start_byte):
            raise DoubtfulError("it cannot be parsed for sure")
        joined = before.end_byte == after.start_byte and not after.type.endswith("_redirect")
        if joined and node.type == "command":
            # As in a=(b)c, which is one word that the parser took for two.
            raise DoubtfulError("a word in it cannot be parsed")


def _check_heredoc(heredoc: Node, source: bytes) -> None:
    """See that the body ends at the first line that is its end, as in every shell."""
    parts = {child.type: child for child in heredoc.children}
    start, end = parts.get("heredoc_start"), parts.get("heredoc_end")
    if start is None or end is None:
        raise DoubtfulError("a heredoc in it has no end")
    name = re.sub(r"['\"\\]", "", text_of_node(start)).encode()
    body = parts.get("heredoc_body", end)
    dashed = heredoc.children[0].type == "<<-"
    lines = [
        line.lstrip(b"\t") if dashed else line
        for line in source[body.start_byte : end.end_byte].split(b"\n")
    ]
    first_is_last = lines.index(name) == len(lines) - 1 if name in lines else False
    joined = lines[-2:-1] and lines[-2].endswith(b"\\") and not heredoc_is_quoted(heredoc)
    if not first_is_last or joined or source[end.end_byte : end.end_byte + 1] != b"\n":
        raise DoubtfulError("a heredoc in it may end at another place")


def _flat(expansion: Node) -> str:
    """Return the text of *expansion* without what is nested in it."""
    text, start = b"", expansion.start_byte
    source = expansion.text or b""
    ahead = expansion.children[::-1]
    while ahead:
        node = ahead.pop()
        if node.type in ("expansion", "command_substitution", "string"):
            text += source[start - expansion.start_byte : node.start_byte - expansion.start_byte]
            start = node.end_byte
        else:
            ahead.extend(node.children[::-1])
    return (text + source[start - expansion.start_byte :]).decode("utf-8", "replace")


def _is_quoted_body(node: Node) -> bool:
    return (
        node.type == "heredoc_body" and node.parent is not None and heredoc_is_quoted(node.parent)
    )


def _is_in_braces(node: Node) -> bool:
    parent = node.parent
    if parent is not None and parent.type == "concatenation":
        parent = parent.parent
    return parent is not None and parent.type == "expansion"
