"""Models behind the OpenAI chat protocol: OpenAI's own, and every server that speaks it."""

from __future__ import annotations

import contextlib
import re
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING

from keryx_py.messages import JsonValue, Message, Role
from keryx_py.models.base import ModelError, Notice, Reply, ReplyPart, Request, TextDelta
from keryx_py.models.chat_wire import chat_body
from keryx_py.models.connection import (
    CONNECT_SECONDS,
    READ_SECONDS,
    broken,
    checked_base_url,
    checked_key,
    only_own_headers,
    said,
    settled,
    transport_errors,
)
from keryx_py.models.failures import Refusal, Server, cut_short, explain, nothing_usable
from keryx_py.models.growth import GrowthWatch
from keryx_py.models.pieces import call_ids, fresh_id
from keryx_py.models.retry import with_retries
from keryx_py.models.salvage import CallText, salvage
from keryx_py.models.toolstream import ChatAnswer

if TYPE_CHECKING:
    from openai import APIError, OpenAI, Stream

OWN_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"


class OpenAIModel:
    """One model of one server. Nothing is imported or connected before the first request."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key: str | None = None,
        context_tokens: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Name *model* at *base_url*, or at OpenAI's own server, which needs a *key*.

        Raises ModelError when the base URL or the key cannot be used.
        """
        key = checked_key(key or "", KEY_VARIABLE)
        if not base_url and not key:
            raise ModelError(
                f"The model openai/{model} needs a key; set {KEY_VARIABLE}, or name a server of "
                "your own with --base-url."
            )
        url = checked_base_url(base_url or OWN_URL)
        self._server = Server(model, url, "openai/NAME", KEY_VARIABLE, url != OWN_URL, key)
        self._context_tokens = context_tokens
        self._sleep = sleep
        self._client: OpenAI | None = None
        self._asks_for_usage = True
        self._growth = GrowthWatch()

    @property
    def name(self) -> str:
        """The name that `--model` takes."""
        return f"openai/{self._server.model}"

    @property
    def context_tokens(self) -> int | None:
        """The window's size in tokens, as it was told; servers do not say."""
        return self._context_tokens

    def stream(self, request: Request) -> Iterator[ReplyPart]:
        """Yield the answer to *request*; see Model.stream."""
        yield from with_retries(lambda: self._attempt(request), self._sleep)

    def _attempt(self, request: Request) -> Generator[ReplyPart]:
        answer = ChatAnswer()
        # Text that may turn out to be a call is not shown before that is known.
        held = CallText(possible=bool(request.tools))
        try:
            with contextlib.closing(self._chunks(request)) as chunks:
                for chunk in chunks:
                    if text := held.feed(answer.feed(chunk)):
                        yield TextDelta(text)
            if not answer.finish:
                raise ModelError(cut_short(self._server))
        except ModelError:
            # What comes after the last word is of no interest.
            if not answer.finish:
                if text := held.release():
                    yield TextDelta(text)
                raise
        yield from self._finished(request, answer, held)

    def _finished(
        self, request: Request, answer: ChatAnswer, held: CallText
    ) -> Generator[ReplyPart]:
        rest = answer.end()
        text, taken = answer.text, call_ids(request.items)
        calls = answer.calls(taken)
        salvaged = None if calls else salvage(text, request.tools, fresh_id(taken))
        if salvaged is not None:
            yield Notice(
                f"The model wrote its call of {salvaged.tool} as text; it is taken as one."
            )
            text, calls = "", (salvaged,)
        elif rest := held.release() + rest:
            yield TextDelta(rest)
        if notice := _how_it_ended(answer):
            yield Notice(notice)
        if self._growth.seems_cut(request, answer.usage):
            yield Notice(
                "The conversation grew, but the server does not count more tokens: it seems to "
                "cut off the beginning. Give it a larger context (Ollama: OLLAMA_CONTEXT_LENGTH)."
            )
        yield Reply(Message(Role.ASSISTANT, text, calls), answer.usage)

    def _chunks(self, request: Request) -> Generator[Mapping[str, JsonValue]]:
        """Yield what the server sends. Raises ModelError when it refuses or breaks off."""
        from openai import APIError, OpenAIError

        begun = False
        try:
            with contextlib.closing(self._open(request)) as stream:
                for chunk in stream:
                    if isinstance(chunk, Mapping):
                        begun = True
                        yield chunk
            if not begun:
                raise nothing_usable(self._server)
        except APIError as error:
            raise settled(self._explain(error, begun=begun), begun=begun) from error
        except transport_errors() as error:
            raise broken(error, self._server, begun=begun) from error
        except OpenAIError as error:
            raise nothing_usable(self._server) from error
        except ValueError as error:
            # No JSON, or no UTF-8.
            raise nothing_usable(self._server) from error

    def _open(self, request: Request) -> Stream[object]:
        from openai import BadRequestError

        try:
            return self._post(request)
        except BadRequestError as error:
            if not (
                self._asks_for_usage
                and re.search(r"stream_options|include_usage", said(error.body))
            ):
                raise
        self._asks_for_usage = False
        return self._post(request)

    def _post(self, request: Request) -> Stream[object]:
        from openai import Stream

        # Not chat.completions.create(): its types drop what other servers add or leave out.
        return self._connected().post(
            "/chat/completions",
            cast_to=object,
            body=chat_body(self._server.model, request, usage=self._asks_for_usage),
            stream=True,
            stream_cls=Stream[object],
        )

    def _connected(self) -> OpenAI:
        if self._client is not None:
            return self._client
        from openai import DefaultHttpxClient, OpenAI, Timeout

        key = self._server.secret
        authorization = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = OpenAI(
            api_key=key or "none",
            base_url=self._server.url,
            max_retries=0,
            http_client=DefaultHttpxClient(
                trust_env=False,
                timeout=Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
                event_hooks={"request": [only_own_headers(lambda: authorization)]},
            ),
        )
        weakref.finalize(self, self._client.close)
        return self._client

    def _explain(self, error: APIError, *, begun: bool) -> ModelError:
        from openai import APIConnectionError, APIStatusError

        if isinstance(error, APIConnectionError):
            return broken(error, self._server, begun=begun)
        code = error.code or ""
        if isinstance(error, APIStatusError):
            headers = dict(error.response.headers)
            refusal = Refusal(error.status_code, said(error.body), headers, code)
        else:
            # An error sent inside a stream has no status of its own.
            refusal = Refusal(_status(code, error.type or ""), said(error.body), code=code)
        return explain(refusal, self._server)


def _status(code: str, kind: str) -> int:
    if re.fullmatch(r"[45]\d\d", code):
        return int(code)
    return 429 if "rate_limit" in f"{code} {kind}" else 400 if "invalid" in kind else 500


def _how_it_ended(answer: ChatAnswer) -> str:
    if answer.finish == "length":
        return "The answer stopped at the model's limit; ask it to go on if it should."
    if answer.finish == "content_filter":
        return "The server's content filter ended the answer."
    return ""
