"""Points are chosen with the keys, and a preview is answered with one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import pytest
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.cells import cell_len

from keryx_py.rewind.points import FilesState, PointKind, RewindPoint
from keryx_py.rewind.rewinder import ListedPoint
from keryx_py.session.archive import Mode
from keryx_py.shell.picker import PointList, TerminalPicker, rows_of
from keryx_py.shell.picking import Chosen, Decision
from keryx_py.snapshot.store import SnapshotKey

UP, DOWN, PAGE_UP, PAGE_DOWN = "\x1b[A", "\x1b[B", "\x1b[5~", "\x1b[6~"
HOME, END, ESCAPE, ENTER, CTRL_C, CTRL_D = "\x1b[H", "\x1b[F", "\x1b", "\r", "\x03", "\x04"


def points(count: int, label: str = "fix the tests") -> Sequence[ListedPoint]:
    """So many points, newest first."""
    return [
        ListedPoint(
            RewindPoint(
                number, PointKind.TURN, 0.0, label, True, FilesState.HELD, SnapshotKey(number)
            ),
            number,
            0,
        )
        for number in range(count, 0, -1)
    ]


def drawn(listed: PointList, width: int, height: int) -> list[str]:
    return "".join(part[1] for part in listed.lines(width, height)).split("\n")


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as source:
        yield source


def choose(keys: PipeInput, typed: str, count: int = 200, at: int = 0) -> Chosen | None:
    keys.send_text(typed)
    picker = TerminalPicker(source=keys, output=DummyOutput())
    return picker.choose(points(count), at, keep=False)


# ---- the keys


@pytest.mark.parametrize(
    ("typed", "chosen"),
    [
        ("f", Chosen(0, Mode.FILES)),
        (ENTER, Chosen(0, Mode.FILES)),
        ("h", Chosen(0, Mode.HISTORY)),
        ("b", Chosen(0, Mode.BOTH)),
        ("d", Chosen(0, Mode.FILES, in_full=True)),
        ("kf", Chosen(0, Mode.FILES, keep=True)),
        ("kkb", Chosen(0, Mode.BOTH)),
        (DOWN * 3 + UP + "b", Chosen(2, Mode.BOTH)),
        (UP + "f", Chosen(0, Mode.FILES)),
        (END + "f", Chosen(199, Mode.FILES)),
        (END + DOWN + "f", Chosen(199, Mode.FILES)),
        (END + HOME + DOWN + "h", Chosen(1, Mode.HISTORY)),
        ("xyz" + DOWN + "f", Chosen(1, Mode.FILES)),
        (ESCAPE, None),
        (DOWN + CTRL_D, None),
    ],
)
def test_each_key_does_what_it_says(keys: PipeInput, typed: str, chosen: Chosen | None) -> None:
    assert choose(keys, typed) == chosen


def test_pages_are_turned_there_and_back(keys: PipeInput) -> None:
    there = choose(keys, PAGE_DOWN * 2 + "f")
    back = choose(keys, PAGE_DOWN * 2 + PAGE_UP * 2 + "f")

    assert there is not None
    assert 2 < there.at < 200
    assert back == Chosen(0, Mode.FILES)


def test_it_begins_where_it_was_left(keys: PipeInput) -> None:
    assert choose(keys, DOWN + "f", at=41) == Chosen(42, Mode.FILES)


def test_ctrl_c_is_passed_on(keys: PipeInput) -> None:
    with pytest.raises(KeyboardInterrupt):
        choose(keys, CTRL_C)


@pytest.mark.parametrize(
    ("typed", "decision"),
    [
        ("y", Decision.CONFIRM),
        ("n", Decision.BACK),
        (ESCAPE, Decision.BACK),
        ("d", Decision.DIFF),
        ("k", Decision.KEEP),
        ("xq" + ENTER + "y", Decision.CONFIRM),
    ],
)
def test_a_preview_is_answered_with_one_key(
    keys: PipeInput, typed: str, decision: Decision
) -> None:
    assert decide(keys, typed, Chosen(0, Mode.BOTH)) is decision


def test_without_anything_to_confirm_a_yes_is_no_answer(keys: PipeInput) -> None:
    assert decide(keys, "yn", Chosen(0, Mode.BOTH), confirmable=False) is Decision.BACK


def test_history_alone_has_no_diff_and_nothing_to_keep(keys: PipeInput) -> None:
    assert decide(keys, "dky", Chosen(0, Mode.HISTORY)) is Decision.CONFIRM


def test_no_key_pressed_before_the_preview_answers_it(keys: PipeInput) -> None:
    keys.send_text("yy")

    assert decide(keys, "n", Chosen(0, Mode.FILES)) is Decision.BACK


def decide(keys: PipeInput, typed: str, chosen: Chosen, *, confirmable: bool = True) -> Decision:
    def type_late() -> None:
        time.sleep(0.2)
        keys.send_text(typed)

    person = threading.Thread(target=type_late)
    person.start()
    picker = TerminalPicker(source=keys, output=DummyOutput())
    try:
        return picker.decide(chosen, confirmable=confirmable)
    finally:
        person.join()


# ---- what is drawn


@pytest.mark.parametrize("width", [20, 30, 50, 80, 200])
@pytest.mark.parametrize("height", [5, 10, 24, 60])
@pytest.mark.parametrize("at", [0, 7, 100, 199])
def test_the_list_fits_the_screen_and_shows_the_chosen_point(
    width: int, height: int, at: int
) -> None:
    listed = PointList(points(200, "日本語 " * 30), at=at)

    rows = drawn(listed, width, height)

    assert all(cell_len(row) < width for row in rows)
    assert len(rows) < max(height, 9)
    [chosen] = [row for row in rows if row.startswith("> ")]
    assert chosen.startswith(f"> {200 - at} ")


def test_a_wide_line_has_time_prompt_and_files() -> None:
    [row] = [row for row in drawn(PointList(points(3)), 80, 24) if row.startswith("> ")]

    assert row.startswith("> 3 1970-01-01 00:00 fix the tests ")
    assert row.rstrip().endswith(" 3 files")


def test_the_list_scrolls_no_more_than_it_must() -> None:
    listed = PointList(points(200))
    seen = listed.seen(10)
    listed.move(12)

    assert seen == range(10)
    assert listed.seen(10) == range(3, 13)
    listed.move(-5)
    assert listed.seen(10) == range(3, 13)
    listed.move(-200)
    assert listed.seen(10) == range(10)
    listed.move(200)
    assert listed.seen(10) == range(190, 200)
    # The screen grew.
    assert listed.seen(50) == range(150, 200)


def test_there_is_always_a_line_for_the_chosen_point() -> None:
    assert rows_of(2, 3) == 1


def test_a_hostile_prompt_does_not_drive_the_terminal() -> None:
    rows = drawn(PointList(points(1, "\x1b[2J\x9b1m\u202eevil\r\n")), 80, 24)

    assert not any(letter in "".join(rows) for letter in "\x1b\x9b\u202e\r")


def test_the_line_of_keys_says_whether_yours_is_kept() -> None:
    listed = PointList(points(1))

    assert "k keep yours (off)" in drawn(listed, 80, 24)[-1]
    listed.keep = True
    assert "k keep yours (on)" in drawn(listed, 80, 24)[-1]
