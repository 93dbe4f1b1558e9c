"""Which git commands in a shell command move a HEAD or a remote, by its text.

No repository is looked at: this says what the command was written to do. What is only known when
it runs does not count.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from keryx_py.tools.git_risk import after_options
from keryx_py.tools.shell_parse import DoubtfulError, nodes_below, parse
from keryx_py.tools.shell_redirects import is_redirect
from keryx_py.tools.shell_runners import RunsText, RunsWords, what_runs
from keryx_py.tools.shell_words import Word, read_word

_MOVES = frozenset(
    {"am", "checkout", "cherry-pick", "commit", "commit-tree", "filter-branch", "filter-repo"}
    | {"merge", "pull", "push", "rebase", "reset", "revert", "switch", "update-ref"}
)
_MOST_DEPTH = 8


def git_moves(command: str) -> tuple[str, ...]:
    """Name git's subcommands in *command* that commit, move a HEAD or push, each once, in order.

    Never raises: in a command that cannot be parsed none is found.
    """
    try:
        return tuple(dict.fromkeys(_in_text(command, 0)))
    except (DoubtfulError, RecursionError):
        return ()


def _in_text(text: str, depth: int) -> Iterator[str]:
    if depth > _MOST_DEPTH:
        return
    for node in nodes_below(parse(text)):
        if node.type == "command":
            words = [
                read_word(child)
                for child in node.children
                if not is_redirect(child) and child.type != "variable_assignment"
            ]
            yield from _in_words(words, depth)


def _in_words(words: Sequence[Word], depth: int) -> Iterator[str]:
    if not words or not words[0].exact or depth > _MOST_DEPTH:
        return
    name, args = posixpath.basename(words[0].text).lower(), words[1:]
    if name == "git":
        yield from _moved_by(args)
        return
    for run in what_runs(name, args):
        match run:
            case RunsWords(inner):
                yield from _in_words(inner, depth + 1)
            case RunsText(text) if text.exact:
                yield from _in_text(text.text, depth + 1)
            case _:
                pass


def _moved_by(args: Sequence[Word]) -> Iterator[str]:
    rest = after_options(args)
    if not rest or not rest[0].exact:
        return
    name, given = rest[0].text.lower(), [word.text for word in rest[1:]]
    before_paths = given[: given.index("--")] if "--" in given else given
    asks_only = {"--dry-run", "-h", "--help"} & set(before_paths)
    # With paths after --, checkout and reset move files and the index, but no HEAD.
    takes_paths = name in ("checkout", "reset") and "--" in given[:-1]
    if name in _MOVES and not asks_only and not takes_paths:
        yield name
