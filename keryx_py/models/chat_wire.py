"""A request in the words of the OpenAI chat protocol. Nothing here sends it."""

from __future__ import annotations

from collections.abc import Iterable

from keryx_py.messages import Item, JsonValue, Role, ToolCall, ToolResult, ToolSpec
from keryx_py.models.base import Request
from keryx_py.models.pieces import whole_characters
from keryx_py.models.wire import EMPTY, tidy


def chat_body(model: str, request: Request, *, usage: bool) -> dict[str, JsonValue]:
    """Return the body of *request* for *model*; *usage* asks the server to count tokens."""
    body: dict[str, JsonValue] = {
        "model": model,
        "messages": chat_messages(request.system, request.items),
        "stream": True,
    }
    if usage:
        body["stream_options"] = {"include_usage": True}
    # An empty list is refused by some servers.
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body


def chat_messages(system: str, items: Iterable[Item]) -> list[JsonValue]:
    """Return *system* and *items* as the protocol's messages."""
    messages: list[JsonValue] = []
    if system.strip():
        messages.append({"role": "system", "content": whole_characters(system)})
    messages.extend(_message(item) for item in tidy(items))
    return messages


def _message(item: Item) -> dict[str, JsonValue]:
    if isinstance(item, ToolResult):
        output = item.output if item.output.strip() else EMPTY
        return {"role": "tool", "tool_call_id": item.call_id, "content": output}
    if item.role is Role.USER:
        return {"role": "user", "content": item.text}
    # The empty text, not null: many chat templates take the length of it.
    message: dict[str, JsonValue] = {"role": "assistant", "content": item.text}
    if item.calls:
        message["tool_calls"] = [_call(call) for call in item.calls]
    return message


def _call(call: ToolCall) -> JsonValue:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.tool, "arguments": call.args},
    }


def _tool(tool: ToolSpec) -> JsonValue:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        },
    }
