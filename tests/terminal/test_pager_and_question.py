"""A long difference goes through a pager, and what still runs is asked about, on a real screen."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from tests.terminal.conftest import Open, Terminal

APPROVED = ("--approve", "write", "--approve", "shell")


def changed(terminal: Terminal, project: Path) -> None:
    terminal.wait_for_line()
    terminal.enter('create a.txt with "alpha"')
    terminal.wait_for("Wrote")
    (project / "long").write_text("".join(f"row {n} \x1b[2J\n" for n in range(500)))


@pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed here")
def test_less_shows_a_long_difference_and_gives_the_terminal_back(
    project: Path, open_terminal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PAGER", raising=False)
    terminal = open_terminal(project, *APPROVED)
    changed(terminal, project)

    terminal.enter("/diff 1")
    terminal.wait_for("2 files changed, +501 -0", "+row 1 \\x1b[2J")
    assert "row 400" not in terminal.text()
    terminal.type("G")
    terminal.wait_for("+row 499")
    terminal.type("\x03")
    time.sleep(0.5)  # The terminal drops keys that were typed along with a Ctrl-C.
    terminal.type("g")
    terminal.wait_until(lambda: "+row 499" not in terminal.text(), "the first screenful")
    terminal.type("q")
    terminal.wait_for_line()
    terminal.enter("/status")
    terminal.wait_for("approved")
    terminal.enter("/exit")

    assert terminal.wait_for_end() == 0


def test_the_persons_own_pager_is_used(
    project: Path, open_terminal: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PAGER", f"cat > '{tmp_path}/paged'; echo that was all")
    terminal = open_terminal(project, *APPROVED)
    changed(terminal, project)

    terminal.enter("/diff all long")
    terminal.wait_for("that was all")
    terminal.wait_for_line()

    assert "row 499" not in terminal.everything()
    assert "row 499" in (tmp_path / "paged").read_text()


def test_what_still_runs_is_ended_on_a_yes(project: Path, open_terminal: Open) -> None:
    terminal = open_terminal(project, *APPROVED)
    terminal.wait_for_line()
    terminal.enter("run `sleep 60 & echo x > junk`")
    terminal.wait_for("Ran `sleep")

    terminal.enter("/rewind 1")
    terminal.wait_for("confirm applies it", "keryx started still runs", "End it? [y]es [n]o >")
    terminal.enter("y")
    terminal.wait_for("ended")
    terminal.enter("/rewind confirm")
    terminal.wait_for("/redo takes this back")
    terminal.enter("/exit")

    assert terminal.wait_for_end() == 0
    assert "still running: sleep" not in terminal.everything()
    assert not (project / "junk").exists()
