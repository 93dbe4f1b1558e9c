"""Anthropic's messages protocol, spoken with a real HTTP server."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from keryx_py.messages import (
    Item,
    JsonValue,
    Message,
    Role,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
from keryx_py.models.anthropic_messages import AnthropicModel
from keryx_py.models.base import (
    ContextTooLongError,
    ModelError,
    Notice,
    Reply,
    ReplyPart,
    Request,
    TextDelta,
)
from tests.servers import Answer, ModelServer, bytewise, named_sse

KEY = "sk-ant-test-0123456789"
LIST = ToolSpec("list_dir", "List a folder.", {"type": "object", "properties": {}})
CACHED = {"type": "ephemeral"}


def ask(*items: Item, tools: tuple[ToolSpec, ...] = (LIST,)) -> Request:
    return Request("Be brief.", items or (Message(Role.USER, "Hi"),), tools)


def model(server: ModelServer) -> AnthropicModel:
    return AnthropicModel("m", base_url=server.url, key=KEY, sleep=lambda seconds: None)


def play(*answers: Answer, request: Request | None = None) -> list[ReplyPart]:
    with ModelServer(*answers) as server:
        return list(model(server).stream(request or ask()))


def events(*blocks: Mapping[str, JsonValue], stop: str | None = "end_turn") -> bytes:
    """Write a whole message; a block's "deltas" are its pieces."""
    counts: JsonValue = {"input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 1}
    written: list[Mapping[str, JsonValue]] = [
        {"type": "message_start", "message": {"id": "m1", "usage": counts}},
        {"type": "ping"},
    ]
    for index, block in enumerate(blocks):
        began = {name: value for name, value in block.items() if name != "deltas"}
        deltas = block.get("deltas")
        written.append({"type": "content_block_start", "index": index, "content_block": began})
        written += [
            {"type": "content_block_delta", "index": index, "delta": delta}
            for delta in (deltas if isinstance(deltas, list) else [])
        ]
        written.append({"type": "content_block_stop", "index": index})
    if stop:
        usage: JsonValue = {"output_tokens": 20}
        written.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage})
        written.append({"type": "message_stop"})
    return named_sse(*written)


def text(*pieces: str) -> Mapping[str, JsonValue]:
    return {
        "type": "text",
        "text": "",
        "deltas": [{"type": "text_delta", "text": piece} for piece in pieces],
    }


def refusal(status: int, kind: str, message: str, **headers: str) -> Answer:
    body = {"type": "error", "error": {"type": kind, "message": message}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(
        (json.dumps(body).encode(),), status, {"Content-Type": "application/json", **named}
    )


OK = Answer((events(text("ok")),))

THINKING: Mapping[str, JsonValue] = {
    "type": "thinking",
    "thinking": "",
    "signature": "",
    "deltas": [
        {"type": "thinking_delta", "thinking": "Let me — "},
        {"type": "thinking_delta", "thinking": "look.\n"},
        {"type": "signature_delta", "signature": "Eq+/=="},
    ],
}
CALL: Mapping[str, JsonValue] = {
    "type": "tool_use",
    "id": "toolu_1",
    "name": "list_dir",
    "input": {},
    "deltas": [
        {"type": "input_json_delta", "partial_json": ""},
        {"type": "input_json_delta", "partial_json": '{"path": "a'},
        {"type": "input_json_delta", "partial_json": 'b"}'},
    ],
}


@pytest.mark.parametrize("single_bytes", [True, False])
def test_text_thinking_and_calls_come_whole(single_bytes: bool) -> None:
    body = events(THINKING, text("I ", "look."), CALL, stop="tool_use")

    parts = play(Answer(bytewise(body) if single_bytes else (body,)))

    assert parts[:2] == [TextDelta("I "), TextDelta("look.")]
    assert isinstance(parts[-1], Reply)
    message = parts[-1].message
    assert message.text == "I look."
    assert message.calls == (ToolCall("toolu_1", "list_dir", '{"path": "ab"}'),)
    assert parts[-1].usage == Usage(105, 20)
    (thinking,) = message.thinking
    assert thinking.model == "anthropic/m"
    assert json.loads(thinking.data) == {
        "type": "thinking",
        "thinking": "Let me — look.\n",
        "signature": "Eq+/==",
    }


def test_thinking_goes_back_as_it_came_and_only_to_its_maker() -> None:
    hidden: Mapping[str, JsonValue] = {"type": "redacted_thinking", "data": "x+/="}
    parts = play(Answer((events(THINKING, hidden, CALL, stop="tool_use"),)))
    assert isinstance(parts[-1], Reply)
    own = parts[-1].message
    other = Message(
        Role.ASSISTANT, "no", thinking=(Thinking("anthropic/other", '{"type": "thinking"}'),)
    )
    items = (
        Message(Role.USER, "go"),
        other,
        Message(Role.USER, "on"),
        own,
        ToolResult("toolu_1", "x", ok=True),
    )

    with ModelServer(OK) as server:
        list(model(server).stream(ask(*items)))

    messages = server.received[0].body["messages"]
    assert isinstance(messages, list)
    assert messages[1] == {"role": "assistant", "content": [{"type": "text", "text": "no"}]}
    assert messages[3] == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Let me — look.\n", "signature": "Eq+/=="},
            {"type": "redacted_thinking", "data": "x+/="},
            {"type": "tool_use", "id": "toolu_1", "name": "list_dir", "input": {"path": "ab"}},
        ],
    }


def test_what_is_sent_is_the_protocol() -> None:
    calls = (ToolCall("a", "list_dir", '{"path": "\\ud800"}'), ToolCall("b", "list_dir", "{oops"))
    items = (
        Message(Role.USER, "Look \ud800"),
        Message(Role.ASSISTANT, "  ", calls),
        ToolResult("a", "", ok=True),
        ToolResult("b", "no", ok=False),
        Message(Role.USER, "and?"),
    )

    with ModelServer(OK) as server:
        list(model(server).stream(ask(*items)))

    (received,) = server.received
    assert received.path == "/v1/messages"
    assert KEY in received.headers.get("x-api-key", received.headers.get("authorization", ""))
    assert "anthropic-version" in received.headers
    assert received.body["system"] == [
        {"type": "text", "text": "Be brief.", "cache_control": CACHED}
    ]
    assert received.body["tools"] == [
        {"name": "list_dir", "description": "List a folder.", "input_schema": LIST.parameters}
    ]
    assert "tool_choice" not in received.body
    assert received.body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Look \ufffd"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "a", "name": "list_dir", "input": {"path": "\ufffd"}},
                {
                    "type": "tool_use",
                    "id": "b",
                    "name": "list_dir",
                    "input": {"not_valid_json": "{oops"},
                },
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "a",
                    "content": "(empty)",
                    "is_error": False,
                },
                {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": True},
                {"type": "text", "text": "and?", "cache_control": CACHED},
            ],
        },
    ]


def test_a_request_without_tools_still_names_those_in_the_context() -> None:
    items = (
        Message(Role.USER, "go"),
        Message(Role.ASSISTANT, "", (ToolCall("a", "list_dir", "{}"),)),
        ToolResult("a", "x", ok=True),
        Message(Role.USER, "sum up"),
    )

    with ModelServer(OK, OK) as server:
        list(model(server).stream(ask(*items, tools=())))
        list(model(server).stream(ask(tools=())))

    assert server.received[0].body["tools"] == [
        {"name": "list_dir", "input_schema": {"type": "object"}}
    ]
    assert server.received[0].body["tool_choice"] == {"type": "none"}
    assert "tools" not in server.received[1].body


def test_nothing_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "ANTHROPIC_API_KEY": "sk-other",
        "ANTHROPIC_AUTH_TOKEN": "token-other",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "ANTHROPIC_CUSTOM_HEADERS": "X-Secret: 1\nX-Api-Key: sk-third\nAuthorization: sk-4",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
    }.items():
        monkeypatch.setenv(name, value)

    with ModelServer(OK) as server:
        list(model(server).stream(ask()))

    headers = server.received[0].headers
    sent = [headers[name] for name in ("x-api-key", "authorization") if name in headers]
    assert [KEY in value for value in sent] == [True]
    assert "x-secret" not in headers


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (refusal(401, "authentication_error", f"bad {KEY}"), "check ANTHROPIC_API_KEY"),
        (refusal(404, "not_found_error", "model: m"), "check the name in anthropic/NAME"),
        (refusal(400, "invalid_request_error", "credit balance is too low"), "credit"),
        (refusal(400, "invalid_request_error", f"odd {KEY}"), "(400): odd …."),
        (Answer((events(text("Hel"), stop=None),)), "cut off before its end"),
        (Answer((events(text("Hel"), stop=None),), cut=True), "cut off before its end"),
        (
            Answer(
                (
                    events(text("Hel"), stop=None)
                    + named_sse(
                        {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}
                    ),
                )
            ),
            "overloaded (529)",
        ),
        (Answer((b"<html>",)), "sent no answer that can be read"),
        (Answer((b"event: message_start\ndata: {no\n\n",)), "sent no answer that can be read"),
    ],
)
def test_a_failure_is_one_sentence_and_is_not_tried_again(answer: Answer, words: str) -> None:
    with ModelServer(answer, OK) as server, pytest.raises(ModelError) as caught:
        list(model(server).stream(ask()))

    assert words in str(caught.value)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(server.received) == 1


@pytest.mark.parametrize(
    "busy",
    [
        refusal(529, "overloaded_error", "Overloaded"),
        refusal(429, "rate_limit_error", "slow", retry_after="2"),
        refusal(500, "api_error", "oops"),
        Answer((named_sse({"type": "error", "error": {"type": "overloaded_error"}}),)),
        Answer(cut=True),
    ],
)
def test_a_busy_server_is_asked_again_and_the_person_is_told(busy: Answer) -> None:
    parts = play(busy, OK)

    assert "attempt 2 of 4" in next(part.text for part in parts if isinstance(part, Notice))
    assert isinstance(parts[-1], Reply)
    assert parts[-1].message.text == "ok"


@pytest.mark.parametrize(
    "words",
    [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000",
    ],
)
def test_a_context_that_is_too_long_is_told_apart(words: str) -> None:
    with pytest.raises(ContextTooLongError):
        play(refusal(400, "invalid_request_error", words))


def test_a_model_that_may_write_less_is_asked_for_that() -> None:
    words = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens"

    with ModelServer(refusal(400, "invalid_request_error", words), OK, OK) as server:
        talker = model(server)
        list(talker.stream(ask()))
        list(talker.stream(ask()))

    assert [one.body["max_tokens"] for one in server.received] == [32000, 8192, 8192]


@pytest.mark.parametrize(("stop", "word"), [("max_tokens", "limit"), ("refusal", "declined")])
def test_an_odd_ending_is_said(stop: str, word: str) -> None:
    parts = play(Answer((events(text("so"), stop=stop),)))

    assert any(isinstance(part, Notice) and word in part.text for part in parts)


def test_leaving_in_the_middle_closes_the_connection() -> None:
    head = events(text("word"), stop=None)
    ping = named_sse({"type": "ping"})

    with ModelServer(Answer((head, *[ping] * 200), pause=0.02)) as server:
        stream = model(server).stream(ask())
        first = next(stream)
        stream.close()  # type: ignore[attr-defined]
        assert server.left.wait(2)

    assert first == TextDelta("word")


def test_a_key_is_needed() -> None:
    with pytest.raises(ModelError, match="set ANTHROPIC_API_KEY"):
        AnthropicModel("m")


def test_the_version_in_a_base_url_is_not_doubled() -> None:
    with ModelServer(OK) as server:
        list(AnthropicModel("m", base_url=f"{server.url}/v1/", key=KEY).stream(ask()))

    assert server.received[0].path == "/v1/messages"
