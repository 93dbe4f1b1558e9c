"""Undo, redo, history, whose changes go, and what happens when something fails on the way."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from keryx_py.rewind.comparing import Since
from keryx_py.rewind.plan import Author, AuthorKind, NotUndone
from keryx_py.rewind.recovery import is_cut_short, recover
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
from keryx_py.snapshot.store import Side, SnapshotKey
from tests.rewind.play import Project
from tests.rewind.stores import forgetful, meddled

PERSON, UNKNOWN = Author(AuthorKind.PERSON), Author(AuthorKind.UNKNOWN)


def agent(turn: int) -> Author:
    return Author(AuthorKind.TURN, turn)


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


def test_who_loses_the_lease_on_the_way_changes_nothing_more(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("a", "1\n")
    project.write("b", "1\n")

    def work() -> None:
        project.write("a", "2\n")
        project.write("b", "2\n")

    turn = project.turn(work)
    plan = project.plan(turn, Mode.BOTH)
    fsync = os.fsync

    def lose_the_lease_as_the_first_is_written(descriptor: int) -> None:
        fsync(descriptor)
        if Path(f"/proc/self/fd/{descriptor}").readlink().is_relative_to(project.root):
            (project.session.folder / "lease").unlink(missing_ok=True)

    monkeypatch.setattr(os, "fsync", lose_the_lease_as_the_first_is_written)
    report = project.rewinder().apply(plan)

    assert report.done == (b"a",)
    assert [one.path for one in report.failed] == [b"b"]
    assert "no longer holds" in report.history_error
    assert (project.root / "b").read_text() == "2\n"
    assert SnapshotKey(2, Side.END) not in project.store.keys()  # noqa: SIM118 - a store is no dict
    assert is_cut_short(project.session.folder)


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
