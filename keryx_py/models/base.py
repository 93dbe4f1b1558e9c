"""What every model can do: answer a request, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from keryx_py.errors import KeryxError
from keryx_py.messages import Item, Message, ToolSpec, Usage


class ModelError(KeryxError):
    """The model gave no usable answer; the text says why and what to do."""


class ContextTooLongError(ModelError):
    """The server refused the request because the context is too long for the model."""


@dataclass(frozen=True, slots=True)
class Request:
    """All that a model is asked in one step."""

    system: str
    items: tuple[Item, ...]
    tools: tuple[ToolSpec, ...]
    """Empty when no call is wanted, as for a summary."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the person should know while waiting, such as a retry."""

    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The whole answer, once it is there."""

    message: Message
    usage: Usage | None
    """None when the server counted nothing."""


ReplyPart: TypeAlias = TextDelta | Notice | Reply


class Model(Protocol):
    """Somebody who answers."""

    @property
    def name(self) -> str:
        """The name that `--model` takes."""

    @property
    def context_tokens(self) -> int | None:
        """The window's size in tokens, or None when the model does not say."""

    def stream(self, request: Request) -> Iterator[ReplyPart]:
        """Yield the answer to *request* as it comes; the last part is the one Reply.

        Closing the iterator, also by an exception such as KeyboardInterrupt, ends the request.
        Raises ModelError when there is no whole answer.
        """
