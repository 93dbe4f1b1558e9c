"""What the tab key offers: commands and their arguments, and paths in prompts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from keryx_py.shell.hints import Hint, Offer
from keryx_py.shell.line import UsageError, quote_word, split_words
from keryx_py.shell.visible import shown_name

MOST_PATHS = 200


Offers = Callable[[Hint], Iterable[Offer]]


class ShellCompleter(Completer):
    """Completes lines of the shell."""

    def __init__(
        self, commands: Mapping[str, tuple[Hint, ...]], offers: Offers, root: Callable[[], Path]
    ) -> None:
        """*commands* gives each command's arguments; its last hint stands for all that follow."""
        self._commands = commands
        self._offers = offers
        self._root = root

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """Offer what could stand at the cursor."""
        before = document.text_before_cursor
        if before.startswith("/") and not before.startswith("//"):
            return self._in_command(before[1:])
        return self._in_prompt(before)

    def _in_command(self, before: str) -> Iterator[Completion]:
        name, blank, rest = before.partition(" ")
        if not blank:
            names = (Offer(known) for known in self._commands)
            return _matching(names, name)
        hints = self._commands.get(name, ())
        typed = re.split(r"[ \t\n]", rest)[-1]
        done = _words_before(rest[: len(rest) - len(typed)])
        if not hints or done is None:
            return iter(())
        hint = hints[min(done, len(hints) - 1)]
        if hint is Hint.PATH:
            return _paths(self._root(), typed, quote_word)
        if hint is Hint.REWOUND:
            options = _matching(self._offers(hint), typed)
            return chain(options, _paths(self._root(), typed, quote_word))
        return _matching(self._offers(hint), typed)

    def _in_prompt(self, before: str) -> Iterator[Completion]:
        found = re.search(r"(?:^|\s)@(\S*)$", before)
        return _paths(self._root(), found[1], str) if found else iter(())


def _words_before(text: str) -> int | None:
    try:
        return len(split_words(text))
    except UsageError:
        return None


def _matching(offers: Iterable[Offer], typed: str) -> Iterator[Completion]:
    for offer in offers:
        if offer.text.startswith(typed):
            yield Completion(offer.text, -len(typed), display_meta=offer.about)


def _paths(root: Path, typed: str, written: Callable[[str], str]) -> Iterator[Completion]:
    folder, _, start = typed.rpartition("/")
    try:
        with os.scandir(root / folder if folder else root) as found:
            entries = [entry for entry in found if _is_offered(entry.name, start)]
    except (OSError, ValueError):
        return
    for entry in sorted(entries, key=lambda entry: entry.name)[:MOST_PATHS]:
        path = f"{folder}/{entry.name}" if folder else entry.name
        end = "/" if entry.is_dir(follow_symlinks=False) else ""
        yield Completion(written(path + end), -len(typed), display=shown_name(entry.name) + end)


def _is_offered(name: str, start: str) -> bool:
    return name.startswith(start) and name != ".git" and (start.startswith(".") or name[:1] != ".")
