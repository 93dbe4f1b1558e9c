"""What the providers' libraries share: a connection that takes nothing from the environment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, MutableMapping
from typing import Protocol
from urllib.parse import urlsplit

from keryx_py.models.base import ModelError
from keryx_py.models.failures import (
    Server,
    TransientError,
    cut_short,
    shown_url,
    unreachable,
)

CONNECT_SECONDS = 10.0
READ_SECONDS = 600.0
"""Between two pieces; a model of one's own may read a long context for minutes."""

_SENT = frozenset(
    {
        "accept",
        "accept-encoding",
        "anthropic-version",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
    }
)


class OutgoingRequest(Protocol):
    """A request of whichever HTTP library the provider's library uses."""

    @property
    def headers(self) -> MutableMapping[str, str]:
        """The headers as they will be sent."""


def only_own_headers(
    authorization: Callable[[], Mapping[str, str]],
) -> Callable[[OutgoingRequest], None]:
    """Return a hook that drops each header that the libraries take from the environment.

    They add headers from variables of their own, keys among them; what *authorization* gives stays.
    """

    def strip(request: OutgoingRequest) -> None:
        for name in [name for name in request.headers if name.lower() not in _SENT]:
            del request.headers[name]
        request.headers.update(authorization())

    return strip


def checked_base_url(base_url: str) -> str:
    """Return *base_url* without a slash at its end. Raises ModelError when it is none."""
    try:
        parts = urlsplit(base_url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        # Read for its check of the number.
        usable = usable and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or any(c.isspace() for c in base_url.strip()):
        raise ModelError(
            f'The base URL "{shown_url(base_url)}" is not a web address; write one like '
            "http://localhost:11434/v1."
        )
    return base_url.strip().rstrip("/")


def checked_key(key: str, variable: str) -> str:
    """Return *key* without blanks round it. Raises ModelError when no header can hold it."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ModelError(f"The key in {variable} holds characters that no key has; copy it anew.")
    return key


def transport_errors() -> tuple[type[Exception], ...]:
    """Return the base class of what the HTTP libraries raise on a broken connection.

    Which of the two a provider's library uses depends on its version.
    """
    loaded = (sys.modules.get(name) for name in ("httpx", "httpx2"))
    return tuple(module.HTTPError for module in loaded if module is not None)


def broken(error: Exception, server: Server, *, begun: bool) -> ModelError:
    """Return what a broken connection means; *begun* tells whether anything had arrived."""
    # The libraries wrap what the socket raised; its name says how far the request came.
    names = {type(one).__name__ for one in _causes(error)}
    if begun:
        return ModelError(cut_short(server))
    if "gaierror" in names:
        return unreachable(server, "there is no server of this name")
    if "ConnectTimeout" in names:
        return unreachable(server, f"no answer in {CONNECT_SECONDS:g} s")
    if names & {"SSLCertVerificationError", "SSLError"}:
        return unreachable(server, "no trusted encryption")
    if "ConnectError" in names:
        reason = "connection refused" if "ConnectionRefusedError" in names else "no connection"
        return unreachable(server, reason)
    if names & {"ReadTimeout", "WriteTimeout", "PoolTimeout", "APITimeoutError"}:
        return ModelError(f"Nothing came from {server} in {READ_SECONDS:g} s; try again later.")
    return TransientError(f"The connection to {server} broke before the answer began")


def settled(error: ModelError, *, begun: bool) -> ModelError:
    """Return *error* so that nothing is asked twice once anything of an answer had *begun*."""
    return ModelError(str(error)) if begun and isinstance(error, TransientError) else error


def said(body: object) -> str:
    """Return the server's own words in the *body* of an error, wherever it puts them."""
    while isinstance(body, Mapping):
        body = next((body[key] for key in ("error", "message", "detail") if body.get(key)), "")
    return body if isinstance(body, str) else "" if body is None else str(body)


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in found:
        found.append(cause)
        cause = cause.__cause__ or cause.__context__
    return found
