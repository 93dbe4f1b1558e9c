"""A whole session in a real terminal, as a person has it."""

from __future__ import annotations

from pathlib import Path

from tests.terminal.conftest import Open


def test_a_whole_session_from_the_first_prompt_to_a_rewind_across_a_compaction(
    project: Path, open_terminal: Open
) -> None:
    terminal = open_terminal(project)
    terminal.wait_for("snapshots", "offline")

    terminal.enter('create a.txt with "alpha"')
    terminal.wait_for("[y]es", "+alpha")
    terminal.enter("y")
    terminal.wait_for("Wrote")
    terminal.enter('append "second" to notes.md')
    terminal.wait_for("(shell)", ">> notes.md\n[y]es [a]lways [n]o >")
    terminal.enter("a")
    terminal.wait_for("Appended to")
    terminal.enter("run `rm -rf notes.md; echo x > junk`")
    terminal.wait_for("(destructive)", "x > junk\n[y]es [n]o >")
    terminal.enter("y")
    terminal.wait_for("Ran `rm -rf")
    assert not (project / "notes.md").exists()

    terminal.type("/rew\t")
    terminal.wait_for("/rewind")
    terminal.type(" 3 b\t")
    terminal.wait_for("/rewind 3 both")
    terminal.enter("")
    terminal.wait_for("rewind both to before turn 3", "junk", "/rewind confirm applies it")
    terminal.enter("/rewind confirm")
    terminal.wait_for("1 turn went")
    assert (project / "notes.md").read_text() == "first\nsecond\n"
    assert not (project / "junk").exists()
    # The prompt is back on the input line; a slash as the first key replaces it.
    terminal.wait_until(
        lambda: "rm -rf notes.md" in terminal.text().split("1 turn went")[-1], "the prompt again"
    )
    terminal.enter("/exit")
    assert terminal.wait_for_end() == 0

    again = open_terminal(project, "-c", "--approve", "write", "--approve", "shell")
    again.wait_for("snapshots")
    for name in ("b.txt", "c.txt"):
        again.enter(f'create {name} with "{name}"')
        again.wait_for(f"Wrote `{name}`")
    again.enter("/compact")
    again.wait_for("compacted 1 turn")
    again.enter("/rewind 1 both")
    again.wait_for("rewind both to before turn 1", "4 turns")
    again.enter("/rewind confirm")
    again.wait_for("4 turns went")
    assert sorted(path.name for path in project.iterdir()) == ["notes.md"]
    assert (project / "notes.md").read_text() == "first\n"


def test_ctrl_c_ends_the_turn_and_not_the_shell(project: Path, open_terminal: Open) -> None:
    terminal = open_terminal(project, "--approve", "shell")
    terminal.wait_for("snapshots")

    terminal.enter("run `echo t > new; echo started; sleep 60`")
    terminal.wait_for("started")
    terminal.wait_until((project / "new").exists, "the file")
    terminal.type("\x03")
    terminal.wait_for("the turn was stopped")
    terminal.enter("/rewind 1 both")
    terminal.wait_for("removed", "new")
    terminal.enter("/rewind confirm")
    terminal.wait_for("1 turn went")

    assert not (project / "new").exists()


def test_ctrl_c_clears_the_line_and_ctrl_d_leaves(project: Path, open_terminal: Open) -> None:
    terminal = open_terminal(project)
    terminal.wait_for("snapshots")

    terminal.type("half a tho")
    terminal.wait_for("half a tho")
    terminal.type("\x03")
    terminal.enter("/status")
    terminal.wait_for("approvals")
    terminal.wait_for_line()
    terminal.type("\x04")

    assert terminal.wait_for_end() == 0


def test_what_was_typed_before_a_question_does_not_answer_it(
    project: Path, open_terminal: Open
) -> None:
    terminal = open_terminal(project)
    terminal.wait_for("snapshots")

    terminal.type('create a.txt with "alpha"\ry\ry\r')
    terminal.wait_for("[y]es")
    terminal.enter("n")
    terminal.wait_for("denied")

    assert not (project / "a.txt").exists()


def test_a_hostile_file_name_does_not_drive_the_terminal(
    project: Path, open_terminal: Open
) -> None:
    terminal = open_terminal(project, "--approve", "shell")
    terminal.wait_for("snapshots")
    (project / "evil\x1b]0;owned\x07\x1b[2Jname").write_text("x")

    terminal.enter("list")
    terminal.wait_for("evil")

    assert "snapshots" in terminal.text()


def test_a_narrow_terminal_and_no_colour_work(project: Path, open_terminal: Open) -> None:
    terminal = open_terminal(project, "--no-color", columns=30, rows=20)
    terminal.wait_for("snapshots")

    terminal.enter("/help")
    terminal.wait_for("/exit")
    terminal.wait_for_line()
    terminal.type("\x04")

    assert terminal.wait_for_end() == 0
