"""Undo, redo, history, whose changes go, and what happens when something fails on the way."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

import pytest

from keryx_py.rewind.comparing import Since
from keryx_py.rewind.plan import Author, AuthorKind, NotUndone
from keryx_py.rewind.recovery import is_cut_short, recover
from keryx_py.rewind.restore_journal import journal_path, read_journal
from keryx_py.rewind.rewinder import RefusedError
from keryx_py.rewind.textdiff import diff_file
from keryx_py.session.archive import (
    CaptureEntry,
    Mode,
    RanEntry,
    RewindEntry,
    RunEntry,
    TurnEnd,
    live_turns,
)
from keryx_py.snapshot.listing import TreeState
from keryx_py.snapshot.store import DamagedSnapshotError, Progress, Side, SnapshotKey, SnapshotStore
from tests.rewind.play import Project

PERSON, UNKNOWN = Author(AuthorKind.PERSON), Author(AuthorKind.UNKNOWN)


def agent(turn: int) -> Author:
    return Author(AuthorKind.TURN, turn)


class MeddledStore(SnapshotStore):
    """A store after whose captures somebody else does something to the project."""

    meddle: Callable[[SnapshotKey], object]

    def take(
        self,
        key: SnapshotKey,
        taken_at: float,
        also: Collection[bytes] = (),
        progress: Progress | None = None,
    ) -> TreeState:
        state = super().take(key, taken_at, also, progress)
        self.meddle(key)
        return state


def meddled(project: Project, meddle: Callable[[SnapshotKey], object]) -> None:
    """Have *meddle* run after each capture from now on."""
    store = MeddledStore.open(
        project.session.folder / "shadow.git",
        project.root,
        home=project.home,
        data_dir=project.data,
    )
    assert isinstance(store, MeddledStore)
    store.meddle = meddle
    project.store = store


class ForgetfulStore(SnapshotStore):
    """A store that has lost some blobs."""

    lost: frozenset[bytes]

    def read(self, oid: bytes) -> bytes:
        if oid in self.lost:
            raise DamagedSnapshotError("an object is missing")
        return super().read(oid)

    def read_each(self, oids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        return ((oid, self.read(oid)) for oid in oids)


def forgetful(project: Project, lost: Iterable[bytes]) -> SnapshotStore:
    """The project's store without the blobs *lost*."""
    store = ForgetfulStore.open(
        project.session.folder / "shadow.git",
        project.root,
        home=project.home,
        data_dir=project.data,
    )
    assert isinstance(store, ForgetfulStore)
    store.lost = frozenset(lost)
    return store


def by(project: Project, number: int, path: bytes = b"f") -> tuple[Author, ...]:
    files = project.plan(number).files
    assert files is not None
    return next(change.by for change in files.changes if change.path == path)


# ---- whose


def test_a_plan_tells_the_turns_change_from_the_persons(project: Project) -> None:
    project.write("a", "1\n")
    project.write("b", "1\n")

    def work() -> None:
        project.write("a", "2\n")
        project.write("b", "2\n")

    turn = project.turn(work)
    project.write("a", "3\n")
    project.write("c", "mine\n")

    assert by(project, turn, b"a") == (agent(1), PERSON)
    assert by(project, turn, b"b") == (agent(1),)
    assert by(project, turn, b"c") == (PERSON,)
    assert project.rewinder().list_points()[0].changed_since == 2


def test_the_list_counts_the_persons_changes_across_checkpoints(project: Project) -> None:
    first = project.turn(lambda: project.write("f"))
    project.write("a")
    project.recorder().checkpoint("")
    project.write("b")
    project.recorder().checkpoint("")
    project.write("c")
    second = project.turn(lambda: project.write("g"))
    project.write("d")

    since = {one.point.number: one.changed_since for one in project.rewinder().list_points()}

    assert since[first] == 3
    assert since[second] == 1


def test_after_a_crash_changes_are_unknown_and_never_the_agents(project: Project) -> None:
    turn = project.turn(lambda: project.write("f", "2\n"), how=None)
    project.resume()
    project.write("g", "mine\n")

    assert by(project, turn) == (UNKNOWN,)
    assert by(project, turn, b"g") == (UNKNOWN,)
    assert not project.rewinder().may_apply_at_once(project.rewinder().plan_undo())
    assert project.rewinder().list_points()[0].changed is None


def test_what_the_person_changed_before_a_rewind_stays_theirs(project: Project) -> None:
    project.write("g", "1\n")
    first = project.turn(lambda: project.write("f", "2\n"))
    project.write("g", "mine\n")
    second = project.turn(lambda: project.write("h", "h\n"))
    project.rewind(second)

    assert by(project, first, b"g") == (PERSON,)
    assert by(project, first, b"f") == (agent(1),)


# ---- undo and redo


def test_undo_applies_at_once_when_only_the_turn_changed_the_paths(project: Project) -> None:
    project.write("f", "1\n")
    project.turn(lambda: project.write("f", "2\n"), "one")
    project.turn(lambda: project.write("f", "3\n"), "two")
    rewinder = project.rewinder()

    plan = rewinder.plan_undo()
    assert rewinder.may_apply_at_once(plan)
    assert plan.history is not None
    assert (plan.history.turns, plan.history.prompt, plan.history.messages) == ((2,), "two", 3)
    rewinder.apply(plan)
    assert (project.root / "f").read_text() == "2\n"

    again = rewinder.plan_undo()
    assert rewinder.may_apply_at_once(again)
    rewinder.apply(again)
    assert (project.root / "f").read_text() == "1\n"
    assert live_turns(project.session.entries) == ()


def test_undo_waits_when_the_person_changed_a_path_since(project: Project) -> None:
    project.turn(lambda: project.write("f", "2\n"))
    project.write("f", "mine\n")

    assert not project.rewinder().may_apply_at_once(project.rewinder().plan_undo())


def test_undo_waits_when_the_person_made_another_file_since(project: Project) -> None:
    project.turn(lambda: project.write("f", "2\n"))
    project.write("g", "mine\n")

    assert not project.rewinder().may_apply_at_once(project.rewinder().plan_undo())


def test_undo_of_a_reading_turn_moves_no_file(project: Project) -> None:
    project.write("f", "1\n")
    project.turn()
    project.write("f", "mine\n")
    before = project.look()

    plan = project.rewinder().plan_undo()
    assert project.rewinder().may_apply_at_once(plan)
    report = project.rewinder().apply(plan)

    assert report.history_cut
    assert report.undo is None
    assert project.look() == before


def test_redo_takes_rewinds_back_one_by_one_also_after_a_restart(project: Project) -> None:
    project.write("f", "0\n")
    for text in ("1\n", "2\n", "3\n"):
        project.turn(lambda text=text: project.write("f", text))  # type: ignore[misc]
    project.rewind(3, Mode.BOTH)
    project.rewind(1, Mode.BOTH)
    project.resume()

    for text, live in (("2\n", (1, 2)), ("3\n", (1, 2, 3))):
        plan = project.rewinder().plan_redo()
        assert project.rewinder().may_apply_at_once(plan)
        project.rewinder().apply(plan)
        project.resume()
        assert (project.root / "f").read_text() == text
        assert live_turns(project.session.entries) == live
    with pytest.raises(RefusedError):
        project.rewinder().plan_redo()


def test_redo_leaves_what_the_person_did_elsewhere_and_waits_for_what_is_in_the_way(
    project: Project,
) -> None:
    turn = project.turn(lambda: project.write("d/f", "2\n"))
    project.rewind(turn)
    project.write("other", "mine\n")

    assert project.rewinder().may_apply_at_once(project.rewinder().plan_redo())
    project.write("d/f", "mine as well\n")
    plan = project.rewinder().plan_redo()
    assert not project.rewinder().may_apply_at_once(plan)
    report = project.rewinder().apply(plan)

    assert (project.root / "other").read_text() == "mine\n"
    assert (project.root / "d/f").read_text() == "2\n"
    assert report.undo is not None
    project.rewind(report.undo)
    assert (project.root / "d/f").read_text() == "mine as well\n"


def test_a_history_rewind_leaves_files_and_is_redone(project: Project) -> None:
    turn = project.turn(lambda: project.write("f", "2\n"))
    before = project.look()

    report = project.rewind(turn, Mode.HISTORY)
    assert report.history_cut
    assert live_turns(project.session.entries) == ()
    project.resume()
    assert live_turns(project.session.entries) == ()
    plan = project.rewinder().plan_redo()
    assert plan.returning == (turn,)
    project.rewinder().apply(plan)

    assert live_turns(project.session.entries) == (turn,)
    assert project.look() == before


def test_a_rewound_turn_still_gives_its_files_back(project: Project) -> None:
    project.write("f", "1\n")
    turn = project.turn(lambda: project.write("f", "2\n"))
    project.rewind(turn, Mode.HISTORY)

    project.rewind(turn, Mode.FILES)

    assert (project.root / "f").read_text() == "1\n"


# ---- what is not undone, what is not covered


def test_a_plan_names_what_ran_and_what_was_written_outside(project: Project) -> None:
    turn = project.turn(lambda: project.write("f", "2\n"), title="npm install")
    project.session.append(RunEntry(turn, "d", "delegate", "delegate", "look into it", saved=True))
    project.session.append(RunEntry(turn, "w", "write_file", "write", "/tmp/out", saved=True))
    project.session.append(RanEntry(turn, "w", ok=True, summary="", outside=True))
    project.session.append(RunEntry(turn, "s", "shell_exec", "shell", "sleep 9", saved=True))

    assert project.plan(turn).not_undone == (
        NotUndone(turn, "ran: npm install (exit 0)"),
        NotUndone(turn, "delegated: look into it"),
        NotUndone(turn, "wrote outside the project: /tmp/out"),
        NotUndone(turn, "ran: sleep 9 (cut short)"),
    )


def test_a_plan_names_the_ignored_file_that_a_tool_wrote(project: Project) -> None:
    project.write(".gitignore", ".env\n")
    recorder = project.recorder()
    turn = recorder.begin("p")
    project.call(turn, "write_file", {"path": ".env", "content": "x"})
    project.write(".env", "x\n")
    recorder.end(turn, TurnEnd.DONE)

    files = project.plan(turn).files

    assert files is not None
    assert [(one.path, one.reason) for one in files.not_covered] == [(b".env", "ignored")]


# ---- when something fails on the way


def test_a_path_that_changed_after_the_undo_point_is_left_and_the_history_stays(
    project: Project,
) -> None:
    project.write("a", "1\n")
    project.write("b", "1\n")

    def work() -> None:
        project.write("a", "2\n")
        project.write("b", "2\n")

    turn = project.turn(work)

    def meddle(key: SnapshotKey) -> None:
        if key.side is Side.BEFORE:
            project.write("a", "just now\n")

    meddled(project, meddle)
    report = project.rewind(turn, Mode.BOTH)

    assert [one.path for one in report.failed] == [b"a"]
    assert report.done == (b"b",)
    assert not report.history_cut
    assert report.history_error
    assert live_turns(project.session.entries) == (turn,)
    assert (project.root / "a").read_text() == "just now\n"
    assert (project.root / "b").read_text() == "1\n"
    assert not is_cut_short(project.session.folder)


def test_one_lost_blob_stops_the_rewind_before_anything_is_written(project: Project) -> None:
    project.write("a", "old a\n")
    project.write("b", "old b\n")

    def work() -> None:
        project.write("a", "new a\n")
        project.write("b", "new b\n")

    turn = project.turn(work)
    plan = project.plan(turn, Mode.BOTH)
    assert plan.files is not None
    lost = [c.then.oid for c in plan.files.changes if c.then and c.path == b"b"]
    before, entries = project.look(), project.session.entries
    project.store = forgetful(project, lost)

    with pytest.raises(RefusedError, match="damaged"):
        project.rewinder().apply(plan)

    assert project.look() == before
    assert project.session.entries == entries


def test_when_the_archive_refuses_the_line_the_files_are_put_back(project: Project) -> None:
    project.write("f", "1\n")

    def work() -> None:
        project.write("f", "2\n")
        project.write("new/g", "2\n")

    turn = project.turn(work)
    before = project.look()
    archive = project.session.folder / "archive.jsonl"
    sound = archive.read_bytes()

    def meddle(key: SnapshotKey) -> None:
        if key.side is Side.END:
            with archive.open("ab") as file:
                file.write(b"glued on by somebody else\n")

    meddled(project, meddle)
    report = project.rewind(turn, Mode.BOTH)

    assert project.look() == before
    assert report.files_put_back
    assert report.done == ()
    assert not report.history_cut
    assert "archive" in report.history_error
    assert not is_cut_short(project.session.folder)
    assert archive.read_bytes().startswith(sound)
    project.resume()
    assert live_turns(project.session.entries) == (turn,)


def test_a_lost_lease_leaves_the_record_for_the_next_holder(project: Project) -> None:
    project.write("f", "1\n")
    turn = project.turn(lambda: project.write("f", "2\n"))

    def meddle(key: SnapshotKey) -> None:
        if key.side is Side.END:
            for path in project.session.folder.glob("*lease*"):
                path.unlink()

    meddled(project, meddle)
    report = project.rewind(turn, Mode.BOTH)

    assert report.done == (b"f",)
    assert not report.history_cut
    assert report.history_error
    project.resume()
    assert "had been" not in recover(project.session, project.store, project.now)
    assert live_turns(project.session.entries) == ()
    assert (project.root / "f").read_text() == "1\n"


def test_ctrl_c_in_the_middle_is_held_until_the_end(project: Project) -> None:
    project.write("f", "1\n")
    turn = project.turn(lambda: project.write("f", "2\n"))

    def meddle(key: SnapshotKey) -> None:
        if key.side is Side.END:
            os.kill(os.getpid(), signal.SIGINT)

    meddled(project, meddle)
    handler = signal.getsignal(signal.SIGINT)
    report = project.rewind(turn, Mode.BOTH)

    assert report.interrupted
    assert report.history_cut
    assert (project.root / "f").read_text() == "1\n"
    assert signal.getsignal(signal.SIGINT) is handler


def test_ctrl_c_before_the_first_write_does_nothing(project: Project) -> None:
    project.write("f", "1\n")
    turn = project.turn(lambda: project.write("f", "2\n"))
    before = project.look()
    plan = project.plan(turn, Mode.BOTH)

    def meddle(key: SnapshotKey) -> None:
        raise KeyboardInterrupt

    meddled(project, meddle)
    with pytest.raises(KeyboardInterrupt):
        project.rewinder().apply(plan)

    assert project.look() == before
    assert not any(isinstance(entry, RewindEntry) for entry in project.session.entries)
    assert not is_cut_short(project.session.folder)


def test_the_rewinds_own_writes_are_captured_as_nobodys(project: Project) -> None:
    project.write("f", "1\n")
    turn = project.turn(lambda: project.write("f", "2\n"))

    report = project.rewind(turn)

    assert report.undo is not None
    assert {SnapshotKey(report.undo, Side.END)} <= project.store.keys()
    assert any(
        isinstance(entry, CaptureEntry) and entry.number == report.undo and entry.taken
        for entry in project.session.entries
    )
    assert by(project, report.undo) == ()


# ---- differences


def test_a_plans_difference_and_its_line_counts(project: Project) -> None:
    lines = [f"line {number}\r\n" for number in range(20)]
    project.write("crlf", "".join(lines))
    project.write("gone", "a\nb\n")
    project.write("binary", b"\0\1")

    def work() -> None:
        project.write("crlf", "".join(["changed\r\n", *lines[1:]]))
        (project.root / "gone").unlink()
        project.write("made", "x\n")
        project.write("binary", b"\0\2")

    turn = project.turn(work)
    rewinder = project.rewinder()
    plan = project.plan(turn)

    assert rewinder.line_counts(plan) == {b"crlf": (1, 1), b"gone": (2, 0), b"made": (0, 1)}
    assert rewinder.line_counts(plan, [b"made"]) == {b"made": (0, 1)}
    diff = rewinder.diff(plan)
    assert "-changed\r\n+line 0\r\n" in diff
    assert "new file mode 100644\n--- /dev/null\n+++ b/gone\n@@ -0,0 +1,2 @@\n+a\n+b\n" in diff
    assert "Binary files a/binary and b/binary differ\n" in diff
    assert rewinder.diff(plan, most_lines=1).count("diff --git") == 1


def test_differences_between_points(project: Project) -> None:
    project.write("f", "0\n")
    project.turn(lambda: project.write("f", "1\n"))
    project.turn(lambda: project.write("f", "2\n"))
    project.write("g", "mine\n")
    rewinder = project.rewinder()

    def told(first: int, second: int | None = None, *paths: bytes) -> str:
        found = rewinder.compare(Since(first, second), paths)
        return "".join(diff_file(one.path, one.old, one.new) for one in found)

    assert "-0\n+1\n" in told(1, 2)
    assert "-1\n+0\n" in told(2, 1)
    since = told(2)
    assert "-1\n+2\n" in since
    assert "+mine\n" in since
    assert "mine" not in told(2, None, b"f")
    assert told(2, 2) == ""
    with pytest.raises(RefusedError, match="names nothing"):
        told(2, None, b"nope")
    with pytest.raises(RefusedError, match="no point 9"):
        told(2, 9)


# ---- recovery


class Killed(BaseException):
    """Stands for the end of the process."""


def cut_short(project: Project, turn: int) -> None:
    """Rewind *turn*, both, and die after the last file."""

    def meddle(key: SnapshotKey) -> None:
        if key.side is Side.END:
            raise Killed

    meddled(project, meddle)
    with pytest.raises(Killed):
        project.rewind(turn, Mode.BOTH)
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
