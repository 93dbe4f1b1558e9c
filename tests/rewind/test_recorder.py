"""What a turn leaves in the archive and the store, and which snapshots go."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from pathlib import Path

import pytest

from keryx_py.rewind.points import FilesState
from keryx_py.rewind.recorder import STOPPED, TurnRecorder
from keryx_py.rewind.retention import Keeping, count_snapshots, prune_snapshots
from keryx_py.session.archive import (
    CaptureEntry,
    DamagedEntry,
    Mode,
    PrunedEntry,
    RunEntry,
    SnapshotEntry,
    SnapshotOutcome,
    TurnEnd,
    TurnEndEntry,
    TurnEntry,
)
from keryx_py.session.sessions import LeaseLostError
from keryx_py.snapshot.listing import TreeState
from keryx_py.snapshot.store import (
    Limits,
    Progress,
    Side,
    SnapshotError,
    SnapshotKey,
    SnapshotStore,
)
from tests.rewind.play import Project


class BrokenStore(SnapshotStore):
    """A store that takes no capture."""

    error: BaseException = SnapshotError("the disk is full")

    def take(
        self,
        key: SnapshotKey,
        taken_at: float,
        also: Collection[bytes] = (),
        progress: Progress | None = None,
    ) -> TreeState:
        raise self.error


def broken(project: Project, error: BaseException) -> SnapshotStore:
    store = BrokenStore.open(
        project.session.folder / "shadow.git",
        project.root,
        home=project.home,
        data_dir=project.data,
    )
    assert isinstance(store, BrokenStore)
    store.error = error
    return store


def outcomes(project: Project) -> list[SnapshotOutcome]:
    return [e.outcome for e in project.session.entries if isinstance(e, SnapshotEntry)]


def kept_numbers(project: Project) -> set[int]:
    kept = project.store.keys()
    return {key.number for key in kept}


def test_a_turn_that_only_reads_takes_no_snapshot(project: Project) -> None:
    project.turn()

    assert [type(entry) for entry in project.session.entries if not hasattr(entry, "item")] == [
        TurnEntry,
        TurnEndEntry,
    ]
    assert project.store.keys() == frozenset()


def test_a_turn_takes_one_snapshot_and_its_end(project: Project) -> None:
    recorder = project.recorder()
    turn = recorder.begin("p")

    assert recorder.snapshot(turn) is None
    project.write("f", "1\n")
    assert recorder.snapshot(turn) is None
    recorder.end(turn, TurnEnd.INTERRUPTED)

    assert project.store.keys() == {SnapshotKey(turn), SnapshotKey(turn, Side.END)}
    assert project.store.load(SnapshotKey(turn)).listing == {}
    assert outcomes(project) == [SnapshotOutcome.TAKEN]


def test_numbers_grow_and_turns_follow_the_last_live_one(project: Project) -> None:
    project.turn(lambda: project.write("f", "1\n"))
    project.turn(lambda: project.write("f", "2\n"))
    project.rewind(2, Mode.BOTH)
    project.turn()

    turns = [entry for entry in project.session.entries if isinstance(entry, TurnEntry)]
    assert [(turn.number, turn.follows) for turn in turns] == [(1, None), (2, 1), (4, 1)]


def test_the_next_prompt_tells_the_model_which_paths_went_back(project: Project) -> None:
    project.write("src/a.py", "1\n")
    turn = project.turn(lambda: project.write("src/a.py", "2\n"))
    project.rewind(turn)

    number = project.turn()

    entry = next(
        e for e in project.session.entries if isinstance(e, TurnEntry) and e.number == number
    )
    assert "src/a.py" in entry.note


def test_a_failed_snapshot_says_why_and_the_next_call_tries_again(project: Project) -> None:
    failing = TurnRecorder(
        project.session, broken(project, SnapshotError("the disk is full")), now=project.now
    )
    turn = failing.begin("p")

    assert failing.snapshot(turn) == "the disk is full"
    assert project.recorder().snapshot(turn) is None

    assert outcomes(project) == [SnapshotOutcome.FAILED, SnapshotOutcome.TAKEN]


def test_a_snapshot_that_is_stopped_is_a_failed_one(project: Project) -> None:
    recorder = TurnRecorder(project.session, broken(project, KeyboardInterrupt()), now=project.now)
    turn = recorder.begin("p")

    assert recorder.snapshot(turn) == STOPPED
    project.session.append(RunEntry(turn, "c", "shell_exec", "shell", "", saved=False))
    recorder.end(turn, TurnEnd.DONE)

    point = project.rewinder().list_points()[0].point
    assert (point.files, point.reason) == (FilesState.GONE, STOPPED)


def test_a_failing_end_capture_is_told_and_does_not_fail_the_turn(project: Project) -> None:
    turn = project.recorder().begin("p")
    assert project.recorder().snapshot(turn) is None
    recorder = TurnRecorder(
        project.session, broken(project, SnapshotError("the disk is full")), now=project.now
    )

    recorder.end(turn, TurnEnd.DONE)

    (notice,) = recorder.notices()
    assert "the disk is full" in notice

    capture, end = project.session.entries[-2:]
    assert isinstance(capture, CaptureEntry)
    assert not capture.taken
    assert isinstance(end, TurnEndEntry)


def test_a_turn_that_ran_unsaved_still_has_its_end_captured(project: Project) -> None:
    recorder = project.recorder()
    turn = recorder.begin("p")
    project.session.append(RunEntry(turn, "c", "shell_exec", "shell", "", saved=False))
    project.write("f", "1\n")
    recorder.end(turn, TurnEnd.DONE)
    project.write("g", "mine\n")

    assert project.store.keys() == {SnapshotKey(turn, Side.END)}
    listed = project.rewinder().list_points()[0]
    assert (listed.changed, listed.changed_since) == (None, 1)


def test_without_a_lease_a_turn_ends_without_a_capture(project: Project) -> None:
    recorder = project.recorder()
    turn = recorder.begin("p")
    assert recorder.snapshot(turn) is None
    for path in project.session.folder.glob("*lease*"):
        path.unlink()

    with pytest.raises(LeaseLostError):
        recorder.end(turn, TurnEnd.DONE)

    assert project.store.keys() == {SnapshotKey(turn)}


def test_without_a_store_the_outcome_is_recorded_once(project: Project) -> None:
    recorder = TurnRecorder(
        project.session,
        None,
        without=SnapshotOutcome.FAILED,
        reason="the root is your home",
        now=project.now,
    )
    turn = recorder.begin("p")

    assert recorder.snapshot(turn) == "the root is your home"
    assert recorder.snapshot(turn) == "the root is your home"
    with pytest.raises(SnapshotError, match="the root is your home"):
        recorder.checkpoint("x")

    assert outcomes(project) == [SnapshotOutcome.FAILED]


def test_the_oldest_snapshots_go_and_named_checkpoints_stay(tmp_path: Path) -> None:
    project = Project(tmp_path, keep=3)
    pinned = project.recorder().checkpoint("pinned")
    plain = project.recorder().checkpoint("")
    turns = [project.turn(lambda at=at: project.write("f", f"{at}\n")) for at in range(4)]  # type: ignore[misc]

    assert kept_numbers(project) == {pinned, *turns[1:]}
    entries = project.session.entries
    assert [e.numbers for e in entries if isinstance(e, PrunedEntry)] == [(plain,), (turns[0],)]
    assert count_snapshots(entries, project.store.keys()) == 3
    project.rewind(pinned)
    assert project.look() == {}
    project.session.close()


def test_what_cannot_be_recorded_as_pruned_is_not_pruned(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for at in range(3):
        project.turn(lambda at=at: project.write("f", f"{at}\n"))  # type: ignore[misc]
    before = project.store.keys()
    (project.session.folder / "lease").unlink()

    with pytest.raises(LeaseLostError):
        prune_snapshots(Keeping(project.session, project.store, 1, project.now))

    assert project.store.keys() == before
    project.session.close()


def test_a_rewind_prunes_neither_its_point_nor_its_undo_point(tmp_path: Path) -> None:
    project = Project(tmp_path, keep=3)
    for at in range(3):
        project.turn(lambda at=at: project.write("f", f"{at}\n"))  # type: ignore[misc]

    report = project.rewind(1)
    again = project.rewind(3)

    assert report.undo is not None
    assert again.undo is not None
    assert kept_numbers(project) == {1, 3, report.undo, again.undo}
    project.rewinder().apply(project.rewinder().plan_redo())
    project.rewinder().apply(project.rewinder().plan_redo())
    assert (project.root / "f").read_text() == "2\n"
    last = project.turn(lambda: project.write("f", "9\n"))
    assert len(kept_numbers(project)) == 3
    assert last in kept_numbers(project)
    project.session.close()


def test_a_keep_of_one_keeps_the_newest_and_a_failed_one_costs_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path, keep=1)
    project.turn(lambda: project.write("f", "1\n"))
    second = project.turn(lambda: project.write("f", "2\n"))
    failing = TurnRecorder(
        project.session, broken(project, SnapshotError("full")), keep=1, now=project.now
    )
    failing.snapshot(failing.begin("p"))

    assert kept_numbers(project) == {second}
    project.rewind(second)
    assert (project.root / "f").read_text() == "1\n"
    project.session.close()


def test_the_size_limit_prunes_the_oldest_first_and_says_so(tmp_path: Path) -> None:
    project = Project(tmp_path, Limits(size_limit_bytes=400_000, free_floor_bytes=0))
    recorder = project.recorder()
    notices: list[str] = []
    for at in range(6):
        turn = recorder.begin("p")
        project.write("big", secrets.token_bytes(100_000))
        assert recorder.snapshot(turn) is None, at
        recorder.end(turn, TurnEnd.DONE)
        notices += recorder.notices()

    assert notices
    assert "size limit" in notices[0]
    assert recorder.notices() == ()
    assert 6 in kept_numbers(project)
    assert 1 not in kept_numbers(project)
    assert project.rewinder().list_points()[-1].point.reason == "pruned"
    project.session.close()


def test_the_end_of_a_turn_makes_room_as_its_beginning_does(tmp_path: Path) -> None:
    project = Project(tmp_path, Limits(size_limit_bytes=400_000, free_floor_bytes=0))

    turns = [
        project.turn(lambda: project.write("big", secrets.token_bytes(100_000))) for _ in range(6)
    ]

    ends = [entry for entry in project.session.entries if isinstance(entry, CaptureEntry)]
    assert [(end.number, end.taken) for end in ends] == [(turn, True) for turn in turns]
    assert 6 in kept_numbers(project)
    assert 1 not in kept_numbers(project)
    project.session.close()


def test_what_can_never_fit_prunes_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path, Limits(size_limit_bytes=300_000, free_floor_bytes=0))
    project.turn(lambda: project.write("f", "1\n"))
    project.write("big", secrets.token_bytes(2_000_000))
    recorder = project.recorder()

    assert recorder.snapshot(recorder.begin("p")) is not None

    assert 1 in kept_numbers(project)
    project.session.close()


def test_a_capture_that_no_entry_records_goes_with_the_next_pruning(tmp_path: Path) -> None:
    project = Project(tmp_path, keep=1)
    project.store.take(SnapshotKey(77), 0)

    project.turn(lambda: project.write("f", "1\n"))

    assert kept_numbers(project) == {1}
    project.session.close()


def test_a_capture_whose_entries_may_be_lines_that_are_lost_stays(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.turn(lambda: project.write("f", "1\n"))
    project.session.close()
    archive = project.session.folder / "archive.jsonl"
    lines = archive.read_bytes().splitlines(keepends=True)
    lost = (b'"snapshot"', b'"capture"')
    torn = [b"{torn\n" if any(kind in line for kind in lost) else line for line in lines]
    archive.write_bytes(b"".join(torn))
    project.resume()

    project.turn(lambda: project.write("f", "2\n"))

    assert sum(isinstance(entry, DamagedEntry) for entry in project.session.entries) == 2
    assert 1 in kept_numbers(project)
    project.session.close()
