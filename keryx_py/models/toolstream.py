"""Put the pieces of a chat-completions stream together. Nothing here reads a socket.

Servers differ in every detail of these pieces; the rules for telling one call from the next are
here and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from keryx_py.messages import JsonValue, ToolCall, Usage
from keryx_py.models.pieces import CharacterJoiner, fresh_id, whole_characters
from keryx_py.models.wire import json_object


@dataclass(slots=True)
class _Growing:
    """One call, while its pieces come."""

    index: int | None
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    @property
    def begun(self) -> bool:
        return bool(self.id or self.name or self.arguments)


class CallAssembler:
    """Grows the calls of one reply from their deltas."""

    def __init__(self) -> None:
        self._calls: list[_Growing] = []

    def feed(self, deltas: JsonValue) -> None:
        """Take the `tool_calls` of one delta; anything that is none of them is passed over."""
        for delta in deltas if isinstance(deltas, list) else ():
            if isinstance(delta, Mapping):
                self._take(delta)

    def _take(self, delta: Mapping[str, JsonValue]) -> None:
        function = delta.get("function")
        function = function if isinstance(function, Mapping) else {}
        name, arguments = _text(function.get("name")), _arguments(function.get("arguments"))
        call = self._call_for(_index(delta), _text(delta.get("id")))
        if not delta.get("id") and name and arguments and json_object("".join(call.arguments)):
            # A whole call, then a name and arguments once more, with no ids: another call.
            call = self._begin(call.index)
        # The name comes once, whole; some servers send it again with every piece.
        call.name = call.name or name
        if arguments:
            call.arguments.append(arguments)

    def _call_for(self, index: int | None, call_id: str) -> _Growing:
        """Find the call that a delta continues, or begin one.

        A new index begins one, and so does an id that differs from the one at that index: some
        servers send index 0 with every call. Without an index, only a new id begins one.
        """
        there = [call for call in self._calls if index is None or call.index == index]
        for call in reversed(there):
            if call_id and call.id == call_id:
                return call
        if there and (not call_id or (index is not None and not there[-1].id)):
            there[-1].id = there[-1].id or call_id
            return there[-1]
        begun = self._begin(index)
        begun.id = call_id
        return begun

    def _begin(self, index: int | None) -> _Growing:
        self._calls.append(_Growing(index))
        return self._calls[-1]

    def calls(self, taken: Set[str] = frozenset()) -> tuple[ToolCall, ...]:
        """Return the calls, each with an id that is neither missing nor twice nor in *taken*."""
        used = set(taken)
        return tuple(_whole(call, used) for call in self._calls if call.begun and call.name)


def _whole(call: _Growing, used: set[str]) -> ToolCall:
    # The id of an earlier reply may come again from a server that counts from 1 in each.
    call_id = call.id if call.id and call.id not in used else fresh_id(used)
    used.add(call_id)
    arguments = whole_characters("".join(call.arguments))
    return ToolCall(whole_characters(call_id), whole_characters(call.name), arguments)


class ChatAnswer:
    """Grows one answer from the chunks of a chat-completions stream."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._joiner = CharacterJoiner()
        self._calls = CallAssembler()
        self.finish = ""
        """Why the server ended the answer; empty until it says so."""
        self.usage: Usage | None = None

    def feed(self, chunk: Mapping[str, JsonValue]) -> str:
        """Take *chunk*; return the text that it adds."""
        self.usage = _usage(chunk.get("usage")) or self.usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, Mapping) and choice.get("index", 0) in (0, None):
                return self._choice(choice)
        return ""

    def _choice(self, choice: Mapping[str, JsonValue]) -> str:
        self.finish = _text(choice.get("finish_reason")) or self.finish
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            return ""
        self._calls.feed(delta.get("tool_calls"))
        return self._add(_text(delta.get("content")) or _text(delta.get("refusal")))

    def end(self) -> str:
        """Return the text that was still held back."""
        rest = self._joiner.end()
        self._text.append(rest)
        return rest

    def _add(self, piece: str) -> str:
        whole = self._joiner.feed(piece)
        self._text.append(whole)
        return whole

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._text)

    def calls(self, taken: Iterable[str] = ()) -> tuple[ToolCall, ...]:
        """Return the calls; only sensible once the stream has ended."""
        return self._calls.calls(frozenset(taken))


def _index(delta: Mapping[str, JsonValue]) -> int | None:
    index = delta.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _arguments(value: JsonValue) -> str:
    # An object where the protocol has its text.
    return json.dumps(value) if isinstance(value, Mapping) else _text(value)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _usage(value: JsonValue) -> Usage | None:
    if not isinstance(value, Mapping):
        return None
    counts = [value.get("prompt_tokens"), value.get("completion_tokens")]
    known = [count if isinstance(count, int) else 0 for count in counts]
    return Usage(known[0], known[1]) if any(known) else None
