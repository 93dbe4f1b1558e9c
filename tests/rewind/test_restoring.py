"""Rewinds on real files: what comes back, what goes, what stays."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from keryx_py.rewind.plan import ChangeKind, counted, kind_of
from keryx_py.session.archive import Mode
from keryx_py.snapshot.listing import Skipped
from keryx_py.snapshot.store import Limits
from tests.rewind.play import Project


def test_modified_created_and_deleted_files_go_back(project: Project) -> None:
    project.write("kept.txt", "old\n")
    project.write("gone.txt", "was here\n")
    before = project.look()

    def work() -> None:
        project.write("kept.txt", "new\n")
        project.write("made/deep/f", "made\n")
        (project.root / "gone.txt").unlink()

    turn = project.turn(work)
    report = project.rewind(turn)

    assert project.look() == before
    assert not report.failed
    assert set(report.done) == {b"kept.txt", b"made", b"made/deep", b"made/deep/f", b"gone.txt"}


def _swap_file_for_folder(root: Path) -> None:
    (root / "f").unlink()
    (root / "f" / "in").mkdir(parents=True)
    (root / "f" / "in" / "k").write_text("k\n")


def _swap_folder_for_file(root: Path) -> None:
    shutil.rmtree(root / "d")
    (root / "d").write_text("a file now\n")


def _swap_folder_for_link_out(root: Path) -> None:
    shutil.rmtree(root / "d")
    (root / "d").symlink_to("../outside")


def _swap_link_for_folder(root: Path) -> None:
    (root / "l").unlink()
    (root / "l").mkdir()
    (root / "l" / "x").write_text("n\n")


def _swap_file_for_link_out(root: Path) -> None:
    (root / "f").unlink()
    (root / "f").symlink_to("../outside/x")


def _change_only_modes(root: Path) -> None:
    (root / "f").chmod(0o600)
    (root / "d").chmod(0o2711)
    (root / "d" / "g").chmod(0o4755)


def _write_under_odd_names(root: Path) -> None:
    for name in (
        b"*.py",
        b"-rf",
        b":(top)x",
        b"a\\b",
        b"new\nline",
        b"\xff\xfe",
        b'"q"',
        b" ",
        b"!x",
    ):
        (root / os.fsdecode(name)).write_text("odd\n")


def _rename_in_case(root: Path) -> None:
    (root / "f").rename(root / "F")


def _take_an_empty_folder_away(root: Path) -> None:
    (root / "empty").rmdir()


def _fill_an_empty_folder(root: Path) -> None:
    (root / "empty" / "x").write_text("x\n")


def _change_in_a_read_only_folder(root: Path) -> None:
    (root / "ro").chmod(0o755)
    (root / "ro" / "x").unlink()
    (root / "ro" / "y").write_text("y\n")
    (root / "ro").chmod(0o555)


@pytest.mark.parametrize(
    "work",
    [
        _swap_file_for_folder,
        _swap_folder_for_file,
        _swap_folder_for_link_out,
        _swap_link_for_folder,
        _swap_file_for_link_out,
        _change_only_modes,
        _write_under_odd_names,
        _rename_in_case,
        _take_an_empty_folder_away,
        _fill_an_empty_folder,
        _change_in_a_read_only_folder,
    ],
)
def test_a_turn_is_undone_exactly_and_redone_exactly(
    project: Project, work: Callable[[Path], None]
) -> None:
    outside = project.base / "outside"
    outside.mkdir()
    (outside / "x").write_text("victim\n")
    project.write("f", "f\n", 0o644)
    project.write("d/g", "g\n", 0o755)
    project.write("ro/x", "x\n")
    (project.root / "ro").chmod(0o555)
    (project.root / "empty").mkdir()
    (project.root / "l").symlink_to("../outside")
    before = project.look()
    turn = project.turn(lambda: work(project.root))
    after = project.look()

    report = project.rewind(turn)

    assert project.look() == before
    assert not report.failed
    assert (outside / "x").read_text() == "victim\n"
    assert sorted(os.listdir(outside)) == ["x"]

    project.rewinder().apply(project.rewinder().plan_redo())

    assert project.look() == after
    (project.root / "ro").chmod(0o755)


def test_paths_already_right_are_not_touched(project: Project) -> None:
    project.write("same", "s\n")
    project.write("changed", "1\n")
    os.utime(project.root / "same", (1, 1))
    status = (project.root / "same").stat()
    turn = project.turn(lambda: project.write("changed", "2\n"))

    project.rewind(turn)

    now = (project.root / "same").stat()
    assert (now.st_ino, now.st_mtime_ns, now.st_ctime_ns) == (
        status.st_ino,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def test_a_file_ignored_then_is_left_when_the_rules_went(project: Project) -> None:
    project.write(".gitignore", "secret.env\n")
    project.write("secret.env", "key\n")

    turn = project.turn((project.root / ".gitignore").unlink)
    plan = project.plan(turn)
    project.rewind(turn)

    assert (project.root / "secret.env").read_text() == "key\n"
    assert plan.files is not None
    assert plan.files.staying == (Skipped(b"secret.env", "ignored then"),)


def test_a_file_held_then_is_left_when_it_is_ignored_now(project: Project) -> None:
    project.write("secret.env", "key\n")

    turn = project.turn(lambda: project.write(".gitignore", "secret.env\n"))
    project.rewind(turn)

    assert (project.root / "secret.env").read_text() == "key\n"
    assert not (project.root / ".gitignore").exists()


def test_a_held_file_comes_back_although_it_is_ignored_now(project: Project) -> None:
    project.write("build/out", "old\n")

    def work() -> None:
        project.write(".gitignore", "build/\n")
        project.write("build/out", "new\n")
        project.write("build/other", "never held\n")

    turn = project.turn(work)
    project.rewind(turn)

    assert (project.root / "build/out").read_text() == "old\n"
    assert (project.root / "build/other").read_text() == "never held\n"


def test_a_new_file_that_the_old_rules_would_ignore_stays(project: Project) -> None:
    project.write(".gitignore", "*.log\n")

    def work() -> None:
        (project.root / ".gitignore").unlink()
        project.write("a.log", "made\n")

    turn = project.turn(work)
    plan = project.plan(turn)
    project.rewind(turn)

    assert (project.root / "a.log").exists()
    assert plan.files is not None
    assert plan.files.staying == (Skipped(b"a.log", "ignored then"),)


def test_what_is_ignored_in_a_made_folder_keeps_the_folder(project: Project) -> None:
    project.write(".gitignore", "cache/\n")

    def work() -> None:
        project.write("pkg/a.py", "a\n")
        project.write("pkg/cache/x", "x\n")

    turn = project.turn(work)
    plan = project.plan(turn)
    project.rewind(turn)

    assert not (project.root / "pkg/a.py").exists()
    assert (project.root / "pkg/cache/x").exists()
    assert plan.files is not None
    assert plan.files.staying == (
        Skipped(b"pkg", "holds pkg/cache"),
        Skipped(b"pkg/cache", "ignored"),
    )


def test_a_repository_made_in_the_turn_keeps_its_own_folder(project: Project) -> None:
    def work() -> None:
        project.write("sub/f", "f\n")
        project.write("sub/.git/HEAD", "ref: refs/heads/main\n")

    turn = project.turn(work)
    plan = project.plan(turn)
    report = project.rewind(turn)

    assert project.look().keys() == {b"sub", b"sub/.git", b"sub/.git/HEAD"}
    assert report.done == (b"sub/f",)
    assert plan.files is not None
    assert plan.files.staying == (
        Skipped(b"sub", "holds sub/.git"),
        Skipped(b"sub/.git", "a repository's own folder"),
    )


def test_a_file_is_not_brought_back_over_what_may_not_go(project: Project) -> None:
    project.write(".gitignore", "*.keep\n")
    project.write("f", "old\n")

    def work() -> None:
        (project.root / "f").unlink()
        project.write("f/mine.keep", "ignored\n")
        project.write("f/other", "o\n")

    turn = project.turn(work)
    plan = project.plan(turn)
    report = project.rewind(turn)

    assert (project.root / "f/mine.keep").exists()
    assert not (project.root / "f/other").exists()
    assert not report.failed
    assert plan.files is not None
    assert [one.path for one in plan.files.staying] == [b"f", b"f/mine.keep"]


def test_what_the_person_put_into_a_made_folder_is_shown_and_held(project: Project) -> None:
    project.write("f", "old\n")

    def work() -> None:
        (project.root / "f").unlink()
        project.write("f/k", "k\n")

    turn = project.turn(work)
    project.write("f/mine", "mine\n")
    plan = project.plan(turn)
    report = project.rewind(turn)

    assert plan.files is not None
    kinds = {change.path: kind_of(change) for change in plan.files.changes}
    assert kinds == {
        b"f": ChangeKind.MODIFIED,
        b"f/k": ChangeKind.REMOVED,
        b"f/mine": ChangeKind.REMOVED,
    }
    assert (project.root / "f").read_text() == "old\n"
    assert report.undo is not None
    project.rewind(report.undo)
    assert (project.root / "f/mine").read_text() == "mine\n"


def test_a_file_that_grew_beyond_the_limit_comes_back_and_is_held(tmp_path: Path) -> None:
    project = Project(tmp_path, Limits(max_file_bytes=100))
    project.write("data", b"a" * 80)
    turn = project.turn(lambda: project.write("data", b"b" * 120))

    report = project.rewind(turn)

    assert (project.root / "data").read_bytes() == b"a" * 80
    assert report.undo is not None
    project.rewinder().apply(project.rewinder().plan_redo())
    assert (project.root / "data").read_bytes() == b"b" * 120
    project.session.close()


def test_a_file_that_was_too_large_is_kept_and_named(tmp_path: Path) -> None:
    project = Project(tmp_path, Limits(max_file_bytes=100))
    project.write("data", b"a" * 120)
    project.write("other", "1\n")

    def work() -> None:
        project.write("data", b"a" * 130)
        project.write("other", "2\n")

    turn = project.turn(work)
    plan = project.plan(turn)
    project.rewind(turn)

    assert (project.root / "data").read_bytes() == b"a" * 130
    assert (project.root / "other").read_text() == "1\n"
    assert plan.files is not None
    assert [one.path for one in plan.files.not_covered] == [b"data"]
    project.session.close()


def test_a_file_that_shrank_below_the_limit_is_never_removed(tmp_path: Path) -> None:
    project = Project(tmp_path, Limits(max_file_bytes=100))
    project.write("data", b"a" * 120)

    turn = project.turn(lambda: project.write("data", b"a" * 10))

    assert project.plan(turn).empty
    assert (project.root / "data").exists()
    project.session.close()


def test_a_folder_that_was_empty_before_stays_empty(project: Project) -> None:
    (project.root / "empty").mkdir()

    turn = project.turn(lambda: project.write("empty/x", "x\n"))
    project.rewind(turn)

    assert project.look().keys() == {b"empty"}


def test_only_the_named_paths_go_back(project: Project) -> None:
    project.write("a", "1\n")
    project.write("docs/b", "1\n")

    def work() -> None:
        project.write("a", "2\n")
        project.write("docs/b", "2\n")
        project.write("docs/new/c", "2\n")
        project.write("docsx", "2\n")

    turn = project.turn(work)
    project.rewind(turn, Mode.FILES, "docs/", str(project.root / "docs"))

    assert (project.root / "a").read_text() == "2\n"
    assert (project.root / "docs/b").read_text() == "1\n"
    assert not (project.root / "docs/new").exists()
    assert (project.root / "docsx").exists()


def test_a_named_file_takes_the_folders_it_needs(project: Project) -> None:
    project.write("d/in/x", "x\n")
    project.write("d/in/y", "y\n")

    turn = project.turn(lambda: shutil.rmtree(project.root / "d"))
    plan = project.plan(turn, Mode.FILES, "d/in/x")
    project.rewind(turn, Mode.FILES, "d/in/x")

    assert plan.files is not None
    assert [change.path for change in plan.files.changes] == [b"d", b"d/in", b"d/in/x"]
    assert project.look().keys() == {b"d", b"d/in", b"d/in/x"}


def test_a_named_new_file_takes_the_folders_that_it_leaves_empty(project: Project) -> None:
    turn = project.turn(lambda: project.write("new/deep/f", "f\n"))

    project.rewind(turn, Mode.FILES, "new/deep/f")

    assert project.look() == {}


def test_a_named_new_file_leaves_folders_that_hold_more(project: Project) -> None:
    def work() -> None:
        project.write("new/deep/f", "f\n")
        (project.root / "new/other").mkdir()

    turn = project.turn(work)
    project.rewind(turn, Mode.FILES, "new/deep/f")

    assert project.look().keys() == {b"new", b"new/other"}


def test_list_preview_and_result_count_the_same(project: Project) -> None:
    project.write("settings.json", "{}\n")

    def work() -> None:
        project.write("settings.json", "{1}\n")
        project.write("new/deep/f", "f\n")

    turn = project.turn(work)
    listed = project.rewinder().list_points()[0]
    plan = project.plan(turn)
    report = project.rewind(turn)

    assert plan.files is not None
    done = [change for change in plan.files.changes if change.path in report.done]
    assert listed.changed == counted(plan.files.changes) == counted(done) == 2


def test_points_take_back_exactly_their_own_turns(project: Project) -> None:
    project.turn(lambda: project.write("f", "v1\n"))
    project.turn(lambda: project.write("f", "v2\n"))

    project.rewind(2)
    assert (project.root / "f").read_text() == "v1\n"

    project.rewind(1)
    assert not (project.root / "f").exists()


def test_a_deleted_file_is_not_resurrected_by_a_later_point(project: Project) -> None:
    project.write("u", "u\n")
    project.turn((project.root / "u").unlink)
    project.turn(lambda: project.write("v", "v\n"))

    project.rewind(2)
    assert project.look() == {}

    project.rewind(1)
    assert project.look().keys() == {b"u"}


def test_a_folder_made_a_repository_later_is_never_removed(project: Project) -> None:
    project.write("d/f", "f\n")
    project.turn(lambda: project.write("a", "a\n"))
    project.turn(lambda: project.write("d/.git/HEAD", "ref: refs/heads/main\n"))
    project.turn(lambda: project.write("b", "b\n"))

    project.rewind(3)
    project.rewind(1)

    assert project.look().keys() == {b"d", b"d/f", b"d/.git", b"d/.git/HEAD"}


def test_an_undo_point_restores_the_state_before_the_rewind(project: Project) -> None:
    project.write("f", "1\n")
    turn = project.turn(lambda: project.write("f", "2\n"))
    project.write("mine", "m\n")
    before = project.look()

    report = project.rewind(turn)
    assert report.undo is not None
    project.rewind(report.undo)

    assert project.look() == before
