'''Read a script of replies from a TOML file.

summary = "We wrote a greeting."      # for a compaction; optional
context_tokens = 20000                # optional

[[turn]]                              # answers a prompt that is, or holds, this text
prompt = "greet"

[[turn.reply]]                        # one step: text, then calls
text = "I will write the greeting."
delay = 0.2                           # seconds
usage = { input = 900, output = 40 }  # tokens

[[turn.reply.call]]
tool = "write_file"
args.path = "hello.txt"
args.content = """
Hello!
"""

[[turn.reply]]
text = "Done."

[[reply]]                             # played once each, in order, to any other prompt
error = "The model is busy."          # ends in an error; too_long = true: the context's size
'''

from __future__ import annotations

import difflib
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from keryx_py.messages import JsonValue, ToolCall, Usage
from keryx_py.models.base import ModelError
from keryx_py.models.scripted import BUILT_IN_SUMMARY, Script, ScriptedReply, ScriptedTurn

_Table: TypeAlias = Mapping[str, object]


def load_script(path: Path) -> Script:
    """Read the script at *path*. Raises ModelError naming what is wrong with it and where."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise ModelError(f"The script {path} cannot be read: {reason}.") from error
    except UnicodeDecodeError as error:
        raise ModelError(f"The script {path} is not UTF-8 text; save it as UTF-8.") from error
    try:
        return parse_script(text)
    except ModelError as error:
        raise ModelError(f"The script {path} cannot be used: {error}") from error


def parse_script(text: str) -> Script:
    """Read a script from *text*. Raises ModelError naming the line or the key."""
    try:
        table: _Table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"it is not valid TOML: {error}.") from error
    _known(table, ("summary", "context_tokens", "turn", "reply"), "at the top")
    turns = tuple(
        _turn(turn, f"turn {number}")
        for number, turn in enumerate(_tables(table, "turn", "at the top"), 1)
    )
    replies = _replies(table, "")
    if not turns and not replies:
        raise ModelError("it holds no reply; begin one with [[reply]] or [[turn]].")
    tokens = _number(table, "context_tokens", "at the top")
    return Script(
        turns=turns,
        replies=replies,
        summary=_text(table, "summary", "at the top") or BUILT_IN_SUMMARY,
        context_tokens=None if tokens is None else int(tokens),
    )


def _turn(table: _Table, where: str) -> ScriptedTurn:
    _known(table, ("prompt", "reply"), where)
    replies = _replies(table, where + ", ")
    if not replies:
        raise ModelError(f"{where} has no reply; add one with [[turn.reply]].")
    return ScriptedTurn(_text(table, "prompt", where), replies)


def _replies(table: _Table, before: str) -> tuple[ScriptedReply, ...]:
    where = before.rstrip(", ") or "at the top"
    return tuple(
        _reply(reply, f"{before}reply {number}")
        for number, reply in enumerate(_tables(table, "reply", where), 1)
    )


def _reply(table: _Table, where: str) -> ScriptedReply:
    known = ("text", "call", "usage", "notice", "error", "too_long", "delay")
    _known(table, known, where)
    too_long = table.get("too_long", False)
    if not isinstance(too_long, bool):
        raise ModelError(f'"too_long" of {where} must be true or false.')
    calls = tuple(
        _call(call, f"{where}, call {number}")
        for number, call in enumerate(_tables(table, "call", where), 1)
    )
    reply = ScriptedReply(
        text=_text(table, "text", where),
        calls=calls,
        usage=_usage(table, where),
        notice=_text(table, "notice", where),
        error=_text(table, "error", where),
        too_long=too_long,
        delay=_number(table, "delay", where) or 0,
    )
    if not (reply.text or reply.calls or reply.error):
        raise ModelError(f"{where} says nothing; give it a text, a call or an error.")
    return reply


def _call(table: _Table, where: str) -> ToolCall:
    _known(table, ("tool", "args", "id"), where)
    tool = _text(table, "tool", where)
    if not tool:
        raise ModelError(f'{where} names no tool; add tool = "write_file" or another.')
    args = table.get("args", {})
    if not isinstance(args, dict | str):
        raise ModelError(f'"args" of {where} must be a table, or a text to be sent as it is.')
    text = args if isinstance(args, str) else _json(args, where)
    return ToolCall(id=_text(table, "id", where), tool=tool, args=text)


def _json(args: Mapping[str, JsonValue], where: str) -> str:
    try:
        return json.dumps(args)
    except TypeError as error:
        raise ModelError(f'"args" of {where} must not hold dates or times.') from error


def _usage(table: _Table, where: str) -> Usage | None:
    usage = table.get("usage")
    if usage is None:
        return None
    if not isinstance(usage, dict):
        raise ModelError(f'"usage" of {where} must be a table, as {"{ input = 9, output = 2 }"}.')
    _known(usage, ("input", "output"), f"usage of {where}")
    counts = [_number(usage, key, f"usage of {where}") or 0 for key in ("input", "output")]
    return Usage(int(counts[0]), int(counts[1]))


def _known(table: _Table, known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            nearest = difflib.get_close_matches(key, known, 1, 0)
            raise ModelError(f'unknown key "{key}" {_in(where)}; did you mean "{nearest[0]}"?')


def _tables(table: _Table, key: str, where: str) -> Sequence[_Table]:
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ModelError(f'"{key}" {_in(where)} must be a list of tables; write [[…{key}]].')
    return found


def _text(table: _Table, key: str, where: str) -> str:
    found = table.get(key, "")
    if not isinstance(found, str):
        raise ModelError(f'"{key}" {_in(where)} must be text in quotes.')
    return found


def _number(table: _Table, key: str, where: str) -> float | None:
    found = table.get(key)
    if found is None:
        return None
    # A truth value is a kind of int in Python, and means nothing here.
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < math.inf:
        raise ModelError(f'"{key}" {_in(where)} must be a number that is not negative.')
    return found


def _in(where: str) -> str:
    return where if where.startswith("at ") else f"in {where}"
