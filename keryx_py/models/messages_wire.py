"""A request in the words of Anthropic's messages protocol. Nothing here sends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from keryx_py.messages import Item, JsonValue, Message, Role, Thinking, ToolResult, ToolSpec
from keryx_py.models.base import Request
from keryx_py.models.pieces import whole_characters
from keryx_py.models.wire import EMPTY, json_object, tidy

_CACHED: JsonValue = {"type": "ephemeral"}


def messages_body(
    model: str, maker: str, request: Request, *, max_tokens: int
) -> dict[str, JsonValue]:
    """Return the body of *request* for *model*, whose thinking is that of *maker*."""
    turns = _turns(tidy(request.items), maker)
    _mark_cached(turns)
    body: dict[str, JsonValue] = {
        "model": model,
        "max_tokens": max_tokens,
        "messages": [{"role": role, "content": blocks} for role, blocks in turns],
        "stream": True,
    }
    if request.system.strip():
        text = whole_characters(request.system)
        body["system"] = [{"type": "text", "text": text, "cache_control": _CACHED}]
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    elif used := _tools_used(request.items):
        # Calls in the context are refused without their tools; "none" keeps them from being made.
        body["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in used]
        body["tool_choice"] = {"type": "none"}
    return body


def _turns(items: Iterable[Item], maker: str) -> list[tuple[str, list[JsonValue]]]:
    """Return *items* as messages whose roles alternate: results belong to the user's."""
    turns: list[tuple[str, list[JsonValue]]] = []
    for item in items:
        assistant = isinstance(item, Message) and item.role is Role.ASSISTANT
        role = "assistant" if assistant else "user"
        if not turns or turns[-1][0] != role:
            turns.append((role, []))
        turns[-1][1].extend(_blocks(item, maker))
    return turns


def _blocks(item: Item, maker: str) -> Iterator[JsonValue]:
    if isinstance(item, ToolResult):
        yield {
            "type": "tool_result",
            "tool_use_id": item.call_id,
            "content": item.output if item.output.strip() else EMPTY,
            "is_error": not item.ok,
        }
        return
    yield from _thinking(item.thinking, maker)
    # A block of blanks alone is refused.
    if item.text.strip():
        yield {"type": "text", "text": item.text}
    for call in item.calls:
        yield {
            "type": "tool_use",
            "id": call.id,
            "name": call.tool,
            "input": json_object(call.args) or {},
        }


def _thinking(blocks: Iterable[Thinking], maker: str) -> Iterator[JsonValue]:
    for block in blocks:
        if block.model == maker and (data := json_object(block.data)) is not None:
            yield data


def _mark_cached(turns: list[tuple[str, list[JsonValue]]]) -> None:
    """Ask the server to remember everything up to the last block, for the next step."""
    last = turns[-1][1][-1] if turns else None
    if isinstance(last, dict) and turns[-1][0] == "user":
        last["cache_control"] = _CACHED


def _tools_used(items: Iterable[Item]) -> list[str]:
    calls = (call for item in tidy(items) if isinstance(item, Message) for call in item.calls)
    return list(dict.fromkeys(call.tool for call in calls))


def _tool(tool: ToolSpec) -> JsonValue:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.parameters),
    }
