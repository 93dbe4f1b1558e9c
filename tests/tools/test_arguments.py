"""A model's argument text: what is taken, and what is refused with a sentence."""

from __future__ import annotations

import json

import pytest

from keryx_py.messages import ToolSpec
from keryx_py.tools.arguments import MOST_CHARACTERS, ArgumentError, parse_args, schema
from keryx_py.tools.base import Args

SPEC = ToolSpec(
    "look",
    "Look at a file.",
    schema(
        {"path": {"type": "string"}},
        {
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            "deep": {"type": "boolean"},
        },
    ),
)
NO_ARGUMENTS = ToolSpec("all", "Look at all.", schema({}))


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ('{"path": "a"}', {"path": "a"}),
        ('{"path": "a", "limit": 3, "deep": true}', {"path": "a", "limit": 3, "deep": True}),
        ('{"path": "a", "limit": "3"}', {"path": "a", "limit": 3}),
        ('{"path": "a", "limit": 3.0}', {"path": "a", "limit": 3}),
        ('{"path": "a", "deep": "false"}', {"path": "a", "deep": False}),
        ('{"path": "a", "limit": null}', {"path": "a"}),
        ('  {"path": "a"}\n', {"path": "a"}),
        ('{"path": "a\nb"}', {"path": "a\nb"}),
        ('{"path": "\\ud83d\\ude00"}', {"path": "\U0001f600"}),
        ('{"path": "caf\\udce9"}', {"path": "caf\udce9"}),
        ('{"path": ""}', {"path": ""}),
    ],
)
def test_arguments_that_fit_are_taken(text: str, args: Args) -> None:
    assert parse_args(SPEC, text) == args


def test_empty_text_is_no_arguments() -> None:
    assert parse_args(NO_ARGUMENTS, "") == {}
    assert parse_args(NO_ARGUMENTS, " \n") == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", '"path" is missing'),
        ("{}", '"path" is missing'),
        ('{"path": null}', '"path" is missing'),
        ('{"pth": "a"}', 'did you mean "path"?'),
        ('{"path": "a", "zzz": 1}', 'no argument "zzz"'),
        ('{"path": 1}', '"path" must be a string'),
        ('{"path": ["a"]}', '"path" must be a string'),
        ('{"path": "a", "limit": true}', "must be a whole number"),
        ('{"path": "a", "limit": "x"}', "must be a whole number"),
        ('{"path": "a", "limit": "3.5"}', "must be a whole number"),
        ('{"path": "a", "limit": "٣"}', "must be a whole number"),
        ('{"path": "a", "limit": 3.5}', "must be a whole number"),
        ('{"path": "a", "limit": 1e999}', "must be a whole number"),
        ('{"path": "a", "limit": 0}', "at least 1"),
        ('{"path": "a", "limit": 101}', "at most 100"),
        ('{"path": "a", "limit": NaN}', "NaN is not a value"),
        ('{"path": "a", "limit": -Infinity}', "-Infinity is not a value"),
        ('{"path": "a", "limit": ' + "9" * 5_000 + "}", "a number that is too long"),
        ('{"path": "a", "deep": 1}', "must be true or false"),
        ('{"path": "a", "path": "b"}', "given twice"),
        ('{"path": "\\ud800"}', "lone surrogate"),
        ('{"path": "\\udfff"}', "lone surrogate"),
        ('{"path": "a"', "not valid JSON"),
        ('{"path": "a"} trailing', "not valid JSON"),
        ("path=a", "not valid JSON"),
        ('["a"]', "one JSON object"),
        ('"a"', "one JSON object"),
        ("null", "one JSON object"),
        ("[" * 200_000, "nested too deeply"),
        ('{"path": ' * 200_000, "nested too deeply"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(text: str, says: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        parse_args(SPEC, text)

    assert says in str(refused.value)


def test_a_refusal_says_how_to_call_the_tool() -> None:
    with pytest.raises(ArgumentError) as refused:
        parse_args(SPEC, "{}")

    assert str(refused.value) == (
        'look: the argument "path" is missing. Call look with one JSON object: '
        '{"path": string, "limit": integer (optional), "deep": boolean (optional)}.'
    )


def test_too_long_arguments_are_refused() -> None:
    text = json.dumps({"path": "a" * MOST_CHARACTERS})

    with pytest.raises(ArgumentError, match="longer than 10 MB"):
        parse_args(SPEC, text)


def test_a_refusal_stays_short_whatever_the_name() -> None:
    text = json.dumps({"\ud800\x1b" + "x" * 100_000: 1})

    with pytest.raises(ArgumentError) as refused:
        parse_args(SPEC, text)

    assert len(str(refused.value)) < 500
    assert str(refused.value).isascii()
