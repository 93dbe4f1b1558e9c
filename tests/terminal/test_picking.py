"""Points and hunks are picked with the keys of a real terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rewind.play import Project
from tests.terminal.conftest import Open, Terminal

ESCAPE, UP, DOWN, PAGE_DOWN, END = "\x1b", "\x1b[A", "\x1b[B", "\x1b[6~", "\x1b[F"
MOUSE = (1000 << 5, 1002 << 5, 1003 << 5, 1006 << 5)


def lines(*changed: int) -> str:
    return "".join(f"{n}*\n" if n in changed else f"{n}\n" for n in range(30))


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project whose turns were played; the program then goes on in its session."""
    made = Project(tmp_path)
    monkeypatch.setenv("KERYX_DATA_DIR", str(made.data))
    made.write("a", lines())
    made.turn(lambda: made.write("a", lines(3, 6, 20)), "mark three lines")
    yield made
    made.session.close()


def go_on(project: Project, open_terminal: Open, columns: int = 80, rows: int = 30) -> Terminal:
    project.session.close()
    terminal = open_terminal(project.root, "-c", columns=columns, rows=rows)
    terminal.wait_for_line()
    return terminal


def chosen_line(terminal: Terminal) -> str:
    return next((row for row in terminal.text().split("\n") if row.startswith("> ")), "")


def wait_for_choice(terminal: Terminal, start: str) -> None:
    terminal.wait_until(lambda: chosen_line(terminal).startswith(start), start)


def test_escape_twice_opens_the_list_and_y_confirms(played: Project, open_terminal: Open) -> None:
    terminal = go_on(played, open_terminal)

    terminal.type(ESCAPE + ESCAPE)
    wait_for_choice(terminal, "> 1 ")
    assert "/rewind pick" in terminal.text()
    terminal.type("b")
    terminal.wait_for("rewind both to before turn 1", "y applies it", "n back")
    terminal.type("y")
    terminal.wait_for("/redo takes this back", "keryx> mark three lines")

    assert (played.root / "a").read_text() == lines()


def test_a_preview_can_be_left_and_so_can_the_list(played: Project, open_terminal: Open) -> None:
    terminal = go_on(played, open_terminal)

    terminal.enter("/rewind pick")
    wait_for_choice(terminal, "> 1 ")
    terminal.type("d")
    terminal.wait_for("-20*", "+20", "y applies it", "n back")
    terminal.type(ESCAPE)
    wait_for_choice(terminal, "> 1 ")
    terminal.type(ESCAPE)
    terminal.wait_for("nothing was picked")
    terminal.wait_for_line()
    terminal.enter("/rewind confirm")
    terminal.wait_for("nothing to confirm")

    assert (played.root / "a").read_text() == lines(3, 6, 20)


def test_ctrl_c_leaves_the_list_and_not_the_shell(played: Project, open_terminal: Open) -> None:
    terminal = go_on(played, open_terminal)

    terminal.enter("/rewind pick")
    wait_for_choice(terminal, "> 1 ")
    terminal.type("f")
    terminal.wait_for("n back")
    terminal.type("\x03")
    terminal.wait_for("preview withdrawn")

    terminal.wait_for_line()
    assert (played.root / "a").read_text() == lines(3, 6, 20)


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (30, 12)])
def test_two_hundred_points_scroll(
    played: Project, open_terminal: Open, columns: int, rows: int
) -> None:
    for number in range(2, 201):
        played.turn(None, f"\x1b[2Jquestion {number}")
    terminal = go_on(played, open_terminal, columns, rows)

    terminal.enter("/rewind pick")
    wait_for_choice(terminal, "> 200 ")
    assert "(1 of 200)" in terminal.text()
    assert "Esc leave" in terminal.text()
    terminal.type(DOWN * 30)
    wait_for_choice(terminal, "> 170 ")
    terminal.type(UP * 2 + PAGE_DOWN)
    terminal.wait_until(lambda: " 172 " not in chosen_line(terminal), "the next page")
    terminal.type(END)
    wait_for_choice(terminal, "> 1  ")
    assert all(len(row) <= columns for row in terminal.text().split("\n"))
    assert not any(mode in terminal.screen.mode for mode in MOUSE)

    terminal.type("f")
    terminal.wait_for("y apply it  n back")
    terminal.type("y")
    terminal.wait_for("undo point 201:")
    terminal.wait_for_line()
    assert (played.root / "a").read_text() == lines()


def test_the_list_follows_the_size_of_the_terminal(played: Project, open_terminal: Open) -> None:
    for number in range(2, 41):
        played.turn(None, f"question {number}")
    terminal = go_on(played, open_terminal, 80, 24)
    terminal.enter("/rewind pick")
    wait_for_choice(terminal, "> 40 ")

    terminal.screen.resize(10, 40)
    terminal.child.setwinsize(10, 40)
    terminal.type(DOWN)
    wait_for_choice(terminal, "> 39 ")
    terminal.type("h")

    terminal.wait_for("y apply it")


def test_without_colour_the_chosen_line_is_still_marked(
    played: Project, open_terminal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = go_on(played, open_terminal)

    terminal.enter("/rewind pick")
    wait_for_choice(terminal, "> 1 ")
    assert colours(terminal) == {"default"}
    terminal.type(ESCAPE)
    terminal.wait_for_line()
    terminal.enter("/rewind 1 pick a")
    terminal.wait_for("Take this hunk back")

    assert colours(terminal) == {"default"}


def colours(terminal: Terminal) -> set[str]:
    screen = terminal.screen
    return {
        screen.buffer[row][column].fg
        for row in range(screen.lines)
        for column in range(screen.columns)
    }


@pytest.mark.parametrize("columns", [80, 30])
def test_hunks_are_walked_through_key_by_key(
    played: Project, open_terminal: Open, columns: int
) -> None:
    terminal = go_on(played, open_terminal, columns)

    terminal.enter("/rewind 1 pick a")
    terminal.wait_for("a: 2 hunks", "-3*", "(1/2)", "s,?]?")
    terminal.enter("?")
    terminal.wait_until(lambda: terminal.text().count("(1/2)") == 2, "the question again")
    terminal.enter("s")
    terminal.wait_for("split into 2 hunks", "(1/3)", "]?")
    terminal.enter("n")
    terminal.wait_for("(2/3)")
    terminal.enter("y")
    terminal.wait_for("-20*", "(3/3)")
    terminal.enter("d")
    terminal.wait_for("the picked hunks", "/rewind confirm applies")
    assert (played.root / "a").read_text() == lines(3, 6, 20)
    terminal.enter("/rewind confirm")
    terminal.wait_for("undo point 2:")

    assert (played.root / "a").read_text() == lines(3, 20)
    terminal.enter("/redo")
    terminal.wait_until(lambda: (played.root / "a").read_text() == lines(3, 6, 20), "the redo")


def test_ctrl_c_in_the_hunks_changes_nothing(played: Project, open_terminal: Open) -> None:
    terminal = go_on(played, open_terminal)

    terminal.enter("/rewind 1 pick a")
    terminal.wait_for("(1/2)")
    terminal.enter("y")
    terminal.wait_for("(2/2)")
    terminal.type("\x03")
    terminal.wait_for_line()
    terminal.enter("/rewind confirm")
    terminal.wait_for("nothing to confirm")

    assert (played.root / "a").read_text() == lines(3, 6, 20)
