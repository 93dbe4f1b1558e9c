"""Files above the limit are kept, named, and never half-restored."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cases.conftest import Sit
from tests.cases.sitting import call, edit, shell, write
from tests.cases.watching import captured, held, look_at, make_repository

MB = 2**20
LIMIT = 5 * MB
TOO_LARGE = "larger than 5 MB)"


def test_a_large_file_that_the_turn_appends_to_is_kept_and_named(root: Path, sit: Sit) -> None:
    """BIG-01: it was not saved, so it is not touched; preview and result say so."""
    content = os.urandom(6 * MB)
    (root / "data.bin").write_bytes(content)
    sitting = sit()

    sitting.play(shell("echo x >> data.bin; echo y > other"))
    said = sitting.rewind(1)

    assert (root / "data.bin").read_bytes() == content + b"x\n"
    assert not (root / "other").exists()
    assert said.count(f"  data.bin ({TOO_LARGE}\n") == 2
    assert captured(sitting, 1) == {}


def test_a_file_that_grows_past_the_limit_comes_back_small(root: Path, sit: Sit) -> None:
    """BIG-01: the snapshot holds what it was, and the undo point what it is, whatever the limit."""
    old = os.urandom(4 * MB)
    (root / "data.bin").write_bytes(old)
    sitting = sit()
    sitting.play(shell(f"head -c {2 * MB} /dev/urandom >> data.bin"))
    grown = (root / "data.bin").read_bytes()

    sitting.rewind(1)
    back = (root / "data.bin").read_bytes()
    kept = held(sitting, 2, "data.bin")
    sitting.play("/redo", "/rewind confirm")

    assert back == old
    assert kept == grown
    assert (root / "data.bin").read_bytes() == grown


def test_a_file_that_has_grown_past_the_limit_since_a_rewind_stays_when_that_is_taken_back(
    root: Path, sit: Sit
) -> None:
    """BIG-01: the rewind brought it back small, the person made it large."""
    (root / "data.bin").write_bytes(bytes(4 * MB))
    sitting = sit()
    sitting.play(shell("rm data.bin; echo x > other"))
    sitting.rewind(1)
    (root / "data.bin").write_bytes(bytes(6 * MB))

    said = sitting.play("/redo", "/rewind confirm")

    assert (root / "data.bin").stat().st_size == 6 * MB
    assert (root / "other").read_text() == "x\n"
    assert f"data.bin ({TOO_LARGE}" in said


def test_a_file_that_shrinks_below_the_limit_stays_as_it_is(root: Path, sit: Sit) -> None:
    """BIG-01: what it was is not known, so what it is stays, and both are said."""
    (root / "data.bin").write_bytes(bytes(6 * MB))
    sitting = sit()
    sitting.play(shell("echo small > data.bin; echo x > other"))

    said = sitting.rewind(1)

    assert look_at(root) == {"data.bin": ("file", 0o644, b"small\n")}
    assert f"{TOO_LARGE}" in said


def test_a_large_file_that_the_turn_removes_is_named_as_not_covered(root: Path, sit: Sit) -> None:
    """BIG-01: a rewind cannot bring it back, and the preview says so."""
    (root / "data.bin").write_bytes(bytes(6 * MB))
    sitting = sit()
    sitting.play(shell("rm data.bin; echo x > other"))

    said = sitting.rewind(1)

    assert look_at(root) == {}
    assert f"{TOO_LARGE}" in said


@pytest.mark.parametrize(("size", "is_held"), [(LIMIT, True), (LIMIT + 1, False)])
def test_the_limit_itself_is_held(root: Path, sit: Sit, size: int, is_held: bool) -> None:
    """BIG-01: a file of exactly 5 × 2^20 bytes is kept, one byte more is not."""
    (root / "data.bin").write_bytes(bytes(size))
    sitting = sit()
    sitting.play(shell("rm data.bin"))

    sitting.rewind(1)

    assert (root / "data.bin").exists() is is_held


@pytest.mark.parametrize(
    "calls",
    [
        write("data.bin", "small\n"),
        write("new.bin", "x" * (LIMIT + 1)),
        edit("data.bin", "needle", "thread"),
        call("move_file", source="data.bin", target="moved.bin"),
        call("delete_file", path="data.bin"),
    ],
)
def test_a_file_tool_says_that_a_rewind_will_not_cover_its_target(
    root: Path, sit: Sit, calls: object
) -> None:
    """BIG-01: at the call already, and again in the preview."""
    (root / "data.bin").write_bytes(b"needle" + b" " * (6 * MB))
    sitting = sit()

    said = sitting.play(calls)  # type: ignore[arg-type]
    preview = sitting.play("/rewind 1")

    assert "a rewind will not cover it: it is larger than 5 MB" in said
    assert TOO_LARGE in preview


def test_the_limit_is_a_setting(root: Path, sit: Sit) -> None:
    """BIG-01: raised, the file is saved like any other; lowered, it is named."""
    (root / "data.bin").write_bytes(bytes(6 * MB))
    raised = sit(settings={"max_file_mb": 7.0})
    raised.play(shell("rm data.bin"))
    raised.rewind(1)
    back = (root / "data.bin").stat().st_size
    raised.close()
    (root / "data.bin").write_bytes(bytes(2000))
    lowered = sit(settings={"max_file_mb": 0.001})

    said = lowered.play(write("a", "1"), "/rewind 1")

    assert back == 6 * MB
    assert "data.bin (larger than 1048 bytes)" in said


def test_a_large_file_of_the_repository_is_treated_like_any_other(root: Path, sit: Sit) -> None:
    """BIG-03: that git holds it changes nothing, and git's own folder is not asked."""
    content = os.urandom(6 * MB)
    (root / "asset.bin").write_bytes(content)
    make_repository(root)
    repository = look_at(root / ".git")
    sitting = sit()
    sitting.play(shell("echo x >> asset.bin; echo y > other"))

    said = sitting.rewind(1, "both")

    assert (root / "asset.bin").read_bytes() == content + b"x\n"
    assert not (root / "other").exists()
    assert f"{TOO_LARGE}" in said
    assert look_at(root / ".git") == repository


def test_many_large_files_are_counted_past_twelve(root: Path, sit: Sit) -> None:
    """BIG-03: a folder full of them does not drown the preview."""
    for n in range(20):
        with (root / f"{n:02}.bin").open("wb") as file:
            file.truncate(6 * MB)
    sitting = sit()

    said = sitting.play(write("a", "1"), "/rewind 1")

    assert said.count(TOO_LARGE) == 12
    assert "… and 8 more" in said
