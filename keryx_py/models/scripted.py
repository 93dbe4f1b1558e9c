"""A model that plays a script of replies: for examples, tests and demonstrations.

A reply is chosen by the context alone wherever the script says which prompt it answers, so a script
plays the same after a rewind and in another process.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from keryx_py.messages import Item, JsonValue, Message, Role, ToolCall, Usage
from keryx_py.models.base import (
    ContextTooLongError,
    ModelError,
    Notice,
    Reply,
    ReplyPart,
    Request,
    TextDelta,
)
from keryx_py.models.pieces import call_ids, fresh_id, pieces
from keryx_py.models.prompts import last_block, prompts, since_prompt

BUILT_IN_SUMMARY = "The conversation so far was played from a script."


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One step that the script plays."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    """A call whose id is empty gets one."""
    usage: Usage | None = None
    notice: str = ""
    error: str = ""
    """The sentence of the ModelError that ends the reply; empty when it is whole."""
    too_long: bool = False
    """Whether that error says that the context is too long."""
    delay: float = 0
    """Seconds to wait before anything comes."""


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """The replies to one prompt, a step each."""

    prompt: str
    """Text that the prompt is, or holds; every prompt holds the empty text."""
    replies: tuple[ScriptedReply, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """All that a script holds."""

    turns: tuple[ScriptedTurn, ...] = ()
    """Chosen by the prompt, as often as it is sent."""
    replies: tuple[ScriptedReply, ...] = ()
    """Played once each, in order, to prompts that no turn answers."""
    summary: str = BUILT_IN_SUMMARY
    context_tokens: int | None = None


def scripted_call(tool: str, **args: JsonValue) -> ToolCall:
    """Make a call of *tool* with *args* for a scripted reply."""
    return ToolCall(id="", tool=tool, args=json.dumps(args))


class ScriptedModel:
    """Plays a script. Requests that offer no tools are answered with its summary."""

    def __init__(
        self,
        replies: Sequence[ScriptedReply | str] = (),
        *,
        script: Script | None = None,
        name: str = "script",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Play *script*, its plain replies followed by *replies*; a text alone is a reply."""
        self._script = script or Script()
        more = (ScriptedReply(reply) if isinstance(reply, str) else reply for reply in replies)
        self._replies = (*self._script.replies, *more)
        self._played = 0
        self._name = name
        self._sleep = sleep

    @classmethod
    def from_file(cls, path: Path, sleep: Callable[[float], None] = time.sleep) -> ScriptedModel:
        """Read the script at *path*. Raises ModelError when it cannot be read or used."""
        # The reader is only needed here, and it imports this module's types.
        from keryx_py.models.script_file import load_script

        return cls(script=load_script(path), name=f"script:{path}", sleep=sleep)

    @property
    def name(self) -> str:
        """The name that `--model` takes."""
        return self._name

    @property
    def context_tokens(self) -> int | None:
        """The window that the script gives itself; None when it says nothing."""
        return self._script.context_tokens

    def stream(self, request: Request) -> Iterator[ReplyPart]:
        """Yield the script's next reply to *request*."""
        reply = self._choose(request)
        if reply.delay:
            self._sleep(reply.delay)
        if reply.notice:
            yield Notice(reply.notice)
        for piece in pieces(reply.text):
            yield TextDelta(piece)
        if reply.error:
            raise (ContextTooLongError if reply.too_long else ModelError)(reply.error)
        calls = _with_ids(reply.calls, request.items)
        yield Reply(Message(Role.ASSISTANT, reply.text, calls), reply.usage)

    def _choose(self, request: Request) -> ScriptedReply:
        if not request.tools:
            return ScriptedReply(self._script.summary)
        turn = turn_for(self._script.turns, prompts(request.items))
        if turn is not None:
            return self._step_of(turn, request.items)
        if self._played == len(self._replies):
            raise ModelError(self._exhausted(request.items))
        self._played += 1
        return self._replies[self._played - 1]

    def _step_of(self, turn: ScriptedTurn, items: Sequence[Item]) -> ScriptedReply:
        step = sum(isinstance(item, Message) for item in since_prompt(items))
        if step >= len(turn.replies):
            raise ModelError(self._exhausted(items))
        return turn.replies[step]

    def _exhausted(self, items: Sequence[Item]) -> str:
        sent = prompts(items)
        prompt = sent[-1] if sent else ""
        short = prompt if len(prompt) <= 60 else prompt[:59] + "…"
        return (
            f'The script of model "{self._name}" has no further reply for the prompt "{short}"; '
            "add one, or choose another model with /model."
        )


def turn_for(turns: Sequence[ScriptedTurn], sent: Sequence[str]) -> ScriptedTurn | None:
    """Return the one of *turns* that answers the last prompt in *sent*; None when none does.

    Where several answer it, the first time it is sent takes the first of them, and so on; the last
    of them answers from then on.
    """
    if not sent:
        return None
    answering = _answering(turns, sent[-1])
    if not answering:
        return None
    times = sum(_answering(turns, prompt) == answering for prompt in sent[:-1])
    return answering[min(times, len(answering) - 1)]


def _answering(turns: Sequence[ScriptedTurn], prompt: str) -> tuple[ScriptedTurn, ...]:
    """Return those of *turns* that fit *prompt* best: as it is, its end, or a part of it."""
    end = last_block(prompt)
    fits: tuple[Callable[[str], bool], ...] = (
        lambda wanted: wanted.strip() in (prompt, end),
        lambda wanted: bool(wanted) and wanted in end,
        lambda wanted: wanted in prompt,
    )
    for fit in fits:
        if found := tuple(turn for turn in turns if fit(turn.prompt)):
            return found
    return ()


def _with_ids(calls: Sequence[ToolCall], items: Sequence[Item]) -> tuple[ToolCall, ...]:
    taken = call_ids(items)
    return tuple(call if call.id else replace(call, id=fresh_id(taken)) for call in calls)
