"""The gates of one call, in their order, and what each lets through."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from keryx_py.agent.approval import Approval, Policy, Question
from keryx_py.agent.events import CallEnded, CallStarted, Event
from keryx_py.agent.runner import Gates, Kept, Saved, ToolRunner, TurnSnapshot
from keryx_py.messages import ToolCall, ToolSpec
from keryx_py.session.archive import Entry, RanEntry, RunEntry
from keryx_py.tools.base import Args, Outcome, Progress, Risk, Shown, ShownAs, ToolError


@dataclass
class Probe:
    """A tool that writes down when it is judged, shown and run."""

    happened: list[str]
    danger: Risk = Risk.WRITE
    fails: bool = False
    interrupt: bool = False

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            "probe",
            "A probe.",
            {
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
                "additionalProperties": False,
            },
        )

    def risk(self, args: Args) -> Risk:
        self.happened.append("risk")
        return self.danger

    def title(self, args: Args) -> str:
        return str(args["path"])

    def preview(self, args: Args) -> Shown | None:
        self.happened.append("preview")
        if args["path"] == "impossible":
            raise ToolError("that cannot work")
        return Shown(ShownAs.DIFF, "+new")

    def targets(self, args: Args) -> tuple[bytes, ...]:
        return (str(args["path"]).encode(),)

    def run(self, args: Args, progress: Progress) -> Outcome:
        self.happened.append("run")
        if self.interrupt:
            raise KeyboardInterrupt
        if self.fails:
            raise ToolError("the disk said no")
        progress("working")
        return Outcome("done", summary="+1 -0")


@dataclass
class Person:
    """Answers every question the same way, and remembers what was asked."""

    happened: list[str]
    answer: Approval = field(default_factory=lambda: Approval(granted=True))
    goes_on: bool = False
    asked: list[Question] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def approve(self, question: Question) -> Approval:
        self.happened.append("approval")
        self.asked.append(question)
        return self.answer

    def go_on_without_snapshot(self, reason: str) -> bool:
        self.reasons.append(reason)
        return self.goes_on

    def go_on_after(self, steps: int) -> bool:
        return False


@dataclass
class Bench:
    """A runner with its tool, its person and what came of it all."""

    happened: list[str]
    tool: Probe
    person: Person
    policy: Policy
    saves: list[Saved]
    entries: list[Entry] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def save(self) -> Saved:
        self.happened.append("snapshot")
        return self.saves.pop(0)

    def runner(self) -> ToolRunner:
        gates = Gates(
            policy=self.policy,
            asker=self.person,
            snapshot=TurnSnapshot(self.save),
            coverage=lambda paths, size: "ignored" if paths == (b".env",) else "",
            append=self.entries.append,
            emit=self.events.append,
        )
        return ToolRunner({"probe": self.tool}, 7, gates)


@pytest.fixture
def bench() -> Bench:
    happened: list[str] = []
    return Bench(happened, Probe(happened), Person(happened), Policy(), [Saved(Kept.SAVED)])


def call(path: str = "a.py", tool: str = "probe") -> ToolCall:
    return ToolCall("c1", tool, json.dumps({"path": path}))


def test_the_gates_come_in_their_order(bench: Bench) -> None:
    result = bench.runner().run(call())

    assert result.ok
    assert result.output == "done"
    assert bench.happened == ["risk", "preview", "approval", "snapshot", "run"]
    assert bench.entries == [
        RunEntry(7, "c1", "probe", "write", "a.py", saved=True, writes=("a.py",)),
        RanEntry(7, "c1", ok=True, summary="+1 -0"),
    ]


def test_an_unknown_tool_is_named_with_the_nearest(bench: Bench) -> None:
    result = bench.runner().run(call(tool="prob"))

    assert not result.ok
    assert "did you mean probe?" in result.output
    assert bench.happened == []


@pytest.mark.parametrize("args", ["{", "[]", "{}", '{"path": 3}', '{"path": "a", "more": 1}'])
def test_invalid_arguments_go_back_before_any_judgement(bench: Bench, args: str) -> None:
    result = bench.runner().run(ToolCall("c1", "probe", args))

    assert not result.ok
    assert bench.happened == []
    assert bench.entries == []


def test_a_denied_call_takes_no_snapshot_and_carries_the_words(bench: Bench) -> None:
    bench.person.answer = Approval(granted=False, note="use tabs")

    result = bench.runner().run(call())

    assert not result.ok
    assert "use tabs" in result.output
    assert "snapshot" not in bench.happened
    assert "run" not in bench.happened
    assert bench.entries == []


def test_a_call_that_cannot_work_is_not_asked_about(bench: Bench) -> None:
    result = bench.runner().run(call("impossible"))

    assert result.output == "that cannot work"
    assert bench.person.asked == []
    assert "snapshot" not in bench.happened


def test_reading_needs_no_approval_and_no_snapshot(bench: Bench) -> None:
    bench.tool.danger = Risk.READ

    result = bench.runner().run(call())

    assert result.ok
    assert bench.happened == ["risk", "run"]
    assert bench.entries == []


def test_one_turn_takes_one_snapshot(bench: Bench) -> None:
    runner = bench.runner()

    runner.run(call())
    runner.run(call("b.py"))
    runner.for_delegate()

    assert bench.happened.count("snapshot") == 1


def test_a_sub_agent_shares_the_snapshot_and_says_it_is_one(bench: Bench) -> None:
    runner = bench.runner()

    runner.for_delegate().run(call())
    runner.run(call())

    assert bench.happened.count("snapshot") == 1
    assert [e.delegated for e in bench.entries if isinstance(e, RunEntry)] == [True, False]


def test_always_covers_that_risk_from_then_on(bench: Bench) -> None:
    bench.person.answer = Approval(granted=True, always=True)
    runner = bench.runner()

    runner.run(call())
    runner.run(call("b.py"))

    assert len(bench.person.asked) == 1
    assert Risk.SHELL not in bench.policy.approved


def test_always_is_never_heard_for_what_destroys(bench: Bench) -> None:
    bench.tool.danger = Risk.DESTRUCTIVE
    bench.person.answer = Approval(granted=True, always=True)
    runner = bench.runner()

    runner.run(call())
    runner.run(call("b.py"))

    assert len(bench.person.asked) == 2
    assert not bench.person.asked[0].may_always


def test_a_failed_snapshot_is_said_before_the_tool_and_a_no_stops_it(bench: Bench) -> None:
    bench.saves = [Saved(Kept.FAILED, "the disk is full"), Saved(Kept.SAVED)]
    runner = bench.runner()

    refused = runner.run(call())
    later = runner.run(call("b.py"))

    assert not refused.ok
    assert "the disk is full" in refused.output
    assert bench.person.reasons == ["the disk is full"]
    assert later.ok
    assert bench.happened.count("run") == 1
    assert [e.saved for e in bench.entries if isinstance(e, RunEntry)] == [True]


def test_once_a_call_ran_unsaved_nothing_is_asked_or_taken_again(bench: Bench) -> None:
    bench.saves = [Saved(Kept.FAILED, "the disk is full")]
    bench.person.goes_on = True
    runner = bench.runner()

    runner.run(call())
    runner.run(call("b.py"))

    assert len(bench.person.reasons) == 1
    assert bench.happened.count("snapshot") == 1
    assert [e.saved for e in bench.entries if isinstance(e, RunEntry)] == [False, False]


def test_ctrl_c_in_a_snapshot_counts_as_its_failure(bench: Bench) -> None:
    def stopped() -> Saved:
        raise KeyboardInterrupt

    snapshot = TurnSnapshot(stopped)

    answer = snapshot.before_call(bench.person)

    assert answer is not True
    assert "Ctrl-C" in bench.person.reasons[0]


def test_with_snapshots_off_nobody_is_asked_about_them(bench: Bench) -> None:
    bench.saves = [Saved(Kept.NOT_TAKEN)]

    result = bench.runner().run(call())

    assert result.ok
    assert bench.person.reasons == []
    assert [e.saved for e in bench.entries if isinstance(e, RunEntry)] == [False]


def test_a_tool_that_fails_reports_to_the_model(bench: Bench) -> None:
    bench.tool.fails = True

    result = bench.runner().run(call())

    assert not result.ok
    assert result.output == "the disk said no"
    assert bench.entries[-1] == RanEntry(7, "c1", ok=False, summary="failed")


def test_ctrl_c_in_a_tool_is_written_down_and_goes_on_up(bench: Bench) -> None:
    bench.tool.interrupt = True

    with pytest.raises(KeyboardInterrupt):
        bench.runner().run(call())

    assert bench.entries[-1] == RanEntry(7, "c1", ok=False, summary="interrupted")


def test_what_a_rewind_will_not_cover_is_said_in_the_question_and_on_the_line(
    bench: Bench,
) -> None:
    bench.runner().run(call(".env"))

    assert bench.person.asked[0].not_covered == "ignored"
    assert [e.not_covered for e in bench.events if isinstance(e, CallStarted)] == ["ignored"]


def test_a_stopped_call_still_ends_on_its_line(bench: Bench) -> None:
    bench.person.answer = Approval(granted=False)

    bench.runner().run(call())

    assert [e.summary for e in bench.events if isinstance(e, CallEnded)] == ["denied"]
