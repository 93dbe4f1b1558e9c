"""What the arguments of commands are, for whoever completes them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Hint(Enum):
    """What an argument of a command is."""

    POINT = "point"
    COMPARED = "where a difference begins"
    COMPARED_TO = "where a difference ends"
    CHECKPOINT = "a new checkpoint"
    NAME = "a checkpoint's name"
    MODE = "mode"
    PATH = "path"
    REWOUND = "what of a rewind, and how"
    SESSION = "session"
    RISK = "risk"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing that could stand there."""

    text: str
    about: str = ""
