"""What stands at a redirect in a parsed shell command: targets, texts, and words gone astray."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from keryx_py.tools.shell_parse import heredoc_is_quoted, text_of_node
from keryx_py.tools.shell_words import UNKNOWN, Word, read_word

if TYPE_CHECKING:
    from tree_sitter import Node

# What else the parser puts below a redirect: the parts of a heredoc, and what follows on its line.
_NO_WORDS = frozenset(
    {"file_descriptor", "heredoc_start", "heredoc_body", "heredoc_end", "pipeline", "command"}
    | {"list", "redirected_statement", "file_redirect", "herestring_redirect"}
)


def is_redirect(node: Node) -> bool:
    """Say whether *node* redirects."""
    return node.type in ("file_redirect", "heredoc_redirect", "herestring_redirect")


def _words_in(redirect: Node) -> list[Word]:
    return [
        read_word(child)
        for child in redirect.children
        if child.is_named and child.type not in _NO_WORDS
    ]


def words_after(redirect: Node) -> list[Word]:
    """Read the words that the parser put to *redirect*, but that are the command's own."""
    match redirect.type:
        case "file_redirect":
            return _words_in(redirect)[1:]
        case "heredoc_redirect":
            nested = [word for child in redirect.children for word in _words_of_nested(child)]
            return [*_words_in(redirect), *nested]
        case _:
            return []


def _words_of_nested(node: Node) -> list[Word]:
    return words_after(node) if node.type == "file_redirect" else []


def target_of(redirect: Node) -> Word | None:
    """Read where *redirect* reads or writes; None when it names no file."""
    words = _words_in(redirect)
    return words[0] if words else None


def heredoc_text(heredoc: Node) -> Word:
    """Read the body of *heredoc*."""
    for child in heredoc.children:
        if child.type == "heredoc_body":
            text = text_of_node(child)
            if heredoc_is_quoted(heredoc):
                return Word(text)
            if any("expansion" in c.type or "substitution" in c.type for c in child.children):
                return UNKNOWN
            return Word(re.sub(r"\\([\\$`\n])", r"\1", text))
    return Word("")
