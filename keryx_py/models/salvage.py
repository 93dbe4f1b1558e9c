"""Find the call that a model wrote as text instead of making it. Nothing here makes it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from keryx_py.messages import JsonValue, ToolCall, ToolSpec
from keryx_py.models.wire import json_object

_WRAPPED = re.compile(
    r"\s*(?:```[\w-]*\s*(?P<fenced>\{.*\})\s*```|<tool_call>\s*(?P<tagged>\{.*\})\s*</tool_call>"
    r"|(?P<bare>\{.*\}))\s*",
    re.DOTALL,
)
_BEGINS = re.compile(r"\s*(?:```[\w-]*\s*|<tool_call>\s*)?\{")
_MAY_BEGIN = re.compile(r"\s*(?:`{1,3}|```[\w-]*\s*|<[a-z_]{0,9}|<tool_call>\s*)?")
_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def salvage(text: str, tools: Sequence[ToolSpec], call_id: str) -> ToolCall | None:
    """Return the call of one of *tools* that *text* as a whole is; None when it is none."""
    found = _WRAPPED.fullmatch(text)
    written = json_object(found["fenced"] or found["tagged"] or found["bare"]) if found else None
    if written is None:
        return None
    inner = written.get("function")
    if isinstance(inner, Mapping):
        written = inner
    name = written.get("name", written.get("tool"))
    args = written.get("arguments", written.get("parameters", written.get("args")))
    if isinstance(args, str):
        args = json_object(args)
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None or not isinstance(args, Mapping) or not fits(args, tool.parameters):
        return None
    return ToolCall(call_id, tool.name, json.dumps(args))


class CallText:
    """Holds an answer's text back for as long as all of it may yet be a call."""

    def __init__(self, *, possible: bool) -> None:
        self._possible = possible
        self._held = ""

    def feed(self, piece: str) -> str:
        """Take the next *piece*; return what may be shown."""
        if not self._possible:
            return piece
        self._held += piece
        if _BEGINS.match(self._held) or _MAY_BEGIN.fullmatch(self._held):
            return ""
        return self.release()

    def release(self) -> str:
        """Return what is held: it is no call."""
        self._possible = False
        held, self._held = self._held, ""
        return held


def fits(args: Mapping[str, JsonValue], schema: Mapping[str, JsonValue]) -> bool:
    """Tell whether *args* has every required key of *schema*, no other, and values of its types."""
    properties = schema.get("properties")
    required = schema.get("required")
    known = properties if isinstance(properties, Mapping) else {}
    needed = required if isinstance(required, Sequence) else ()
    return all(key in args for key in needed if isinstance(key, str)) and all(
        key in known and _is_of(value, known[key]) for key, value in args.items()
    )


def _is_of(value: JsonValue, schema: JsonValue) -> bool:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        return True
    # A truth value is a kind of int in Python, and not in JSON.
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _KINDS[kind])
