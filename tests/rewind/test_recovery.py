"""What the next start makes of a restore that was cut short, and what it says of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from keryx_py.rewind.recovery import is_cut_short, recover
from keryx_py.rewind.report import RefusedError
from keryx_py.rewind.restore_journal import journal_path, read_journal
from keryx_py.session.archive import Mode, RewindEntry, live_turns
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.store import Side, SnapshotKey
from tests.rewind.play import Project
from tests.rewind.stores import forgetful, meddled


class Killed(BaseException):
    """Stands for the end of the process."""


def cut_short(project: Project, turn: int, mode: Mode = Mode.BOTH) -> None:
    """Rewind *turn*, and die after the last file."""

    def meddle(key: SnapshotKey) -> None:
        if key.side is Side.END:
            raise Killed

    meddled(project, meddle)
    with pytest.raises(Killed):
        project.rewind(turn, mode)
    assert is_cut_short(project.session.folder)


def test_the_record_looks_after_read_only_folders(project: Project) -> None:
    project.write("ro/x", "1\n")
    (project.root / "ro").chmod(0o555)
    turn = project.turn(lambda: project.write("ro/x", "2\n"))

    cut_short(project, turn)

    restore = read_journal(project.session.folder)
    assert restore is not None
    assert [(step.path, step.old == step.new) for step in restore.steps] == [
        (b"ro/x", False),
        (b"ro", True),
    ]
    (project.root / "ro").chmod(0o755)


def test_a_rewind_that_was_recorded_is_not_recorded_twice(project: Project) -> None:
    turn = project.turn(lambda: project.write("f", "2\n"))
    cut_short(project, turn)
    restore = read_journal(project.session.folder)
    assert restore is not None
    project.session.append(RewindEntry(0, turn, Mode.BOTH, restore.undo, ("f",), cut=True))
    before = project.look()

    assert "had been finished" in recover(project.session, project.store, project.now)

    assert project.look() == before
    assert sum(isinstance(entry, RewindEntry) for entry in project.session.entries) == 1
    assert not is_cut_short(project.session.folder)


def test_recovery_with_a_damaged_record_says_so_once(project: Project) -> None:
    turn = project.turn(lambda: project.write("f", "2\n"))
    cut_short(project, turn)
    journal_path(project.session.folder).write_bytes(b"{}")

    assert "damaged" in recover(project.session, project.store, project.now)
    assert recover(project.session, project.store, project.now) == ""


def test_recovery_without_a_store_waits(project: Project) -> None:
    turn = project.turn(lambda: project.write("f", "2\n"))
    cut_short(project, turn)

    assert "cut short" in recover(project.session, None, project.now)
    assert is_cut_short(project.session.folder)


def test_recovery_takes_back_what_a_damaged_snapshot_cannot_finish(project: Project) -> None:
    project.write("a", "old a\n")
    project.write("b", "old b\n")

    def work() -> None:
        project.write("a", "new a\n")
        project.write("b", "new b\n")

    turn = project.turn(work)
    cut_short(project, turn)
    project.write("b", "new b\n")
    restore = read_journal(project.session.folder)
    assert restore is not None
    gone = {step.new.oid for step in restore.steps if step.new and step.path == b"b"}
    project.resume()

    said = recover(project.session, forgetful(project, gone), project.now)

    assert "taken back" in said
    assert (project.root / "a").read_text() == "new a\n"
    assert (project.root / "b").read_text() == "new b\n"
    assert live_turns(project.session.entries) == (turn,)
    assert recover(project.session, project.store, project.now) == ""


def test_recovery_that_can_neither_finish_nor_take_back_says_so(project: Project) -> None:
    project.write("a", "old a\n")
    project.write("b", "old b\n")

    def work() -> None:
        project.write("a", "new a\n")
        project.write("b", "new b\n")

    turn = project.turn(work)
    cut_short(project, turn)
    project.write("b", "new b\n")
    before = project.look()
    restore = read_journal(project.session.folder)
    assert restore is not None
    every = {side.oid for step in restore.steps for side in (step.old, step.new) if side}
    project.resume()

    said = recover(project.session, forgetful(project, every), project.now)

    assert "neither" in said
    assert project.look() == before
    assert recover(project.session, project.store, project.now) == ""


def test_recovery_leaves_and_names_a_path_that_is_neither_old_nor_new(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("a", "1\n")
    project.write("b", "1\n")

    def work() -> None:
        project.write("a", "2\n")
        project.write("b", "2\n")

    turn = project.turn(work)

    cut_short(project, turn)
    project.write("b", "mine\n")
    project.resume()
    said = recover(project.session, project.store, project.now)

    assert "'b'" in said
    assert (project.root / "a").read_text() == "1\n"
    assert (project.root / "b").read_text() == "mine\n"
    assert live_turns(project.session.entries) == (turn,)
    assert recover(project.session, project.store, project.now) == ""
    project.session.close()


# ---- what is lost or came meanwhile


def two_files(project: Project) -> int:
    """Play a turn on `a` and `b`, and the person's edit of `b` after it."""
    project.write("a", "old a\n")
    project.write("b", "old b\n")

    def work() -> None:
        project.write("a", "new a\n")
        project.write("b", "new b\n")

    turn = project.turn(work)
    project.write("b", "mine\n")
    return turn


def die_before(project: Project, turn: int, mode: Mode, path: str) -> None:
    """Rewind *turn*, and be killed when all but *path* has been restored."""
    before = (project.root / path).read_text()
    cut_short(project, turn, mode)
    project.write(path, before)
    project.resume()


@pytest.mark.damaged_store
@pytest.mark.parametrize("lost", [True, False], ids=["the content", "the ref"])
def test_nothing_is_overwritten_that_the_undo_point_no_longer_holds(
    project: Project, lost: bool
) -> None:
    turn = two_files(project)
    die_before(project, turn, Mode.BOTH, "b")
    if lost:
        store = forgetful(project, [object_id(ObjectKind.BLOB, b"mine\n")])
    else:
        (project.session.folder / "shadow.git/refs/keryx/2/before").unlink()
        store = project.open_store()

    said = recover(project.session, store, project.now)

    assert (project.root / "b").read_text() == "mine\n"
    assert (project.root / "a").read_text() == "new a\n"
    assert "taken back" in said
    assert live_turns(project.session.entries) == (turn,)
    assert not is_cut_short(project.session.folder)


@pytest.mark.parametrize("mode", [Mode.BOTH, Mode.FILES])
def test_history_stays_where_a_turn_has_begun_since_the_restore_was_cut_short(
    project: Project, mode: Mode
) -> None:
    first = two_files(project)
    die_before(project, first, mode, "b")
    later = project.turn()

    said = recover(project.session, project.store, project.now)

    assert "it is finished now" in said
    assert ("the history stays, since turn 3 has begun" in said) is (mode is Mode.BOTH)
    assert live_turns(project.session.entries) == (first, later)
    assert (project.root / "a").read_text() == "old a\n"
    assert (project.root / "b").read_text() == "old b\n"
    project.rewinder().apply(project.rewinder().plan_redo())
    assert (project.root / "a").read_text() == "new a\n"
    assert (project.root / "b").read_text() == "mine\n"


def test_a_redo_that_was_cut_short_revives_no_turn_once_another_has_begun(
    project: Project,
) -> None:
    first = two_files(project)
    project.rewind(first, Mode.BOTH)
    redo_cut_short(project)
    later = project.turn()

    said = recover(project.session, project.store, project.now)

    assert "the history stays, since turn 4 has begun" in said
    assert live_turns(project.session.entries) == (later,)
    assert (project.root / "a").read_text() == "new a\n"
    assert (project.root / "b").read_text() == "mine\n"
    with pytest.raises(RefusedError):
        project.plan(first, Mode.BOTH)


def redo_cut_short(project: Project) -> None:
    def meddle(key: SnapshotKey) -> None:
        if key.side is Side.END:
            raise Killed

    meddled(project, meddle)
    with pytest.raises(Killed):
        project.rewinder().apply(project.rewinder().plan_redo())
    project.resume()


def test_a_record_that_cannot_be_read_now_is_read_another_time(tmp_path: Path) -> None:
    project = Project(tmp_path)
    turn = two_files(project)
    die_before(project, turn, Mode.BOTH, "b")
    record = journal_path(project.session.folder)
    newer = record.read_bytes()
    body = newer.partition(b"\n")[0].replace(b'"version":1', b'"version":2')
    record.write_bytes(body + b"\n" + hashlib.sha256(body).hexdigest().encode() + b"\n")

    said = recover(project.session, project.store, project.now)
    still = is_cut_short(project.session.folder)
    record.write_bytes(newer)
    then = recover(project.session, project.store, project.now)

    assert "a newer keryx" in said
    assert "the next start tries again" in said
    assert still
    assert "it is finished now, the history as well" in then
    project.session.close()
