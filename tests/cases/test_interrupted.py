"""Ctrl-C and kills at any moment: what is said is true, and what was done can be taken back."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keryx_py.session.archive import live_turns
from tests.cases.children import Child, elsewhere, signal_at
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, delegate, shell, write
from tests.cases.watching import look_at, shadow_git


@contextmanager
def ctrl_c_when(condition: Callable[[], bool]) -> Iterator[None]:
    """Press Ctrl-C once, as soon as *condition* holds."""
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            if condition():
                os.kill(os.getpid(), signal.SIGINT)
                return
            time.sleep(0.005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


# ---- turns


def test_a_turn_that_is_stopped_can_be_rewound(root: Path, sit: Sit) -> None:
    """INT-01: its end is captured, its command is ended, and what it made goes."""
    sitting = sit()
    begun = time.monotonic()

    with ctrl_c_when((root / "new").exists):
        said = sitting.play(shell("echo t > new; sleep 30; echo late > late"))
    preview = sitting.play("/rewind 1 both")
    sitting.rewind(1, "both")

    assert time.monotonic() - begun < 15
    assert "the turn was stopped" in said
    assert "  removed       new  +0 -1     turn 1\n" in preview
    assert "turn 1 ran: echo t > new; sleep 30; echo late > late (interrupted)" in preview
    assert look_at(root) == {}
    assert live_turns(sitting.project.session.entries) == ()


def test_a_sub_agent_that_is_stopped_can_be_rewound(root: Path, sit: Sit) -> None:
    """INT-01: in the middle of a delegated task as well."""
    sitting = sit(delegates={"work": (write("one", "1"), shell("echo t > new; sleep 30"))})

    with ctrl_c_when((root / "new").exists):
        said = sitting.play(delegate("work"))
    sitting.rewind(1, "both")

    assert "the turn was stopped" in said
    assert look_at(root) == {}


def test_the_calls_after_a_stopped_one_do_not_run(root: Path, sit: Sit) -> None:
    """INT-01: Ctrl-C ends the turn, not the call alone, and never the shell."""
    sitting = sit()

    with ctrl_c_when((root / "new").exists):
        said = sitting.play((shell("echo t > new; sleep 30"), write("after", "1")), write("b", "2"))

    assert look_at(root).keys() == {"new", "b"}
    assert said.count("done") == 1
    sitting.rewind(1)
    assert look_at(root) == {}


def test_what_ignores_ctrl_c_is_ended_all_the_same(root: Path, sit: Sit) -> None:
    """INT-01: its whole group, so that nothing goes on writing."""
    sitting = sit()

    with ctrl_c_when((root / "new").exists):
        sitting.play(
            shell(
                "trap '' INT TERM; echo t > new;"
                " for i in 1 2 3 4 5 6 7 8 9; do sleep 1; done; echo l > late"
            )
        )
    sitting.rewind(1)
    time.sleep(0.1)

    assert look_at(root) == {}


def test_a_turn_whose_keryx_was_killed_can_be_rewound(root: Path, sit: Sit) -> None:
    """INT-01: its end is not known, so its changes are unknown, named, and wait for a word."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.close()

    def work() -> None:
        sitting.resume()
        sitting.play(shell("echo turn > f; echo t > new; exec sleep 60"))

    child = Child(work)
    wait_for((root / "new").exists)
    child.kill()
    sitting.resume()
    undone = sitting.play("/undo")
    waiting = look_at(root)
    said = sitting.play("/rewind 1 both", "/rewind confirm")

    assert waiting.keys() == {"f", "new"}
    assert "unknown" in undone
    assert "(cut short)" in said
    assert look_at(root) == {"f": ("file", 0o644, b"old\n")}
    assert live_turns(sitting.project.session.entries) == ()


def test_a_snapshot_that_was_killed_is_no_snapshot(root: Path, sit: Sit) -> None:
    """INT-01: whatever step of it; the next turn's is whole, and the tree was never touched."""
    for n in range(5):
        (root / f"f{n}").write_text(f"{n}\n")
    before = look_at(root)
    sitting = sit()

    for step in range(1, 40, 4):
        ended = elsewhere(
            sitting,
            lambda step=step: sitting.play(  # type: ignore[misc]
                lambda: signal_at(step, signal.SIGKILL), shell("true")
            ),
        )
        assert look_at(root) == before
        if not ended:
            break
    sitting.play(shell("rm f0; echo new > f1"))
    sitting.play("/undo")

    assert step > 5
    assert look_at(root) == before
    assert shadow_git(sitting, "fsck", "--strict", "--no-dangling") == b""


# ---- rewinds


def _three_kinds(root: Path, sitting: Sitting) -> None:
    (root / "changed").write_text("old\n")
    (root / "gone").write_text("old\n")
    sitting.play(shell("echo new > changed; rm gone; mkdir d; echo x > d/made"))


# Each takes every fourth step from its first; the four together leave none out.
@pytest.mark.parametrize(
    "first",
    [1, 3, pytest.param(2, marks=pytest.mark.soak), pytest.param(4, marks=pytest.mark.soak)],
)
def test_ctrl_c_in_a_confirm_finishes_it_or_does_nothing(root: Path, sit: Sit, first: int) -> None:
    """INT-03: at every step of it; the message says which, and is true."""
    sitting = sit()
    (root / "changed").write_text("old\n")
    (root / "gone").write_text("old\n")
    old = look_at(root)
    _three_kinds(root, sitting)
    new = look_at(root)
    verdicts = set()

    def pressed(step: int) -> None:
        said = sitting.play(
            "/rewind 1 both", lambda: signal_at(step, signal.SIGINT), "/rewind confirm"
        )
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        rewound = live_turns(sitting.project.session.entries) == ()
        assert look_at(root) == (old if rewound else new), said
        assert ("history: 1 turn went" in said) is rewound, said
        stopped = "the rewind was stopped; nothing was changed" in said
        finished = "so the rewind was finished" in said
        assert not (rewound and stopped), said
        assert rewound or stopped, said
        assert "bug" not in said, said
        (root.parent / "verdict").write_text(
            "stopped" if stopped else "finished" if finished else "over"
        )

    for step in range(first, 200, 4):
        assert elsewhere(sitting, lambda step=step: pressed(step)) == 0  # type: ignore[misc]
        verdict = (root.parent / "verdict").read_text()
        verdicts.add(verdict)
        sitting.play("/redo", "/rewind confirm")
        assert look_at(root) == new
        if verdict == "over":
            break

    assert verdicts == {"stopped", "finished", "over"}


@pytest.mark.parametrize("first", [3, 6])
def test_a_confirm_that_was_killed_is_finished_or_never_was(
    root: Path, sit: Sit, first: int
) -> None:
    """INT-03: the next start says which (R10)."""
    sitting = sit()
    (root / "changed").write_text("old\n")
    (root / "gone").write_text("old\n")
    old = look_at(root)
    _three_kinds(root, sitting)
    new = look_at(root)
    outcomes = set()

    for step in range(first, 200, 6):
        ended = elsewhere(
            sitting,
            lambda step=step: sitting.play(  # type: ignore[misc]
                "/rewind 1 both", lambda: signal_at(step, signal.SIGKILL), "/rewind confirm"
            ),
        )
        said = sitting.play()
        rewound = live_turns(sitting.project.session.entries) == ()
        assert look_at(root) == (old if rewound else new), said
        outcomes.add((rewound, "was cut short" in said))
        if rewound:
            sitting.play("/redo", "/rewind confirm")
        assert look_at(root) == new
        if not ended:
            break

    assert (False, False) in outcomes
    assert (True, True) in outcomes


def test_a_restore_that_is_going_on_is_not_called_cut_short(root: Path, sit: Sit) -> None:
    """Another start in the project meets its record, and its holder alive."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(shell("echo new > f"))
    journal = sitting.project.session.folder / "restore.json"
    (journal).write_text("{")

    beside = sit().play()
    journal.unlink()

    assert "was begun there and is not done yet; it is for the process that has" in beside
    assert "cut short" not in beside


# ---- a write that was cut short


def test_a_file_whose_write_was_killed_has_its_old_content_back(root: Path, sit: Sit) -> None:
    """INT-05: it was written beside; nothing half-written is left once the turn is rewound."""
    old, new = b"o" * 100_000, b"x" * 300_000
    (root / "big").write_bytes(old)
    before = look_at(root)
    sitting = sit()
    found = set()

    for step in range(1, 100, 6):
        ended = elsewhere(
            sitting,
            lambda step=step: sitting.play(  # type: ignore[misc]
                lambda: signal_at(step, signal.SIGKILL), write("big", new.decode())
            ),
        )
        found.add((root / "big").read_bytes())
        for turn in live_turns(sitting.project.session.entries):
            sitting.rewind(turn, "both")
        assert look_at(root) == before
        if not ended:
            break

    assert found == {old, new}


def test_a_command_that_was_killed_in_a_write_is_undone(root: Path, sit: Sit) -> None:
    """INT-05: however much of the file it had written."""
    old = os.urandom(1_000_000)
    (root / "big").write_bytes(old)
    sitting = sit()
    sitting.close()

    def work() -> None:
        sitting.resume()
        sitting.play(shell("head -c 3000000 /dev/zero > big; exec sleep 60"))

    child = Child(work)
    wait_for(lambda: (root / "big").stat().st_size == 3_000_000)
    child.kill()
    sitting.resume().rewind(1)

    assert (root / "big").read_bytes() == old
