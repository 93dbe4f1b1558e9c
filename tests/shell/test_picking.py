"""What is picked with the keys goes the same ways as what is typed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from keryx_py.rewind.plan import Way
from keryx_py.rewind.rewinder import ListedPoint
from keryx_py.session.archive import Mode
from keryx_py.shell.line import Command, UsageError
from keryx_py.shell.picking import Chosen, Decision
from keryx_py.shell.rewind_command import RewindCommands
from keryx_py.shell.screen import Screen
from tests.rewind.play import Project
from tests.shell.test_rewind_command import Standing


class Played:
    """A person who chooses and decides as the lists say, and leaves at their ends."""

    def __init__(self, chosen: Sequence[Chosen], decisions: Sequence[Decision]) -> None:
        self._chosen = list(chosen)
        self._decisions = list(decisions)
        self.began_at: list[tuple[int, bool]] = []
        self.confirmable: list[bool] = []

    def choose(self, points: Sequence[ListedPoint], at: int, *, keep: bool) -> Chosen | None:
        self.began_at.append((at, keep))
        return self._chosen.pop(0) if self._chosen else None

    def decide(self, chosen: Chosen, *, confirmable: bool) -> Decision:
        self.confirmable.append(confirmable)
        return self._decisions.pop(0)


class Typist:
    """A person who answers each question with the next line."""

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = list(answers)

    def ask(self, question: str) -> str:
        return self._answers.pop(0)


class Stage:
    """The commands on a real project of two turns, which a person changes afterwards."""

    def __init__(self, base: Path) -> None:
        self.project = Project(base)
        self.project.write("a", lines())
        self.project.turn(lambda: self.project.write("a", lines(3)), "one")
        self.project.turn(lambda: self.project.write("a", lines(3, 20)), "two")
        self.out = io.StringIO()
        self.standing = Standing(self.project.rewinder())
        self.standing.root = self.project.root

    def commands(
        self, picker: Played | None = None, answers: Typist | None = None
    ) -> RewindCommands:
        screen = Screen(self.out)
        return RewindCommands(self.standing, screen, lambda: 0.0, picker=picker, answers=answers)

    def rewind(self, rest: str, commands: RewindCommands) -> str:
        return commands.rewind(Command("rewind", rest))

    def said(self) -> str:
        text = self.out.getvalue()
        self.out.seek(0)
        self.out.truncate()
        return text

    def a(self) -> str:
        return (self.project.root / "a").read_text()


def lines(*changed: int) -> str:
    return "".join(f"{n}*\n" if n in changed else f"{n}\n" for n in range(30))


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


# ---- points


def test_a_point_is_picked_previewed_and_confirmed(stage: Stage) -> None:
    picker = Played([Chosen(0, Mode.BOTH)], [Decision.CONFIRM])

    prompt = stage.rewind("pick", stage.commands(picker))

    assert prompt == "two"
    assert stage.a() == lines(3)
    said = stage.said()
    assert "rewind both to before turn 2" in said
    assert "y applies it" in said
    assert "/rewind confirm" not in said
    assert "/redo takes this back" in said


def test_going_back_leaves_nothing_pending_and_the_list_where_it_was(stage: Stage) -> None:
    picker = Played([Chosen(1, Mode.FILES, keep=True)], [Decision.BACK])
    commands = stage.commands(picker)

    assert stage.rewind("pick", commands) == ""

    assert picker.began_at == [(0, False), (1, True)]
    assert stage.a() == lines(3, 20)
    with pytest.raises(UsageError, match="nothing to confirm"):
        stage.rewind("confirm", commands)


def test_diff_and_keep_show_the_preview_anew(stage: Stage) -> None:
    stage.project.write("a", lines(3, 20, 28))
    decisions = [Decision.DIFF, Decision.KEEP, Decision.CONFIRM]
    picker = Played([Chosen(1, Mode.FILES)], decisions)

    stage.rewind("pick", stage.commands(picker))

    said = stage.said()
    assert said.count("rewind files to before turn 1") == 3
    assert "-28*\n+28" in said
    assert stage.a() == lines(28)


def test_a_stale_preview_is_shown_anew_and_asked_about_again(stage: Stage) -> None:
    class Meddling(Played):
        def decide(self, chosen: Chosen, *, confirmable: bool) -> Decision:
            if not self.confirmable:
                stage.project.write("new", "mine")
            return super().decide(chosen, confirmable=confirmable)

    picker = Meddling([Chosen(1, Mode.FILES)], [Decision.CONFIRM, Decision.BACK])

    stage.rewind("pick", stage.commands(picker))

    said = stage.said()
    assert "the project has changed since; nothing was done" in said
    assert picker.confirmable == [True, True]
    assert stage.a() == lines(3, 20)


def test_where_nothing_would_change_there_is_nothing_to_confirm(stage: Stage) -> None:
    stage.project.turn(None, "three")
    picker = Played([Chosen(0, Mode.FILES)], [Decision.BACK])

    stage.rewind("pick", stage.commands(picker))

    assert picker.confirmable == [False]
    assert "there is nothing to confirm" in stage.said()


def test_a_refused_rewind_is_said_and_the_list_comes_again(stage: Stage) -> None:
    stage.project.rewind(2, Mode.BOTH)
    picker = Played([Chosen(1, Mode.HISTORY)], [])

    stage.rewind("pick", stage.commands(picker))

    assert "point 2 can roll back files only" in stage.said()
    assert picker.began_at == [(0, False), (1, False)]


def test_without_a_terminal_the_way_by_number_is_named(stage: Stage) -> None:
    with pytest.raises(UsageError, match="/rewind N previews one"):
        stage.rewind("pick", stage.commands())


# ---- hunks


def test_hunks_are_asked_about_previewed_and_confirmed(stage: Stage) -> None:
    commands = stage.commands(answers=Typist(["n", "y"]))

    stage.rewind("1 pick a", commands)

    said = stage.said()
    assert "rewind the picked hunks to before turn 1: one" in said
    assert "/rewind confirm applies it" in said
    assert stage.a() == lines(3, 20)
    stage.rewind("confirm", commands)
    assert stage.a() == lines(3)


def test_with_no_hunk_taken_nothing_is_pending(stage: Stage) -> None:
    commands = stage.commands(answers=Typist(["q"]))

    stage.rewind("1 pick", commands)

    assert "no hunk was picked" in stage.said()
    with pytest.raises(UsageError, match="nothing to confirm"):
        stage.rewind("confirm", commands)


def test_without_a_terminal_hunks_are_listed_and_taken_by_number(stage: Stage) -> None:
    commands = stage.commands()

    stage.rewind("1 pick a", commands)
    listed = stage.said()
    stage.rewind("1 pick a 1", commands)
    stage.rewind("confirm", commands)

    assert "hunk 2\n@@" in listed
    assert "/rewind 1 pick a 1 previews taking hunk 1 back" in listed
    assert "\nhunk 3" not in listed
    assert stage.a() == lines(20)


def test_picking_where_nothing_differs_says_so(stage: Stage) -> None:
    stage.project.write("b", "b")
    stage.project.rewind(1)

    stage.rewind("1 pick a", stage.commands())

    assert "nothing would change" in stage.said()


def test_a_stale_rewind_of_hunks_says_which_file_moved(stage: Stage) -> None:
    commands = stage.commands()
    stage.rewind("1 pick a 1", commands)
    stage.project.write("a", "mine\n")

    stage.rewind("confirm", commands)

    said = stage.said()
    assert "the project has changed since; nothing was done" in said
    assert "it changed after its hunks were picked; pick again" in said
    assert stage.a() == "mine\n"


def test_after_a_rewind_of_hunks_the_preview_of_all_is_another(stage: Stage) -> None:
    commands = stage.commands()
    stage.rewind("1 pick a 1", commands)
    stage.project.write("a", lines(3, 20, 29))
    stage.rewind("1 files a", commands)

    # It is no second preview of the same rewind, so nothing is taken to be being written.
    assert "being written" not in stage.said()
    assert stage.project.rewinder().plan(1, Mode.FILES).way is Way.PLAIN
