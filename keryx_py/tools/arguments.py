"""A model's JSON text into arguments that fit the tool, or a sentence on how to call it right.

The text is hostile input: whatever it holds, the answer is valid arguments or an ArgumentError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches

from keryx_py.messages import JsonValue, ToolSpec
from keryx_py.tools.base import Args, ArgValue, ToolError

MOST_CHARACTERS = 10 * 2**20
"""Longer argument texts are refused before they are read."""

_DECIMAL = re.compile(r"-?[0-9]{1,15}")
# Half of a surrogate pair, save those that stand for a byte of a name that is not UTF-8.
_HALF_CHARACTER = re.compile("[\ud800-\udc7f\udd00-\udfff]")


class ArgumentError(ToolError):
    """The arguments do not fit the tool; the text says how to call it."""


def schema(
    required: Mapping[str, JsonValue], optional: Mapping[str, JsonValue] | None = None
) -> Mapping[str, JsonValue]:
    """Put *required* and *optional* properties into the JSON schema of an object."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def parse_args(spec: ToolSpec, text: str) -> Args:
    """Read *text* as the arguments of the tool that *spec* describes. Empty text is no arguments.

    Raises ArgumentError, whose text tells the model what is wrong and what is right.
    """
    try:
        given = _read_object(text)
        return _fit(spec, given)
    except ArgumentError as error:
        raise ArgumentError(f"{spec.name}: {error}. {_how_to_call(spec)}") from error


def text_of(args: Args, name: str, default: str = "") -> str:
    """Return the text argument *name*, or *default* when it was not given."""
    value = args.get(name, default)
    if not isinstance(value, str):
        raise ArgumentError(f'"{name}" must be a string')
    return value


def whole_of(args: Args, name: str, default: int) -> int:
    """Return the whole number *name*, or *default* when it was not given."""
    value = args.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentError(f'"{name}" must be a whole number')
    return value


def flag_of(args: Args, name: str) -> bool:
    """Return whether the flag *name* is set."""
    return args.get(name) is True


def _read_object(text: str) -> Mapping[str, object]:
    if len(text) > MOST_CHARACTERS:
        raise ArgumentError(
            f"the arguments are longer than {MOST_CHARACTERS // 2**20} MB; do it in smaller steps"
        )
    if not text.strip():
        return {}
    try:
        # Not strict: models put bare line ends into strings, and what they mean is plain.
        value: object = json.loads(
            text, strict=False, parse_constant=_refuse_constant, object_pairs_hook=_unique
        )
    except json.JSONDecodeError as error:
        raise ArgumentError(
            f"the arguments are not valid JSON (line {error.lineno}, column {error.colno}: "
            f"{error.msg})"
        ) from error
    except RecursionError as error:
        raise ArgumentError("the arguments are nested too deeply") from error
    except ValueError as error:
        raise ArgumentError("the arguments hold a number that is too long") from error
    if not isinstance(value, dict):
        raise ArgumentError("the arguments must be one JSON object")
    return value


def _refuse_constant(name: str) -> object:
    raise ArgumentError(f"{name} is not a value in JSON")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ArgumentError("an argument is given twice")
    return found


def _fit(spec: ToolSpec, given: Mapping[str, object]) -> Args:
    properties = _properties(spec)
    fitted: dict[str, ArgValue] = {}
    for name, value in given.items():
        if name not in properties:
            raise ArgumentError(_unknown(name, properties))
        # Models write null for what they leave out.
        if value is not None:
            fitted[name] = _fit_value(name, properties[name], value)
    for name in _required(spec):
        if name not in fitted:
            raise ArgumentError(f'the argument "{name}" is missing')
    return fitted


def _fit_value(name: str, wanted: Mapping[str, JsonValue], value: object) -> ArgValue:
    match wanted.get("type"):
        case "integer":
            return _whole(name, wanted, value)
        case "boolean":
            return _flag(name, value)
        case _:
            return _text(name, value)


def _whole(name: str, wanted: Mapping[str, JsonValue], value: object) -> int:
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentError(f'"{name}" must be a whole number')
    least, most = wanted.get("minimum"), wanted.get("maximum")
    if isinstance(least, int) and value < least:
        raise ArgumentError(f'"{name}" must be at least {least}')
    if isinstance(most, int) and value > most:
        raise ArgumentError(f'"{name}" must be at most {most}')
    return value


def _flag(name: str, value: object) -> bool:
    match value:
        case bool():
            return value
        case "true":
            return True
        case "false":
            return False
        case _:
            raise ArgumentError(f'"{name}" must be true or false')


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ArgumentError(f'"{name}" must be a string')
    if _HALF_CHARACTER.search(value):
        raise ArgumentError(f'"{name}" holds half of a character (a lone surrogate)')
    return value


def _unknown(name: str, properties: Mapping[str, Mapping[str, JsonValue]]) -> str:
    shown = name[:60].encode("ascii", "backslashreplace").decode("ascii")
    near = get_close_matches(name[:60], properties, n=1)
    hint = f' (did you mean "{near[0]}"?)' if near else ""
    return f'there is no argument "{shown}"{hint}'


def _how_to_call(spec: ToolSpec) -> str:
    required = _required(spec)
    told = [
        f'"{name}": {wanted.get("type", "string")}{"" if name in required else " (optional)"}'
        for name, wanted in _properties(spec).items()
    ]
    return f"Call {spec.name} with one JSON object: {{{', '.join(told)}}}."


def _properties(spec: ToolSpec) -> Mapping[str, Mapping[str, JsonValue]]:
    properties = spec.parameters.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: value for name, value in properties.items() if isinstance(value, Mapping)}


def _required(spec: ToolSpec) -> tuple[str, ...]:
    required = spec.parameters.get("required")
    if not isinstance(required, list):
        return ()
    return tuple(name for name in required if isinstance(name, str))
