"""Make a context fit for any server before it is sent. Nothing here sends it.

One bad item would have every later request refused: so no text that UTF-8 cannot hold, no arguments
that are no JSON object, no odd tool names, no call id twice, no empty message, no role twice in a
row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from keryx_py.messages import Item, JsonValue, Message, Role, ToolCall, ToolResult
from keryx_py.models.pieces import fresh_id, whole_characters

EMPTY = "(empty)"
"""Stands for a user's message or a result without text, which servers refuse."""


def tidy(items: Iterable[Item]) -> tuple[Item, ...]:
    """Return *items* as any server takes them."""
    return tuple(_with_unique_ids(_merged(_cleaned(items))))


def json_object(text: str) -> Mapping[str, JsonValue] | None:
    """Return the JSON object that *text* is; None when it is anything else."""
    try:
        found = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def arguments_object(text: str) -> Mapping[str, JsonValue]:
    """Return a call's arguments *text* as an object, also when the model wrote something else."""
    if not text.strip():
        return {}
    found = json_object(text)
    return {"not_valid_json": whole_characters(text)} if found is None else found


def _refuse(constant: str) -> JsonValue:
    raise ValueError(f"{constant} is no JSON")


def _cleaned(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, ToolResult):
            yield replace(item, output=whole_characters(item.output))
            continue
        calls = tuple(
            ToolCall(call.id, _tool_name(call.tool), _arguments_text(call.args))
            for call in item.calls
        )
        text = whole_characters(item.text)
        if item.role is Role.USER:
            yield replace(item, text=text if text.strip() else EMPTY)
        elif text.strip() or calls:
            yield replace(item, text=text if text.strip() else "", calls=calls)


def _arguments_text(text: str) -> str:
    return whole_characters(json.dumps(arguments_object(text), ensure_ascii=False))


def _tool_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unknown"


def _merged(items: Iterable[Item]) -> Iterator[Item]:
    last: Item | None = None
    for item in items:
        if isinstance(last, Message) and isinstance(item, Message) and _joinable(last, item):
            last = _joined(last, item)
            continue
        if last is not None:
            yield last
        last = item
    if last is not None:
        yield last


def _joinable(first: Message, second: Message) -> bool:
    return first.role is second.role and not first.calls


def _joined(first: Message, second: Message) -> Message:
    text = "\n\n".join(text for text in (first.text, second.text) if text)
    return Message(first.role, text, second.calls, first.thinking + second.thinking)


def _with_unique_ids(items: Iterable[Item]) -> Iterator[Item]:
    taken: set[str] = set()
    now: dict[str, str] = {}
    for item in items:
        if isinstance(item, ToolResult):
            yield replace(item, call_id=now.get(item.call_id, item.call_id))
        elif item.calls:
            calls, now = _renamed(item.calls, taken)
            yield replace(item, calls=calls)
        else:
            yield item


def _renamed(
    calls: Sequence[ToolCall], taken: set[str]
) -> tuple[tuple[ToolCall, ...], dict[str, str]]:
    """Give *calls* ids that are valid and not *taken*; say which id each old one became."""
    now: dict[str, str] = {}
    renamed: list[ToolCall] = []
    for call in calls:
        fits = re.fullmatch(r"[A-Za-z0-9_-]{1,40}", call.id) and call.id not in taken
        new = call.id if fits else fresh_id(taken)
        taken.add(new)
        now[call.id] = new
        renamed.append(replace(call, id=new))
    return tuple(renamed), now
