"""Summarise a conversation plainly: the prompts, what was done, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from keryx_py.messages import Item, Message, Role, ToolCall, ToolResult
from keryx_py.models.prompts import SUMMARY_END, SUMMARY_START, calls_with_results, prompt_of

MOST_CHARACTERS = 4000
_DONE = {
    "write_file": "wrote",
    "edit_file": "edited",
    "move_file": "moved",
    "delete_file": "deleted",
    "shell_exec": "ran",
    "delegate": "delegated",
}
_NAMED_BY = ("path", "source", "command", "task", "pattern")


def summarise(items: Sequence[Item]) -> str:
    """Summarise *items*, whose last user message is the request for the summary."""
    lines = [line for turn in _turns(items)[:-1] for line in _turn_lines(turn)]
    if not lines:
        return "Nothing was said or done yet."
    return _bounded(lines)


def _turns(items: Sequence[Item]) -> list[list[Item]]:
    turns: list[list[Item]] = []
    for item in items:
        if not turns or (isinstance(item, Message) and item.role is Role.USER):
            turns.append([])
        turns[-1].append(item)
    return turns


def _turn_lines(turn: Sequence[Item]) -> Iterator[str]:
    first, said = turn[0], ""
    if isinstance(first, Message) and first.role is Role.USER:
        yield from _earlier(first.text)
        yield f"- Asked: {_short(prompt_of(first.text), 200)}"
    for call, result in calls_with_results(turn):
        if call.tool in _DONE:
            yield f"  - {_call_line(call, result)}"
    for item in turn:
        if isinstance(item, Message) and item.role is Role.ASSISTANT and item.text.strip():
            said = item.text
    if said:
        yield f"  - Answered: {_short(said, 200)}"


def _earlier(text: str) -> Iterator[str]:
    """Yield the lines of the summary that *text* carries, if it does."""
    before, found, _ = text.rpartition(SUMMARY_END)
    if found:
        yield from before.partition(SUMMARY_START)[2].strip("\n").splitlines()


def _call_line(call: ToolCall, result: ToolResult | None) -> str:
    line = f"{_DONE[call.tool]} {_short(_subject(call), 120)}"
    if result is None:
        return f"{line} (interrupted)"
    return line if result.ok else f"{line} (did not work: {_short(result.output, 120)})"


def _subject(call: ToolCall) -> str:
    try:
        args = json.loads(call.args)
    except (ValueError, RecursionError):
        return call.args
    if not isinstance(args, dict):
        return call.args
    named = next((str(args[key]) for key in _NAMED_BY if key in args), "")
    return f"{named} to {args['target']}" if "target" in args else named


def _bounded(lines: Sequence[str]) -> str:
    """Join *lines*, leaving out from the middle what is too much."""
    head: list[str] = []
    room = MOST_CHARACTERS // 4
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        head.append(line)
    tail: list[str] = []
    room = MOST_CHARACTERS - MOST_CHARACTERS // 4 - 40
    for line in reversed(lines[len(head) :]):
        room -= len(line) + 1
        if room < 0:
            break
        tail.insert(0, line)
    missing = len(lines) - len(head) - len(tail)
    return "\n".join([*head, *([f"- … {missing} lines left out"] if missing else []), *tail])


def _short(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
