"""Restores that were cut short and are not finished yet: what is said of them, and what waits."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from keryx_py.rewind.recovery import is_cut_short
from keryx_py.session.archive import live_turns
from keryx_py.session.sessions import SessionError
from keryx_py.shell.screen import Streams
from keryx_py.shell.sessions_cli import SessionsCli, Which
from tests.cases.children import in_child
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, shell
from tests.cases.watching import look_at

WAITING = "is finished at the next start that can restore files"


@pytest.fixture
def unfinished(root: Path, sit: Sit) -> Sitting:
    """A session whose rewind, of both, was killed with some files restored; nobody has it open."""
    for name in ("a", "b", "c"):
        (root / name).write_text("old\n")
    sitting = sit()
    sitting.play(shell("for f in a b c; do echo new > $f; done"))
    (root / "c").write_text("mine\n")
    sitting.close()
    assert in_child(lambda: _be_killed_at(b"b", sitting)) == signal.SIGKILL
    assert (root / "a").read_text() == "old\n"
    assert (root / "c").read_text() == "mine\n"
    assert is_cut_short(sitting.project.session.folder)
    return sitting


def test_it_is_said_while_rewinding_is_off_and_then_takes_no_turn_of_meanwhile_away(
    root: Path, unfinished: Sitting
) -> None:
    """R6, R10: files are finished; the history stays, since the person has gone on with it."""
    on = unfinished.settings
    unfinished.settings = replace(on, snapshots=False, off_because="KERYX_REWIND=off")

    off = unfinished.resume().play(shell("echo more > later"))
    unfinished.settings = on
    said = unfinished.resume().play()

    assert WAITING in off
    assert "it is finished now; the history stays, since turn 3 has begun meanwhile" in said
    assert len(live_turns(unfinished.project.session.entries)) == 2
    assert {path: row[2] for path, row in look_at(root).items()} == {
        "a": b"old\n",
        "b": b"old\n",
        "c": b"old\n",
        "later": b"more\n",
    }
    unfinished.play("/redo", "/rewind confirm")
    assert (root / "c").read_text() == "mine\n"


def test_another_session_of_the_project_says_so_too(unfinished: Sitting, sit: Sit) -> None:
    off = {"snapshots": False, "off_because": "KERYX_REWIND=off"}

    beside = sit(settings=off).play()

    assert f"session {unfinished.project.session.id}: the rewind to point 1 was cut" in beside
    assert WAITING in beside


def test_who_has_the_session_open_is_to_finish_it(unfinished: Sitting, sit: Sit) -> None:
    on = unfinished.settings
    unfinished.settings = replace(on, snapshots=False, off_because="KERYX_REWIND=off")
    unfinished.resume()

    beside = sit().play()

    assert "it is for the process that has the session open" in beside
    assert is_cut_short(unfinished.project.session.folder)


def test_nothing_is_erased_or_deleted_that_it_needs(
    root: Path, unfinished: Sitting, capsys: pytest.CaptureFixture[str]
) -> None:
    """R2: only the undo point holds what the person had written."""
    folder = unfinished.project.session.folder
    cli = _sessions_cli(unfinished)

    with pytest.raises(SessionError, match=r"start keryx in .* to finish it; nothing was erased"):
        cli.erase(folder.name)
    code = cli.delete(Which(ids=(folder.name,)), yes=True, now=0.0)

    said = capsys.readouterr().out
    assert code == 1
    assert "to finish it; nothing was deleted" in said
    assert "it is finished now, the history as well" in unfinished.resume().play()
    unfinished.play("/redo", "/rewind confirm")
    assert (root / "c").read_text() == "mine\n"


def test_a_session_whose_project_is_gone_can_be_deleted_all_the_same(
    root: Path, unfinished: Sitting
) -> None:
    folder = unfinished.project.session.folder
    root.rename(root.with_name("elsewhere"))

    code = _sessions_cli(unfinished).delete(Which(ids=(folder.name,)), yes=True, now=0.0)

    assert code == 0
    assert not folder.exists()


def _be_killed_at(name: bytes, sitting: Sitting) -> None:
    """Rewind, and be killed right before *name* is put in its place."""

    def kill(event: str, args: tuple[object, ...]) -> None:
        if event == "os.rename" and args[1] == name:
            os.kill(os.getpid(), signal.SIGKILL)

    sitting.resume().play("/rewind 1 both", lambda: sys.addaudithook(kill), "/rewind confirm")


def _sessions_cli(sitting: Sitting) -> SessionsCli:
    streams = Streams(sys.stdin, sys.stdout, sys.stderr, color=False)
    return SessionsCli(sitting.sessions, sitting.data_dir, streams)
