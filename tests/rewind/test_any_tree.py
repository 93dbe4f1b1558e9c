"""The promises on trees that nobody thought of, judged by a plain recursive look."""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keryx_py.rewind.rewinder import RefusedError
from keryx_py.snapshot.store import Limits
from tests.rewind.judging import check
from tests.rewind.play import Look, Project

PATHS = (
    "a",
    "b",
    "d",
    "d/a",
    "d/b",
    "d/e",
    "d/e/a",
    "d/e/b",
    "e",
    "e/a",
    os.fsdecode(b"\xff\n"),
    "sub/x",
    "sub/.git/HEAD",
)
RULES = ("a\n", "d/\n", "e\n", "*\n!b\n!d/\n", "/d/e/\n", "!a\n", "b\n!/d/b\n")

path = st.sampled_from(PATHS)
step = st.one_of(
    st.tuples(st.just("write"), path, st.sampled_from(("1\n", "2\r\n", "", "x" * 60))),
    st.tuples(st.just("remove"), path, st.just("")),
    st.tuples(st.just("mkdir"), path, st.just("")),
    st.tuples(
        st.just("link"), path, st.sampled_from(("a", "../outside", "../outside/x", "nowhere"))
    ),
    st.tuples(st.just("mode"), path, st.sampled_from(("600", "755", "555", "711"))),
    st.tuples(
        st.just("write"), st.sampled_from((".gitignore", "d/.gitignore")), st.sampled_from(RULES)
    ),
    st.tuples(st.just("remove"), st.just(".gitignore"), st.just("")),
    st.tuples(st.just("pipe"), path, st.just("")),
)
steps = st.lists(step, min_size=1, max_size=8)

counter = itertools.count()


def play(root: Path, script: list[tuple[str, str, str]]) -> None:
    for what, name, how in script:
        where = root / name
        if what == "mode":
            if where.exists() and not where.is_symlink():
                where.chmod(int(how, 8))
            continue
        _remove(where)
        if what == "remove":
            continue
        _make_way(root, where)
        match what:
            case "write":
                where.write_bytes(how.encode())
            case "mkdir":
                where.mkdir()
            case "link":
                where.symlink_to(how)
            case "pipe":
                os.mkfifo(where)


def _remove(where: Path) -> None:
    if where.is_dir() and not where.is_symlink():
        shutil.rmtree(where)
    elif os.path.lexists(where):
        where.unlink()


def _make_way(root: Path, where: Path) -> None:
    for folder in reversed(where.parents):
        if root in folder.parents and not (folder.is_dir() and not folder.is_symlink()):
            _remove(folder)
            folder.mkdir()


def play_whole(project: Project, scripts: list[list[tuple[str, str, str]]]) -> None:
    outside = project.base / "outside"
    outside.mkdir()
    (outside / "x").write_text("victim\n")
    looks: dict[int, Look] = {}
    for at, script in enumerate(scripts):
        if at % 2:
            looks[len(looks) + 1] = project.look()
            project.turn(lambda script=script: play(project.root, script))  # type: ignore[misc]
        else:
            play(project.root, script)
    for number in sorted(looks):
        now = project.look()
        plan = project.plan(number)
        if plan.empty:
            with pytest.raises(RefusedError):
                project.rewinder().apply(plan)
            continue
        report = project.rewinder().apply(plan)
        check(project.store, looks[number], now, project.look(), report)
        again = project.plan(number).files
        assert again is not None
        assert not {change.path for change in again.changes} & set(report.done)
        project.rewinder().apply(project.rewinder().plan_redo())
        assert project.look() == now  # R2: the undo point held it all
    assert (outside / "x").read_text() == "victim\n"  # R8
    assert os.listdir(outside) == ["x"]


scripts_of_a_session = st.lists(steps, min_size=2, max_size=5)


def play_in_a_new_project(tmp_path: Path, scripts: list[list[tuple[str, str, str]]]) -> None:
    base = tmp_path / str(next(counter))
    base.mkdir()
    project = Project(base, Limits(max_file_bytes=50))
    try:
        play_whole(project, scripts)
    finally:
        project.session.close()


@settings(max_examples=15)
@given(scripts=scripts_of_a_session)
def test_a_rewind_does_what_it_shows_and_loses_nothing(
    tmp_path: Path, scripts: list[list[tuple[str, str, str]]]
) -> None:
    play_in_a_new_project(tmp_path, scripts)


@pytest.mark.soak
@settings(max_examples=400)
@given(scripts=scripts_of_a_session)
def test_many_rewinds_do_what_they_show_and_lose_nothing(
    tmp_path: Path, scripts: list[list[tuple[str, str, str]]]
) -> None:
    play_in_a_new_project(tmp_path, scripts)
