"""The person, or nobody: who approves calls. Nobody there means no."""

from __future__ import annotations

from typing import Protocol

from keryx_py.agent.approval import Approval, Asker, Question
from keryx_py.shell.line import whole_text
from keryx_py.shell.render import WARNING, shown_text
from keryx_py.shell.screen import Screen
from keryx_py.shell.visible import on_one_line
from keryx_py.tools.base import Shown


class Confirmer(Asker, Protocol):
    """One who also answers the shell's own questions."""

    def confirm(self, question: str) -> bool:
        """Ask a yes-or-no *question*. No one to ask means no."""

    def was_shown(self, shown: Shown) -> bool:
        """Whether the question asked last showed *shown*; said once a question."""


class Answers(Protocol):
    """Where a person's answer comes from."""

    def ask(self, question: str) -> str:
        """Draw *question* and read one line typed after that.

        Raises EOFError at the end of input, KeyboardInterrupt for Ctrl-C.
        """


class TerminalAsker:
    """Asks the person at the terminal."""

    def __init__(self, screen: Screen, answers: Answers) -> None:
        self._screen = screen
        self._answers = answers
        self._shown: Shown | None = None

    def approve(self, question: Question) -> Approval:
        """Show the whole call and ask about it."""
        self._draw(question)
        always = " [a]lways" if question.may_always else ""
        while True:
            answer = self._ask(f"[y]es{always} [n]o > ")
            approval = _approval(answer, question.may_always)
            if approval is not None:
                return approval
            if answer.lower() in ("a", "always"):
                self._screen.say("always is not offered for what destroys; answer y or n")
            else:
                self._screen.say(f"answer y{', a' * question.may_always} or n; n may say why")

    def go_on_without_snapshot(self, reason: str) -> bool:
        """Say that the snapshot failed, and ask."""
        self._screen.say(f"the snapshot failed: {on_one_line(reason)}", WARNING)
        return self.confirm("Go on without? What this turn changes cannot be rewound then.")

    def go_on_after(self, steps: int) -> bool:
        """Ask whether a long turn should go on."""
        return self.confirm(f"The turn has taken {steps} steps. Let it go on?")

    def confirm(self, question: str) -> bool:
        """Ask a yes-or-no *question*."""
        while True:
            answer = self._ask(f"{question} [y]es [n]o > ").lower()
            if answer in ("y", "yes", "n", "no"):
                return answer.startswith("y")

    def was_shown(self, shown: Shown) -> bool:
        """Whether the question asked last showed *shown*; said once a question."""
        said, self._shown = self._shown, None
        return shown == said

    def _draw(self, question: Question) -> None:
        who = "the sub-agent" if question.delegated else "the model"
        title = f"{question.tool} {on_one_line(question.title)}"
        self._screen.say(f"{who} asks: {title}  ({question.risk.value})", "bold")
        if question.shown is not None:
            self._screen.show(shown_text(question.shown, None))
        if question.not_covered:
            self._screen.say(
                f"a rewind will not cover it: {on_one_line(question.not_covered)}", WARNING
            )
        self._shown = question.shown

    def _ask(self, text: str) -> str:
        try:
            return self._answers.ask(text).strip()
        except EOFError:
            return "no"


class NobodyAsker:
    """Says no to everything, and says so."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def approve(self, question: Question) -> Approval:
        """Deny the call, and name the option that would have approved it."""
        risk = question.risk.value
        way = f"keryx --approve {risk} approves such calls beforehand"
        self._screen.say(
            f"! denied, since nobody can be asked here: {question.tool} "
            f"{on_one_line(question.title)} ({way})",
            WARNING,
        )
        return Approval(granted=False, note=f"nobody could be asked about a {risk} call")

    def go_on_without_snapshot(self, reason: str) -> bool:
        """Deny the call."""
        self._screen.say(
            f"! the snapshot failed: {on_one_line(reason)}; the call is denied, "
            "since nobody can be asked here",
            WARNING,
        )
        return False

    def go_on_after(self, steps: int) -> bool:
        """End the turn."""
        self._screen.say(f"! the turn stops after {steps} steps: nobody can be asked", WARNING)
        return False

    def confirm(self, question: str) -> bool:
        """Nobody says yes."""
        return False

    def was_shown(self, shown: Shown) -> bool:
        """Nothing was shown, since nothing was asked."""
        return False


def _approval(answer: str, may_always: bool) -> Approval | None:
    """Read an answer; None when it is none of those offered."""
    word, _, words = answer.partition(" ")
    match word.lower().rstrip(",.:;"):
        case "y" | "yes" if not words:
            return Approval(granted=True)
        case "a" | "always" if may_always and not words:
            return Approval(granted=True, always=True)
        case "n" | "no":
            return Approval(granted=False, note=whole_text(words.strip()))
    return None
