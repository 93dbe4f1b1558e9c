"""Rewinding the hunks that were picked: only they go back, and all that holds for any rewind."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from keryx_py.rewind.apply import Step
from keryx_py.rewind.hunks import Hunk, HunkedPath, HunkKind, split_hunk
from keryx_py.rewind.picked import MOVED
from keryx_py.rewind.plan import RewindPlan, Way
from keryx_py.rewind.recovery import recover
from keryx_py.rewind.report import RefusedError, StalePlanError
from keryx_py.rewind.restore_journal import Restore, write_journal
from keryx_py.session.archive import Mode
from keryx_py.snapshot.listing import FileState, Kind
from keryx_py.snapshot.objects import ObjectKind, object_id
from keryx_py.snapshot.store import SnapshotKey
from tests.rewind.play import Project

Choice = Callable[[HunkedPath], Collection[Hunk]]


def lines(*changed: int, end: str = "\n") -> str:
    return "".join(f"{n}*{end}" if n in changed else f"{n}{end}" for n in range(30))


def everything(at: HunkedPath) -> Collection[Hunk]:
    return at.hunks


def pick(project: Project, number: int, choice: Choice, *paths: str) -> RewindPlan:
    rewinder = project.rewinder()
    every = rewinder.plan(number, Mode.FILES, [os.fsencode(path) for path in paths])
    return rewinder.pick(every, [(at, tuple(choice(at))) for at in rewinder.hunks(every)])


def writes(project: Project, *files: tuple[str, str]) -> None:
    for path, text in files:
        project.write(path, text)


def swap(take_away: Callable[[], None], project: Project, path: str) -> None:
    take_away()
    project.write(path, "x")


def only(**numbers: tuple[int, ...]) -> Choice:
    """Choose the hunks of these names by their places."""
    return lambda at: [at.hunks[n] for n in numbers.get(at.path.decode(), ())]


@pytest.fixture
def edited(project: Project) -> Project:
    project.write("a", lines())
    project.write("b", lines())
    project.turn(lambda: writes(project, ("a", lines(2, 15, 28)), ("b", lines(1))))
    return project


def test_only_the_picked_hunks_go_back(edited: Project) -> None:
    plan = pick(edited, 1, only(a=(1,)))

    report = edited.rewinder().apply(plan)

    assert plan.way is Way.PICKED
    assert report.done == (b"a",)
    assert (edited.root / "a").read_text() == lines(2, 28)
    assert (edited.root / "b").read_text() == lines(1)


def test_a_rewind_of_hunks_is_redone_like_any_other(edited: Project) -> None:
    edited.rewinder().apply(pick(edited, 1, only(a=(1,), b=(0,))))
    edited.resume()

    plan = edited.rewinder().plan_redo()
    edited.rewinder().apply(plan)

    assert edited.rewinder().may_apply_at_once(plan)
    assert (edited.root / "a").read_text() == lines(2, 15, 28)
    assert (edited.root / "b").read_text() == lines(1)


def test_pieces_of_a_hunk_go_back_alone(project: Project) -> None:
    project.write("a", lines())
    project.turn(lambda: project.write("a", lines(10, 13, 16)))

    project.rewinder().apply(pick(project, 1, lambda at: split_hunk(at.hunks[0])[1:2]))

    assert (project.root / "a").read_text() == lines(10, 16)


def test_previewing_picked_hunks_shows_them_and_changes_nothing(edited: Project) -> None:
    before = edited.look()

    plan = pick(edited, 1, only(a=(1,)))

    assert edited.rewinder().line_counts(plan) == {b"a": (1, 1)}
    assert "-15*\n+15\n" in edited.rewinder().diff(plan)
    assert "2*" not in edited.rewinder().diff(plan)
    assert edited.look() == before


def test_with_nothing_picked_there_is_nothing_to_confirm(edited: Project) -> None:
    plan = pick(edited, 1, lambda at: ())

    assert plan.empty
    with pytest.raises(RefusedError, match="nothing would change"):
        edited.rewinder().apply(plan)


HOSTILE: dict[str, tuple[Callable[[Project], object], Callable[[Project], object]]] = {
    "CRLF and no newline at the end": (
        lambda p: p.write("x", lines(end="\r\n") + "end"),
        lambda p: p.write("x", lines(3, 20, end="\r\n") + "end\n"),
    ),
    "bytes that are not UTF-8": (
        lambda p: p.write("x", b"\xff\xfe\r\r\n\x00"),
        lambda p: p.write("x", b"\xff\n\xfe"),
    ),
    "mode and lines": (
        lambda p: p.write("x", lines(), 0o4711),
        lambda p: p.write("x", lines(3), 0o640),
    ),
    "mode alone": (lambda p: p.write("x", "x", 0o755), lambda p: p.write("x", "x", 0o600)),
    "made": (lambda p: None, lambda p: p.write("d/e/x", "x")),
    "removed": (lambda p: p.write("d/x", "x"), lambda p: remove(p.root / "d")),
    "a link that moved": (lambda p: link(p, "a"), lambda p: link(p, "../out")),
    "a file became a link": (lambda p: p.write("x", "x"), lambda p: link(p, "x")),
    "a file became a folder": (
        lambda p: p.write("x", "x"),
        lambda p: swap((p.root / "x").unlink, p, "x/y/z"),
    ),
    "a folder became a file": (
        lambda p: p.write("x/y/z", "z"),
        lambda p: swap(lambda: remove(p.root / "x"), p, "x"),
    ),
    "folders alone": (lambda p: p.write("a/x", "x"), lambda p: (p.root / "new").mkdir()),
}


def remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def link(project: Project, target: str) -> None:
    (project.root / "x").unlink(missing_ok=True)
    (project.root / "x").symlink_to(target)


@pytest.mark.parametrize("name", HOSTILE)
def test_picking_every_hunk_is_the_plain_restore(project: Project, name: str) -> None:
    begin, change = HOSTILE[name]
    begin(project)
    before = project.look()
    project.turn(lambda: change(project))
    plain = project.plan(1)

    plan = pick(project, 1, everything)

    assert plan.files is not None
    assert plain.files is not None
    assert plan.files.changes == plain.files.changes
    assert project.rewinder().apply(plan).failed == ()
    assert project.look() == before


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("which", [0, 1])
def test_whatever_is_picked_the_preview_is_the_effect(
    project: Project, name: str, which: int
) -> None:
    begin, change = HOSTILE[name]
    begin(project)

    def work() -> None:
        change(project)
        writes(project, ("d/other", "1"), ("q", "1"))

    project.turn(work)
    every = project.rewinder().hunks(project.plan(1))
    chosen = {(at.path, n) for at in every for n in range(len(at.hunks)) if n % 2 == which}

    plan = pick(
        project, 1, lambda at: [h for n, h in enumerate(at.hunks) if (at.path, n) in chosen]
    )

    assert plan.files is not None
    if plan.empty:
        return
    report = project.rewinder().apply(plan)
    assert report.failed == ()
    assert report.done == tuple(change.path for change in plan.files.changes)


def test_a_folder_goes_only_with_all_that_is_in_it(project: Project) -> None:
    project.write("z", "z")
    project.turn(lambda: writes(project, ("new/a", "a"), ("new/b", "b")))

    project.rewinder().apply(pick(project, 1, lambda at: at.hunks * (at.path == b"new/a")))
    assert sorted(os.listdir(project.root / "new")) == ["b"]

    project.rewinder().apply(pick(project, 1, everything))
    assert not (project.root / "new").exists()


def test_what_stands_in_the_way_unpicked_is_named(project: Project) -> None:
    project.write("x/y", "y")
    project.turn(lambda: swap(lambda: remove(project.root / "x"), project, "x"))

    plan = pick(project, 1, lambda at: at.hunks * (at.path == b"x/y"))

    assert plan.files is not None
    assert plan.empty
    assert [one.path for one in plan.files.staying] == [b"x/y"]


def test_a_folder_makes_way_for_a_file_only_with_all_that_is_in_it(project: Project) -> None:
    project.write("x", "file")

    def work() -> None:
        (project.root / "x").unlink()
        writes(project, ("x/a", "a"), ("x/b", "b"))

    project.turn(work)
    before = project.look()

    plan = pick(project, 1, lambda at: at.hunks * (at.path != b"x/b"))

    assert plan.files is not None
    assert [change.path for change in plan.files.changes] == [b"x/a"]
    assert b"x" in [one.path for one in plan.files.staying]
    assert project.rewinder().apply(plan).failed == ()
    assert project.look() == {path: seen for path, seen in before.items() if path != b"x/a"}


def test_a_file_that_moves_while_it_is_read_has_no_hunks(edited: Project) -> None:
    every = edited.plan(1)
    edited.write("a", "mine\n")

    with pytest.raises(RefusedError, match="a is being written; pick again when that is over"):
        edited.rewinder().hunks(every)


def test_the_mode_alone_can_be_picked_of_a_file_that_you_edited(project: Project) -> None:
    project.write("a", lines(), 0o644)
    project.turn(lambda: (project.root / "a").chmod(0o755))
    project.write("a", lines(4))

    project.rewinder().apply(
        pick(project, 1, lambda at: [h for h in at.hunks if h.kind is HunkKind.MODE])
    )

    assert (project.root / "a").read_text() == lines(4)
    assert stat.S_IMODE((project.root / "a").stat().st_mode) == 0o644


def test_a_file_that_changed_after_its_hunks_were_picked_stays(edited: Project) -> None:
    plan = pick(edited, 1, only(a=(1,), b=(0,)))
    edited.write("a", lines(2, 15, 28, 29))
    before = edited.look()

    with pytest.raises(StalePlanError) as stale:
        edited.rewinder().apply(plan)

    fresh = stale.value.fresh
    assert edited.look() == before
    assert fresh.files is not None
    assert [change.path for change in fresh.files.changes] == [b"b"]
    assert [(one.path, one.reason) for one in fresh.files.staying] == [(b"a", MOVED)]
    edited.rewinder().apply(fresh)
    assert (edited.root / "a").read_text() == lines(2, 15, 28, 29)
    assert (edited.root / "b").read_text() == lines()


def test_a_change_where_nothing_was_picked_does_not_matter(edited: Project) -> None:
    plan = pick(edited, 1, only(a=(1,)))
    edited.write("b", "mine\n")

    edited.rewinder().apply(plan)

    assert (edited.root / "a").read_text() == lines(2, 28)
    assert (edited.root / "b").read_text() == "mine\n"


def test_only_the_named_paths_have_hunks(edited: Project) -> None:
    every = edited.rewinder().plan(1, Mode.FILES, [b"b"])

    assert [at.path for at in edited.rewinder().hunks(every)] == [b"b"]


def test_a_rewind_of_hunks_that_was_cut_short_is_finished(edited: Project) -> None:
    plan = pick(edited, 1, only(a=(1,)))
    assert plan.files is not None
    [change] = plan.files.changes
    steps = (Step(change.path, change.now, change.then),)
    edited.store.take(SnapshotKey(99), edited.now())
    write_journal(
        edited.session.folder,
        Restore(99, 1, Mode.FILES, False, None, steps, made=plan.files.made),
    )

    said = recover(edited.session, edited.store, edited.now)

    assert "it is finished now" in said
    assert (edited.root / "a").read_text() == lines(2, 28)


def test_the_content_made_is_what_its_name_says(edited: Project) -> None:
    plan = pick(edited, 1, only(a=(0, 2)))

    assert plan.files is not None
    [change] = plan.files.changes
    content = lines(15).encode()
    oid = object_id(ObjectKind.BLOB, content)
    assert change.then == FileState(Kind.FILE, change.then.mode if change.then else 0, oid)
    assert plan.files.made == {oid: content}
