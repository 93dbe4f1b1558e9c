"""Notice a server that silently cuts the conversation it is sent. Nothing here asks it anything."""

from __future__ import annotations

from dataclasses import dataclass

from keryx_py.messages import Message, Usage
from keryx_py.models.base import Request

_ENOUGH = 200
"""Characters that any tokenizer counts as more than nothing."""


@dataclass(frozen=True, slots=True)
class _Counted:
    request: Request
    tokens: int


class GrowthWatch:
    """Compares what the server counts with what it was sent, from one request to the next."""

    def __init__(self) -> None:
        self._before: _Counted | None = None
        self._told = False

    def seems_cut(self, request: Request, usage: Usage | None) -> bool:
        """Tell, once, whether *request* went on from the one before and was counted as no more."""
        if usage is None or usage.input_tokens <= 0:
            return False
        before, self._before = self._before, _Counted(request, usage.input_tokens)
        if self._told or before is None or usage.input_tokens > before.tokens:
            return False
        self._told = _goes_on(before.request, request)
        return self._told


def _goes_on(first: Request, second: Request) -> bool:
    length = len(first.items)
    return (
        second.items[:length] == first.items
        and (second.system, second.tools) == (first.system, first.tools)
        and sum(
            len(item.text) if isinstance(item, Message) else len(item.output)
            for item in second.items[length:]
        )
        >= _ENOUGH
    )
