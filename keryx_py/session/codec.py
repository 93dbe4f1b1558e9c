"""Entries as JSON objects and back. Nothing here touches a disk.

Each kind has one name, written down once; what is read is checked field by field, so that a
line of another make becomes an error here and not a surprise later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, TypeVar, assert_never

from keryx_py.messages import Item, JsonValue, Message, Role, Thinking, ToolCall, ToolResult
from keryx_py.session.archive import (
    CaptureEntry,
    CheckpointEntry,
    CompactionEntry,
    DamagedEntry,
    Entry,
    ErasedEntry,
    ItemEntry,
    Mode,
    PrunedEntry,
    RanEntry,
    RedoEntry,
    RewindEntry,
    RootEntry,
    RunEntry,
    SnapshotEntry,
    SnapshotOutcome,
    TurnEnd,
    TurnEndEntry,
    TurnEntry,
    UndoPointEntry,
    UnpinnedEntry,
)

Record: TypeAlias = dict[str, JsonValue]
"""One entry as JSON says it; its kind comes first."""


_Choice = TypeVar("_Choice", bound=Enum)


class DecodeError(ValueError):
    """The object is no entry that this keryx knows; the text says why."""


def encode(entry: Entry) -> Record:
    """Write *entry* as a JSON object."""
    match entry:
        case TurnEntry():
            return {
                "kind": "turn",
                "number": entry.number,
                "at": entry.at,
                "prompt": entry.prompt,
                "follows": entry.follows,
                "note": entry.note,
                "unattended": entry.unattended,
            }
        case ItemEntry():
            return {"kind": "item", "turn": entry.turn, **_encode_item(entry.item)}
        case RunEntry():
            return {
                "kind": "run",
                "turn": entry.turn,
                "call": entry.call_id,
                "tool": entry.tool,
                "risk": entry.risk,
                "title": entry.title,
                "saved": entry.saved,
                "delegated": entry.delegated,
                "writes": list(entry.writes),
                "git": list(entry.git),
            }
        case RanEntry():
            return {
                "kind": "ran",
                "turn": entry.turn,
                "call": entry.call_id,
                "ok": entry.ok,
                "summary": entry.summary,
                "outside": entry.outside,
            }
        case SnapshotEntry():
            return {
                "kind": "snapshot",
                "number": entry.number,
                "at": entry.at,
                "outcome": entry.outcome.value,
                "reason": entry.reason,
            }
        case CaptureEntry():
            return {
                "kind": "capture",
                "number": entry.number,
                "at": entry.at,
                "taken": entry.taken,
                "reason": entry.reason,
            }
        case TurnEndEntry():
            return {
                "kind": "turn end",
                "number": entry.number,
                "at": entry.at,
                "how": entry.how.value,
                "reason": entry.reason,
            }
        case CompactionEntry():
            return {
                "kind": "compaction",
                "at": entry.at,
                "covers": list(entry.covers),
                "summary": entry.summary,
                "focus": entry.focus,
            }
        case CheckpointEntry():
            return {
                "kind": "checkpoint",
                "number": entry.number,
                "at": entry.at,
                "name": entry.name,
                "note": entry.note,
            }
        case UnpinnedEntry():
            return {"kind": "unpinned", "number": entry.number, "at": entry.at}
        case UndoPointEntry():
            return {"kind": "undo point", "number": entry.number, "at": entry.at}
        case RewindEntry():
            return {
                "kind": "rewind",
                "at": entry.at,
                "to": entry.to,
                "mode": entry.mode.value,
                "undo": entry.undo,
                "paths": list(entry.paths),
                "cut": entry.cut,
            }
        case RedoEntry():
            return {
                "kind": "redo",
                "at": entry.at,
                "rewind": entry.rewind,
                "undo": entry.undo,
                "paths": list(entry.paths),
            }
        case PrunedEntry():
            return {"kind": "pruned", "at": entry.at, "numbers": list(entry.numbers)}
        case RootEntry():
            return {
                "kind": "root",
                "at": entry.at,
                "root": entry.root,
                "device": entry.device,
                "inode": entry.inode,
            }
        case ErasedEntry():
            return {
                "kind": "erased",
                "at": entry.at,
                "numbers": list(entry.numbers),
                "highest": entry.highest,
            }
        case DamagedEntry():
            # Only when an archive is written anew: what was lost stays known as lost.
            return {"kind": "lost", "reason": entry.reason}
        case _:
            assert_never(entry)


def decode(record: JsonValue) -> Entry:
    """Read an entry from a JSON object. Raises DecodeError."""
    fields = Fields.of(record)
    kind = fields.text("kind")
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise DecodeError(f"its kind {kind!r} is unknown to this keryx")
    return decoder(fields)


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object whose fields are read by type."""

    record: Mapping[str, JsonValue]

    @classmethod
    def of(cls, value: JsonValue) -> Fields:
        """Raises DecodeError when *value* is no object."""
        if not isinstance(value, Mapping):
            raise DecodeError("it is no JSON object")
        return cls(value)

    def text(self, name: str, default: str | None = None) -> str:
        """Read a text; *default* when the field is absent."""
        value = self.record.get(name, default)
        if not isinstance(value, str):
            raise DecodeError(f"its field {name!r} is no text")
        return value

    def whole(self, name: str) -> int:
        """Read a whole number."""
        value = self.record.get(name)
        # JSON's true is an int in Python.
        if not isinstance(value, int) or isinstance(value, bool):
            raise DecodeError(f"its field {name!r} is no whole number")
        return value

    def maybe_whole(self, name: str) -> int | None:
        """Read a whole number or null."""
        return None if self.record.get(name) is None else self.whole(name)

    def moment(self, name: str) -> float:
        """Read seconds since the epoch."""
        value = self.record.get(name)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise DecodeError(f"its field {name!r} is no moment")
        return float(value)

    def flag(self, name: str, default: bool | None = None) -> bool:
        """Read true or false; *default* when the field is absent."""
        value = self.record.get(name, default)
        if not isinstance(value, bool):
            raise DecodeError(f"its field {name!r} is neither true nor false")
        return value

    def many(self, name: str) -> list[JsonValue]:
        """Read a list; empty when the field is absent."""
        value = self.record.get(name, [])
        if not isinstance(value, list):
            raise DecodeError(f"its field {name!r} is no list")
        return value

    def wholes(self, name: str) -> tuple[int, ...]:
        """Read a list of whole numbers."""
        return tuple(Fields({name: value}).whole(name) for value in self.many(name))

    def texts(self, name: str) -> tuple[str, ...]:
        """Read a list of texts."""
        return tuple(Fields({name: value}).text(name) for value in self.many(name))


def _encode_item(item: Item) -> Record:
    if isinstance(item, ToolResult):
        return {"result": item.call_id, "output": item.output, "ok": item.ok}
    record: Record = {"role": item.role.value, "text": item.text}
    if item.calls:
        record["calls"] = [
            {"id": call.id, "tool": call.tool, "args": call.args} for call in item.calls
        ]
    if item.thinking:
        record["thinking"] = [{"model": block.model, "data": block.data} for block in item.thinking]
    return record


def _decode_item(fields: Fields) -> Item:
    if "result" in fields.record:
        return ToolResult(fields.text("result"), fields.text("output"), fields.flag("ok"))
    return Message(
        _choice(Role, fields, "role"),
        fields.text("text"),
        tuple(_decode_call(Fields.of(call)) for call in fields.many("calls")),
        tuple(_decode_thinking(Fields.of(block)) for block in fields.many("thinking")),
    )


def _decode_call(fields: Fields) -> ToolCall:
    return ToolCall(fields.text("id"), fields.text("tool"), fields.text("args"))


def _decode_thinking(fields: Fields) -> Thinking:
    return Thinking(fields.text("model"), fields.text("data"))


def _choice(choices: type[_Choice], fields: Fields, name: str) -> _Choice:
    value = fields.text(name)
    try:
        return choices(value)
    except ValueError as error:
        raise DecodeError(f"its {name} {value!r} is unknown to this keryx") from error


_DECODERS: Mapping[str, Callable[[Fields], Entry]] = {
    "turn": lambda f: TurnEntry(
        f.whole("number"),
        f.moment("at"),
        f.text("prompt"),
        f.maybe_whole("follows"),
        f.text("note", ""),
        f.flag("unattended", False),
    ),
    "item": lambda f: ItemEntry(f.whole("turn"), _decode_item(f)),
    "run": lambda f: RunEntry(
        f.whole("turn"),
        f.text("call"),
        f.text("tool"),
        f.text("risk"),
        f.text("title"),
        f.flag("saved"),
        f.flag("delegated", False),
        f.texts("writes"),
        f.texts("git"),
    ),
    "ran": lambda f: RanEntry(
        f.whole("turn"),
        f.text("call"),
        f.flag("ok"),
        f.text("summary"),
        f.flag("outside", False),
    ),
    "snapshot": lambda f: SnapshotEntry(
        f.whole("number"),
        f.moment("at"),
        _choice(SnapshotOutcome, f, "outcome"),
        f.text("reason", ""),
    ),
    "capture": lambda f: CaptureEntry(
        f.whole("number"), f.moment("at"), f.flag("taken"), f.text("reason", "")
    ),
    "turn end": lambda f: TurnEndEntry(
        f.whole("number"), f.moment("at"), _choice(TurnEnd, f, "how"), f.text("reason", "")
    ),
    "compaction": lambda f: CompactionEntry(
        f.moment("at"), f.wholes("covers"), f.text("summary"), f.text("focus", "")
    ),
    "checkpoint": lambda f: CheckpointEntry(
        f.whole("number"), f.moment("at"), f.text("name", ""), f.text("note", "")
    ),
    "unpinned": lambda f: UnpinnedEntry(f.whole("number"), f.moment("at")),
    "undo point": lambda f: UndoPointEntry(f.whole("number"), f.moment("at")),
    "rewind": lambda f: RewindEntry(
        f.moment("at"),
        f.whole("to"),
        _choice(Mode, f, "mode"),
        f.maybe_whole("undo"),
        f.texts("paths"),
        f.flag("cut", False),
    ),
    "redo": lambda f: RedoEntry(
        f.moment("at"), f.whole("rewind"), f.maybe_whole("undo"), f.texts("paths")
    ),
    "pruned": lambda f: PrunedEntry(f.moment("at"), f.wholes("numbers")),
    "root": lambda f: RootEntry(
        f.moment("at"), f.text("root"), f.whole("device"), f.whole("inode")
    ),
    "erased": lambda f: ErasedEntry(f.moment("at"), f.wholes("numbers"), f.whole("highest")),
    "lost": lambda f: DamagedEntry(f.text("reason")),
}
