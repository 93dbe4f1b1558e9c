"""Whatever turns and the person do: keep loses no byte of the person's, and only is undone."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keryx_py.rewind.plan import Way
from keryx_py.session.archive import Mode
from tests.rewind.play import Look, Project

PATHS = ("a", "b", "d/c", "d", "e/f/g", ".gitignore")
QUICK = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@st.composite
def change(draw: st.DrawFn) -> tuple[str, str, int]:
    """Something done to one path: what, where, and in which line."""
    path = draw(st.sampled_from(PATHS))
    acts = ("add", "drop", "line", "line", "remove", "mode", "binary", "move")
    return draw(st.sampled_from(acts)), path, draw(st.integers(0, 9))


EPISODES = st.lists(
    st.tuples(st.booleans(), st.lists(change(), min_size=1, max_size=4)), min_size=2, max_size=6
)


def act(root: Path, what: str, path: str, line: int, word: str) -> None:
    """Change *path* so that what is written can be told by *word*."""
    where = root / path
    stays = what in {"mode", "move"}
    if what == "remove" or (not stays and (where.is_dir() or not _may_stand(root, path))):
        _clear(root, path)
    if what == "remove":
        return
    if what == "move":
        _move(root, where, PATHS[line % len(PATHS)])
        return
    if what == "mode":
        if os.path.lexists(where):
            where.chmod(0o755 if line % 2 else 0o644 if where.is_file() else 0o700)
        return
    if path == ".gitignore":
        where.write_text("" if what == "drop" else PATHS[line % 4] + "\n")
        return
    where.parent.mkdir(parents=True, exist_ok=True)
    lines = where.read_text(errors="replace").splitlines() if where.is_file() else []
    match what:
        case "add":
            lines.append(word)
        case "drop":
            lines = lines[:-1]
        case "line" if lines:
            lines[line % len(lines)] = word
        case "binary":
            where.write_bytes(b"\0" + word.encode())
            return
    where.write_text("".join(f"{one}\n" for one in lines))


def _move(root: Path, where: Path, target: str) -> None:
    to = root / target
    if where.is_file() and not to.is_dir() and _may_stand(root, target) and where != to:
        to.parent.mkdir(parents=True, exist_ok=True)
        where.rename(to)


def _may_stand(root: Path, path: str) -> bool:
    parts = Path(path).parents
    return not any((root / part).is_file() for part in parts)


def _clear(root: Path, path: str) -> None:
    for part in [*reversed(Path(path).parents), Path(path)]:
        where = root / part
        if where.is_file() or where.is_symlink():
            where.unlink()
        elif where.is_dir() and part == Path(path):
            shutil.rmtree(where)


def play(project: Project, episodes: list[tuple[bool, list[tuple[str, str, int]]]]) -> set[str]:
    """Play *episodes* of turns and the person; return the words that only the person wrote."""
    words: set[str] = set()
    for number, (is_turn, changes) in enumerate(episodes):

        def work(
            changes: list[tuple[str, str, int]] = changes,
            who: str = f"{'turn' if is_turn else 'mine'}{number}",
        ) -> None:
            for at, (what, path, line) in enumerate(changes):
                act(project.root, what, path, line, f"{who}-{at}.")

        if is_turn:
            project.turn(work)
        else:
            work()
            words |= {f"mine{number}-{at}." for at in range(len(changes))}
    return words


def held(look: Look, words: set[str]) -> set[str]:
    """Those of *words* that stand in some file: a move that is taken back moves them."""
    return {word for _, _, data in look.values() for word in words if word in str(data)}


def prepared(base: str) -> Project:
    project = Project(Path(base))
    lines = "".join(f"line {number}\n" for number in range(10))
    for path in ("a", "b", "d/c"):
        project.write(path, lines)
    project.turn(lambda: project.write("z", "z\n"))
    return project


@QUICK
@given(EPISODES)
def test_keep_loses_no_byte_that_only_the_person_wrote(
    episodes: list[tuple[bool, list[tuple[str, str, int]]]],
) -> None:
    with tempfile.TemporaryDirectory() as base:
        project = prepared(base)
        try:
            words = play(project, episodes)
            before = project.look()
            plan = project.rewinder().plan(1, Mode.FILES, way=Way.KEEP)
            assert plan.files is not None

            report = project.rewinder().apply(plan)
            after = project.look()
            project.rewinder().apply(project.rewinder().plan_redo())

            assert not report.failed
            assert held(before, words) <= held(after, words)
            moved = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
            assert moved == {change.path for change in plan.files.changes}
            assert project.look() == before
        finally:
            project.session.close()


@QUICK
@given(EPISODES)
def test_only_then_redo_changes_nothing_and_nothing_of_others_is_lost(
    episodes: list[tuple[bool, list[tuple[str, str, int]]]],
) -> None:
    with tempfile.TemporaryDirectory() as base:
        project = prepared(base)
        try:
            words = play(project, [(True, [("line", "a", 3), ("line", "d/c", 5)]), *episodes])
            before = project.look()
            plan = project.rewinder().plan(2, Mode.FILES, way=Way.ONLY)
            assert plan.files is not None
            if plan.empty:
                return

            report = project.rewinder().apply(plan)
            after = project.look()
            project.rewinder().apply(project.rewinder().plan_redo())

            assert not report.failed
            assert held(before, words) <= held(after, words)
            moved = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
            assert moved == {change.path for change in plan.files.changes}
            assert project.look() == before
        finally:
            project.session.close()
