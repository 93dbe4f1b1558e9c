"""The OpenAI chat protocol, spoken with a real HTTP server."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping

import pytest

from keryx_py.messages import Item, JsonValue, Message, Role, ToolCall, ToolResult, ToolSpec, Usage
from keryx_py.models.base import (
    ContextTooLongError,
    ModelError,
    Notice,
    Reply,
    ReplyPart,
    Request,
    TextDelta,
)
from keryx_py.models.openai_chat import OpenAIModel
from tests.servers import (
    Answer,
    ModelServer,
    StrictChatServer,
    bytewise,
    chunk,
    refusal,
    sse,
)

KEY = "sk-test-0123456789"
LIST = ToolSpec(
    "list_dir",
    "List a folder.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
OK = Answer((sse(chunk("ok"), chunk(finish="stop")),))


def ask(*items: Item, tools: tuple[ToolSpec, ...] = (LIST,)) -> Request:
    return Request("Be brief.", items or (Message(Role.USER, "Hi"),), tools)


class Sleeper:
    """Keeps how long it was asked to sleep."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


def model(server: ModelServer, sleeper: Sleeper | None = None) -> OpenAIModel:
    return OpenAIModel("m", base_url=server.base_url, key=KEY, sleep=sleeper or Sleeper())


def play(*answers: Answer, request: Request | None = None) -> list[ReplyPart]:
    with ModelServer(*answers) as server:
        return list(model(server).stream(request or ask()))


def failure(*answers: Answer) -> ModelError:
    with pytest.raises(ModelError) as caught:
        play(*answers)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def reply_of(parts: list[ReplyPart]) -> Reply:
    assert isinstance(parts[-1], Reply)
    return parts[-1]


def notices(parts: list[ReplyPart]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Notice)]


def test_text_streams_and_tokens_are_counted() -> None:
    usage: Mapping[str, JsonValue] = {"prompt_tokens": 9, "completion_tokens": 2}

    parts = play(
        Answer((sse(chunk("Hel"), chunk("lo"), chunk(finish="stop"), chunk(usage=usage)),))
    )

    assert parts == [
        TextDelta("Hel"),
        TextDelta("lo"),
        Reply(Message(Role.ASSISTANT, "Hello"), Usage(9, 2)),
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("done", [True, False])
def test_a_stream_of_single_bytes_is_understood(newline: str, done: bool) -> None:
    first: JsonValue = [
        {"index": 0, "id": "a", "function": {"name": "list_dir", "arguments": '{"pa'}}
    ]
    second: JsonValue = [{"index": 0, "function": {"arguments": 'th":"ü"}'}}]
    body = f": a comment{newline}{newline}".encode() + sse(
        chunk("Grüße"),
        chunk(calls=first),
        chunk(calls=second),
        chunk(finish="tool_calls"),
        newline=newline,
        done=done,
    )

    parts = play(Answer(bytewise(body)))

    call = ToolCall("a", "list_dir", '{"path":"ü"}')
    assert reply_of(parts).message == Message(Role.ASSISTANT, "Grüße", (call,))


def test_what_is_sent_is_the_protocol() -> None:
    call = ToolCall("a", "list_dir", '{"path": "."}')
    items = (
        Message(Role.USER, "Look"),
        Message(Role.ASSISTANT, "", (call,)),
        ToolResult("a", "x.txt", ok=True),
    )

    with ModelServer(OK) as server:
        list(model(server).stream(ask(*items)))

    (received,) = server.received
    assert received.path == "/v1/chat/completions"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.body == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "a",
                        "type": "function",
                        "function": {"name": "list_dir", "arguments": '{"path": "."}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "x.txt"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "list_dir",
                    "description": "List a folder.",
                    "parameters": LIST.parameters,
                },
            }
        ],
    }


def test_a_context_of_oddities_is_accepted_by_a_strict_server() -> None:
    items = (
        Message(Role.USER, "one \ud800"),
        Message(Role.USER, "two"),
        Message(Role.ASSISTANT, ""),
        Message(Role.ASSISTANT, "", (ToolCall("a", "list_dir", "{not json"),)),
        ToolResult("a", "", ok=False),
        Message(Role.ASSISTANT, "", (ToolCall("a", "list dir", ""),)),
        ToolResult("a", "\udfff", ok=True),
        Message(Role.ASSISTANT, "done"),
        Message(Role.USER, " "),
    )

    with StrictChatServer() as server:
        parts = list(model(server).stream(ask(*items)))

    assert server.refused == []
    assert reply_of(parts).message.text == "ok"


def test_a_strict_server_refuses_a_call_without_its_result() -> None:
    call = ToolCall("a", "list_dir", "{}")
    items = (
        Message(Role.USER, "go"),
        Message(Role.ASSISTANT, "", (call,)),
        Message(Role.USER, "and"),
    )

    with StrictChatServer() as server, pytest.raises(ModelError, match="without results"):
        list(model(server).stream(ask(*items)))


def test_no_key_is_sent_where_none_was_given() -> None:
    with ModelServer(OK) as server:
        list(OpenAIModel("m", base_url=server.base_url).stream(ask()))

    assert "authorization" not in server.received[0].headers


def test_nothing_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "OPENAI_API_KEY": "sk-other",
        "OPENAI_ADMIN_KEY": "sk-admin",
        "OPENAI_ORG_ID": "org",
        "OPENAI_PROJECT_ID": "project",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "OPENAI_CUSTOM_HEADERS": "X-Secret: 1\nAuthorization: Bearer sk-third",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "",
    }.items():
        monkeypatch.setenv(name, value)

    with ModelServer(OK) as server:
        list(model(server).stream(ask()))

    headers = server.received[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert {"x-secret", "openai-organization", "openai-project"}.isdisjoint(headers)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (refusal(401, f"Incorrect API key {KEY}"), "refused the key (401); check OPENAI_API_KEY"),
        (refusal(403, f"no entry with {KEY}\nat all"), "(403): no entry with … at all."),
        (refusal(404, "The model `m` does not exist"), "does not know the model m (404)"),
        (refusal(404, "page not found"), "ends in /v1"),
        (refusal(400, "temperature is odd"), "(400): temperature is odd."),
        (refusal(429, "You exceeded your current quota"), "quota or credit"),
        (refusal(429, "slow down", Retry_After="3600"), "asks to wait 3600 s"),
        (
            refusal(400, '"auto" tool choice requires --enable-auto-tool-choice'),
            "--enable-auto-tool-choice and --tool-call-parser",
        ),
        (refusal(500, "tools param requires --jinja flag"), "--jinja"),
        (refusal(400, "gemma:2b does not support tools"), "choose a model that supports tools"),
        (Answer((b"<html>hello</html>",)), "sent no answer that can be read"),
        (Answer((b"data: {not json\n\n",)), "sent no answer that can be read"),
        (Answer((sse(chunk("Hel")),)), "cut off before its end"),
        (Answer((sse(chunk("Hel"), done=False),), cut=True), "cut off before its end"),
        (Answer((sse(chunk("He"), {"error": {"message": "GPU lost"}}),)), "GPU lost"),
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
    ("status", "words"),
    [
        (400, "This model's maximum context length is 4096 tokens"),
        (400, "the request exceeds the available context size"),
        (400, "Please reduce the length: context_length_exceeded"),
        (413, "Request too large"),
        (500, "prompt too long; exceeded max context length"),
    ],
)
def test_a_context_that_is_too_long_is_told_apart(status: int, words: str) -> None:
    assert isinstance(failure(refusal(status, words)), ContextTooLongError)


def test_a_text_about_context_in_an_ordinary_refusal_is_not_taken_for_length() -> None:
    assert not isinstance(failure(refusal(400, "bad role in message 3")), ContextTooLongError)


def test_a_busy_server_is_asked_again_and_the_person_is_told() -> None:
    sleeper = Sleeper()
    answers = (refusal(429, "slow", Retry_After="3"), refusal(503, "loading"), OK)

    with ModelServer(*answers) as server:
        parts = list(model(server, sleeper).stream(ask()))

    assert sleeper.slept == [3, 2]
    assert len(notices(parts)) == 2
    assert "(429); attempt 2 of 4 in 3 s" in notices(parts)[0]
    assert reply_of(parts).message.text == "ok"


def test_asking_again_ends_some_time() -> None:
    sleeper = Sleeper()

    with ModelServer(*[refusal(500, "broken")] * 9) as server, pytest.raises(ModelError) as caught:
        list(model(server, sleeper).stream(ask()))

    assert "failed (500): broken; try again later." in str(caught.value)
    assert (len(server.received), sleeper.slept) == (4, [1, 2, 4])


def test_an_error_before_the_first_word_is_asked_again() -> None:
    parts = play(Answer((sse({"error": {"message": "overloaded", "code": 503}}),)), OK)

    assert reply_of(parts).message.text == "ok"


def test_a_connection_that_breaks_before_the_answer_is_asked_again() -> None:
    assert reply_of(play(Answer(cut=True), OK)).message.text == "ok"


def test_a_broken_connection_after_the_last_word_does_no_harm() -> None:
    body = sse(chunk("all"), chunk(finish="stop"), done=False)

    assert reply_of(play(Answer((body,), cut=True))).message.text == "all"


def test_a_server_that_knows_no_stream_options_is_asked_without() -> None:
    with ModelServer(refusal(400, "Unknown field: stream_options"), OK, OK) as server:
        talker = model(server)
        list(talker.stream(ask()))
        list(talker.stream(ask()))

    assert ["stream_options" in one.body for one in server.received] == [True, False, False]


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/v1", "http://nowhere.invalid/v1"])
def test_a_server_that_is_not_there_is_named(address: str) -> None:
    with pytest.raises(ModelError, match=rf"The server at {address} cannot be reached"):
        list(OpenAIModel("m", base_url=address).stream(ask()))


@pytest.mark.parametrize("address", ["localhost:11434", "ftp://x/v1", "http://", "http://a:b/v1"])
def test_a_base_url_that_is_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(ModelError, match="is not a web address"):
        OpenAIModel("m", base_url=address)


def test_the_real_server_needs_a_key() -> None:
    with pytest.raises(ModelError, match="set OPENAI_API_KEY"):
        OpenAIModel("gpt", key=" ")


def test_a_key_that_no_header_can_hold_is_refused_without_showing_it() -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as caught:
        OpenAIModel("gpt", key="sk-ключ")

    assert "ключ" not in str(caught.value)


def test_leaving_in_the_middle_closes_the_connection() -> None:
    slow = Answer((sse(chunk("word "), done=False),) * 200, pause=0.02)

    with ModelServer(slow) as server:
        stream = model(server).stream(ask())
        first = next(stream)
        stream.close()  # type: ignore[attr-defined]
        assert server.left.wait(2)

    assert first == TextDelta("word ")


def test_ctrl_c_while_waiting_closes_the_connection() -> None:
    slow = Answer((sse(chunk("word "), done=False), *[b": wait\n\n"] * 100), pause=0.05)

    with ModelServer(slow) as server:
        stream = model(server).stream(ask())
        next(stream)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            next(stream)
        assert server.left.wait(2)


def test_a_model_that_is_dropped_leaves_no_socket_open() -> None:
    with ModelServer(OK) as server:
        list(model(server).stream(ask()))
        gc.collect()


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "list_dir", "arguments": {"path": "src"}}',
        ' {"tool": "list_dir", "parameters": {"path": "src"}}\n',
        '```json\n{"name": "list_dir", "arguments": {"path": "src"}}\n```',
        '<tool_call>\n{"name": "list_dir", "arguments": {"path": "src"}}\n</tool_call>',
        '{"name": "list_dir", "arguments": "{\\"path\\": \\"src\\"}"}',
        '{"type": "function", "function": {"name": "list_dir", "arguments": {"path": "src"}}}',
    ],
)
def test_a_call_written_as_text_is_taken_as_a_call(text: str) -> None:
    parts = play(Answer((sse(*(chunk(letter) for letter in text), chunk(finish="stop")),)))

    assert [type(part) for part in parts] == [Notice, Reply]
    assert "list_dir" in notices(parts)[0]
    message = reply_of(parts).message
    assert message == Message(
        Role.ASSISTANT, "", (ToolCall("call_1", "list_dir", '{"path": "src"}'),)
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "other", "arguments": {"path": "src"}}',
        '{"name": "list_dir", "arguments": {"path": 3}}',
        '{"name": "list_dir", "arguments": {}}',
        '{"name": "list_dir", "arguments": {"path": "a", "deep": true}}',
        'I call {"name": "list_dir", "arguments": {"path": "src"}}',
        '{"name": "list_dir", "arguments": {"path": "src"}} now',
        '{"path": "src"}',
        "```python\nprint()\n```",
        "{} {",
        "<b>",
    ],
)
def test_other_text_stays_text(text: str) -> None:
    parts = play(Answer((sse(*(chunk(letter) for letter in text), chunk(finish="stop")),)))

    assert "".join(part.text for part in parts if isinstance(part, TextDelta)) == text
    assert reply_of(parts).message == Message(Role.ASSISTANT, text)


@pytest.mark.parametrize("cut", [True, False])
def test_text_that_was_held_back_is_shown_when_the_answer_is_cut(cut: bool) -> None:
    with ModelServer(Answer((sse(chunk('{"na'), done=False),), cut=cut)) as server:
        stream = model(server).stream(ask())

        assert next(stream) == TextDelta('{"na')
        with pytest.raises(ModelError, match="cut off"):
            next(stream)


def test_a_server_that_silently_cuts_is_noticed_once() -> None:
    def counted(tokens: int) -> Answer:
        usage: Mapping[str, JsonValue] = {"prompt_tokens": tokens, "completion_tokens": 1}
        return Answer((sse(chunk("ok"), chunk(finish="stop"), chunk(usage=usage)),))

    items: list[Item] = [Message(Role.USER, "a " * 300)]
    told: list[int] = []
    with ModelServer(*map(counted, [300, 700, 700, 690])) as server:
        talker = model(server)
        for _ in range(4):
            told.append(len(notices(list(talker.stream(ask(*items))))))
            items += [Message(Role.ASSISTANT, "ok"), Message(Role.USER, "b " * 300)]

    assert told == [0, 0, 1, 0]


def test_an_answer_at_the_limit_says_so() -> None:
    parts = play(Answer((sse(chunk("and so"), chunk(finish="length")),)))

    assert "limit" in notices(parts)[0]
    assert reply_of(parts).message.text == "and so"


def test_an_empty_answer_is_a_reply_without_text() -> None:
    assert play(Answer((sse(chunk(finish="stop")),))) == [Reply(Message(Role.ASSISTANT, ""), None)]


def test_the_library_is_imported_at_the_first_request_only() -> None:
    program = (
        "import sys, keryx_py.models.catalog as c;"
        "c.open_model('openai/m', base_url='http://127.0.0.1:1/v1');"
        "c.open_model('anthropic/m', anthropic_key='k');"
        "print([n for n in ('openai', 'anthropic', 'httpx', 'httpx2') if n in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
