"""Put the events of an Anthropic message stream together. Nothing here reads a socket."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from keryx_py.messages import JsonValue, Thinking, ToolCall, Usage
from keryx_py.models.pieces import CharacterJoiner, fresh_id, whole_characters

_THINKING = frozenset({"thinking", "redacted_thinking"})
_INPUT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
# Which field of a block each kind of delta adds to.
_ADDS_TO: Mapping[str, str] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}


@dataclass(slots=True)
class _Block:
    """One block of the answer, as it began, and what was added to its fields."""

    began: Mapping[str, JsonValue]
    added: dict[str, list[str]] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return _text(self.began.get("type"))

    def whole(self, name: str) -> str:
        return _text(self.began.get(name)) + "".join(self.added.get(name, ()))


class MessageAnswer:
    """Grows one answer from the events of a message stream."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._joiner = CharacterJoiner()
        self._counts: dict[str, int] = {}
        self.finish = ""
        """Why the model stopped; empty until it is known."""

    def feed(self, event: Mapping[str, JsonValue]) -> str:
        """Take *event*; return the text that it adds."""
        match event.get("type"):
            case "message_start":
                message = _table(event.get("message"))
                self._count(message.get("usage"))
            case "content_block_start":
                return self._begin(_number(event.get("index")), _table(event.get("content_block")))
            case "content_block_delta":
                return self._add(_number(event.get("index")), _table(event.get("delta")))
            case "message_delta":
                self.finish = _text(_table(event.get("delta")).get("stop_reason")) or self.finish
                self._count(event.get("usage"))
            case _:
                pass
        return ""

    def _begin(self, index: int, block: Mapping[str, JsonValue]) -> str:
        self._blocks[index] = _Block(block)
        return self._joiner.feed(_text(block.get("text"))) if block.get("type") == "text" else ""

    def _add(self, index: int, delta: Mapping[str, JsonValue]) -> str:
        block = self._blocks.get(index)
        name = _ADDS_TO.get(_text(delta.get("type")))
        if block is None or name is None:
            return ""
        piece = _text(delta.get(name))
        block.added.setdefault(name, []).append(piece)
        return self._joiner.feed(piece) if name == "text" else ""

    def _count(self, usage: JsonValue) -> None:
        for name, count in _table(usage).items():
            if isinstance(count, int) and not isinstance(count, bool):
                self._counts[name] = count

    def end(self) -> str:
        """Return the text that was still held back."""
        return self._joiner.end()

    @property
    def usage(self) -> Usage | None:
        """The tokens counted, those read from the server's cache among them."""
        if not self._counts:
            return None
        total = sum(self._counts.get(name, 0) for name in _INPUT_COUNTS)
        return Usage(total, self._counts.get("output_tokens", 0))

    @property
    def text(self) -> str:
        """The text of all blocks."""
        return whole_characters("".join(block.whole("text") for block in self._of("text")))

    def calls(self, taken: Iterable[str] = ()) -> tuple[ToolCall, ...]:
        """Return the calls, each with an id that is neither missing nor twice nor in *taken*."""
        used = set(taken)
        return tuple(_call(block, used) for block in self._of("tool_use"))

    def thinking(self, model: str) -> tuple[Thinking, ...]:
        """Return the blocks of thinking of *model*, as they have to go back."""
        return tuple(Thinking(model, _block_text(block)) for block in self._of(*_THINKING))

    def _of(self, *kinds: str) -> list[_Block]:
        return [block for _, block in sorted(self._blocks.items()) if block.kind in kinds]


def _call(block: _Block, used: set[str]) -> ToolCall:
    call_id = _text(block.began.get("id"))
    call_id = call_id if call_id and call_id not in used else fresh_id(used)
    used.add(call_id)
    began = block.began.get("input")
    arguments = block.whole("partial_json") or (json.dumps(began) if began else "{}")
    return ToolCall(call_id, _text(block.began.get("name")), whole_characters(arguments))


def _block_text(block: _Block) -> str:
    whole = {**block.began, **{name: block.whole(name) for name in block.added}}
    return whole_characters(json.dumps(whole, ensure_ascii=False))


def _table(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, Mapping) else {}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
