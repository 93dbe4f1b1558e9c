"""Every refusal names its cause and the way on, and changes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from keryx_py.rewind.comparing import Since
from keryx_py.rewind.plan import Way
from keryx_py.rewind.rewinder import RefusedError, Rewinder, StalePlanError
from keryx_py.session.archive import Mode, RunEntry, SnapshotOutcome
from keryx_py.session.sessions import LeaseLostError
from keryx_py.snapshot.packs import read_index
from keryx_py.snapshot.store import SnapshotKey
from tests.rewind.play import Project


def edited(project: Project) -> int:
    project.write("f", "1\n")
    return project.turn(lambda: project.write("f", "2\n"))


def refuse(project: Project, ask: Callable[[Rewinder], object]) -> str:
    """Ask, expect a refusal that changes neither files nor archive, and give its words."""
    look, entries = project.look(), project.session.entries
    with pytest.raises(RefusedError) as refusal:
        ask(project.rewinder())
    assert project.look() == look
    assert project.session.entries == entries
    return str(refusal.value)


def test_no_points_yet(project: Project) -> None:
    assert "nothing to rewind to" in refuse(project, lambda it: it.plan(1, Mode.FILES))


@pytest.mark.parametrize("number", [0, -1, 99])
def test_no_such_number_names_the_range(project: Project, number: int) -> None:
    edited(project)
    project.turn()

    said = refuse(project, lambda it: it.plan(number, Mode.FILES))

    assert f"no point {number}" in said
    assert "1 to 2" in said


@pytest.mark.parametrize("mode", [Mode.HISTORY, Mode.BOTH])
def test_paths_go_with_files_only(project: Project, mode: Mode) -> None:
    turn = edited(project)

    assert "files mode only" in refuse(project, lambda it: it.plan(turn, mode, [b"f"]))


@pytest.mark.parametrize("path", [b"nothing", b"f/below", b"./f.x"])
def test_a_path_that_names_nothing(project: Project, path: bytes) -> None:
    turn = edited(project)

    assert "names nothing" in refuse(project, lambda it: it.plan(turn, Mode.FILES, [path]))


def test_a_path_that_names_nothing_where_nothing_changed(project: Project) -> None:
    turn = project.turn()

    assert "names nothing" in refuse(project, lambda it: it.plan(turn, Mode.FILES, [b"x"]))


@pytest.mark.parametrize("path", [b"../P2", b"/etc/passwd", b"a/../../x"])
def test_a_path_outside(project: Project, path: bytes) -> None:
    turn = edited(project)

    assert "outside the project" in refuse(project, lambda it: it.plan(turn, Mode.FILES, [path]))


@pytest.mark.parametrize("mode", [Mode.HISTORY, Mode.BOTH])
def test_a_rewound_turn_can_roll_back_files_only(project: Project, mode: Mode) -> None:
    turn = edited(project)
    report = project.rewind(turn, Mode.BOTH)
    assert report.undo is not None

    for number in (turn, report.undo):
        said = refuse(project, lambda it, number=number: it.plan(number, mode))  # type: ignore[misc]
        assert f"/rewind {number} files" in said


def test_a_pruned_point_offers_history(tmp_path: Path) -> None:
    project = Project(tmp_path, keep=1)
    turn = edited(project)
    project.turn(lambda: project.write("f", "3\n"))

    said = refuse(project, lambda it: it.plan(turn, Mode.BOTH))

    assert "(pruned)" in said
    assert f"/rewind {turn} history" in said
    assert project.rewinder().plan(turn, Mode.HISTORY).history is not None
    project.session.close()


def test_a_turn_that_ran_while_snapshots_were_off(project: Project) -> None:
    recorder = project.recorder()
    turn = recorder.begin("p")
    recorder.without(turn)
    project.session.append(RunEntry(turn, "c", "shell_exec", "shell", "sh", saved=False))

    assert "(off)" in refuse(project, lambda it: it.plan(turn, Mode.FILES))
    assert recorder.snapshot(turn) is None
    assert SnapshotOutcome.OFF.value in project.rewinder().list_points()[0].point.reason


def test_a_snapshot_whose_ref_vanished(project: Project) -> None:
    turn = edited(project)
    project.turn(lambda: project.write("f", "3\n"))
    project.store.drop([SnapshotKey(turn)])

    assert "missing" in refuse(project, lambda it: it.plan(turn, Mode.FILES))
    assert project.rewind(2).done == (b"f",)


@pytest.mark.damaged_store
def test_a_damaged_snapshot_is_found_before_the_first_write(project: Project) -> None:
    project.write("f", "1\n" * 50)
    project.write("g", "1\n")

    def work() -> None:
        project.write("f", "2\n")
        project.write("g", "2\n")

    turn = project.turn(work)
    plan = project.plan(turn)
    for pack in (project.session.folder / "shadow.git").rglob("*"):
        if pack.is_file() and pack.suffix in {".pack", ""} and "objects" in pack.parts:
            pack.chmod(0o600)
            data = bytearray(pack.read_bytes())
            data[len(data) // 4 : -24] = bytes(len(data[len(data) // 4 : -24]))
            pack.write_bytes(bytes(data))
    look = project.look()
    project.store = project.open_store()

    with pytest.raises(RefusedError):
        project.rewinder().apply(plan)

    assert project.look() == look


def spoil_folder(project: Project, turn: int, folder: str) -> None:
    """Turn a bit in the git tree that holds *folder* as it was before *turn*."""
    shadow = project.session.folder / "shadow.git"
    name = f"refs/keryx/{turn}/before:{folder}"
    said = subprocess.run(
        ["git", "--git-dir", shadow, "rev-parse", name], check=True, capture_output=True
    )
    oid = bytes.fromhex(said.stdout.decode())
    for index in map(read_index, (shadow / "objects" / "pack").glob("*.idx")):
        if oid in set(index.oids()):
            start, end = index.spans()[oid]
            data = bytearray(index.pack.read_bytes())
            data[(start + end) // 2] ^= 0x10
            index.pack.unlink()
            index.pack.write_bytes(data)
    project.store = project.open_store()


@pytest.mark.damaged_store
@pytest.mark.parametrize("way", [Way.PLAIN, Way.KEEP, Way.ONLY])
def test_a_damaged_folder_that_is_needed_is_named_in_the_preview(
    project: Project, way: Way
) -> None:
    project.write("d/f", "1\n")
    turn = project.turn(lambda: project.write("d/f", "2\n"))
    spoil_folder(project, turn, "d")

    said = refuse(project, lambda it: it.plan(turn, Mode.FILES, way=way))

    assert f"the snapshot of point {turn} is damaged: its object" in said
    said = refuse(project, lambda it: list(it.compare(Since(turn))))
    assert "damaged" in said


@pytest.mark.damaged_store
def test_a_damaged_folder_that_only_a_name_asks_for_is_a_refusal_too(project: Project) -> None:
    project.write("d/f", "1\n")
    project.write("g", "1\n")
    turn = project.turn(lambda: project.write("g", "2\n"))
    spoil_folder(project, turn, "d")

    said = refuse(project, lambda it: it.plan(turn, Mode.FILES, [b"d/none"]))

    assert "damaged" in said
    # What is the same now need not be read.
    assert project.rewind(turn).done == (b"g",)


def test_without_a_store_only_history_can_go(project: Project) -> None:
    turn = edited(project)
    rewinder = Rewinder(project.session, None, now=project.now, no_store="it is a link")

    for mode in (Mode.FILES, Mode.BOTH):
        way_on = f"in this session: it is a link; use /rewind {turn} history"
        with pytest.raises(RefusedError, match=way_on):
            rewinder.plan(turn, mode)
    assert rewinder.list_points()[0].changed is None

    report = rewinder.apply(rewinder.plan(turn, Mode.HISTORY))

    assert report.history_cut
    assert (project.root / "f").read_text() == "2\n"


def test_another_folder_at_the_root(project: Project) -> None:
    turn = edited(project)
    plan = project.plan(turn)
    project.root.rename(project.base / "moved")
    project.root.mkdir()
    project.write("f", "mine\n")

    with pytest.raises(RefusedError):
        project.rewinder().plan(turn, Mode.FILES)
    with pytest.raises(RefusedError):
        project.rewinder().apply(plan)

    assert project.look().keys() == {b"f"}


def test_a_root_that_is_gone(project: Project) -> None:
    turn = edited(project)
    shutil.rmtree(project.root)

    with pytest.raises(RefusedError):
        project.rewinder().plan(turn, Mode.FILES)


def test_a_lost_lease(project: Project) -> None:
    turn = edited(project)
    plan = project.plan(turn)
    look = project.look()
    for path in project.session.folder.glob("*lease*"):
        path.unlink()

    with pytest.raises(LeaseLostError):
        project.rewinder().apply(plan)

    assert project.look() == look


def test_nothing_to_undo_and_nothing_to_redo(project: Project) -> None:
    assert "no turn to undo" in refuse(project, lambda it: it.plan_undo())
    assert "no rewind to take back" in refuse(project, lambda it: it.plan_redo())
    edited(project)
    assert "no rewind to take back" in refuse(project, lambda it: it.plan_redo())


def test_a_redo_after_a_turn_names_the_number_that_brings_the_files_back(project: Project) -> None:
    turn = edited(project)
    report = project.rewind(turn, Mode.BOTH)
    project.turn(prompt="next")

    said = refuse(project, lambda it: it.plan_redo())

    assert f"/rewind {report.undo} files" in said
    assert report.undo is not None
    project.rewind(report.undo)
    assert (project.root / "f").read_text() == "2\n"


def test_nothing_to_confirm_where_nothing_would_change(project: Project) -> None:
    project.write("f", "1\n")
    turn = project.turn(lambda: None)
    plan = project.plan(turn)

    assert plan.empty
    assert "nothing" in refuse(project, lambda it: it.apply(plan))


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda project: project.write("f", "3\n"),
        lambda project: project.write("new", "n\n"),
        lambda project: (project.root / "f").chmod(0o600),
        lambda project: (project.root / "f").unlink(),
    ],
)
def test_a_stale_plan_is_shown_anew(
    project: Project, meanwhile: Callable[[Project], object]
) -> None:
    turn = edited(project)
    plan = project.plan(turn, Mode.BOTH)
    meanwhile(project)
    look, entries = project.look(), project.session.entries

    with pytest.raises(StalePlanError) as stale:
        project.rewinder().apply(plan)

    assert project.look() == look
    assert project.session.entries == entries
    project.rewinder().apply(stale.value.fresh)
    assert (project.root / "f").read_text() == "1\n"


def test_a_plan_is_stale_when_more_would_stay_than_it_said(project: Project) -> None:
    """A pipe came where the point holds a file: that file would not come back."""
    project.write("g", "old\n")
    turn = edited(project)
    plan = project.plan(turn)
    (project.root / "g").unlink()
    os.mkfifo(project.root / "g")
    look = project.look()

    with pytest.raises(StalePlanError) as stale:
        project.rewinder().apply(plan)

    assert project.look() == look
    assert stale.value.fresh.files is not None
    assert [one.path for one in stale.value.fresh.files.staying] == [b"g"]


def test_a_plan_is_stale_when_the_archive_has_moved_on(project: Project) -> None:
    turn = edited(project)
    plan = project.plan(turn, Mode.BOTH)
    project.turn()

    with pytest.raises(StalePlanError):
        project.rewinder().apply(plan)


def test_a_file_being_written_makes_a_plan_stale_only_once(project: Project) -> None:
    project.write("live.log", "1\n")
    turn = project.turn(lambda: project.write("live.log", "2\n"))
    plan = project.plan(turn)
    project.write("live.log", "3\n")

    with pytest.raises(StalePlanError) as stale:
        project.rewinder().apply(plan)
    fresh = stale.value.fresh
    assert fresh.files is not None
    assert [change.being_written for change in fresh.files.changes] == [True]
    project.write("live.log", "4\n")
    report = project.rewinder().apply(fresh)

    assert report.done == (b"live.log",)
    assert (project.root / "live.log").read_text() == "1\n"
    project.rewinder().apply(project.rewinder().plan_redo())
    assert (project.root / "live.log").read_text() == "4\n"


def test_a_mark_of_being_written_does_not_cover_a_new_kind(project: Project) -> None:
    project.write("live.log", "1\n")
    turn = project.turn(lambda: project.write("live.log", "2\n"))
    first = project.plan(turn)
    project.write("live.log", "3\n")
    second = project.rewinder().plan(turn, Mode.FILES, previous=first)
    (project.root / "live.log").unlink()
    (project.root / "live.log").symlink_to("x")

    with pytest.raises(StalePlanError):
        project.rewinder().apply(second)


def test_the_same_preview_twice_has_the_same_id(project: Project) -> None:
    turn = edited(project)

    first, second = project.plan(turn), project.plan(turn)

    assert first.id == second.id
    assert first.id != project.plan(turn, Mode.BOTH).id
    assert first.id != project.plan(turn, Mode.FILES, "f").id
