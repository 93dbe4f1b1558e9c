"""Whether a shell command plainly writes outside the project root, by its text."""

from __future__ import annotations

import os
import posixpath

from keryx_py.tools.shell_parse import DoubtfulError, nodes_below, parse
from keryx_py.tools.shell_redirects import target_of
from keryx_py.tools.shell_words import Word, read_word

_HARMLESS = ("/dev/", "/proc/")


def writes_outside(command: str, root: bytes) -> bool:
    """Say whether *command* writes to a place outside *root* that it names in full.

    What is only known when it runs does not count: False means "not known to".
    """
    try:
        tree = parse(command)
        for node in nodes_below(tree):
            if node.type == "file_redirect" and any(">" in part.type for part in node.children):
                target = target_of(node)
                if target is not None and _is_outside(target, root):
                    return True
            if node.type == "command" and any(
                _is_outside(word, root)
                for word in _written([read_word(child) for child in node.children])
            ):
                return True
    except DoubtfulError:
        return False
    return False


def _written(words: list[Word]) -> list[Word]:
    """List the words that a program of the common ones writes to."""
    match posixpath.basename(words[0].text) if words else "":
        case "touch" | "tee" | "mkdir" | "rm" | "rmdir":
            return words[1:]
        case "cp" | "mv" | "ln" | "install":
            return words[-1:]
        case _:
            return []


def _is_outside(word: Word, root: bytes) -> bool:
    if not word.exact or not word.text.startswith("/") or word.text.startswith(_HARMLESS):
        return False
    place = os.fsencode(os.path.realpath(word.text))
    return not (place + b"/").startswith(root.rstrip(b"/") + b"/")
