"""Many at once, dead owners, full disks, damage: what is said is true, what is kept is whole."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from keryx_py.session.archive import live_turns
from tests.cases.as_user import as_user
from tests.cases.children import Child, elsewhere, keryx_at, no_file_beyond, signal_at
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, edit, shell, write
from tests.cases.watching import captured, git, held, look_at, shadow_git


def play_turns(root: Path, data: Path, name: str, turns: int) -> None:
    """Sit down in a process of its own, and let each turn change a file of this session's."""
    sitting = Sitting(root, data)
    for n in range(1, turns + 1):
        said = sitting.play(write(f"{name}", f"{n}\n"))
        assert "failed" not in said, said
    sitting.close()


def check_sessions(root: Path, data: Path, sessions: int, turns: int) -> None:
    """Hold every session's snapshots against what git says of them."""
    folders = list((data / "sessions").iterdir())
    assert len(folders) == sessions
    for folder in folders:
        shadow = f"--git-dir={folder / 'shadow.git'}"
        assert git(root, shadow, "fsck", "--strict", "--no-dangling") == b""
        listed = git(root, shadow, "for-each-ref", "--format=%(refname)").decode().split()
        assert len(listed) == 2 * turns


def together(root: Path, data: Path, sessions: int, turns: int) -> None:
    children = [
        Child(lambda name=name: play_turns(root, data, f"s{name}", turns))  # type: ignore[misc]
        for name in range(sessions)
    ]
    assert [child.wait() for child in children] == [0] * sessions
    check_sessions(root, data, sessions, turns)


def test_sessions_on_one_project_do_not_disturb_each_other(root: Path, tmp_path: Path) -> None:
    """LOCK-01: each has its own shadow repository, and every snapshot is whole."""
    for n in range(50):
        (root / f"f{n}").write_text(f"{n}\n")

    together(root, tmp_path / "data", sessions=4, turns=3)


@pytest.mark.soak
def test_eight_sessions_on_one_project_do_not_disturb_each_other(
    root: Path, tmp_path: Path
) -> None:
    """LOCK-01: eight of them, eight turns each."""
    for n in range(300):
        (root / f"f{n}").write_text(f"{n}\n")

    together(root, tmp_path / "data", sessions=8, turns=8)


def test_what_a_killed_owner_locked_is_free_again(root: Path, tmp_path: Path, sit: Sit) -> None:
    """LOCK-01: its lease ends with it; its locks and half-written packs are cleared."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play(edit("f", "old", "new"))
    folder = sitting.project.session.folder
    sitting.close()
    ready = tmp_path / "ready"

    def hold() -> None:
        sitting.resume()
        (folder / "shadow.git" / "refs" / "keryx" / "1" / "end.lock").write_text("")
        (folder / "shadow.git" / "HEAD.lock").write_text("")
        (folder / "shadow.git" / "objects" / "pack" / "tmp_pack_x").write_bytes(b"half")
        ready.touch()
        time.sleep(60)

    child = Child(hold)
    while not ready.exists():
        time.sleep(0.01)
    child.kill()
    sitting.resume()

    assert not [path for path in folder.rglob("*") if path.name.endswith(".lock")]
    assert not list(folder.rglob("tmp_*"))
    sitting.play(write("g", "1"))
    sitting.rewind(1)
    assert look_at(root) == {"f": ("file", 0o644, b"old\n")}


@pytest.mark.parametrize("left", ["tmp_pack_x", f"pack-{'a' * 40}.pack"])
def test_what_a_killed_session_left_half_made_is_cleared_by_the_next_one_to_start(
    root: Path, sit: Sit, left: str
) -> None:
    """A first snapshot may be big, and nobody may ever open that session again."""
    dead, living = sit(), sit()
    for sitting in (dead, living):
        sitting.play(write("f", "1"))
    packs = [
        sitting.project.session.folder / "shadow.git" / "objects" / "pack"
        for sitting in (dead, living)
    ]
    dead.close()
    before = [sorted(folder.iterdir()) for folder in packs]
    for folder in packs:
        (folder / left).write_bytes(b"half")

    sit()

    assert sorted(packs[0].iterdir()) == before[0]
    assert (packs[1] / left).exists()
    (packs[1] / left).unlink()


def test_without_its_lease_every_rewind_and_compaction_is_refused(root: Path, sit: Sit) -> None:
    """LOCK-01: not only what writes, since what is shown may be another process's by now."""
    sitting = sit()
    sitting.play(write("a", "1"), write("a", "2"))
    for path in sitting.project.session.folder.glob("*lease*"):
        path.unlink()

    lines = ("/rewind", "/rewind 1", "/undo", "/redo", "/compact")
    said = [sitting.play(line) for line in lines]

    assert ["no longer holds the session" in words for words in said] == [True] * len(lines)
    assert not [words for words in said if "turn 1" in words]
    assert (root / "a").read_text() == "2"


def test_a_session_that_is_open_elsewhere_is_refused_and_named(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """LOCK-01: with nobody to ask, a second keryx exits 1, says who holds it, and does nothing."""
    sitting = sit()
    sitting.play(write("a", "1"))
    before = look_at(sitting.project.session.folder)
    command, environment = keryx_at(root, tmp_path / "data", "-r", sitting.project.session.id)

    ran = subprocess.run(
        command[:-2],
        env=environment,
        input="/rewind\n",
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 1
    assert f"process {os.getpid()}" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert look_at(sitting.project.session.folder) == before


# ---- another session's changes


def test_another_session_s_earlier_change_is_left_alone(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """LOCK-03: what stood there before this session's turn is part of what it goes back to."""
    first, second = sit(), sit()
    first.play(write("a1", "a"))
    second.play(write("b1", "b"))

    said = second.rewind(1)

    assert look_at(root).keys() == {"a1"}
    assert "a1" not in said


def test_another_session_s_later_change_is_never_called_this_turn_s(root: Path, sit: Sit) -> None:
    """LOCK-03: it is shown as another's, waits for a confirm, and the undo point holds it."""
    first, second = sit(), sit()
    second.play(write("b1", "b"))
    first.play(write("a1", "a"))

    undone = second.play("/undo")
    waiting = look_at(root).keys()
    said = second.rewind(1)

    whose = f"session {first.project.session.id} (turn 1)"
    assert f"  removed       a1  +0 -1     {whose}\n" in undone
    assert "an edit of another session would go, in 1 path" in undone
    assert waiting == {"a1", "b1"}
    assert look_at(root) == {}
    assert held(second, 2, "a1") == b"a"
    assert "  removed       b1  +0 -1     turn 1\n" in said
    second.play("/redo", "/rewind confirm")
    assert look_at(root).keys() == {"a1", "b1"}


def test_a_rewind_of_named_paths_leaves_the_other_session_s_work(root: Path, sit: Sit) -> None:
    """LOCK-03: the way on for who wants only this session's own change back."""
    first, second = sit(), sit()
    second.play(write("b1", "b"))
    first.play(write("a1", "a"))

    second.rewind(1, "files", "b1")

    assert look_at(root).keys() == {"a1"}


def test_a_session_at_work_can_be_looked_at_meanwhile(root: Path, tmp_path: Path, sit: Sit) -> None:
    """LOCK-03: previews name its turns as they end, and neither of the two disturbs the other."""
    mine = sit()
    mine.play(write("m", "1"))

    def work() -> None:
        theirs = Sitting(root, tmp_path / "data", now=mine.now)
        for n in range(1, 7):
            theirs.play(write("t", f"{n}\n"))
        theirs.close()

    child = Child(work)
    said = [mine.play("/rewind 1") for _ in range(25)]
    child.wait()
    said.append(mine.play("/rewind 1"))

    assert not [text for text in said if "bug" in text or "confirm applies" not in text]
    line = next(line for line in said[-1].splitlines() if " t " in line)
    named = re.findall(r"session \S+ \(turn (\d)\)", line)
    assert named == ["1", "2", "3", "4", "5", "6"]


# ---- a restore that cannot be carried out whole


def test_a_folder_made_read_only_since_is_opened_for_the_restore(place: Path) -> None:
    """LOCK-05: and has its mode back afterwards."""

    def act() -> None:
        root = place / "P"
        (root / "ro").mkdir(parents=True)
        (root / "ro" / "f").write_text("old\n")
        sitting = Sitting(root, place / "data")
        sitting.play((write("n", "1"), edit("ro/f", "old", "new")))
        (root / "ro" / "f").chmod(0o444)
        (root / "ro").chmod(0o555)

        sitting.rewind(1)

        assert (root / "ro" / "f").read_text() == "old\n"
        assert not (root / "n").exists()
        sitting.play("/redo", "/rewind confirm")
        assert (root / "ro" / "f").stat().st_mode & 0o777 == 0o444
        assert (root / "ro").stat().st_mode & 0o777 == 0o555

    as_user(place, act)


def test_a_restore_that_fails_half_way_says_what_and_how_to_go_back(root: Path, sit: Sit) -> None:
    """LOCK-05, REDO-03: the rest is done, the history stays, and the undo point takes it back."""
    content = os.urandom(300_000)
    (root / "big").write_bytes(content)
    sitting = sit()
    sitting.play((write("n", "1"), shell("echo small > big")))
    turned = look_at(root)
    said: list[str] = []

    def crowded() -> None:
        with no_file_beyond(150_000):
            said.append(sitting.rewind(1, "both"))
        assert "1 path failed:\n  big (" in said[0]
        assert "the history stays: not every file could be restored" in said[0]
        assert "undo point 2: /redo takes this back" in said[0]
        assert "bug" not in said[0]

    elsewhere(sitting, crowded)

    assert live_turns(sitting.project.session.entries) == (1,)
    assert look_at(root) == {"big": ("file", 0o644, b"small\n")}
    sitting.play("/redo", "/rewind confirm")
    assert look_at(root) == turned
    sitting.rewind(1, "both")
    assert look_at(root) == {"big": ("file", 0o644, content)}
    assert live_turns(sitting.project.session.entries) == ()


def test_files_are_written_before_any_is_removed(root: Path, sit: Sit) -> None:
    """LOCK-05: killed between the two, nothing is lost yet; the next start finishes."""
    (root / "old").write_text("old\n")
    sitting = sit()
    sitting.play(shell("rm old; echo x > new"))
    for step in range(1, 60):
        ended = elsewhere(
            sitting,
            lambda step=step: (  # type: ignore[misc]
                sitting.play(
                    "/rewind 1",
                    lambda: signal_at(step, signal.SIGKILL, {"os.remove"}),
                    "/rewind confirm",
                )
            ),
        )
        names = {path.name for path in root.iterdir()}
        if "new" not in names:
            assert "old" in names
        if not ended:
            break
        sitting.play("/rewind 1", "/rewind confirm")
        assert {path.name for path in root.iterdir()} == {"old"}
        sitting.play("/redo", "/rewind confirm")
    assert step > 1


@pytest.mark.parametrize("room", range(0, 1400, 100))
def test_when_the_archive_cannot_be_written_prompt_list_and_files_agree(
    root: Path, sit: Sit, room: int
) -> None:
    """LOCK-07: wherever in the confirm the disk fills up, it is all or nothing, and is said."""
    (root / "f").write_text("old\n")
    sitting = sit()
    sitting.play("the prompt " + "x" * 300_000, edit("f", "old", "new"))
    archive = sitting.project.session.folder / "archive.jsonl"
    turn = 2

    def full() -> None:
        with no_file_beyond(archive.stat().st_size + room):
            said = sitting.rewind(turn, "both")
        gone = live_turns(sitting.project.session.entries) == (1,)
        assert ((root / "f").read_text() == "old\n") is gone, said
        assert ("history: 1 turn went" in said) is gone
        assert ("the prompt was: turn 1" in said) is gone
        assert gone or "No space left" in said or "File too large" in said
        assert ("/redo takes this back" in said) is gone
        assert "bug" not in said

    elsewhere(sitting, full)

    gone = live_turns(sitting.project.session.entries) == (1,)
    assert ((root / "f").read_text() == "old\n") is gone
    if not gone:
        sitting.rewind(turn, "both")
        assert (root / "f").read_text() == "old\n"


# ---- damage


@pytest.mark.parametrize("whole_pack", [False, True])
@pytest.mark.damaged_store
def test_damage_to_one_snapshot_leaves_the_others(root: Path, sit: Sit, whole_pack: bool) -> None:
    """LOCK-09: earlier and later points still work, and new snapshots do not need the broken."""
    for n in range(3):
        (root / f"stays{n}").write_text(f"{n}\n")
    sitting = sit()
    sitting.play(write("a", "1\n"))
    packs = sitting.project.session.folder / "shadow.git" / "objects" / "pack"
    before = set(packs.iterdir())
    sitting.play(write("a", "2\n"))
    new = sorted(set(packs.iterdir()) - before)
    sitting.play(write("a", "3\n"))
    for file in new:
        file.unlink() if whole_pack else file.with_suffix(".idx").unlink(missing_ok=True)
    sitting.resume()

    sitting.play(write("a", "4\n"))
    said = sitting.play("/rewind", "/rewind 2", "/rewind confirm")
    sitting.rewind(4)
    third = (root / "a").read_text()
    sitting.rewind(1)

    assert "bug" not in said
    assert third == "3\n"
    assert not (root / "a").exists()
    needed = shadow_git(sitting, "rev-list", "--objects", "refs/keryx/4/before", "refs/keryx/4/end")
    assert needed


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.damaged_store
def test_a_file_whose_stored_content_is_lost_is_stored_again(
    root: Path, sit: Sit, resumed: bool
) -> None:
    """LOCK-09: a new snapshot rests on nothing that is not there, in the same process either."""
    (root / "f").write_text("needed by all\n")
    sitting = sit()
    sitting.play(write("a", "1\n"))
    packs = sitting.project.session.folder / "shadow.git" / "objects" / "pack"
    for file in packs.iterdir():
        file.unlink()
    if resumed:
        sitting.resume()

    sitting.play(shell("echo changed > f"))
    shadow_git(sitting, "rev-list", "--objects", "refs/keryx/2/before", "refs/keryx/2/end")
    said = sitting.play("/rewind 1", "/rewind confirm")
    sitting.rewind(2)

    assert (root / "f").read_text() == "needed by all\n"
    assert "damaged" in said
    assert captured(sitting, 2).keys() == {"a", "f"}
