"""What a person chooses with the keys, and who draws the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from keryx_py.rewind.rewinder import ListedPoint
from keryx_py.session.archive import Mode


@dataclass(frozen=True, slots=True)
class Chosen:
    """A point, and what of it is to be previewed."""

    at: int
    """Where in the list it stands."""
    mode: Mode
    keep: bool = False
    """Whether what the person changed stays."""
    in_full: bool = False


class Decision(Enum):
    """What becomes of a preview."""

    CONFIRM = "y"
    BACK = "n"
    KEEP = "k"
    """Preview the same with keep the other way round."""
    DIFF = "d"
    """Preview the same with the difference in full."""


class Picker(Protocol):
    """One who lets a person choose with the keys."""

    def choose(self, points: Sequence[ListedPoint], at: int, *, keep: bool) -> Chosen | None:
        """Let the person choose among *points*, beginning at *at*; None when they leave.

        Raises KeyboardInterrupt for Ctrl-C.
        """

    def decide(self, chosen: Chosen, *, confirmable: bool) -> Decision:
        """Ask what becomes of the preview just drawn; no key pressed before answers.

        Without *confirmable* there is nothing to confirm. Raises KeyboardInterrupt for Ctrl-C.
        """
