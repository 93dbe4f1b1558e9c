"""What the arguments of commands are, for whoever completes them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Hint(Enum):
    """What an argument of a command is."""

    POINT = "point"
    MODE = "mode"
    PATH = "path"
    SESSION = "session"
    RISK = "risk"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing that could stand there."""

    text: str
    about: str = ""
