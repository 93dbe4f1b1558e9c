"""Small rules on the text that goes to and comes from models. Nothing here does anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from keryx_py.messages import Item, Message


def pieces(text: str, count: int = 4) -> Iterator[str]:
    """Cut *text* into about *count* pieces at blanks, so that it can be streamed."""
    size = max(1, -(-len(text) // count))
    start = 0
    while start < len(text):
        end = text.find(" ", start + size - 1)
        end = len(text) if end < 0 else end + 1
        yield text[start:end]
        start = end


def whole_characters(text: str) -> str:
    """Return *text* with surrogate pairs joined and lone surrogates replaced, fit for UTF-8."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class CharacterJoiner:
    """Makes whole characters of text that comes in pieces, where a pair may be split."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Return what *text* completes; a first half at its end waits for the second."""
        text = self._held + text
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return whole_characters(text)

    def end(self) -> str:
        """Return what still waits, made whole."""
        held, self._held = self._held, ""
        return whole_characters(held)


def call_ids(items: Iterable[Item]) -> set[str]:
    """Return the ids of all calls in *items*."""
    return {call.id for item in items if isinstance(item, Message) for call in item.calls}


def fresh_id(taken: set[str], prefix: str = "call") -> str:
    """Return an id that is not in *taken*, and add it there."""
    number = len(taken) + 1
    while f"{prefix}_{number}" in taken:
        number += 1
    taken.add(f"{prefix}_{number}")
    return f"{prefix}_{number}"
