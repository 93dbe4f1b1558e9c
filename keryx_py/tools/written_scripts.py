"""Scripts that a command line writes before it runs them: what it puts into which file."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from keryx_py.tools.shell_parse import nodes_below
from keryx_py.tools.shell_redirects import heredoc_text, is_redirect, target_of
from keryx_py.tools.shell_words import Word, joined, read_word

if TYPE_CHECKING:
    from tree_sitter import Node

_WRITERS = frozenset({"echo", "printf"})
_LAST_WRITES = frozenset({"list", "negated_command", "pipeline"})
"""What a redirect after it is the last command's of."""


def written_scripts(root: Node) -> Iterator[tuple[str, Word]]:
    """List the files below *root* whose text is written out there, without their folders."""
    for node in nodes_below(root):
        redirects = [child for child in node.children if is_redirect(child)]
        # What follows `<<END` on its line stands below it.
        below = [child for heredoc in redirects for child in heredoc.children]
        targets = [
            target
            for redirect in (*redirects, *below)
            if redirect.type == "file_redirect" and _writes(redirect)
            if (target := target_of(redirect)) is not None and target.exact
        ]
        if targets and (text := _text_written(node, redirects)) is not None:
            yield from ((posixpath.basename(target.text), text) for target in targets)


def _writes(redirect: Node) -> bool:
    return any(child.type in (">", ">>", ">|") for child in redirect.children)


def _text_written(node: Node, redirects: list[Node]) -> Word | None:
    """The text that the command with these *redirects* writes; None when it is not its own."""
    for redirect in redirects:
        if redirect.type == "heredoc_redirect":
            return heredoc_text(redirect)
        if redirect.type == "herestring_redirect":
            return read_word(redirect.children[-1])
    command = node if node.type == "command" else node.children[0]
    while command.type in _LAST_WRITES:
        command = command.children[-1]
    words = words_of(command)
    if command.type == "command" and words and words[0].text in _WRITERS:
        return joined(words[1:])
    return None


def words_of(command: Node) -> list[Word]:
    """Read the program and the arguments of *command*, without assignments and redirects."""
    return [
        read_word(child)
        for child in command.children
        if not is_redirect(child) and child.type != "variable_assignment"
    ]
