"""/rewind holds one pending plan, and applies only what it showed."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from keryx_py.rewind.comparing import OneTurn, Since, Span
from keryx_py.rewind.differing import Compared
from keryx_py.rewind.plan import HistoryCut, PathChange, RestorePlan, RewindPlan, Way
from keryx_py.rewind.points import FilesState, PointKind, RewindPoint
from keryx_py.rewind.rewinder import (
    ListedPoint,
    RefusedError,
    Rewinder,
    RewindReport,
    StalePlanError,
)
from keryx_py.rewind.textdiff import Version
from keryx_py.session.archive import Mode
from keryx_py.shell.line import Command, UsageError
from keryx_py.shell.project import OpenProject
from keryx_py.shell.rewind_command import RewindCommands
from keryx_py.shell.screen import Screen
from keryx_py.snapshot.listing import FileState, Kind
from keryx_py.snapshot.store import Progress, SnapshotKey
from keryx_py.tools.shell import BackgroundProcess

OLD = FileState(Kind.FILE, 0o644, b"1" * 20)
NEW = FileState(Kind.FILE, 0o644, b"2" * 20)
POINT = RewindPoint(3, PointKind.TURN, 0.0, "fix it", True, FilesState.HELD, SnapshotKey(3))


class Rehearsal(Rewinder):
    """A rewinder that plans one change, and notes what it was asked to apply."""

    def __init__(self) -> None:
        self.applied: list[RewindPlan] = []
        self.previous: list[RewindPlan | None] = []
        self.stale: RewindPlan | None = None
        self.stop = False
        self.at_once = True
        self.changes: tuple[PathChange, ...] = (PathChange(b"a", NEW, OLD),)

    def list_points(self, progress: Progress | None = None) -> tuple[ListedPoint, ...]:
        return (ListedPoint(POINT, 1, 0),)

    def plan(
        self,
        number: int,
        mode: Mode,
        paths: Sequence[bytes] = (),
        *,
        way: Way = Way.PLAIN,
        previous: RewindPlan | None = None,
        progress: Progress | None = None,
    ) -> RewindPlan:
        if number > 3:
            raise RefusedError(f"there is no point {number}; /rewind lists the points")
        self.previous.append(previous)
        files = RestorePlan(SnapshotKey(3), self.changes, (), (), 100)
        cut = HistoryCut(number, (number,), 2, "fix it") if mode.cuts_history else None
        held = files if mode.moves_files else None
        return RewindPlan("id", replace(POINT, number=number), mode, tuple(paths), held, cut, (), 9)

    def plan_undo(self) -> RewindPlan:
        return self.plan(3, Mode.BOTH)

    def plan_redo(self, *, previous: RewindPlan | None = None) -> RewindPlan:
        raise RefusedError("there is no rewind to take back")

    def may_apply_at_once(self, plan: RewindPlan) -> bool:
        return self.at_once

    def apply(self, plan: RewindPlan, progress: Progress | None = None) -> RewindReport:
        if self.stop:
            raise KeyboardInterrupt
        if self.stale is not None:
            raise StalePlanError(self.stale)
        self.applied.append(plan)
        return RewindReport(plan, (b"a",), (), 7, plan.mode.cuts_history)

    def diff(self, plan: RewindPlan, most_lines: int | None = None) -> str:
        return "-new\n+old\n"

    def compare(self, span: Span, paths: Sequence[bytes] = ()) -> Iterator[Compared]:
        said = Version(Kind.FILE, 0o644, f"{span} {paths}\n".encode())
        yield Compared(b"a", None, said)

    def line_counts(
        self, plan: RewindPlan, paths: Collection[bytes] | None = None
    ) -> dict[bytes, tuple[int, int]]:
        return {b"a": (1, 1)}


class Standing(OpenProject):
    """A project that has a rewinder and nothing else."""

    def __init__(self, rewinds: Rewinder) -> None:
        self.root = Path("/project")
        self._rewinds = rewinds

    def rewinder(self) -> Rewinder:
        return self._rewinds

    def background(self) -> tuple[BackgroundProcess, ...]:
        return ()


class Stage:
    """The commands, a rehearsed rewinder, and what was printed."""

    def __init__(self) -> None:
        self.rewinder = Rehearsal()
        self.out = io.StringIO()
        project = Standing(self.rewinder)
        self.commands = RewindCommands(project, Screen(self.out), lambda: 0.0)

    def rewind(self, rest: str) -> str:
        return self.commands.rewind(Command("rewind", rest))

    def said(self) -> str:
        text = self.out.getvalue()
        self.out.seek(0)
        self.out.truncate()
        return text


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_confirm_applies_the_very_plan_that_was_shown(stage: Stage) -> None:
    stage.rewind("3 files")
    assert "modified" in stage.said()

    stage.rewind("confirm")

    assert [plan.point.number for plan in stage.rewinder.applied] == [3]
    assert "undo point 7: /redo takes this back" in stage.said()


def test_confirm_with_nothing_pending_does_nothing(stage: Stage) -> None:
    with pytest.raises(UsageError, match="nothing to confirm"):
        stage.rewind("confirm")

    assert stage.rewinder.applied == []


def test_confirming_twice_applies_once(stage: Stage) -> None:
    stage.rewind("3")
    stage.rewind("confirm")

    with pytest.raises(UsageError, match="nothing to confirm"):
        stage.rewind("confirm")

    assert len(stage.rewinder.applied) == 1


def test_a_withdrawn_preview_cannot_be_confirmed(stage: Stage) -> None:
    stage.rewind("3")
    stage.said()

    stage.commands.withdraw()
    stage.commands.withdraw()

    assert stage.said() == "preview withdrawn\n"
    with pytest.raises(UsageError, match="nothing to confirm"):
        stage.rewind("confirm")


def test_an_empty_plan_leaves_nothing_to_confirm(stage: Stage) -> None:
    stage.rewinder.changes = ()

    stage.rewind("3")

    assert "nothing would change" in stage.said()
    with pytest.raises(UsageError, match="nothing to confirm"):
        stage.rewind("confirm")


def test_a_stale_plan_is_shown_anew_and_waits(stage: Stage) -> None:
    stage.rewind("3")
    stage.said()
    fresh = stage.rewinder.stale = stage.rewinder.plan(2, Mode.FILES)

    stage.rewind("confirm")

    said = stage.said()
    assert "the project has changed since; nothing was done" in said
    assert "to before turn 2" in said
    stage.rewinder.stale = None
    stage.rewind("confirm")
    assert stage.rewinder.applied == [fresh]


def test_ctrl_c_before_the_first_write_leaves_nothing_pending(stage: Stage) -> None:
    stage.rewind("3")
    stage.rewinder.stop = True

    with pytest.raises(KeyboardInterrupt):
        stage.rewind("confirm")

    assert "nothing was changed" in stage.said()
    with pytest.raises(UsageError, match="nothing to confirm"):
        stage.rewind("confirm")


def test_a_history_cut_gives_its_prompt_back(stage: Stage) -> None:
    stage.rewind("3 both")

    assert stage.rewind("confirm") == "fix it"


def test_a_files_rewind_gives_no_prompt_back(stage: Stage) -> None:
    stage.rewind("3 files")

    assert stage.rewind("confirm") == ""


def test_the_plan_shown_last_for_the_same_rewind_is_handed_on(stage: Stage) -> None:
    for rest in ("3 files a", "3 files a", "3 files b", "3 both", "2 both"):
        stage.rewind(rest)
    stage.commands.forget()
    stage.rewind("2 both")

    assert [plan is not None for plan in stage.rewinder.previous] == [
        False,
        True,
        False,
        False,
        False,
        False,
    ]


def test_undo_applies_at_once_where_it_may_and_lists_the_paths(stage: Stage) -> None:
    assert stage.commands.undo() == "fix it"

    said = stage.said()
    assert "  modified      a  +1 -1" in said
    assert "/redo takes this back" in said
    assert len(stage.rewinder.applied) == 1


def test_undo_waits_for_confirm_where_others_would_lose(stage: Stage) -> None:
    stage.rewinder.at_once = False

    stage.commands.undo()

    assert stage.rewinder.applied == []
    assert "/rewind confirm applies it" in stage.said()
    stage.rewind("confirm")
    assert len(stage.rewinder.applied) == 1


def test_a_preview_in_full_shows_the_difference(stage: Stage) -> None:
    stage.rewind("3 files diff")

    assert "-new\n+old\n/rewind confirm applies it" in stage.said()


@pytest.mark.parametrize(
    ("rest", "span"),
    [
        ("3", Since(3)),
        ("2 3", Since(2, 3)),
        ("all", Since(None)),
        ("3 only", OneTurn(3)),
    ],
)
def test_diff_shows_how_much_changed_and_what(stage: Stage, rest: str, span: Span) -> None:
    stage.commands.diff(Command("diff", f"{rest} src"))

    said = stage.said().splitlines()
    assert said[0] == "1 file changed, +1 -0"
    assert said[-1] == f"+{span} {(b'src',)}"


@pytest.mark.parametrize(
    "rest", ["0", "-1", "99", "1x", "1 file", "confirm", "1 history keep", "1 files only", "'"]
)
def test_a_wrong_line_changes_nothing_and_leaves_nothing_pending(stage: Stage, rest: str) -> None:
    with pytest.raises((UsageError, RefusedError)):
        stage.rewind(rest)

    assert stage.rewinder.applied == []
    with pytest.raises(UsageError, match="nothing to confirm"):
        stage.rewind("confirm")


@pytest.mark.parametrize(
    "run",
    [
        lambda commands: commands.rewind(Command("rewind")),
        lambda commands: commands.rewind(Command("rewind", "1x")),
        lambda commands: commands.rewind(Command("rewind", "confirm")),
        lambda commands: commands.undo(),
        lambda commands: commands.redo(),
        lambda commands: commands.diff(Command("diff", "'")),
    ],
)
def test_what_is_off_is_said_before_anything_else(run: Callable[[RewindCommands], object]) -> None:
    class Off(Standing):
        def rewinder(self) -> Rewinder:
            raise RefusedError("rewinding is off")

    commands = RewindCommands(Off(Rehearsal()), Screen(io.StringIO()), lambda: 0.0)

    with pytest.raises(RefusedError, match="rewinding is off"):
        run(commands)
