"""What the agent does is drawn as it does it, and cannot drive the terminal."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from keryx_py.agent.approval import Question
from keryx_py.agent.events import (
    AnswerEnded,
    AnswerText,
    CallEnded,
    CallOutput,
    CallStarted,
    Event,
    NoticeGiven,
    SnapshotEnded,
    SnapshotProgress,
    Waiting,
)
from keryx_py.shell.asker import NobodyAsker, TerminalAsker
from keryx_py.shell.screen import ERASE_LINE, Screen
from keryx_py.shell.turn_view import TurnView
from keryx_py.tools.base import Risk, Shown, ShownAs

DIFF = Shown(ShownAs.DIFF, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n")


class FakeTerminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Answering:
    """A person with the answers ready."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.questions: list[str] = []

    def ask(self, question: str) -> str:
        self.questions.append(question)
        if not self.answers:
            raise EOFError
        return self.answers.pop(0)


def drawn(*events: Event, out: io.StringIO | None = None) -> str:
    out = out or io.StringIO()
    view = TurnView(Screen(out), iter(range(1000)).__next__)
    for event in events:
        view(event)
    view.end()
    return out.getvalue()


def ended(summary: str = "", *, ok: bool = True, shown: Shown | None = None) -> CallEnded:
    return CallEnded("1", "write_file", "src/a.py", ok, summary, shown)


def test_an_answer_streams_and_ends_its_line() -> None:
    assert drawn(AnswerText("Hel"), AnswerText("lo"), AnswerEnded()) == "Hello\n"
    assert drawn(AnswerText("Hello\n"), AnswerEnded()) == "Hello\n"


def test_a_call_is_one_line_with_its_outcome_and_a_write_shows_its_diff() -> None:
    text = drawn(
        AnswerText("I write."),
        CallStarted("1", "write_file", "src/a.py", Risk.WRITE),
        ended("+3 -1", shown=DIFF),
    )

    assert text == (
        "I write.\n● write_file src/a.py  +3 -1\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n"
    )


def test_a_call_that_a_gate_stopped_is_told_apart() -> None:
    assert drawn(ended("denied", ok=False)) == "✗ write_file src/a.py  denied\n"


def test_a_call_that_a_rewind_will_not_cover_says_so() -> None:
    started = CallStarted("1", "write_file", ".env", Risk.WRITE, not_covered="ignored")

    assert "a rewind will not cover it: ignored" in drawn(started, ended())


def test_long_output_is_folded_in_the_middle() -> None:
    shown = Shown(ShownAs.OUTPUT, "".join(f"line {n}\n" for n in range(500)))

    text = drawn(ended("exit 0", shown=shown))

    assert "line 0\n" in text
    assert "line 499\n" in text
    assert "line 250\n" not in text
    assert "lines folded" in text
    assert text.count("\n") < 60


@pytest.mark.parametrize(
    "event",
    [
        AnswerText("\x1b[2J\x1b]0;x\x07\u202e"),
        NoticeGiven("\x1b[2J"),
        CallEnded(
            "1", "\x1b[2J", "\x1b[2J\r\nx", True, "\x1b[2J", Shown(ShownAs.OUTPUT, "\x1b[2J")
        ),
        CallEnded("1", "t", "x", True, "", Shown(ShownAs.DIFF, "+\x1b[2J\r")),
        CallEnded("1", "t", "x", True, "", Shown(ShownAs.TEXT, "\x9b2J")),
        CallEnded("1", "t", "x", True, "", Shown(ShownAs.COMMAND, "\x1b[2J")),
    ],
)
def test_nothing_that_is_said_drives_the_terminal(event: Event) -> None:
    text = drawn(event)

    assert not {letter for letter in text if not letter.isprintable()} - {"\n"}


def test_output_of_a_running_call_drives_no_terminal_either() -> None:
    out = FakeTerminal()

    drawn(
        CallStarted("1", "shell_exec", "make\x1b[2J", Risk.SHELL),
        CallOutput("1", "one\x1b[2J\ntwo \x1b]0;x\x07"),
        out=out,
    )

    assert "\x1b[2J" not in out.getvalue()
    assert "\x1b]" not in out.getvalue()


def test_the_changing_line_goes_before_anything_else_is_printed() -> None:
    out = FakeTerminal()

    drawn(Waiting(), AnswerText("Hi"), out=out)

    assert out.getvalue() == f"… waiting for the model{ERASE_LINE}Hi\n"


def test_no_escape_code_and_no_wrap_where_there_is_no_terminal() -> None:
    text = drawn(
        Waiting(), NoticeGiven("n" * 300), CallOutput("1", "x"), ended("y" * 200, ok=False)
    )

    assert "\x1b" not in text
    assert text.split("\n")[0] == "! " + "n" * 300


def test_a_capture_shows_progress_after_a_second() -> None:
    out = FakeTerminal()

    drawn(*(SnapshotProgress(n, n * 1000) for n in (1, 2, 3)), SnapshotEnded(), out=out)

    assert "1 file," not in out.getvalue()
    assert "3 files, 3.0 kB" in out.getvalue()
    assert "Ctrl-C stops it" in out.getvalue()


def test_colour_is_left_out_where_it_is_not_wanted() -> None:
    plain, colored = FakeTerminal(), FakeTerminal()
    for out, color in ((plain, False), (colored, True)):
        TurnView(Screen(out, color=color), lambda: 0.0)(ended("+1 -0"))

    assert "\x1b[3" not in plain.getvalue()


# ---- questions


def question(risk: Risk = Risk.WRITE, not_covered: str = "") -> Question:
    return Question("write_file", "f", risk, DIFF, not_covered)


def terminal_asker(*answers: str) -> tuple[TerminalAsker, Answering, io.StringIO]:
    out, person = io.StringIO(), Answering(*answers)
    return TerminalAsker(Screen(out), person), person, out


def test_a_question_shows_the_whole_diff_first() -> None:
    asker, person, out = terminal_asker("y")
    whole = Shown(ShownAs.DIFF, "".join(f"+{n} {'x' * 3000}\n" for n in range(300)))

    asker.approve(Question("write_file", "f", Risk.WRITE, whole))

    assert whole.text.strip() in out.getvalue()
    assert person.questions == ["[y]es [a]lways [n]o > "]


@pytest.mark.parametrize(
    ("answer", "granted", "note", "always"),
    [
        ("y", True, "", False),
        (" YES ", True, "", False),
        ("a", True, "", True),
        ("n", False, "", False),
        ("n use tabs instead", False, "use tabs instead", False),
        ("no, use \udcff tabs", False, "use \ufffd tabs", False),
    ],
)
def test_an_answer_is_understood(answer: str, granted: bool, note: str, always: bool) -> None:
    asker, _, _ = terminal_asker(answer)

    approval = asker.approve(question())

    assert (approval.granted, approval.note, approval.always) == (granted, note, always)


@pytest.mark.parametrize("answer", ["", "yep", "y then n", "nope", "/rewind 3", "ja"])
def test_anything_else_is_asked_again(answer: str) -> None:
    asker, person, _ = terminal_asker(answer, "n")

    assert not asker.approve(question()).granted
    assert len(person.questions) == 2


def test_always_is_not_offered_for_what_destroys() -> None:
    asker, person, _ = terminal_asker("a", "y")

    approval = asker.approve(question(Risk.DESTRUCTIVE))

    assert person.questions == ["[y]es [n]o > "] * 2
    assert (approval.granted, approval.always) == (True, False)


def test_the_end_of_input_means_no() -> None:
    asker, _, _ = terminal_asker()

    assert not asker.approve(question()).granted
    assert not asker.go_on_without_snapshot("the disk is full")
    assert not asker.go_on_after(100)


def test_what_is_not_covered_is_said_before_the_question() -> None:
    asker, _, out = terminal_asker("y")

    asker.approve(question(not_covered="it is ignored"))

    assert "a rewind will not cover it: it is ignored" in out.getvalue()


def test_what_a_question_showed_is_not_drawn_again() -> None:
    asker, _, out = terminal_asker("y")
    view = TurnView(Screen(out), lambda: 0.0, asker.was_shown)

    asker.approve(question())
    view(ended("+1 -1", shown=DIFF))
    view(ended("+1 -1", shown=DIFF))

    assert out.getvalue().count("+new") == 2


@pytest.mark.parametrize(
    "ask",
    [
        lambda nobody: nobody.approve(question()).granted,
        lambda nobody: nobody.go_on_without_snapshot("the disk is full"),
        lambda nobody: nobody.go_on_after(100),
        lambda nobody: nobody.confirm("Delete it?"),
    ],
)
def test_nobody_means_no(ask: Callable[[NobodyAsker], bool]) -> None:
    assert ask(NobodyAsker(Screen(io.StringIO()))) is False


def test_a_denial_by_nobody_says_so_and_names_the_way() -> None:
    out = io.StringIO()

    NobodyAsker(Screen(out)).approve(question())

    assert "denied, since nobody can be asked here: write_file f" in out.getvalue()
    assert "--approve write" in out.getvalue()
