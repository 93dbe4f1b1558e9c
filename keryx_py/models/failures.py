"""Turn what a server says when it refuses into one sentence that says what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from keryx_py.models.base import ContextTooLongError, ModelError
from keryx_py.models.pieces import whole_characters


class TransientError(ModelError):
    """The server could not answer now; the same request may succeed later."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(f"{reason}; try again later.")
        self.reason = reason
        """What happened, without advice and without a full stop."""
        self.wait = wait
        """Seconds that the server asks for; None when it does not say."""


@dataclass(frozen=True, slots=True)
class Server:
    """Who is asked, for the sentences about it."""

    model: str
    url: str
    form: str
    """The form of the model's name, such as "openai/NAME"."""
    key_variable: str
    own: bool
    """Whether it is a server of the person's choice, not the provider's own."""
    secret: str = field(default="", repr=False)
    """The key, which no sentence may hold."""

    def __str__(self) -> str:
        return f"the server at {shown_url(self.url)}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is an error."""

    status: int
    text: str
    """The server's own words."""
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str = ""


_LOGIN = re.compile(r"(?<=//)[^/?#]*@")


def shown_url(url: str) -> str:
    """Leave a name and password out of *url*, which may be a key."""
    return _LOGIN.sub("…@", url)


_TOO_LONG = re.compile(
    r"context[_ ]length|maximum context|context (?:window|limit|size)|exceed_context|"
    r"prompt (?:is )?too long|too large for model|input token count|"
    r"(?:longer|larger|exceeds?|greater) than the (?:maximum )?(?:model|context)|"
    r"maximum (?:model|prompt|input) length",
    re.IGNORECASE,
)
_TOOLS = re.compile(
    r"enable-auto-tool-choice|tool-call-parser|--jinja|tools? param requires|"
    r"(?:does|do) not support (?:tools|function)|tool (?:choice|use|calling) (?:is )?not supported",
    re.IGNORECASE,
)
_USED_UP = re.compile(r"insufficient_quota|exceeded your current quota|credit balance", re.I)
_TRANSIENT = frozenset({408, 409, 425, 429})


def explain(refusal: Refusal, server: Server) -> ModelError:
    """Return the error that says what *refusal* by *server* means and what to do."""
    said = f"{refusal.code} {refusal.text}"
    if refusal.status in (400, 404, 413, 422, 500, 501) and _TOOLS.search(said):
        return _tools_refused(refusal, server)
    if refusal.status == 413 or (refusal.status < 501 and _TOO_LONG.search(said)):
        return ContextTooLongError(
            f"The conversation is too long for the model {server.model}; "
            "use /compact, or a model with a larger context."
        )
    if refusal.status == 401:
        return ModelError(_no_access(server))
    if _USED_UP.search(said):
        return ModelError(
            f"The quota or credit at {server} is used up; add to it, or choose another model "
            "with /model."
        )
    if refusal.status == 404:
        return ModelError(_not_found(refusal, server))
    if refusal.status in _TRANSIENT or refusal.status >= 500:
        return TransientError(_busy(refusal, server), retry_after(refusal.headers))
    return ModelError(
        f"{_start(server)} refused the request ({refusal.status}){_quote(refusal, server)}"
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that *headers* ask to wait; None when they do not say it in seconds."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        found = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*", headers.get(name, ""))
        if found:
            return float(found[1]) / unit
    return None


def unreachable(server: Server, reason: str) -> ModelError:
    """Return the error for a server that no connection reaches; *reason* is a few words."""
    advice = (
        "check that it runs and that the base URL is right"
        if server.own
        else "check the network connection"
    )
    return ModelError(f"{_start(server)} cannot be reached ({reason}); {advice}.")


def cut_short(server: Server) -> str:
    """Return the sentence for an answer whose end never came."""
    return (
        f"The answer of {server.model} was cut off before its end, so it does not count; "
        "send the prompt again."
    )


def nothing_usable(server: Server) -> ModelError:
    """Return the error for an answer that is none in the protocol's words."""
    advice = (
        "check that the base URL is right (it often ends in /v1)"
        if server.own
        else "try again later"
    )
    return ModelError(f"{_start(server)} sent no answer that can be read; {advice}.")


def one_line(text: str, secret: str = "", most: int = 300) -> str:
    """Return *text* on one line, printable, without *secret*, and not too long."""
    if secret:
        text = text.replace(secret, "…")
    printable = (c if c.isprintable() else " " for c in whole_characters(text))
    line = " ".join("".join(printable).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _tools_refused(refusal: Refusal, server: Server) -> ModelError:
    said = refusal.text.lower()
    if "jinja" in said or "tools param requires" in said:
        advice = "start llama.cpp's server with --jinja"
    elif "auto-tool-choice" in said or "tool-call-parser" in said:
        advice = (
            "start vLLM with --enable-auto-tool-choice and --tool-call-parser followed by the "
            "parser for this model"
        )
    else:
        advice = "choose a model that supports tools"
    return ModelError(f"{_start(server)} refuses tools for the model {server.model}; {advice}.")


def _no_access(server: Server) -> str:
    if server.secret:
        return f"{_start(server)} refused the key (401); check {server.key_variable}."
    return f"{_start(server)} wants a key (401); set {server.key_variable}."


def _not_found(refusal: Refusal, server: Server) -> str:
    path = " and that the base URL is right (it often ends in /v1)" if server.own else ""
    return (
        f"{_start(server)} does not know the model {server.model} (404)"
        f"{_quote(refusal, server, end='')}; check the name in {server.form}{path}."
    )


def _busy(refusal: Refusal, server: Server) -> str:
    if refusal.status == 429:
        return f"{_start(server)} says that there were too many requests (429)"
    if refusal.status == 529:
        return f"{_start(server)} is overloaded (529)"
    said = _quote(refusal, server, end="")
    return f"{_start(server)} failed ({refusal.status}){said}"


def _quote(refusal: Refusal, server: Server, end: str = ".") -> str:
    said = one_line(refusal.text, server.secret)
    # A page of HTML is no explanation.
    if not said or said.startswith("<"):
        return end
    return f": {said.rstrip('.')}{end}"


def _start(server: Server) -> str:
    text = str(server)
    return text[0].upper() + text[1:]
