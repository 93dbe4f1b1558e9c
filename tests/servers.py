"""Model servers on loopback for tests: one that plays what it is given, and one that is strict."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from keryx_py.messages import JsonValue


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server sends back to one request."""

    pieces: tuple[bytes, ...] = ()
    """The body, each piece in a packet of its own."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0
    """Seconds between two pieces."""
    cut: bool = False
    """Whether the connection breaks after the last piece, before the body's end."""


@dataclass(frozen=True, slots=True)
class Received:
    """One request, as a server got it."""

    path: str
    headers: Mapping[str, str]
    """With names in lower case."""
    body: Mapping[str, JsonValue]


def sse(*events: JsonValue, newline: str = "\n", done: bool = True) -> bytes:
    """Write *events* as a stream of the OpenAI kind, ended by `[DONE]` where *done*."""
    lines = [f"data: {json.dumps(event)}" for event in events] + ["data: [DONE]"] * done
    return "".join(line + newline * 2 for line in lines).encode()


def named_sse(*events: Mapping[str, JsonValue]) -> bytes:
    """Write *events* as a stream of the Anthropic kind, each under its own type."""
    return "".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events
    ).encode()


def bytewise(body: bytes) -> tuple[bytes, ...]:
    """Cut *body* into pieces of one byte."""
    return tuple(body[at : at + 1] for at in range(len(body)))


def chunk(
    text: str | None = None,
    *,
    calls: JsonValue = None,
    finish: str | None = None,
    usage: Mapping[str, JsonValue] | None = None,
) -> JsonValue:
    """Make one chunk of a chat completion."""
    delta: dict[str, JsonValue] = {}
    if text is not None:
        delta["content"] = text
    if calls is not None:
        delta["tool_calls"] = calls
    whole: dict[str, JsonValue] = {
        "id": "c1",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return {**whole, "usage": usage} if usage else whole


def refusal(status: int, message: str, **headers: str) -> Answer:
    """Make an answer that is an error, as OpenAI words it; `_` in a header's name means `-`."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": None}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer((body,), status, {"Content-Type": "application/json", **named})


class ModelServer:
    """Answers each request with the next of its answers; keeps what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = deque(answers)
        self.received: list[Received] = []
        self.left = threading.Event()
        """Set when a client went away before its answer ended."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def url(self) -> str:
        """Where it answers, without the version's path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def base_url(self) -> str:
        """The base URL for the OpenAI chat protocol."""
        return f"{self.url}/v1"

    def add(self, *answers: Answer) -> None:
        """Give *answers* after those that are left."""
        self._answers.extend(answers)

    def answer(self, received: Received) -> Answer:
        """Choose what to send back."""
        if not self._answers:
            return refusal(410, "the test gave no answer for this request")
        return self._answers.popleft()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self) -> None:
                # A client may go at any time; that is no fault to report.
                with contextlib.suppress(ConnectionError):
                    super().handle()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                received = Received(self.path, headers, json.loads(body))
                server.received.append(received)
                try:
                    self._send(server.answer(received))
                except OSError:
                    self.close_connection = True
                    server.left.set()

            def _send(self, answer: Answer) -> None:
                self.send_response(answer.status)
                headers = {"Content-Type": "text/event-stream", **answer.headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for piece in answer.pieces:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    self.wfile.flush()
                    time.sleep(answer.pause)
                if answer.cut:
                    self.close_connection = True
                else:
                    self.wfile.write(b"0\r\n\r\n")

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: what is asked is in `received`."""

        return Handler


class StrictChatServer(ModelServer):
    """Speaks the chat protocol and refuses, with 400, every context that any real server refuses.

    It answers with *replies*, each a text or a list of calls `(tool, arguments)`, then "ok".
    """

    def __init__(self, *replies: str | Sequence[tuple[str, Mapping[str, JsonValue]]]) -> None:
        super().__init__()
        self._replies = deque(replies)
        self._calls = 0
        self.refused: list[str] = []
        """Why each refused request was."""

    def answer(self, received: Received) -> Answer:
        """Check the context, then reply."""
        fault = next(chat_faults(received.body), None)
        if fault is not None:
            self.refused.append(fault)
            return refusal(400, fault)
        # A summary is asked for without tools; it takes none of the replies.
        reply = self._replies.popleft() if self._replies and received.body.get("tools") else "ok"
        usage: dict[str, JsonValue] = {
            "prompt_tokens": len(json.dumps(received.body)) // 4,
            "completion_tokens": 5,
        }
        if isinstance(reply, str):
            return Answer((sse(chunk(reply), chunk(finish="stop"), chunk(usage=usage)),))
        calls = [self._call(at, tool, args) for at, (tool, args) in enumerate(reply)]
        return Answer((sse(chunk(calls=calls), chunk(finish="tool_calls"), chunk(usage=usage)),))

    def _call(self, index: int, tool: str, args: Mapping[str, JsonValue]) -> JsonValue:
        self._calls += 1
        function: JsonValue = {"name": tool, "arguments": json.dumps(args)}
        return {"index": index, "id": f"call_{self._calls}", "function": function}


def chat_faults(body: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yield what is wrong with the messages of a chat request: roles, pairs, ids, empty texts."""
    found = body.get("messages")
    messages = [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
    talk = [message for message in messages if message["role"] != "system"]
    if any(message["role"] == "system" for message in messages[1:]):
        yield "a system message stands after the first"
    if not talk or talk[0]["role"] != "user":
        yield "the conversation does not begin with the user"
        return
    yield from _order_faults(talk)
    yield from _call_faults(talk)
    if talk[-1]["role"] == "assistant":
        yield "the conversation ends with the assistant"


def _order_faults(talk: Sequence[Mapping[str, JsonValue]]) -> Iterator[str]:
    for first, second in itertools.pairwise(talk):
        pair = (first["role"], second["role"])
        if pair in {("user", "user"), ("assistant", "assistant"), ("user", "tool")}:
            yield f"{pair[1]} after {pair[0]}"
        if pair == ("assistant", "user") and first.get("tool_calls"):
            yield "calls without results"
        if pair == ("assistant", "tool") and not first.get("tool_calls"):
            yield "a result without a call"
    for message in talk:
        if not message.get("tool_calls") and not str(message.get("content") or "").strip():
            yield f"an empty {message['role']} message"


def _call_faults(talk: Sequence[Mapping[str, JsonValue]]) -> Iterator[str]:
    seen: set[str] = set()
    waiting: list[str] = []
    for message in [*talk, {"role": "end"}]:
        if message["role"] == "tool":
            wanted = waiting.pop(0) if waiting else "no call"
            if message.get("tool_call_id") != wanted:
                yield f"the result of {message.get('tool_call_id')} where that of {wanted} belongs"
            continue
        if waiting:
            yield f"no result for {', '.join(waiting)}"
        waiting = []
        for call_id, arguments in _calls_of(message):
            if not call_id or call_id in seen:
                yield f"the id {call_id!r} is empty or used twice"
            seen.add(call_id)
            waiting.append(call_id)
            try:
                valid = isinstance(json.loads(arguments), dict)
            except ValueError:
                valid = False
            if not valid:
                yield f"the arguments of {call_id} are no JSON object"


def _calls_of(message: Mapping[str, JsonValue]) -> Iterable[tuple[str, str]]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping) and isinstance(function := call["function"], Mapping):
            yield str(call["id"]), str(function["arguments"])
