"""Whole sessions on hostile trees, with the kernel as witness of what was never so much as opened.

Looking for what changed is not enough here: what is opened and read leaves no trace in the files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from keryx_py.messages import ToolCall
from tests.cases.children import elsewhere, keryx_at
from tests.cases.conftest import Sit
from tests.cases.sitting import Step, call, edit, read, shell, write
from tests.cases.watching import look_at, make_repository
from tests.cases.witness import Witness, nothing_touches

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells who opens what"
)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the project that has names in common with it."""
    folder = tmp_path / "O"
    (folder / "deep").mkdir(parents=True)
    for name in ("x", "f", ".gitignore", "deep/x"):
        (folder / name).write_text("outside\n")
    return folder


@pytest.fixture
def repositories(root: Path, tmp_path: Path) -> tuple[Path, ...]:
    """Make the project a repository with others in it; give each `.git`, folder or file."""
    (root / "f").write_text("committed\n")
    make_repository(root)
    make_repository(root / "nested")
    (root / "nested" / "f").write_text("old\n")
    make_repository(tmp_path / "elsewhere")
    (root / "sub").mkdir()
    (root / "sub" / "f").write_text("old\n")
    # A submodule's, or a linked worktree's.
    (root / "sub" / ".git").write_text(f"gitdir: {tmp_path / 'elsewhere' / '.git'}\n")
    (root / "led").mkdir()
    (root / "led" / "f").write_text("old\n")
    (root / "led" / ".git").symlink_to(tmp_path / "elsewhere" / ".git")
    return (
        root / ".git",
        root / "nested" / ".git",
        root / "sub" / ".git",
        tmp_path / "elsewhere",
    )


@pytest.fixture
def linked(root: Path, outside: Path) -> None:
    """Fill the project with every kind of link that leads out."""
    (root / "mine").mkdir()
    (root / "mine" / "x").write_text("mine\n")
    (root / "mine" / "f").write_text("mine\n")
    (root / "file").write_text("mine\n")
    (root / "to-folder").symlink_to(outside)
    (root / "to-file").symlink_to(outside / "x")
    (root / "by-dots").symlink_to("../O/deep")
    (root / "twice").symlink_to("to-folder/deep")
    (root / "rules").mkdir()
    (root / "rules" / ".gitignore").symlink_to(outside / ".gitignore")


def everything(number: int) -> tuple[Step, ...]:
    """Every command that looks at files or moves them, back to the point *number* and again."""
    return (
        "/rewind",
        f"/diff {number}",
        f"/rewind {number} both diff",
        "/rewind confirm",
        "/redo",
        "/rewind confirm",
        f"/rewind {number} files",
        "/rewind confirm",
        "/redo",
        "/rewind confirm",
        "/checkpoint",
        "/undo",
        "/rewind confirm",
        "/fork",
        "/compact",
        "/status",
    )


LOOKING = (
    call("list_dir", path="."),
    call("find_files", pattern="**/*"),
    call("search_text", pattern="committed|outside|core"),
    read("f"),
)


def test_the_witness_sees_whoever_opens_or_changes_something(
    repositories: tuple[Path, ...],
) -> None:
    """Without this, the silence of the tests below would say nothing."""
    git_folder, _, git_file, _ = repositories
    witness = Witness((git_folder, git_file))

    (git_folder / "HEAD").read_bytes()
    assert f"{git_folder}/HEAD was opened" in witness.seen()
    git_file.read_bytes()
    assert f"{git_file} was opened" in witness.seen()
    os.listdir(git_folder / "refs")
    assert f"{git_folder / 'refs'} was opened" in witness.seen()
    (git_folder / "refs" / "x").write_text("")
    assert f"{git_folder / 'refs' / 'x'} was made" in witness.seen()

    witness.close()


def test_no_repository_of_the_person_s_is_opened_in_a_whole_session(
    root: Path, sit: Sit, repositories: tuple[Path, ...]
) -> None:
    """R4: a folder, a file, or a link; the project's own, a nested one's, a submodule's."""
    before = [look_at(place) for place in repositories]

    with nothing_touches(*repositories):
        sitting = sit()
        sitting.play(
            (
                *LOOKING,
                edit("f", "committed", "turn"),
                write("nested/f", "turn"),
                write("new", "x"),
            ),
            shell("echo more > sub/f; echo more > led/f; mkdir made"),
            (read(".git/config"), write(".git/config", "x"), write("sub/.git", "x")),
            *everything(1),
            *everything(2),
        )
        sitting.resume().play("/rewind", "/rewind 1 both", "/rewind confirm")

    assert [look_at(place) for place in repositories] == before
    assert (root / "nested" / "f").read_text() == "old\n"
    assert (root / "led" / ".git").is_symlink()


def test_repositories_that_the_turn_swaps_are_not_opened_either(
    root: Path, sit: Sit, repositories: tuple[Path, ...]
) -> None:
    """R4: where it takes a folder away that holds one, or puts one where a file stood."""
    own, _, _, elsewhere = repositories
    with nothing_touches(own, elsewhere):
        sitting = sit()
        sitting.play(
            shell("mv sub led; rm nested/f; mkdir f2; ln -s ../.git f2/.git; ln -s .git g"),
            *everything(1),
        )
        sitting.play("/rewind 1 files", "/rewind confirm")

    assert (root / "sub" / "f").read_text() == "old\n"


def test_a_session_of_its_own_process_opens_no_repository(
    root: Path, tmp_path: Path, repositories: tuple[Path, ...]
) -> None:
    """R4: from the search for the root on, by the command line."""
    prompt = 'create new.txt with "x" then replace "committed" with "turn" in f'
    (root / "sub" / "in").mkdir()

    def run(*words: str, typed: str = "") -> str:
        line, environment = keryx_at(root, tmp_path / "data", *words)
        return subprocess.run(
            line[: line.index("--root")],
            cwd=root / "mine",
            env=environment,
            input=typed,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    (root / "mine").mkdir()
    with nothing_touches(*repositories):
        run("--approve", "write", typed=f"{prompt}\n/rewind\n/rewind 1 both\n/rewind confirm\n")
        run("rewind", "list")
        run("rewind", "redo", "--yes")
        done = run("rewind", "apply", "1", "--yes")

    assert "new.txt" in done
    assert (root / "f").read_text() == "committed\n"


@pytest.mark.usefixtures("linked")
def test_nothing_behind_a_link_is_opened_in_a_whole_session(
    root: Path, outside: Path, sit: Sit
) -> None:
    """R8: links to folders and files, by dots, through another link, and one for rules."""
    before = look_at(root)

    with nothing_touches(outside):
        sitting = sit()
        sitting.play(
            (*LOOKING, read("to-file"), read("to-folder/x"), write("to-folder/x", "turn")),
            (edit("to-file", "outside", "turn"), call("list_dir", path="to-folder")),
            shell("rm to-folder to-file by-dots; mkdir to-folder; echo n > to-folder/x"),
            *everything(1),
            *everything(3),
            "/rewind 1 files",
            "/rewind confirm",
        )

    assert look_at(root) == before


@pytest.mark.usefixtures("linked")
def test_nothing_behind_a_link_that_the_turn_made_is_opened(
    root: Path, outside: Path, sit: Sit
) -> None:
    """R8: a folder and a file swapped for links out, and one to all that is above."""
    before = look_at(root)

    with nothing_touches(outside):
        sitting = sit()
        sitting.play(
            shell("rm -r mine file; ln -s ../O mine; ln -s ../O/x file; ln -s .. up"),
            *everything(1),
            "/rewind 1 files mine/x",
            "/rewind confirm",
            "/rewind 1 files mine file up",
            "/rewind confirm",
        )

    assert look_at(root) == before


@pytest.mark.usefixtures("linked")
@pytest.mark.parametrize("when", ["before the preview", "before the confirm"])
def test_nothing_behind_a_link_that_comes_at_any_time_is_opened(
    root: Path, outside: Path, sit: Sit, when: str
) -> None:
    """R8: the person, or another program, swaps a folder for a link while a rewind is under way."""

    def swap() -> None:
        if not (root / "mine").is_symlink():
            shutil.rmtree(root / "mine")
            (root / "mine").symlink_to(outside)

    with nothing_touches(outside):
        sitting = sit()
        sitting.play(shell("echo turn > mine/x; echo new > mine/new; rm mine/f"))
        steps: tuple[Step, ...] = ("/rewind 1 files", swap, "/rewind confirm", "/rewind confirm")
        sitting.play(*((swap, *steps) if when == "before the preview" else steps))

    assert look_at(root / "mine") == {
        "f": ("file", 0o644, b"mine\n"),
        "x": ("file", 0o644, b"mine\n"),
    }


def swap_when_opened(name: str, at: int, swap: Callable[[], object]) -> None:
    """Have this process do *swap* right before it opens *name* for the time number *at*.

    It cannot be taken back, so only a child may ask for it.
    """
    left = at

    def count(event: str, args: tuple[object, ...]) -> None:
        nonlocal left
        opened = args[0] if event == "open" and isinstance(args[0], str | bytes) else b""
        if os.fsencode(opened).rpartition(b"/")[2] == os.fsencode(name):
            left -= 1
            if left == 0:
                swap()

    sys.addaudithook(count)


@pytest.mark.usefixtures("linked")
@pytest.mark.parametrize("tried", [read("file"), edit("file", "mine", "turn")])
def test_nothing_behind_a_link_that_comes_just_before_a_tool_opens_it_is_opened(
    root: Path, outside: Path, sit: Sit, tried: ToolCall
) -> None:
    """R8: after the tool has judged the path."""
    sitting = sit()

    def swap() -> None:
        (root / "file").unlink()
        (root / "file").symlink_to(outside / "x")

    def act() -> None:
        swap_when_opened("file", 1, swap)
        sitting.play(tried)

    with nothing_touches(outside):
        elsewhere(sitting, act)

    assert (root / "file").is_symlink()


def swapped_in_between(root: Path, outside: Path, sit: Sit, name: str, times: range) -> int:
    """Swap *name* for a link at each of *times* that it is opened; return how often it was."""
    sitting = sit()
    sitting.play(shell("echo turn > mine/x; rm mine/f; echo turn > file"))
    targets = {"mine": outside, "file": outside / "x"}
    swaps = 0
    for at in times:
        for path in (root / "mine", root / "file"):
            if path.is_symlink() or not path.is_dir():
                path.unlink(missing_ok=True)
            else:
                shutil.rmtree(path)
        (root / "mine").mkdir()
        (root / "mine" / "x").write_text(f"turn {at}\n")
        (root / "file").write_text(f"turn {at}\n")
        away = root.parent / f"away-{at}"

        def swap(away: Path = away) -> None:
            (root / name).rename(away)
            (root / name).symlink_to(targets[name])

        def act(at: int = at, swap: Callable[[], None] = swap) -> None:
            swap_when_opened(name, at, swap)
            sitting.play("/rewind 1 files", "/rewind confirm", write("other", f"{at}"))

        elsewhere(sitting, act)
        swaps += away.exists()
    return swaps


@pytest.mark.usefixtures("linked")
@pytest.mark.parametrize("name", ["mine", "file"])
def test_nothing_behind_a_link_that_comes_just_before_an_opening_is_opened(
    root: Path, outside: Path, sit: Sit, name: str
) -> None:
    """R8: between looking at a name and opening it, in snapshots, previews and restores."""
    with nothing_touches(outside):
        assert swapped_in_between(root, outside, sit, name, range(1, 17, 3)) > 1


@pytest.mark.soak
@pytest.mark.usefixtures("linked")
@pytest.mark.parametrize("name", ["mine", "file"])
def test_nothing_behind_a_link_that_comes_before_any_opening_is_opened(
    root: Path, outside: Path, sit: Sit, name: str
) -> None:
    """R8: the same at every opening that there is."""
    with nothing_touches(outside):
        swapped_in_between(root, outside, sit, name, range(1, 60))
