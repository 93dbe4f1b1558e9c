"""Find the person's prompt in a context. Nothing here answers it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from keryx_py.messages import Item, Message, Role, ToolCall, ToolResult
from keryx_py.models.phrases import Phrase

SUMMARY_START = "[Summary of the conversation so far]"
SUMMARY_END = "[End of summary]"


def prompt_of(text: str) -> str:
    """Return the prompt in a user message's *text*, less a summary and notes before it."""
    rest = text.rpartition(SUMMARY_END)[2].strip("\n")
    while rest.startswith("["):
        block, blank, after = rest.partition("\n\n")
        if not blank or not block.rstrip().endswith("]"):
            break
        rest = after.lstrip("\n")
    return rest.strip()


def last_block(text: str) -> str:
    """Return the last paragraph of *text*; a blank line inside quotes ends none.

    A prompt that was never answered is joined to the next one: only the last is meant now.
    """
    mask = Phrase(text).mask
    start = 0
    for gap in re.finditer(r"\n[ \t]*\n\s*", mask):
        # A block of text belongs to the instruction before it.
        if not text.startswith("```", gap.end()):
            start = gap.end()
    return text[start:]


def prompts(items: Sequence[Item]) -> tuple[str, ...]:
    """Return every prompt in *items*, oldest first."""
    return tuple(
        prompt_of(item.text)
        for item in items
        if isinstance(item, Message) and item.role is Role.USER
    )


def since_prompt(items: Sequence[Item]) -> tuple[Item, ...]:
    """Return what followed the last user message."""
    for at in range(len(items) - 1, -1, -1):
        item = items[at]
        if isinstance(item, Message) and item.role is Role.USER:
            return tuple(items[at + 1 :])
    return tuple(items)


def calls_with_results(items: Sequence[Item]) -> Iterator[tuple[ToolCall, ToolResult | None]]:
    """Yield each call in *items* with its result; None while there is none."""
    for at, item in enumerate(items):
        if not isinstance(item, Message) or not item.calls:
            continue
        results: dict[str, ToolResult] = {}
        for later in items[at + 1 :]:
            if isinstance(later, Message):
                break
            results[later.call_id] = later
        for call in item.calls:
            yield call, results.get(call.id)
