"""A lease that goes while a turn runs: what follows is denied, and nothing more is written."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from keryx_py.session.sessions import Sessions
from tests.cases.conftest import Sit
from tests.cases.sitting import shell, write
from tests.cases.watching import look_at

WAYS = {
    "deleted": "rm {folder}/lease",
    "replaced": "rm {folder}/lease; touch {folder}/lease",
    "replaced by rename": "cp {folder}/lease {folder}/l; mv {folder}/l {folder}/lease",
    "its note too": "rm {folder}/lease*",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_turn_that_loses_the_lease_changes_and_writes_nothing_more(
    root: Path, tmp_path: Path, sit: Sit, way: str
) -> None:
    (root / "f").write_text("the person's\n")
    sitting = sit()
    sitting.play(write("e", "first turn\n"))
    folder, copy = sitting.project.session.folder, tmp_path / "copy"
    take = WAYS[way].format(folder=shlex.quote(str(folder)))

    said = sitting.play(
        (shell(f"{take}; cp -a {folder} {copy}"), write("f", "lost\n"), shell("echo lost > g")),
        "/rewind 1",
        "/rewind confirm",
        "/compact",
        "/checkpoint late",
        write("h", "lost\n"),
    )

    assert look_at(folder) == look_at(copy)
    assert sorted(path.name for path in root.iterdir()) == ["e", "f"]
    assert (root / "f").read_text() == "the person's\n"
    assert "no longer holds the session" in said
    assert "bug" not in said


def test_whoever_takes_the_session_over_goes_on_alone(root: Path, sit: Sit) -> None:
    """The first holder, back from a long sleep, adds no line to what the second writes."""
    sitting = sit()
    sitting.play(write("f", "1\n"))
    folder = sitting.project.session.folder
    (folder / "lease").unlink()

    with Sessions(sitting.data_dir, now=sitting.now).open(folder.name) as second:
        before = look_at(folder)
        said = sitting.play(write("f", "2\n"), "/rewind 1 both", "/rewind confirm")
        assert look_at(folder) == before
        second.check_lease()

    assert (root / "f").read_text() == "1\n"
    assert "no longer holds the session" in said
    assert "bug" not in said
