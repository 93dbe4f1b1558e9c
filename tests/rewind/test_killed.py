"""A restore that is killed at any step is finished or taken back at the next start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from keryx_py.rewind.apply import Found, Step, carry_out, compare
from keryx_py.rewind.plan import Way
from keryx_py.rewind.recovery import recover
from keryx_py.rewind.restore_journal import (
    JournalError,
    Restore,
    drop_journal,
    journal_path,
    read_journal,
    write_journal,
)
from keryx_py.session.archive import Mode, RewindEntry
from keryx_py.snapshot.listing import FileState, Kind, Skipped
from keryx_py.snapshot.store import SnapshotKey
from keryx_py.snapshot.worktree import WorkTree
from tests.rewind.play import Project

HERE = Path(__file__).parents[2]


def kill_at(first: int, stride: int, way: Way = Way.PLAIN) -> tuple[str, int]:
    """Kill at every *stride*-th step from the *first*; give what went wrong and the kills."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.rewind.kill_driver", str(first), str(stride), way.value],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *wrong, kills = done.stdout.splitlines()
    return "\n".join(wrong), int(kills)


def test_killed_at_some_steps_it_ends_as_old_or_new() -> None:
    wrong, kills = kill_at(5, 11)

    assert wrong == ""
    assert kills > 10


def test_a_rewind_that_keeps_is_finished_with_what_was_merged() -> None:
    wrong, kills = kill_at(3, 13, Way.KEEP)

    assert wrong == ""
    assert kills > 5


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1, 5))
def test_killed_at_any_step_keeping_it_ends_as_old_or_new(first: int) -> None:
    wrong, kills = kill_at(first, 4, Way.KEEP)

    print(f"{kills} kills")  # noqa: T201 - the figures for the docs
    assert wrong == ""


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1, 5))
def test_killed_at_any_step_it_ends_as_old_or_new(first: int) -> None:
    wrong, kills = kill_at(first, 4)

    print(f"{kills} kills")  # noqa: T201 - the figures for the docs
    assert wrong == ""


FILE = FileState(Kind.FILE, 0o644, b"f" * 20)
CLOSED = FileState(Kind.FOLDER, 0o555, b"")
OPEN = FileState(Kind.FOLDER, 0o755, b"")
BARE = FileState(Kind.FOLDER, 0o700, b"")
OTHER = FileState(Kind.FOLDER, 0o750, b"")


@pytest.mark.parametrize(
    ("old", "new", "state", "fresh", "resumed"),
    [
        (None, FILE, FILE, Found.NEW, Found.NEW),
        (None, FILE, None, Found.OLD, Found.OLD),
        (FILE, None, None, Found.NEW, Found.NEW),
        (FILE, None, OPEN, Found.OTHER, Found.OTHER),
        (FILE, OPEN, None, Found.OTHER, Found.OLD),
        (OPEN, FILE, None, Found.OTHER, Found.OLD),
        (FILE, FileState(Kind.LINK, 0, b"l" * 20), None, Found.OTHER, Found.OTHER),
        (CLOSED, CLOSED, OPEN, Found.OTHER, Found.OLD),
        (CLOSED, CLOSED, OTHER, Found.OTHER, Found.OTHER),
        (CLOSED, None, OPEN, Found.OTHER, Found.OLD),
        (None, CLOSED, OPEN, Found.OTHER, Found.OLD),
        (None, CLOSED, BARE, Found.OTHER, Found.OLD),
        (CLOSED, None, BARE, Found.OTHER, Found.OTHER),
    ],
)
def test_what_a_killed_restore_leaves_in_between_counts_as_old(
    old: FileState | None,
    new: FileState | None,
    state: FileState | None,
    fresh: Found,
    resumed: Found,
) -> None:
    step = Step(b"p", old, new)

    assert compare(step, state, resumed=False) is fresh
    assert compare(step, state, resumed=True) is resumed


def test_a_folder_that_was_left_open_gets_its_mode_back(tmp_path: Path) -> None:
    (tmp_path / "ro").mkdir(0o755)
    looked_after = Step(b"ro", CLOSED, CLOSED)

    outcome = carry_out(
        [looked_after], WorkTree(tmp_path), lambda oid: oid, lambda: "", resumed=True
    )

    assert outcome.done == (b"ro",)
    assert (tmp_path / "ro").stat().st_mode & 0o777 == 0o555


def test_a_restore_that_was_killed_after_its_last_line_is_not_done_again(project: Project) -> None:
    project.write("f", "old\n")
    project.turn(lambda: project.write("f", "new\n"))
    report = project.rewind(1)
    assert report.undo is not None
    now, then = (
        project.store.load(SnapshotKey(number)).listing[b"f"] for number in (report.undo, 1)
    )
    project.write("f", "new\n")  # by now the person's
    restore = Restore(
        report.undo, 1, Mode.FILES, cuts=False, redoes=None, steps=(Step(b"f", now, then),)
    )
    write_journal(project.session.folder, restore)

    said = recover(project.session, project.store, project.now)

    assert said.endswith("it had been finished")
    assert (project.root / "f").read_text() == "new\n"
    assert sum(isinstance(e, RewindEntry) for e in project.session.entries) == 1
    assert not journal_path(project.session.folder).exists()


def test_what_can_go_neither_way_is_left_but_for_the_folders_that_were_open(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path)
    for name in ("f", "g"):
        project.write(name, name)
    project.turn(lambda: None)
    lost = FileState(Kind.FILE, 0o644, b"l" * 20)
    tree = WorkTree(project.root)
    steps = (
        Step(b"f", tree.state(b"f"), lost),
        Step(b"g", lost, tree.state(b"g")),
        Step(b"ro", CLOSED, CLOSED),
    )
    restore = Restore(9, 1, Mode.FILES, False, None, steps, mark="0a" * 8, root_mode=0o555)
    write_journal(project.session.folder, restore)
    (project.root / "ro").mkdir(0o755)
    project.write(".keryx-" + "0a" * 8 + "-00000000", "half")
    project.write(".keryx-" + "0a" * 8 + ".tmp", "the person's")
    project.root.chmod(0o755)

    said = recover(project.session, project.store, project.now)

    assert "neither" in said
    assert sorted(os.listdir(project.root)) == [".keryx-" + "0a" * 8 + ".tmp", "f", "g", "ro"]
    modes = [path.stat().st_mode & 0o777 for path in (project.root, project.root / "ro")]
    assert modes == [0o555, 0o555]
    project.session.close()


RESTORE = Restore(
    undo=4,
    to=2,
    mode=Mode.BOTH,
    cuts=True,
    redoes=None,
    steps=(Step(b"\xff\n", FILE, None), Step(b"d", None, CLOSED)),
    left=(Skipped(b"x", "a pipe"),),
    made={b"m" * 20: b"\xff merged\n"},
    mark="0a" * 8,
    root_mode=0o555,
)


def test_the_record_of_a_restore_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_journal(tmp_path, RESTORE)

    assert read_journal(tmp_path) == RESTORE
    assert journal_path(tmp_path).stat().st_mode & 0o777 == 0o600
    drop_journal(tmp_path)
    assert read_journal(tmp_path) is None


@pytest.mark.parametrize("at", [0, 10, -2])
def test_a_damaged_record_is_told_from_a_sound_one(tmp_path: Path, at: int) -> None:
    write_journal(tmp_path, RESTORE)
    data = bytearray(journal_path(tmp_path).read_bytes())
    data[at] ^= 1
    journal_path(tmp_path).write_bytes(bytes(data))

    with pytest.raises(JournalError):
        read_journal(tmp_path)
