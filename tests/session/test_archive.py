"""Which turns count, what number comes next, and what the model has not been told."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keryx_py.messages import Message, Role
from keryx_py.session.archive import (
    CheckpointEntry,
    DamagedEntry,
    Entry,
    ErasedEntry,
    ItemEntry,
    Mode,
    RedoEntry,
    RewindEntry,
    SnapshotEntry,
    SnapshotOutcome,
    TurnEnd,
    TurnEndEntry,
    TurnEntry,
    UndoPointEntry,
    live_turns,
    liveness,
    next_number,
    pending_note,
    standing_rewinds,
    turn_entries,
)

LOST = DamagedEntry("lost")


def turn(number: int, follows: int | None, note: str = "") -> TurnEntry:
    return TurnEntry(number, 0.0, f"prompt {number}", follows, note)


def cut(to: int, mode: Mode = Mode.HISTORY) -> RewindEntry:
    return RewindEntry(0.0, to, mode, undo=None, cut=True)


def files(to: int, *paths: str) -> RewindEntry:
    return RewindEntry(0.0, to, Mode.FILES, undo=None, paths=paths)


def redo(position: int) -> RedoEntry:
    return RedoEntry(0.0, position, undo=None)


def said(number: int) -> ItemEntry:
    return ItemEntry(number, Message(Role.ASSISTANT, "yes"))


ONE_TO_THREE = (turn(1, None), turn(2, 1), turn(3, 2))


def test_a_history_rewind_cuts_that_turn_and_all_later_ones() -> None:
    assert live_turns((*ONE_TO_THREE, cut(2))) == (1,)


def test_a_files_rewind_cuts_nothing() -> None:
    assert live_turns((*ONE_TO_THREE, files(2, "a"))) == (1, 2, 3)


def test_a_redo_revives_exactly_what_its_rewind_cut() -> None:
    assert live_turns((*ONE_TO_THREE, cut(3), cut(2), redo(4))) == (1, 2)
    assert live_turns((*ONE_TO_THREE, cut(3), cut(2), redo(4), redo(3))) == (1, 2, 3)


def test_a_lost_rewind_does_not_revive_what_it_cut_once_a_turn_follows() -> None:
    entries = (*ONE_TO_THREE, LOST, turn(4, 1))

    assert live_turns(entries) == (1, 4)
    assert liveness(entries).can_cut(1)


def test_a_lost_redo_is_known_from_the_turn_that_follows() -> None:
    assert live_turns((*ONE_TO_THREE, cut(2), LOST, turn(4, 3))) == (1, 2, 3, 4)


def test_a_lost_rewind_that_was_redone_changes_nothing() -> None:
    assert live_turns((*ONE_TO_THREE, LOST, redo(3))) == (1, 2, 3)


def test_a_lost_line_after_the_last_turn_leaves_open_what_is_live() -> None:
    state = liveness((*ONE_TO_THREE, LOST))

    assert state.turns == (1, 2, 3)
    assert not state.can_cut(3)


@pytest.mark.parametrize("sign", [said(3), TurnEndEntry(3, 0.0, TurnEnd.DONE)])
def test_a_lost_line_inside_a_turn_that_goes_on_was_no_rewind(sign: Entry) -> None:
    assert liveness((*ONE_TO_THREE, LOST, sign)).can_cut(1)


def test_a_lost_turn_leaves_a_gap_that_no_cut_crosses() -> None:
    state = liveness((turn(1, None), LOST, said(2), turn(3, 2), turn(4, 3)))

    assert state.turns == (1, 3, 4)
    assert state.gaps == (3,)
    assert state.can_cut(4)
    assert not state.can_cut(3)
    assert not state.can_cut(1)


def test_a_turn_after_a_lost_one_does_not_follow_later_turns() -> None:
    # Turn 2 was lost; 3 was cut by a rewind that was lost too.
    state = liveness((turn(1, None), LOST, turn(3, 2), LOST, LOST, turn(5, 4), turn(6, 5)))

    assert state.turns == (1, 3, 5, 6)
    assert state.gaps == (3, 5)


def test_a_turn_that_names_itself_is_a_gap_and_not_a_circle() -> None:
    state = liveness((turn(1, None), turn(2, 2), turn(3, 7)))

    assert state.turns == (1, 2, 3)
    assert state.gaps == (2, 3)


def test_turns_that_follow_one_another_in_a_circle_end() -> None:
    assert live_turns((turn(5, None), turn(2, 5), turn(5, 2))) == (2, 5)


@dataclass
class Told:
    """A session played against a plain list of live turns."""

    entries: list[Entry] = field(default_factory=list)
    live: list[int] = field(default_factory=list)
    undone: list[tuple[int, list[int]]] = field(default_factory=list)

    def begin(self) -> None:
        number = next_number(self.entries)
        self.entries.append(turn(number, self.live[-1] if self.live else None))
        self.live.append(number)
        self.undone.clear()

    def rewind(self, to: int, mode: Mode) -> None:
        self.undone.append((len(self.entries), list(self.live)))
        self.entries.append(RewindEntry(0.0, to, mode, None, cut=mode.cuts_history))
        if mode.cuts_history:
            self.live = [number for number in self.live if number < to]

    def redo(self) -> None:
        if self.undone:
            position, self.live = self.undone.pop()
            self.entries.append(redo(position))


ACTIONS = st.lists(
    st.one_of(
        st.just("turn"), st.just("redo"), st.tuples(st.integers(1, 9), st.sampled_from(Mode))
    ),
    max_size=25,
)


def played(actions: list[str | tuple[int, Mode]]) -> Told:
    told = Told()
    for action in actions:
        match action:
            case (to, mode):
                told.rewind(to, mode)
            case "turn":
                told.begin()
            case _:
                told.redo()
    return told


@given(ACTIONS)
def test_live_turns_are_those_of_a_plain_list(actions: list[str | tuple[int, Mode]]) -> None:
    told = played(actions)

    assert live_turns(told.entries) == tuple(told.live)
    assert standing_rewinds(told.entries) == tuple(position for position, _ in told.undone)
    assert liveness(told.entries).can_cut(1)


@given(ACTIONS, st.data())
def test_no_lost_rewind_or_redo_before_a_turn_changes_what_is_live(
    actions: list[str | tuple[int, Mode]], data: st.DataObject
) -> None:
    told = played([*actions, "turn"])
    moves = [
        position
        for position, entry in enumerate(told.entries)
        if isinstance(entry, RewindEntry | RedoEntry)
    ]
    lost = data.draw(st.sets(st.sampled_from(moves)) if moves else st.just(set[int]()))

    damaged = [LOST if position in lost else e for position, e in enumerate(told.entries)]

    assert live_turns(damaged) == tuple(told.live)


@given(ACTIONS, st.data())
def test_whatever_lines_are_lost_the_live_turns_ascend(
    actions: list[str | tuple[int, Mode]], data: st.DataObject
) -> None:
    told = played(actions)
    lost = data.draw(st.sets(st.integers(0, 25)))
    damaged = [LOST if position in lost else e for position, e in enumerate(told.entries)]

    live = live_turns(damaged)

    assert list(live) == sorted(set(live))
    assert set(live) <= turn_entries(damaged).keys()


@pytest.mark.parametrize(
    ("entries", "number"),
    [
        ((), 1),
        (ONE_TO_THREE, 4),
        ((*ONE_TO_THREE, cut(1)), 4),
        ((turn(1, None), CheckpointEntry(2, 0.0)), 3),
        ((turn(1, None), UndoPointEntry(2, 0.0)), 3),
        ((SnapshotEntry(7, 0.0, SnapshotOutcome.TAKEN),), 8),
        ((said(4),), 5),
        ((ErasedEntry(0.0, (2, 3), highest=9),), 10),
        # Each lost line may have used one number.
        ((turn(1, None), LOST, LOST), 4),
        ((LOST, turn(2, None)), 3),
    ],
)
def test_the_next_number_was_never_given_out(entries: tuple[Entry, ...], number: int) -> None:
    assert next_number(entries) == number


def test_a_redone_rewind_does_not_stand() -> None:
    entries = (*ONE_TO_THREE, cut(3), cut(2), redo(4))

    assert standing_rewinds(entries) == (3,)


@pytest.mark.parametrize("last", [turn(4, 1), ErasedEntry(0.0, (2,), 3)])
def test_no_rewind_from_before_a_turn_or_an_erasure_stands(last: Entry) -> None:
    assert standing_rewinds((*ONE_TO_THREE, cut(2), last)) == ()


def test_the_note_names_the_paths_of_files_rewinds() -> None:
    note = pending_note((*ONE_TO_THREE, files(2, "b.py", "a.py"), files(1, "b.py", "c.py")))

    assert "a.py, b.py, c.py." in note
    assert note[0] == "["
    assert note[-1] == "]"
    assert "\n" not in note


def test_the_note_is_told_once() -> None:
    assert pending_note((*ONE_TO_THREE, files(2, "a"), turn(4, 3, "[…]"))) == ""


def test_a_redo_takes_back_a_note_that_was_never_told() -> None:
    assert pending_note((*ONE_TO_THREE, files(2, "a"), redo(3))) == ""


def test_a_both_rewind_leaves_nothing_to_tell() -> None:
    assert pending_note((*ONE_TO_THREE, files(2, "a"), cut(2, Mode.BOTH))) == ""


def test_a_both_rewind_whose_history_stayed_is_told() -> None:
    stayed = RewindEntry(0.0, 2, Mode.BOTH, undo=4, paths=("a.py",), cut=False)

    assert "a.py" in pending_note((*ONE_TO_THREE, stayed))


def test_a_history_rewind_keeps_what_is_to_be_told() -> None:
    assert "a.py" in pending_note((*ONE_TO_THREE, files(1, "a.py"), cut(3)))


@pytest.mark.parametrize("mode", [Mode.HISTORY, Mode.BOTH])
def test_a_note_that_went_with_its_turn_is_told_again(mode: Mode) -> None:
    entries = (*ONE_TO_THREE, files(2, "a.py"), turn(4, 3, "[a.py]"), cut(4, mode))

    assert "a.py" in pending_note(entries)
    assert pending_note((*entries, redo(5))) == ""


def test_the_note_shows_control_characters_and_counts_what_is_too_much() -> None:
    odd = files(1, "a\nb", "c\udcff", "e\u202e", *(f"z{number:03}" for number in range(60)))

    note = pending_note((turn(1, None), odd))

    assert "a\\nb, c\\xff, e\\u202e, z000" in note
    assert "z046 and 13 more" in note
    assert note.isprintable()
