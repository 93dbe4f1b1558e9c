"""What still runs is named, and what changes under a snapshot's hands costs that path alone."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keryx_py.agent.approval import Approval, Question
from keryx_py.tools.base import Shown
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, shell, write
from tests.cases.watching import captured, held, look_at, shadow_git

LOOP = "(while :; do date >> live.log; sleep .02; done) &"


@pytest.fixture
def ended(sit: Sit) -> Iterator[Callable[..., Sitting]]:
    """As sit, and whatever the commands left running is ended with the test."""
    sittings: list[Sitting] = []

    def start(**keywords: object) -> Sitting:
        sittings.append(sit(**keywords))
        return sittings[-1]

    yield start
    for sitting in sittings:
        for process in sitting.project.background():
            os.killpg(process.pgid, 9)


@contextmanager
def meanwhile(work: Callable[[int], object]) -> Iterator[None]:
    """Do *work* over and over in a thread."""
    over = threading.Event()

    def run() -> None:
        for n in range(1_000_000):
            if over.is_set():
                return
            work(n)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


# ---- what still runs


def test_the_preview_and_the_result_name_what_still_runs(
    root: Path, ended: Callable[..., Sitting]
) -> None:
    """BG-01: it may change again what is put back, and the person is told before and after."""
    sitting = ended()
    sitting.play(shell(LOOP), write("a", "1"))

    preview = sitting.play("/rewind 1", "/status")
    # A log that moves makes the plan stale, until two previews have seen it move.
    for _ in range(20):
        said = sitting.play("/rewind 1", "/rewind 1", "/rewind confirm")
        if not (root / "a").exists():
            break
    end = time.monotonic() + 5
    while not (root / "live.log").exists() and time.monotonic() < end:
        time.sleep(0.01)

    (process,) = sitting.project.background()
    named = f"still running:\n  {LOOP} (kill -- -{process.pgid} ends it)\n"
    assert f"{named}/rewind confirm applies it" in preview
    assert "1 process left behind" in preview
    before, after = said.rsplit("/rewind confirm applies it", 1)
    assert named in before
    assert named in after
    assert not (root / "a").exists()
    assert (root / "live.log").exists()


def test_what_has_ended_is_not_named(root: Path, ended: Callable[..., Sitting]) -> None:
    """BG-01: nor what a rewind of history alone has nothing to do with."""
    sitting = ended()
    sitting.play(shell("(sleep .05; echo x > late) & echo x > soon"))
    end = time.monotonic() + 5
    while sitting.project.background() and time.monotonic() < end:
        time.sleep(0.02)

    after = sitting.play("/rewind 1")
    sitting.play(shell(LOOP))
    history = sitting.play("/rewind 2 history")

    assert "still running" not in after
    assert "still running:\n" not in history


def test_an_undo_that_applies_at_once_says_what_still_runs(
    root: Path, ended: Callable[..., Sitting]
) -> None:
    """BG-01: there nobody saw a preview."""
    sitting = ended()
    sitting.play(shell("sleep 30 & echo x > a"))

    said = sitting.play("/undo")

    assert look_at(root) == {}
    assert "still running:\n  sleep 30 & echo x > a (kill -- -" in said


class Answering:
    """A person who says the same to every question, and what they were asked."""

    def __init__(self, yes: bool) -> None:
        self.yes = yes
        self.asked: list[str] = []

    def approve(self, question: Question) -> Approval:
        return Approval(granted=True)

    def go_on_without_snapshot(self, reason: str) -> bool:
        return False

    def go_on_after(self, steps: int) -> bool:
        return False

    def confirm(self, question: str) -> bool:
        self.asked.append(question)
        return self.yes

    def was_shown(self, shown: Shown) -> bool:
        return False


def test_what_still_runs_is_ended_where_the_person_says_so(
    root: Path, ended: Callable[..., Sitting]
) -> None:
    """BG-01: asked once the preview names it; the rewind itself still waits for its confirm."""
    sitting = ended()
    sitting.play(shell("sleep 30 & echo x > a"), shell("sleep 40 & echo y > b"))
    sitting.person = Answering(yes=True)

    said = sitting.play("/rewind 1", "/rewind confirm")

    (question,) = sitting.person.asked
    assert question.startswith("2 processes that keryx started still run: sleep 30")
    assert question.endswith("End them?")
    assert "\nended\n" in said
    assert sitting.project.background() == ()
    assert look_at(root) == {}


def test_what_may_run_on_is_asked_about_once(root: Path, ended: Callable[..., Sitting]) -> None:
    """BG-01: a no leaves it running, and the result says what ends it."""
    sitting = ended()
    sitting.play(shell("sleep 30 & echo x > a"))
    (process,) = sitting.project.background()
    sitting.person = Answering(yes=False)

    said = sitting.play("/rewind 1", "/rewind 1", "/rewind confirm", "/rewind 1 history")

    assert len(sitting.person.asked) == 1
    assert sitting.project.background() == (process,)
    after = said[said.index("files: 1 file (1 removed)", said.index("confirm applies it")) :]
    assert f"kill -- -{process.pgid} ends it" in after


def test_what_still_runs_is_named_on_leaving_also_from_another_session(
    root: Path, ended: Callable[..., Sitting]
) -> None:
    sitting = ended()

    said = sitting.play(shell("sleep 30 & echo x > a"), "/new")

    (process,) = sitting.project.background()
    last = said.splitlines()[-1]
    assert last == (f"still running: sleep 30 & echo x > a (kill -- -{process.pgid} ends it)")


def test_a_process_that_writes_during_the_rewind_loses_nothing(
    root: Path, ended: Callable[..., Sitting]
) -> None:
    """BG-01: what it wrote is in the undo point, or the file is left and named as changed."""
    (root / "live.log").write_text("before\n")
    sitting = ended()
    sitting.play(shell(LOOP))

    for _ in range(4):
        said = sitting.play("/rewind 1", "/rewind confirm", "/rewind confirm")
    for process in sitting.project.background():
        os.killpg(process.pgid, 9)
    sitting.rewind(1)

    assert "bug" not in said
    assert (root / "live.log").read_text() == "before\n"
    assert shadow_git(sitting, "fsck", "--strict", "--no-dangling") == b""


# ---- what changes meanwhile


def test_files_that_come_and_go_during_a_snapshot_cost_nothing_else(root: Path, sit: Sit) -> None:
    """BG-03: renamed, removed, made anew; what stands still is whole in every snapshot."""
    (root / "d").mkdir()
    for n in range(60):
        (root / "d" / f"still{n}").write_text(f"{n}\n")
    sitting = sit()

    def stir(n: int) -> None:
        name = root / "d" / f"moving{n % 20}"
        name.write_text("moving\n")
        name.rename(root / "d" / f"moved{n % 7}")
        (root / "d" / f"moved{n % 5}").unlink(missing_ok=True)

    with meanwhile(stir):
        said = sitting.play(*(write("a", f"{n}") for n in range(4)))

    assert "failed" not in said
    for number in range(1, 5):
        files = captured(sitting, number)
        assert {f"d/still{n}" for n in range(60)} <= files.keys()
        moved = [path for path in files if "/mov" in path]
        assert all(held(sitting, number, path) in (b"moving\n", b"") for path in moved)
    assert shadow_git(sitting, "fsck", "--strict", "--no-dangling") == b""


def test_a_name_that_changes_its_kind_is_never_followed(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """BG-03: a file, a link out of the project, a pipe, a folder; none of them is read through."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("outside\n")
    (root / "still").write_text("still\n")
    swap = root / "swap"

    def stir(n: int) -> None:
        match n % 4:
            case 0:
                swap.write_text("a file\n")
            case 1:
                swap.symlink_to(outside)
            case 2:
                os.mkfifo(swap)
            case 3:
                swap.mkdir()
                (swap / "secret").write_text("inside\n")
                (swap / "secret").unlink()
        swap.rmdir() if swap.is_dir() and not swap.is_symlink() else swap.unlink()

    sitting = sit()
    with meanwhile(stir):
        said = sitting.play(*(shell("true") for _ in range(6)))

    assert "failed" not in said
    for number in range(1, 7):
        files = captured(sitting, number)
        assert "still" in files
        assert files.keys() <= {"still", "swap", "swap/secret"}
        if "swap/secret" in files:
            assert held(sitting, number, "swap/secret") in (b"inside\n", b"")
        if files.get("swap") == "120000":
            assert held(sitting, number, "swap") == os.fsencode(outside)
    assert (outside / "secret").read_text() == "outside\n"


def test_a_file_that_never_holds_still_is_named_as_being_written(root: Path, sit: Sit) -> None:
    """BG-03: half of one moment and half of another is never kept; the rest of the tree is."""
    (root / "still").write_text("still\n")
    log = root / "log"
    log.write_bytes(b"0" * 2_000_000)
    sitting = sit()

    def stir(n: int) -> None:
        with log.open("r+b") as file:
            file.write(str(n % 10).encode() * 100)
            file.seek(1_900_000)
            file.write(str(n % 10).encode() * 100)

    with meanwhile(stir):
        sitting.play(write("a", "1"))
        said = sitting.play("/rewind 1")

    files = captured(sitting, 1)
    assert "still" in files
    if "log" in files:
        whole = held(sitting, 1, "log")
        assert len(whole) == 2_000_000
    else:
        assert "log (" in said
        assert "being written" in said
