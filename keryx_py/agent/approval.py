"""Whether a call may run: what was approved beforehand, and the question where nothing was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from keryx_py.tools.base import Risk, Shown


@dataclass(frozen=True, slots=True)
class Question:
    """What the person is asked about one call."""

    tool: str
    title: str
    risk: Risk
    shown: Shown | None
    """The whole command, or the write's diff; shown before the question."""
    not_covered: str = ""
    """Why a rewind will not cover what the call writes; empty when it will."""
    delegated: bool = False

    @property
    def may_always(self) -> bool:
        """Whether "always" is offered: never for what destroys."""
        return self.risk is not Risk.DESTRUCTIVE


@dataclass(frozen=True, slots=True)
class Approval:
    """The answer for one call."""

    granted: bool
    note: str = ""
    """The person's words for the model, or why nobody could be asked."""
    always: bool = False


class Asker(Protocol):
    """The person, or nobody."""

    def approve(self, question: Question) -> Approval:
        """Ask about one call. No one to ask means no."""

    def go_on_without_snapshot(self, reason: str) -> bool:
        """Say that the snapshot failed, and ask whether to run the call all the same."""

    def go_on_after(self, steps: int) -> bool:
        """Ask whether a turn that took *steps* steps should go on."""


class Policy:
    """The risks that are approved without asking, until the process ends."""

    def __init__(self, approved: frozenset[Risk] = frozenset()) -> None:
        self._approved = approved | {Risk.READ}

    @property
    def approved(self) -> frozenset[Risk]:
        """The risks approved, reading among them."""
        return self._approved

    def always(self, risk: Risk) -> None:
        """Approve *risk* from now on."""
        self._approved |= {risk}

    def withdraw(self, risk: Risk) -> None:
        """Ask about *risk* again from now on."""
        self._approved -= {risk} - {Risk.READ}
