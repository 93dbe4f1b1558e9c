"""Rewinds that leave something, each held against what its preview showed."""

from __future__ import annotations

from collections.abc import Sequence

from keryx_py.rewind.plan import Way
from keryx_py.rewind.report import RewindReport
from keryx_py.session.archive import Mode
from tests.rewind.play import Project


def leave(
    project: Project,
    number: int,
    way: Way = Way.KEEP,
    mode: Mode = Mode.FILES,
    paths: Sequence[bytes] = (),
) -> RewindReport:
    """Preview, check that the preview changed nothing and that the effect is what it showed."""
    before = project.look()
    plan = project.rewinder().plan(number, mode, paths, way=way)
    assert project.look() == before
    assert plan.files is not None
    report = project.rewinder().apply(plan)
    after = project.look()
    moved = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert moved == set(report.done) == {change.path for change in plan.files.changes}
    assert project.rewinder().plan(number, Mode.FILES, paths, way=way).empty
    return report


def text(project: Project, path: str) -> str | None:
    """The content of *path*; None when it is not there."""
    where = project.root / path
    return where.read_text() if where.exists() else None
