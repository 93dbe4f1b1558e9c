"""The pieces of a chat stream, put together: a table of what servers really send."""

from __future__ import annotations

import json

import pytest

from keryx_py.messages import JsonValue, ToolCall, Usage
from keryx_py.models.toolstream import CallAssembler, ChatAnswer


def piece(
    index: int | None = 0,
    call_id: str | None = None,
    name: str | None = None,
    arguments: JsonValue = None,
) -> JsonValue:
    delta: dict[str, JsonValue] = {"function": {"name": name, "arguments": arguments}}
    if index is not None:
        delta["index"] = index
    if call_id is not None:
        delta["id"] = call_id
    return delta


@pytest.mark.parametrize(
    ("deltas", "calls"),
    [
        pytest.param(
            [[piece(0, "a", "read", '{"p"')], [piece(0, None, None, ":1}")]],
            [("a", "read", '{"p":1}')],
            id="one call in pieces",
        ),
        pytest.param(
            [
                [piece(0, "a", "read", "{"), piece(1, "b", "list", "{")],
                [piece(1, None, None, '"x":2}'), piece(0, None, None, '"y":1}')],
            ],
            [("a", "read", '{"y":1}'), ("b", "list", '{"x":2}')],
            id="two calls, interleaved",
        ),
        pytest.param(
            [[piece(0, "a", "read", "{}")], [piece(0, "b", "list", "{}")]],
            [("a", "read", "{}"), ("b", "list", "{}")],
            id="index 0 for every call",
        ),
        pytest.param(
            [[piece(0, "a", "read", "{")], [piece(0, "a", "read", "}")]],
            [("a", "read", "{}")],
            id="id and name again with every piece",
        ),
        pytest.param(
            [
                [piece(0, "a", "read", "{")],
                [piece(0, "b", "list", "{")],
                [piece(0, "a", None, "}")],
            ],
            [("a", "read", "{}"), ("b", "list", "{")],
            id="index 0, then an earlier id again",
        ),
        pytest.param(
            [
                [piece(None, "a", "read", "{")],
                [piece(None, None, None, "}")],
                [piece(None, "b", "list", "{}")],
            ],
            [("a", "read", "{}"), ("b", "list", "{}")],
            id="no index",
        ),
        pytest.param(
            [[piece(None, None, "read", "{}")], [piece(None, "b", "list", "{}")]],
            [("call_1", "read", "{}"), ("b", "list", "{}")],
            id="no index, a new id after none",
        ),
        pytest.param(
            [[piece(0, "", "read", '{"a":1}')], [piece(0, "", "read", '{"a":2}')]],
            [("call_1", "read", '{"a":1}'), ("call_2", "read", '{"a":2}')],
            id="index 0 and no ids",
        ),
        pytest.param(
            [[piece(0, "a", "read", "{}"), piece(1, "a", "list", "{}")]],
            [("a", "read", "{}"), ("call_2", "list", "{}")],
            id="an id twice",
        ),
        pytest.param(
            [[piece(0, None, "read", None)], [piece(0, "late", None, "{}")]],
            [("late", "read", "{}")],
            id="the id comes late",
        ),
        pytest.param(
            [[piece(0, "a", "read", None)], [piece(0, None, None, None)]],
            [("a", "read", "")],
            id="arguments null",
        ),
        pytest.param(
            [[piece(0, "a", "read", {"p": 1})]],
            [("a", "read", '{"p": 1}')],
            id="arguments as an object",
        ),
        pytest.param([[], None, "odd", [None, 3]], [], id="nothing of use"),
        pytest.param([[piece(0, "a", None, "{}")]], [], id="a call without a name"),
        pytest.param(
            [[{"index": True, "id": "a", "function": {"name": "read"}, "more": [1]}]],
            [("a", "read", "")],
            id="unknown fields",
        ),
    ],
)
def test_deltas_make_calls(deltas: list[JsonValue], calls: list[tuple[str, str, str]]) -> None:
    assembler = CallAssembler()

    for delta in deltas:
        assembler.feed(delta)

    assert assembler.calls() == tuple(ToolCall(*call) for call in calls)


def test_an_id_of_an_earlier_reply_is_not_used_again() -> None:
    assembler = CallAssembler()
    assembler.feed([piece(0, "call_1", "read", "{}")])

    (call,) = assembler.calls({"call_1"})

    assert call.id == "call_2"


def test_an_answer_grows_from_odd_chunks() -> None:
    chunks: list[dict[str, JsonValue]] = [
        {},
        {"choices": None},
        {"choices": []},
        {"choices": [{"index": 0, "delta": None}]},
        {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
        {"choices": [{"index": 0, "delta": {"content": None, "tool_calls": None}}]},
        {"choices": [{"delta": {"content": "Hi"}}]},
        {"choices": [{"index": 0, "delta": {"refusal": "!"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}},
        {"choices": [], "usage": None},
    ]
    answer = ChatAnswer()

    shown = [answer.feed(chunk) for chunk in chunks]

    assert "".join(shown) == answer.text == "Hi!"
    assert (answer.finish, answer.usage, answer.calls()) == ("stop", Usage(7, 2), ())


def test_a_character_split_over_two_chunks_comes_whole() -> None:
    answer = ChatAnswer()

    shown = [
        answer.feed({"choices": [{"index": 0, "delta": {"content": half}}]})
        for half in ("a\ud83d", "\ude00b\ud83d")
    ]

    assert shown == ["a", "\U0001f600b"]
    assert answer.end() == "\ufffd"
    assert answer.text == "a\U0001f600b\ufffd"


@pytest.mark.parametrize("size", [1, 3, 7])
def test_arguments_may_be_cut_anywhere(size: int) -> None:
    arguments = json.dumps({"path": "ü.txt", "content": 'a "b"\n{}'})
    assembler = CallAssembler()

    assembler.feed([piece(0, "a", "write_file", "")])
    for at in range(0, len(arguments), size):
        assembler.feed([piece(0, None, None, arguments[at : at + size])])

    (call,) = assembler.calls()
    assert call.args == arguments
