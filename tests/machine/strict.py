"""A sitting whose every request to the model is judged as the strictest server would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keryx_py.messages import Item, Message, Role, ToolResult
from keryx_py.models.base import Model, ReplyPart, Request
from tests.cases.sitting import Sitting


class JudgedModel:
    """A model that refuses, with a failed assertion, what a strict server would refuse."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def context_tokens(self) -> int | None:
        return self._inner.context_tokens

    def stream(self, request: Request) -> Iterator[ReplyPart]:
        faults = list_faults(request.items)
        assert not faults, faults  # R9
        return self._inner.stream(request)


class StrictSitting(Sitting):
    """A sitting with a judged model."""

    def _load_script(self) -> None:
        super()._load_script()
        self.project.model = JudgedModel(self.project.model)


def list_faults(items: Sequence[Item]) -> list[str]:
    """List what is wrong with a request: who begins and ends, turns of sides, calls and results."""
    faults: list[str] = []
    waiting: list[str] = []
    seen: set[str] = set()
    last: Role | None = None
    for item in items:
        if isinstance(item, ToolResult):
            if not waiting or waiting.pop(0) != item.call_id:
                faults.append(f"a result of {item.call_id} out of its place")
            last = None  # either side may speak after a result
            continue
        if waiting:
            faults.append(f"no result for {', '.join(waiting)}")
        faults += _faults_of(item, last, seen)
        waiting = [call.id for call in item.calls]
        last = item.role
    if waiting:
        faults.append(f"no result for {', '.join(waiting)}")
    if not items or (isinstance(items[0], ToolResult) or items[0].role is not Role.USER):
        faults.append("the person does not begin")
    if last is Role.ASSISTANT:
        faults.append("the assistant has the last word")
    return faults


def _faults_of(message: Message, last: Role | None, seen: set[str]) -> list[str]:
    faults: list[str] = []
    if message.role is last:
        faults.append(f"two messages of the {message.role.value} in a row")
    if not message.text.strip() and not message.calls:
        faults.append("a message without words")
    if message.role is Role.USER and message.calls:
        faults.append("the person makes calls")
    for call in message.calls:
        if not call.id or call.id in seen:
            faults.append(f"the id {call.id!r} is empty or used twice")
        seen.add(call.id)
    return faults
