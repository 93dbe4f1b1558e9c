"""What the model, the agent and the tools exchange: plain values, nothing that acts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | Mapping[str, JsonValue] | None"
"""Anything that JSON can say."""


class Role(Enum):
    """Who speaks in a message."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to use a tool."""

    id: str
    tool: str
    args: str
    """The arguments as the model wrote them: JSON text, not yet judged valid."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """A block of a model's thinking, which goes back unchanged, and only to its maker."""

    model: str
    data: str
    """The whole block as JSON text, signature included."""


@dataclass(frozen=True, slots=True)
class Message:
    """What one side said in one go."""

    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()
    thinking: tuple[Thinking, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of one call, as the model is told."""

    call_id: str
    output: str
    ok: bool


Item: TypeAlias = Message | ToolResult
"""One thing in a context. Results follow the message that made the calls, in order."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told of a tool."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]
    """A JSON schema of type object."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that the server counted for one request."""

    input_tokens: int
    output_tokens: int
