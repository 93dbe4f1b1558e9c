"""Anthropic's models, through its own messages protocol."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING

from keryx_py.messages import JsonValue, Message, Role
from keryx_py.models.base import ModelError, Notice, Reply, ReplyPart, Request, TextDelta
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
from keryx_py.models.messages_wire import messages_body
from keryx_py.models.messagestream import MessageAnswer
from keryx_py.models.pieces import call_ids
from keryx_py.models.retry import with_retries

if TYPE_CHECKING:
    from anthropic import Anthropic, APIError, Stream

OWN_URL = "https://api.anthropic.com"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
MAX_TOKENS = 32_000
"""Of one answer, thinking included; a model that may write less says so, and is asked for that."""

_STATUS: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""An error that is sent inside a stream has a kind, and no status."""

_ENDINGS: Mapping[str, str] = {
    "max_tokens": "The answer stopped at the model's limit; ask it to go on if it should.",
    "model_context_window_exceeded": "The answer filled the model's context; use /compact.",
    "refusal": "The model declined to go on.",
}


class AnthropicModel:
    """One model of Anthropic's. Nothing is imported or connected before the first request."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key: str | None = None,
        context_tokens: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Name *model* at *base_url*, or at Anthropic's own server, which needs a *key*.

        Raises ModelError when the base URL or the key cannot be used.
        """
        key = checked_key(key or "", KEY_VARIABLE)
        if not base_url and not key:
            raise ModelError(f"The model anthropic/{model} needs a key; set {KEY_VARIABLE}.")
        # The library adds the version's path itself.
        url = checked_base_url(base_url or OWN_URL).removesuffix("/v1")
        self._server = Server(model, url, "anthropic/NAME", KEY_VARIABLE, url != OWN_URL, key)
        self._context_tokens = context_tokens
        self._sleep = sleep
        self._client: Anthropic | None = None
        self._max_tokens = MAX_TOKENS

    @property
    def name(self) -> str:
        """The name that `--model` takes."""
        return f"anthropic/{self._server.model}"

    @property
    def context_tokens(self) -> int | None:
        """The window's size in tokens, as it was told."""
        return self._context_tokens

    def stream(self, request: Request) -> Iterator[ReplyPart]:
        """Yield the answer to *request*; see Model.stream."""
        yield from with_retries(lambda: self._attempt(request), self._sleep)

    def _attempt(self, request: Request) -> Generator[ReplyPart]:
        answer = MessageAnswer()
        try:
            with contextlib.closing(self._events(request)) as events:
                for event in events:
                    if text := answer.feed(event):
                        yield TextDelta(text)
        except ModelError:
            # What comes after the last word is of no interest.
            if not answer.finish:
                raise
        if not answer.finish:
            raise ModelError(cut_short(self._server))
        if rest := answer.end():
            yield TextDelta(rest)
        if notice := _ENDINGS.get(answer.finish):
            yield Notice(notice)
        message = Message(
            Role.ASSISTANT,
            answer.text,
            answer.calls(call_ids(request.items)),
            answer.thinking(self.name),
        )
        yield Reply(message, answer.usage)

    def _events(self, request: Request) -> Generator[Mapping[str, JsonValue]]:
        """Yield what the server sends. Raises ModelError when it refuses or breaks off."""
        from anthropic import AnthropicError, APIError

        begun = False
        try:
            with contextlib.closing(self._open(request)) as stream:
                for event in stream:
                    if isinstance(event, Mapping):
                        begun = True
                        yield event
            if not begun:
                raise nothing_usable(self._server)
        except APIError as error:
            raise settled(self._explain(error, begun=begun), begun=begun) from error
        except transport_errors() as error:
            raise broken(error, self._server, begun=begun) from error
        except (AnthropicError, ValueError) as error:
            raise nothing_usable(self._server) from error

    def _open(self, request: Request) -> Stream[object]:
        from anthropic import BadRequestError

        try:
            return self._post(request)
        except BadRequestError as error:
            most = re.search(r"max_tokens: \d+ > (\d+)", said(error.body))
            if most is None:
                raise
            self._max_tokens = int(most[1])
        return self._post(request)

    def _post(self, request: Request) -> Stream[object]:
        from anthropic import Stream

        # Not messages.create(): thinking has to go back exactly as it came.
        return self._connected().post(
            "/v1/messages",
            cast_to=object,
            body=messages_body(self._server.model, self.name, request, max_tokens=self._max_tokens),
            stream=True,
            stream_cls=Stream[object],
        )

    def _connected(self) -> Anthropic:
        if self._client is not None:
            return self._client
        from anthropic import Anthropic, DefaultHttpxClient, Timeout

        traced = "open_telemetry" in inspect.signature(Anthropic.__init__).parameters
        make = functools.partial(Anthropic, open_telemetry=False) if traced else Anthropic
        client = make(
            api_key=self._server.secret or "none",
            base_url=self._server.url,
            max_retries=0,
            http_client=DefaultHttpxClient(
                trust_env=False,
                timeout=Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
                event_hooks={"request": [only_own_headers(lambda: client.auth_headers)]},
            ),
        )
        weakref.finalize(self, client.close)
        self._client = client
        return client

    def _explain(self, error: APIError, *, begun: bool) -> ModelError:
        from anthropic import APIConnectionError, APIStatusError

        if isinstance(error, APIConnectionError):
            return broken(error, self._server, begun=begun)
        kind = _kind(error.body)
        if isinstance(error, APIStatusError):
            status = error.status_code if error.status_code >= 400 else _STATUS.get(kind, 500)
            headers = dict(error.response.headers)
            return explain(Refusal(status, said(error.body), headers, kind), self._server)
        return explain(Refusal(_STATUS.get(kind, 500), said(error.body), code=kind), self._server)


def _kind(body: object) -> str:
    inner = body.get("error") if isinstance(body, Mapping) else None
    kind = inner.get("type") if isinstance(inner, Mapping) else None
    return kind if isinstance(kind, str) else ""
