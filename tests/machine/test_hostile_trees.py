"""The promises on hostile trees: turns, edits, rewinds, undo, redo and resuming in any order."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from keryx_py.messages import ToolCall
from keryx_py.rewind.plan import Way
from keryx_py.session.archive import Mode
from tests.cases.as_user import as_user
from tests.cases.sitting import call, write
from tests.machine.ground import GROUND, ROOTS, STRIKE, Act
from tests.machine.hostile import EDIT, OWN_EDIT
from tests.machine.played import Played
from tests.machine.promises import done
from tests.machine.sight import see

counter = itertools.count()
edits = st.lists(st.one_of(STRIKE, STRIKE, STRIKE, EDIT), min_size=1, max_size=5)
own_edits = st.lists(st.one_of(STRIKE, STRIKE, OWN_EDIT), min_size=1, max_size=5)
simple = st.sampled_from(("a", "b", "d/a", "A", "d/D/b", ".gitignore", "../outside/secret"))
tool = st.one_of(
    st.builds(write, simple, st.sampled_from(("5\n", "6\n", ""))),
    st.builds(
        lambda source, target: call("move_file", source=source, target=target), simple, simple
    ),
    st.builds(lambda path: call("delete_file", path=path), simple),
)
tools = st.lists(tool, max_size=2).map(tuple)


class HostileTree(RuleBasedStateMachine):
    """One session on one tree; each step checks itself against plain copies."""

    place: Path

    def __init__(self) -> None:
        super().__init__()
        self.played = Played(self.place / str(next(counter)))
        self.outside = see(self.played.outside)

    @initialize(root=st.sampled_from(ROOTS), edits=own_edits)
    def begin(self, root: tuple[Act, ...], edits: list[Act]) -> None:
        self._theirs(lambda: self.played.edit([*root, *GROUND, *edits]))

    @rule(edits=own_edits)
    def edit(self, edits: list[Act]) -> None:
        self._theirs(lambda: self.played.edit(edits))

    @rule(edits=edits, tools=tools)
    def turn(self, edits: list[Act], tools: tuple[ToolCall, ...]) -> None:
        self._theirs(lambda: self.played.turn(edits, tools))

    @rule(edits=edits, own=st.lists(STRIKE, max_size=2), again=st.booleans())
    def there_and_back(self, edits: list[Act], own: list[Act], again: bool) -> None:
        """A turn, then perhaps the person, then back to before both, and perhaps there again."""
        self._theirs(lambda: self.played.turn(edits, ()))
        self._theirs(lambda: self.played.edit(own))
        self.played.rewind(0, Mode.FILES, Way.PLAIN, [], [])
        if again:
            self.played.redo()

    @rule(back=st.integers(0, 9), mode=st.sampled_from((Mode.FILES, Mode.FILES, *Mode)))
    def rewind(self, back: int, mode: Mode) -> None:
        self.played.rewind(back, mode, Way.PLAIN, [], [])

    @rule(back=st.integers(0, 9), picks=st.lists(st.integers(0, 99), min_size=1, max_size=3))
    def rewind_paths(self, back: int, picks: list[int]) -> None:
        self.played.rewind(back, Mode.FILES, Way.PLAIN, picks, [])

    @rule(back=st.integers(0, 5), way=st.sampled_from((Way.KEEP, Way.ONLY)))
    def rewind_in_part(self, back: int, way: Way) -> None:
        self.played.rewind(back, Mode.FILES, way, [], [])

    @rule(back=st.integers(0, 5), late=st.lists(EDIT, min_size=1, max_size=2))
    def rewind_too_late(self, back: int, late: list[Act]) -> None:
        self._theirs(lambda: self.played.rewind(back, Mode.BOTH, Way.PLAIN, [], late))

    @rule(
        edits=edits,
        mode=st.sampled_from((Mode.FILES, Mode.BOTH)),
        steps=st.lists(st.integers(1, 40), min_size=1, max_size=2),
    )
    def turn_and_killed_rewind(self, edits: list[Act], mode: Mode, steps: list[int]) -> None:
        """A turn, and a rewind of it that is killed, and what finishes it as well."""
        self._theirs(lambda: self.played.turn(edits, ()))
        self.played.rewind_killed(mode, steps)

    @rule()
    def undo(self) -> None:
        self.played.undo()

    @rule()
    def redo(self) -> None:
        self.played.redo()

    @rule(reads=st.booleans())
    def rest(self, reads: bool) -> None:
        if reads:
            self.played.ask()
        else:
            self.played.resume()

    @invariant()
    def nothing_outside_is_touched(self) -> None:
        assert see(self.played.outside) == self.outside  # R8

    def _theirs(self, act: Callable[[], None]) -> None:
        """Do what may change, by its own commands, the file outside that has a name inside."""
        act()
        now = see(self.played.outside)
        for name in (b"shared", b"shared too"):
            self.outside.look[name] = now.look[name]
            self.outside.stamps[name] = now.stamps[name]

    def teardown(self) -> None:
        done["sessions"] += 1
        self.played.end()


def run(where: Path, examples: int, steps: int, chance: int = 1) -> None:
    """Walk *examples* sessions of at most *steps* steps, in folders made in *where*.

    The plain run takes the same walk each time; another *chance* gives another walk.
    """
    done.clear()

    class Here(HostileTree):
        place = where

    run_state_machine_as_test(
        seed(chance)(Here) if settings().derandomize else Here,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            # To make a failure small takes minutes; KERYX_HYPOTHESIS=search has them.
            phases=(Phase.generate,) if settings().derandomize else tuple(Phase),
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
    print(sum(done.values()), "steps:", dict(done))  # noqa: T201 - see docs/reliability.md


def run_as_user(place: Path, examples: int, steps: int) -> None:
    """The same, on another walk, as a user whom modes bind."""
    trees = place / "trees"
    trees.mkdir()
    as_user(trees, lambda: run(trees, examples, steps, chance=2), may_return=True)


def test_every_promise_holds_on_hostile_trees(place: Path) -> None:
    run(place, 6, 20)


def test_every_promise_holds_for_a_normal_user(place: Path) -> None:
    run_as_user(place, 6, 20)


@pytest.mark.soak
def test_every_promise_holds_for_thousands_of_steps(place: Path) -> None:
    run(place, 60, 50)


@pytest.mark.soak
def test_every_promise_holds_for_a_normal_user_for_thousands_of_steps(place: Path) -> None:
    run_as_user(place, 60, 50)
