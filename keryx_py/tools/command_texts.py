"""Words that are command lines of their own, because of the option or the sign before them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from keryx_py.tools.shell_words import Word

_OPTIONS: dict[str, tuple[str, ...]] = {
    "complete": ("-C",),
    "man": ("--pager", "-P"),
    "mapfile": ("-C",),
    "readarray": ("-C",),
    "rsync": ("--rsh", "--rsync-path", "-e"),
    "sort": ("--compress-program",),
    "split": ("--filter",),
    "tar": (
        *("--to-command", "--use-compress-program", "-I", "--rsh-command", "--rmt-command"),
        *("--info-script", "--new-volume-script", "-F", "--checkpoint-action=exec"),
    ),
    "git difftool": ("--extcmd", "-x"),
    "git grep": ("--open-files-in-pager", "-O"),
}
_SIGNS = {
    "ssh": re.compile(r"(?:-o)?\s*(?:proxy|local|knownhosts)command[=\s]+(.*)", re.I | re.S),
    "less": re.compile(r"\+?:?!(.*)", re.S),
    # A remote of this kind is a command.
    "git": re.compile(r".*?ext::(.*)", re.S),
}
_LIKE = {"scp": "ssh", "sftp": "ssh"} | dict.fromkeys(("more", "ex", "vi", "vim", "nvim"), "less")


def command_texts(name: str, args: Sequence[Word]) -> Iterator[Word]:
    """List the words among *args* that the program *name* runs as shell code."""
    yield from _values(args, _OPTIONS.get(name, ()))
    if name == "git":
        for subcommand in ("difftool", "grep"):
            if any(word.text == subcommand for word in args):
                yield from _values(args, _OPTIONS[f"git {subcommand}"])
    sign = _SIGNS.get(_LIKE.get(name, name))
    if sign is not None:
        for word in args:
            if match := sign.fullmatch(word.text):
                yield Word(match[1], word.splits)


def _values(args: Sequence[Word], options: Sequence[str]) -> Iterator[Word]:
    """Read the values of *options*: joined to them, or in the next word."""
    for index, word in enumerate(args):
        for option in options:
            if word.text == option:
                yield from args[index + 1 : index + 2]
            elif word.text.startswith(f"{option}="):
                yield Word(word.text.removeprefix(f"{option}="), word.splits)
            elif not option.startswith("--") and word.text.startswith(option):
                yield Word(word.text.removeprefix(option), word.splits)
