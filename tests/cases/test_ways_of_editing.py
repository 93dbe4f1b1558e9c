"""The README's table: whichever way a file was edited, what the list and the rewinds make of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pytest

from keryx_py.agent.approval import Approval, Question
from keryx_py.tools.base import Risk, Shown
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, delegate, edit, shell, write
from tests.cases.watching import held

README = Path(__file__).parent.parent.parent / "README.md"
OLD, NEW = "old\n", "new\n"


class Counted(Enum):
    """Beside which number the list counts the edit."""

    TURN = "with the turn's"
    YOURS = "with yours"
    NEITHER = "with neither"


class Whose(Enum):
    """Whose edit the preview calls it."""

    TURN = "`turn 1`"
    YOU = "`you`, and a warning"
    SESSION = "`session … (turn 1)`, and a warning"


class Fate(Enum):
    """What a rewind does with the edit."""

    GOES = "takes it back"
    STAYS = "leaves it"


class Editor:
    """The person: says yes to each call, and does something before the second one runs."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._asked = 0

    def approve(self, question: Question) -> Approval:
        """Say yes."""
        self._asked += 1
        if self._asked == 2:
            self._act()
        return Approval(granted=True)

    def go_on_without_snapshot(self, reason: str) -> bool:
        """Say no."""
        return False

    def go_on_after(self, steps: int) -> bool:
        """Say yes."""
        return True

    def confirm(self, question: str) -> bool:
        """Say yes."""
        return True

    def was_shown(self, shown: Shown) -> bool:
        """Say no."""
        return False


@dataclass(frozen=True)
class Edited:
    """A project with f in it, this session and another one."""

    root: Path
    mine: Sitting
    theirs: Sitting

    def by_hand(self) -> None:
        (self.root / "f").write_text(NEW)

    def by_another(self) -> None:
        self.theirs.play(edit("f", "old", "new"))

    def after_the_turn(self, act: Callable[[], object]) -> None:
        self.mine.play(write("g", "1"))
        act()

    def while_the_turn_runs(self, act: Callable[[], object]) -> None:
        self.mine.person = Editor(act)
        self.mine.project.policy.withdraw(Risk.WRITE)
        self.mine.play((write("g", "1"), write("h", "2")))
        self.mine.person = None


@dataclass(frozen=True)
class Row:
    """One way to edit f, and what is made of it after turn 1."""

    way: str
    act: Callable[[Edited], object]
    counted: Counted
    whose: Whose
    plain: Fate
    keep: Fate


ROWS = (
    Row(
        "a file tool of the turn",
        lambda at: at.mine.play((edit("f", "old", "new"), write("g", "1"))),
        Counted.TURN,
        Whose.TURN,
        Fate.GOES,
        Fate.GOES,
    ),
    Row(
        "a shell command of the turn",
        lambda at: at.mine.play((shell("echo new > f"), write("g", "1"))),
        Counted.TURN,
        Whose.TURN,
        Fate.GOES,
        Fate.GOES,
    ),
    Row(
        "a delegated task of the turn",
        lambda at: at.mine.play((delegate("edit f"), write("g", "1"))),
        Counted.TURN,
        Whose.TURN,
        Fate.GOES,
        Fate.GOES,
    ),
    Row(
        "your editor, while the turn runs",
        lambda at: at.while_the_turn_runs(at.by_hand),
        Counted.TURN,
        Whose.TURN,
        Fate.GOES,
        Fate.GOES,
    ),
    Row(
        "your editor, after the turn",
        lambda at: at.after_the_turn(at.by_hand),
        Counted.YOURS,
        Whose.YOU,
        Fate.GOES,
        Fate.STAYS,
    ),
    Row(
        "another session, while the turn runs",
        lambda at: at.while_the_turn_runs(at.by_another),
        Counted.NEITHER,
        Whose.SESSION,
        Fate.GOES,
        Fate.STAYS,
    ),
    Row(
        "another session, after the turn",
        lambda at: at.after_the_turn(at.by_another),
        Counted.NEITHER,
        Whose.SESSION,
        Fate.GOES,
        Fate.STAYS,
    ),
)
TITLES = (
    "edited by",
    "the list counts it",
    "the preview calls it",
    "a plain rewind",
    "`keep` and `only`",
)


@pytest.fixture(params=ROWS, ids=lambda row: row.way)
def row(request: pytest.FixtureRequest) -> Row:
    """Each row of the table."""
    given = request.param
    assert isinstance(given, Row)
    return given


@pytest.fixture
def edited(root: Path, sit: Sit, row: Row) -> Edited:
    """A project in which f was edited in the row's way."""
    (root / "f").write_text(OLD)
    at = Edited(root, sit(delegates={"edit f": (edit("f", "old", "new"),)}), sit())
    row.act(at)
    assert (root / "f").read_text() == NEW
    return at


def test_the_list_counts_the_edit(edited: Edited, row: Row) -> None:
    (listed,) = edited.mine.project.rewinder().list_points()
    turn = len(list(edited.root.iterdir())) - 1 + (row.counted is Counted.TURN)

    assert listed.changed == turn
    assert listed.changed_since == (row.counted is Counted.YOURS)


def test_the_preview_calls_the_edit(edited: Edited, row: Row) -> None:
    said = edited.mine.play("/rewind 1")
    line = next(line for line in said.splitlines() if line.split()[:2] == ["modified", "f"])
    called = {
        Whose.TURN: "turn 1",
        Whose.YOU: "you",
        Whose.SESSION: f"session {edited.theirs.project.session.id} (turn 1)",
    }

    assert line.endswith(f"+1 -1     {called[row.whose]}")
    assert ("an edit of yours would go" in said) is (row.whose is Whose.YOU)
    assert ("an edit of another session would go" in said) is (row.whose is Whose.SESSION)


def test_a_plain_rewind_and_the_edit(edited: Edited, row: Row) -> None:
    edited.mine.rewind(1)

    assert ((edited.root / "f").read_text() == OLD) is (row.plain is Fate.GOES)
    assert held(edited.mine, 2, "f") == NEW.encode()


def test_a_rewind_that_keeps_and_the_edit(edited: Edited, row: Row) -> None:
    said = edited.mine.play("/rewind 1 files keep", "/rewind confirm")

    assert ((edited.root / "f").read_text() == OLD) is (row.keep is Fate.GOES)
    assert not (edited.root / "g").exists()
    assert ("stays, because you changed it:\n  f\n" in said) is (row.whose is Whose.YOU)
    others = "stays, because another session changed it:\n  f\n" in said
    assert others is (row.whose is Whose.SESSION)


def test_taking_back_the_turn_alone_leaves_what_is_not_the_turn_s(edited: Edited, row: Row) -> None:
    said = edited.mine.play("/rewind 1 only", "/rewind confirm")

    assert ((edited.root / "f").read_text() == OLD) is (row.keep is Fate.GOES)
    assert not (edited.root / "g").exists()
    assert "bug" not in said


def test_the_readme_shows_this_table() -> None:
    cells = [
        TITLES,
        ("---",) * len(TITLES),
        *((r.way, r.counted.value, r.whose.value, r.plain.value, r.keep.value) for r in ROWS),
    ]

    table = "\n".join("| " + " | ".join(row) + " |" for row in cells)

    assert table in README.read_text("utf-8"), table
