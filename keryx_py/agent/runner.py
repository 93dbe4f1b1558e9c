"""Take one call through its gates: known, valid, risk, approval, snapshot, run.

A failure at any gate goes back to the model as that call's result; nothing after the gate happens.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import TypeAlias

from keryx_py.agent.approval import Approval, Asker, Policy, Question
from keryx_py.agent.events import CallEnded, CallOutput, CallStarted, Event, NoticeGiven
from keryx_py.messages import ToolCall, ToolResult
from keryx_py.session.archive import Entry, RanEntry, RunEntry
from keryx_py.tools.arguments import parse_args
from keryx_py.tools.base import Args, MovesGit, Outcome, Risk, Tool, ToolError

Emit: TypeAlias = Callable[[Event], None]
Append: TypeAlias = Callable[[Entry], object]
Coverage: TypeAlias = Callable[[tuple[bytes, ...], int], str]
"""Why a rewind would not cover a write of so many bytes to these paths; "" when it would."""


class Kept(Enum):
    """What came of asking for the turn's snapshot."""

    SAVED = "saved"
    NOT_TAKEN = "not taken"
    """Snapshots are off here; nobody is asked."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Saved:
    """The answer of the one who keeps the files."""

    kept: Kept
    reason: str = ""
    """Why it FAILED, in a few words."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A gate stopped the call."""

    summary: str
    """For the person's tool line."""
    output: str
    """For the model."""


class TurnSnapshot:
    """The one snapshot of a turn, shared by every runner that works in it."""

    def __init__(self, save: Callable[[], Saved]) -> None:
        self._save = save
        self._settled: Kept | None = None

    def before_call(self, asker: Asker) -> bool | Refused:
        """Have the files saved; say whether they are, or why the call may not run.

        After a refusal the next call tries again. Once a call ran unsaved, none is taken any more.
        """
        if self._settled is None:
            saved = self._try()
            if saved.kept is Kept.FAILED:
                if not asker.go_on_without_snapshot(saved.reason):
                    return Refused("no snapshot", _no_snapshot(saved.reason))
                self._settled = Kept.FAILED
            else:
                self._settled = saved.kept
        return self._settled is Kept.SAVED

    def _try(self) -> Saved:
        try:
            return self._save()
        except KeyboardInterrupt:
            return Saved(Kept.FAILED, "it was stopped with Ctrl-C")


@dataclass(frozen=True, slots=True)
class Gates:
    """What stands between a call and its run, the same for all runners of one turn."""

    policy: Policy
    asker: Asker
    snapshot: TurnSnapshot
    coverage: Coverage
    append: Append
    emit: Emit


class ToolRunner:
    """Runs the calls of one turn."""

    def __init__(
        self, tools: Mapping[str, Tool], turn: int, gates: Gates, *, delegated: bool = False
    ) -> None:
        self.tools = tools
        self._turn = turn
        self._gates = gates
        self._delegated = delegated

    def for_delegate(self) -> ToolRunner:
        """Make the runner of a sub-agent in this turn; it cannot delegate further."""
        tools = {name: tool for name, tool in self.tools.items() if name != "delegate"}
        return ToolRunner(tools, self._turn, self._gates, delegated=True)

    def run(self, call: ToolCall) -> ToolResult:
        """Run *call* if every gate lets it through, and say what came of it."""
        tool = self.tools.get(call.tool)
        if tool is None:
            return self._refuse(call, "", Refused("unknown tool", self._unknown(call.tool)))
        try:
            args = parse_args(tool.spec, call.args)
        except ToolError as error:
            return self._refuse(call, "", Refused("invalid arguments", str(error)))
        risk, title = tool.risk(args), tool.title(args)
        not_covered = self._gates.coverage(tool.targets(args), _size(args)) if risk.mutates else ""
        try:
            approval = self._approve(tool, args, risk, not_covered)
        except ToolError as error:
            return self._refuse(call, title, Refused("failed", str(error)))
        if not approval.granted:
            return self._refuse(call, title, Refused("denied", _denied(approval.note)))
        started = CallStarted(call.id, call.tool, title, risk, not_covered, self._delegated)
        if not risk.mutates:
            self._gates.emit(started)
            return self._finish(call, title, self._perform(tool, args, call))
        saved = self._gates.snapshot.before_call(self._gates.asker)
        if isinstance(saved, Refused):
            return self._refuse(call, title, saved)
        self._gates.emit(started)
        return self._run_mutating(tool, args, call, risk, title, saved)

    def _run_mutating(
        self, tool: Tool, args: Args, call: ToolCall, risk: Risk, title: str, saved: bool
    ) -> ToolResult:
        writes = tuple(map(os.fsdecode, tool.targets(args)))
        git = tool.git_moves(args) if isinstance(tool, MovesGit) else ()
        self._gates.append(
            RunEntry(
                self._turn,
                call.id,
                call.tool,
                risk.value,
                title,
                saved,
                self._delegated,
                writes,
                git,
            )
        )
        try:
            outcome = self._perform(tool, args, call)
        except KeyboardInterrupt:
            self._gates.append(RanEntry(self._turn, call.id, ok=False, summary="interrupted"))
            self._ended(call, title, Outcome("interrupted", ok=False, summary="interrupted"))
            raise
        self._gates.append(
            RanEntry(self._turn, call.id, outcome.ok, outcome.summary, outcome.outside)
        )
        return self._finish(call, title, outcome)

    def _approve(self, tool: Tool, args: Args, risk: Risk, not_covered: str) -> Approval:
        if risk in self._gates.policy.approved:
            return Approval(granted=True)
        question = Question(
            tool.spec.name,
            tool.title(args),
            risk,
            tool.preview(args),
            not_covered,
            self._delegated,
        )
        approval = self._gates.asker.approve(question)
        if approval.granted and approval.always and question.may_always:
            self._gates.policy.always(risk)
        return approval

    def _perform(self, tool: Tool, args: Args, call: ToolCall) -> Outcome:
        def progress(text: str) -> None:
            self._gates.emit(CallOutput(call.id, text))

        try:
            return tool.run(args, progress)
        except ToolError as error:
            return Outcome(str(error), ok=False, summary="failed")
        except OSError as error:
            reason = error.strerror or type(error).__name__
            return Outcome(f"{call.tool} failed: {reason}", ok=False, summary="failed")

    def _finish(self, call: ToolCall, title: str, outcome: Outcome) -> ToolResult:
        self._ended(call, title, outcome)
        if not outcome.ok and outcome.summary == "failed":
            self._gates.emit(NoticeGiven(outcome.output))
        return ToolResult(call.id, outcome.output, outcome.ok)

    def _ended(self, call: ToolCall, title: str, outcome: Outcome) -> None:
        self._gates.emit(
            CallEnded(
                call.id,
                call.tool,
                title,
                outcome.ok,
                outcome.summary,
                outcome.shown,
                self._delegated,
            )
        )

    def _refuse(self, call: ToolCall, title: str, refused: Refused) -> ToolResult:
        outcome = Outcome(refused.output, ok=False, summary=refused.summary)
        self._ended(call, title, outcome)
        return ToolResult(call.id, refused.output, ok=False)

    def _unknown(self, name: str) -> str:
        near = get_close_matches(name[:60], self.tools, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"there is no tool {name[:60]!r}{hint} The tools are: {', '.join(self.tools)}"


def _size(args: Args) -> int:
    texts = [value for value in args.values() if isinstance(value, str)]
    return max((len(text.encode("utf-8", "surrogatepass")) for text in texts), default=0)


def _denied(note: str) -> str:
    return f"denied by the person: {note}" if note else "denied by the person"


def _no_snapshot(reason: str) -> str:
    return f"not run: the files could not be saved before it ({reason}), and going on was refused"
