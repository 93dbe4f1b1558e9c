"""The names of captures, and of the refs that pin them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Side(Enum):
    """Which of a point's two captures."""

    BEFORE = "before"
    END = "end"


@dataclass(frozen=True, slots=True)
class SnapshotKey:
    """The name of one capture; its ref is refs/keryx/<number>/<side>."""

    number: int
    side: Side = Side.BEFORE


def title_of(key: SnapshotKey) -> str:
    """Say in a commit's message which capture it is."""
    return f"snapshot {key.number}, {key.side.value}"


def ref_name_of(key: SnapshotKey) -> str:
    """Write what stands after refs/keryx/."""
    return f"{key.number}/{key.side.value}"


def parse_ref_name(name: str) -> SnapshotKey | None:
    """Read what stands after refs/keryx/; None when it names no capture."""
    number, _, side = name.partition("/")
    if not number.isdecimal() or side not in {known.value for known in Side}:
        return None
    return SnapshotKey(int(number), Side(side))
