"""Long work says how far it is and can be stopped; nothing in the tree makes it hang."""

from __future__ import annotations

import io
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from types import FrameType

import pytest

from keryx_py.agent.events import Event, SnapshotEnded, SnapshotProgress
from keryx_py.session.archive import TurnEnd
from keryx_py.shell.asker import NobodyAsker
from keryx_py.shell.screen import Screen
from keryx_py.shell.turn_view import CaptureView, TurnView
from keryx_py.shell.turns import TurnReport
from tests.cases.children import elsewhere, signal_at
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, call, read, shell, write
from tests.cases.watching import captured, look_at, shadow_git, stamps


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fail when the block takes so long that something must have hung."""

    def hung(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def many_files(root: Path, folders: int, each: int) -> None:
    for folder in range(folders):
        (root / f"d{folder:03}").mkdir()
        for n in range(each):
            (root / f"d{folder:03}" / f"f{n}").write_text(f"{folder} {n}\n")


class Watcher:
    """Sees a turn's events, and does something at the first that is asked for."""

    def __init__(self, at: Callable[[Event], bool], do: Callable[[], object]) -> None:
        self.events: list[Event] = []
        self._at = at
        self._do = do
        self._done = False

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        if not self._done and self._at(event):
            self._done = True
            self._do()


class GoesOn(NobodyAsker):
    """One who lets a turn go on without a snapshot."""

    def __init__(self) -> None:
        super().__init__(Screen(io.StringIO(), plain=True))

    def go_on_without_snapshot(self, reason: str) -> bool:
        return True


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def take(sitting: Sitting, command: str, emit: Callable[[Event], None]) -> TurnReport:
    """Take a turn without the shell's view, nobody there to be asked."""
    prompt = sitting.line_for(shell(command))
    return sitting.project.take_turn(prompt, NobodyAsker(Screen(io.StringIO(), plain=True)), emit)


def is_progress(event: Event) -> bool:
    return isinstance(event, SnapshotProgress)


def is_reading(event: Event) -> bool:
    """Whether the walk is over and contents are being read."""
    return isinstance(event, SnapshotProgress) and event.content_bytes > 0


def unfinished(sitting: Sitting) -> list[Path]:
    """What a snapshot that was stopped would leave in the shadow repository."""
    return [
        path
        for path in sitting.project.session.folder.rglob("*")
        if path.name.startswith("tmp_") or path.name.endswith((".lock", ".new"))
    ]


# ---- progress


def test_a_long_snapshot_tells_how_far_it_is(root: Path, sit: Sit) -> None:
    """PERF-01: while it walks, folder by folder, and while it reads, until it ends."""
    many_files(root, 40, 25)
    seen = Watcher(lambda event: False, lambda: None)

    take(sit(), "true", seen)

    first = list(takewhile(lambda event: not isinstance(event, SnapshotEnded), seen.events))
    told = [event for event in first if isinstance(event, SnapshotProgress)]
    walked = [event.files for event in told if event.content_bytes == 0]
    assert walked == sorted(walked)
    assert len(set(walked)) > 30
    assert max(walked) >= 1000
    assert max(event.content_bytes for event in told) > 4000
    assert len(first) < len(seen.events)


@pytest.mark.parametrize(("seconds", "shown"), [(0.9, False), (1.1, True)])
def test_progress_is_shown_once_a_second_has_passed(seconds: float, shown: bool) -> None:
    """PERF-01: what is over at once is not talked about."""
    out = io.StringIO()
    now = iter([0.0, seconds])
    view = TurnView(Screen(out, plain=True), lambda: next(now))

    view(SnapshotProgress(10, 0))
    view(SnapshotProgress(20, 5000))

    assert ("saving the project's files" in out.getvalue()) is shown


def test_a_long_preview_tells_how_far_it_is(root: Path, sit: Sit) -> None:
    """PERF-01: a look at the tree for a preview or a list can be as long as a snapshot."""
    many_files(root, 20, 5)
    sitting = sit()
    sitting.play(shell("echo x > d000/f0"))
    out = io.StringIO()
    now = iter(range(10_000))
    view = CaptureView(Screen(out, plain=True), lambda: float(next(now)), "reading")

    sitting.project.rewinder().list_points(view)

    assert "reading the project's files" in out.getvalue()


# ---- Ctrl-C


@pytest.mark.parametrize("moment", [is_progress, is_reading])
def test_ctrl_c_stops_the_snapshot_and_marks_the_turn(
    root: Path, sit: Sit, moment: Callable[[Event], bool]
) -> None:
    """PERF-01, PERF-03: the call is not run unsaved, and nothing half-done is left."""
    many_files(root, 30, 20)
    sitting = sit()
    before = stamps(root)

    with within(20):
        take(sitting, "rm -r d000", Watcher(moment, ctrl_c))

    assert stamps(root) == before
    assert unfinished(sitting) == []
    assert threading.active_count() < 10
    assert shadow_git(sitting, "for-each-ref") == b""
    assert "no snapshot" in sitting.play("/rewind")


def test_a_turn_that_goes_on_after_its_snapshot_was_stopped_is_marked(root: Path, sit: Sit) -> None:
    """PERF-01: when the person says so, it runs, and its point says why its files are not held."""
    many_files(root, 3, 3)
    sitting = sit()
    prompt = sitting.line_for(shell("echo x > new"))

    report = sitting.project.take_turn(prompt, GoesOn(), Watcher(is_progress, ctrl_c))
    said = sitting.play("/rewind", "/rewind 1 both", "/rewind confirm")

    assert report.how is TurnEnd.DONE
    assert (root / "new").exists()
    assert "history only: stopped with Ctrl-C" in said
    assert "cannot be restored (stopped with Ctrl-C); use /rewind 1 history" in said


def test_the_turn_after_a_stopped_snapshot_is_saved(root: Path, sit: Sit) -> None:
    """PERF-03: it tries again, whole, and each turn's point says what it is."""
    many_files(root, 30, 20)
    sitting = sit()
    take(sitting, "rm -r d000", Watcher(is_progress, ctrl_c))
    before = look_at(root)

    sitting.play(shell("rm -r d001"))
    listed = sitting.play("/rewind")
    said = sitting.rewind(2)

    assert look_at(root) == before
    assert "20 files" in next(line for line in listed.splitlines() if line.startswith("2 "))
    assert "files: 20 files (20 brought back)" in said
    assert shadow_git(sitting, "fsck", "--strict", "--no-dangling") == b""


def test_ctrl_c_in_the_end_capture_leaves_what_came_after_unknown(root: Path, sit: Sit) -> None:
    """PERF-03: the point stays, and nothing is called the agent's that may be the person's."""
    many_files(root, 5, 5)
    (root / "f").write_text("old\n")
    sitting = sit()
    ran = threading.Event()
    seen = Watcher(lambda event: is_progress(event) and (root / "new").exists(), ctrl_c)

    take(sitting, "echo x > new; echo turn > f", seen)
    ran.set()
    said = sitting.play("/rewind", "/rewind 1", "/rewind confirm")

    assert "its end is unknown" in said
    assert "  removed       new  +0 -1     unknown\n" in said
    assert "would go" in said
    assert (root / "f").read_text() == "old\n"
    assert not (root / "new").exists()


@pytest.mark.parametrize(
    "line", ["/rewind 1", "/rewind", "/rewind confirm", "/checkpoint", "/undo"]
)
@pytest.mark.parametrize("step", [1, 4, 9])
def test_ctrl_c_while_the_files_are_read_changes_nothing(
    root: Path, sit: Sit, line: str, step: int
) -> None:
    """PERF-01: also in a list, a preview, or an undo point; the shell stays."""
    many_files(root, 10, 5)
    sitting = sit()
    sitting.play(write("a", "1"))
    before = stamps(root)

    def stopped() -> None:
        with within(20):
            said = sitting.play(
                "/rewind 1", lambda: signal_at(step, signal.SIGINT, {"os.listdir"}), line, "/status"
            )
        assert "in the shadow repository" in said
        assert "bug" not in said

    assert elsewhere(sitting, stopped) == 0

    assert stamps(root) == before
    assert unfinished(sitting) == []
    assert len(sitting.play("/rewind").splitlines()) < 9


# ---- what hangs


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def _endless_link(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "inner").write_text("x\n")


def _nothing(path: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("make", "in_snapshot", "named"),
    [
        (_fifo, {}, "swapped (a pipe)"),
        (_socket, {}, "swapped (a socket)"),
        (_endless_link, {"swapped": "120000"}, ""),
        (_folder, {}, ""),
        (_nothing, {}, ""),
    ],
)
def test_a_file_that_is_swapped_during_the_snapshot_does_not_block_it(
    root: Path, sit: Sit, make: Callable[[Path], None], in_snapshot: dict[str, str], named: str
) -> None:
    """PERF-05: opened without waiting and without following; the rest of the tree is saved."""
    many_files(root, 3, 3)
    (root / "swapped").write_text("a file\n")
    sitting = sit()

    def swap() -> None:
        (root / "swapped").unlink()
        make(root / "swapped")

    with within(10):
        take(sitting, "echo x > new", Watcher(is_progress, swap))
        said = sitting.play("/rewind 1")

    files = {path for path in captured(sitting, 1) if path.startswith("d")}
    assert len(files) == 9
    assert {k: v for k, v in captured(sitting, 1).items() if k == "swapped"} == in_snapshot
    assert named in said
    assert (root / "new").exists()


@pytest.mark.parametrize("name", ["pipe", "d/pipe", ".gitignore"])
def test_pipes_in_the_tree_are_never_waited_for(root: Path, sit: Sit, name: str) -> None:
    """PERF-05: not by a snapshot, a preview, a rewind, nor by a tool that reads or searches."""
    (root / "d").mkdir()
    os.mkfifo(root / name)
    sitting = sit()

    with within(20):
        sitting.play(
            (
                call("search_text", pattern="x"),
                call("find_files", pattern="**"),
                call("list_dir", path="."),
                read(name),
                shell("echo x > new"),
            )
        )
        said = sitting.rewind(1)

    assert (root / name).is_fifo()
    if name != ".gitignore":
        assert not (root / "new").exists()
        assert f"{name} (a pipe)" in said


def test_a_pipe_that_took_the_place_of_a_file_is_left_and_named(root: Path, sit: Sit) -> None:
    """PERF-05: the undo point cannot hold it, so it stays, and the restore does not wait for it."""
    (root / "f").write_text("old\n")
    sitting = sit()

    with within(20):
        sitting.play(shell("rm f; mkfifo f; echo x > new"))
        said = sitting.rewind(1)

    assert (root / "f").is_fifo()
    assert not (root / "new").exists()
    assert "f (" in said
    assert "pipe" in said
