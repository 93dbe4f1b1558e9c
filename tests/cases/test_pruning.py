"""Old snapshots go in order, the ones in use never, and what went is shown as gone."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from keryx_py.session.archive import live_turns
from tests.cases.as_user import as_user
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, Step, read, shell, write
from tests.cases.watching import look_at, shadow_git


def kept(sitting: Sitting) -> list[int]:
    """The points that git finds a snapshot of."""
    listed = shadow_git(sitting, "for-each-ref", "--format=%(refname)").decode().split()
    return sorted({int(name.split("/")[2]) for name in listed})


def turns(*numbers: int) -> list[Step]:
    return [write("f", f"{number}\n") for number in numbers]


# ---- what is in use stays


def test_a_rewind_to_the_oldest_point_works_at_the_limit(root: Path, sit: Sit) -> None:
    """GC-01: its undo point is one too many, and another than the point it uses goes."""
    sitting = sit(settings={"keep": 5})
    sitting.play(*turns(1, 2, 3, 4, 5))

    said = sitting.rewind(1)

    assert not (root / "f").exists()
    assert "undo point 6" in said
    assert kept(sitting) == [1, 3, 4, 5, 6]
    sitting.play("/redo")
    assert (root / "f").read_text() == "5\n"


def test_rewinds_to_and_fro_never_lose_what_they_stand_on(root: Path, sit: Sit) -> None:
    """GC-01: with room for one alone, a rewind and its redo still find what they need."""
    sitting = sit(settings={"keep": 1})
    sitting.play(*turns(1, 2))

    for _ in range(3):
        sitting.rewind(2)
        assert (root / "f").read_text() == "1\n"
        sitting.play("/redo", "/rewind confirm")
        assert (root / "f").read_text() == "2\n"


def test_the_next_turn_s_snapshot_frees_what_a_rewind_held(root: Path, sit: Sit) -> None:
    """GC-01: protection lasts until then, not for ever."""
    sitting = sit(settings={"keep": 2})
    sitting.play(*turns(1, 2, 3))
    sitting.rewind(2)

    sitting.play(*turns(5, 6, 7))

    assert kept(sitting) == [6, 7]


def test_an_end_goes_with_its_turn(root: Path, sit: Sit) -> None:
    """GC-01: no end outlives its snapshot, and none is missing from one that is kept."""
    sitting = sit(settings={"keep": 2})

    sitting.play(*turns(1, 2, 3, 4))

    names = shadow_git(sitting, "for-each-ref", "--format=%(refname)").decode().split()
    assert sorted(name.removeprefix("refs/keryx/") for name in names) == [
        "3/before",
        "3/end",
        "4/before",
        "4/end",
    ]


def test_turns_that_only_read_do_not_count(root: Path, sit: Sit) -> None:
    """GC-01: the limit is one of snapshots, not of turns."""
    (root / "f").write_text("0\n")
    sitting = sit(settings={"keep": 2})

    sitting.play(write("f", "1\n"), read("f"), read("f"), read("f"), write("f", "5\n"))

    assert kept(sitting) == [1, 5]
    sitting.rewind(3)
    assert (root / "f").read_text() == "1\n"


def test_a_named_checkpoint_is_neither_counted_nor_pruned(root: Path, sit: Sit) -> None:
    """GC-01: it stays for as long as the session does; one without a name is like a turn."""
    sitting = sit(settings={"keep": 2})
    sitting.play(write("f", "1\n"), "/checkpoint good", "/checkpoint", *turns(4, 5, 6))

    listed = sitting.play("/rewind")
    sitting.rewind(2)

    assert kept(sitting)[0] == 2
    assert 3 not in kept(sitting)
    assert "snapshots  on, 2/2 kept" in listed
    assert (root / "f").read_text() == "1\n"


# ---- what is gone


@pytest.mark.parametrize("objects", [False, True])
def test_a_snapshot_that_someone_removed_is_shown_as_missing(
    root: Path, sit: Sit, objects: bool
) -> None:
    """GC-03: the others still work, also across a new turn."""
    sitting = sit()
    sitting.play(*turns(1, 2))
    for side in ("before", "end"):
        shadow_git(sitting, "update-ref", "-d", f"refs/keryx/1/{side}")
    if objects:
        shadow_git(sitting, "repack", "-a", "-d", "-q")
        shadow_git(sitting, "prune", "--expire=now")
    sitting.resume()

    said = sitting.play(*turns(3), "/rewind", "/rewind 1", "/rewind 1 both", "/rewind confirm")

    rows = {line[:1]: line for line in said.splitlines() if line[:1].isdigit()}
    assert "history only: its snapshot is missing" in rows["1"]
    assert "1 file" in rows["2"]
    assert "the files before point 1 cannot be restored (its snapshot is missing)" in said
    assert "nothing to confirm" in said
    sitting.rewind(2)
    assert (root / "f").read_text() == "1\n"
    sitting.play("/redo")
    assert (root / "f").read_text() == "3\n"


def test_a_shadow_repository_that_is_gone_costs_the_files_and_nothing_else(
    root: Path, sit: Sit
) -> None:
    """GC-03: the history is all there, and the next turn is saved in a new one."""
    sitting = sit()
    sitting.play(*turns(1, 2))
    shutil.rmtree(sitting.project.session.folder / "shadow.git")
    sitting.resume()

    said = sitting.play(*turns(3), "/rewind")
    sitting.rewind(3)

    assert said.count("history only: its snapshot is missing") == 2
    assert (root / "f").read_text() == "2\n"
    assert "history: 3 turns went" in sitting.rewind(1, "history")


def test_a_store_that_fails_for_the_newest_keeps_the_complete_one(place: Path) -> None:
    """GC-05: with room for one, what could not be stored pushes nothing out."""

    def act() -> None:
        root = place / "P"
        root.mkdir()
        sitting = Sitting(root, place / "data", settings={"keep": 1})
        sitting.play(*turns(1))
        packs = sitting.project.session.folder / "shadow.git" / "objects" / "pack"
        packs.chmod(0o500)
        said = sitting.play(*turns(2))
        packs.chmod(0o700)

        assert "the call is denied" in said
        assert kept(sitting) == [1]
        sitting.rewind(1)
        assert look_at(root) == {}

    as_user(place, act)


# ---- what is shown of it


def test_pruned_turns_fold_into_one_line_and_keep_their_history(root: Path, sit: Sit) -> None:
    """GC-07: they are named as gone, never missing without a word; history can still be cut."""
    sitting = sit(settings={"keep": 2})
    sitting.play(*turns(*range(1, 8)))
    sitting.resume()

    listed = sitting.play("/rewind")
    refused = sitting.play("/rewind 3", "/rewind 3 both", "/rewind confirm")
    before = (root / "f").read_text()
    cut = sitting.rewind(3, "history")

    assert "turns 1 to 5: files pruned, history only" in listed
    assert [line[:2] for line in listed.splitlines() if line[:1].isdigit()] == ["7 ", "6 "]
    assert refused.count("the files before point 3 cannot be restored (pruned)") == 2
    assert refused.count("use /rewind 3 history") == 2
    assert (root / "f").read_text() == before == "7\n"
    assert "history: 5 turns went" in cut
    assert live_turns(sitting.project.session.entries) == (1, 2)


def test_a_turn_whose_files_were_those_of_a_pruned_one_says_so(root: Path, sit: Sit) -> None:
    """GC-07: no later state ever stands in for a turn that only read."""
    sitting = sit(settings={"keep": 2})
    sitting.play(read("f"), *turns(2, 3, 4))

    said = sitting.play("/rewind", "/rewind 1", "/rewind confirm")

    assert "turns 1, 2: files pruned, history only" in said
    assert "cannot be restored (pruned, point 2)" in said
    assert (root / "f").read_text() == "4\n"


def test_snapshots_switched_off_prune_nothing(root: Path, sit: Sit) -> None:
    """GC-07: what was saved before stays while they are off, and turns meanwhile say why not."""
    sitting = sit(settings={"keep": 2})
    sitting.play(*turns(1, 2))
    on = sitting.settings
    sitting.settings = replace(on, snapshots=False, off_because="KERYX_REWIND=off", keep=1)
    sitting.resume().play(*turns(3, 4))
    sitting.settings = on

    listed = sitting.resume().play("/rewind")

    assert kept(sitting) == [1, 2]
    assert listed.count("history only: off") == 2
    sitting.rewind(2)
    assert (root / "f").read_text() == "1\n"


def test_a_lower_limit_takes_effect_at_the_next_snapshot(root: Path, sit: Sit) -> None:
    """GC-07: a session from before the setting was changed is pruned like any other."""
    sitting = sit()
    sitting.play(*turns(1, 2, 3, 4))
    sitting.settings = replace(sitting.settings, keep=2)

    sitting.resume().play(shell("echo 5 > f"))

    assert kept(sitting) == [4, 5]
