"""Two sessions of one project at the same time, and two processes that want one session."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from keryx_py.rewind.plan import Author, AuthorKind
from keryx_py.session.archive import Mode
from keryx_py.session.errors import HeldError
from keryx_py.session.sessions import Sessions
from tests.cases.children import Child
from tests.cases.sitting import Sitting, shell, write
from tests.machine.sight import see
from tests.soundness import check_stores


def work(root: Path, data: Path, name: str, turns: int) -> None:
    """Take *turns* in a session of its own; now and then go back, and check where that leads."""
    chance = random.Random(name)
    sitting = Sitting(root, data, now=time.time)
    session_file(data, name).write_text(sitting.project.session.id)
    own, versions = root / name / "f", dict[int, bytes | None]()
    for turn in range(1, turns + 1):
        number = sum(1 for _ in sitting.project.rewinder().list_points()) + 1
        versions[number] = own.read_bytes() if own.exists() else None
        said = sitting.play((write(f"{name}/f", f"{turn}\n"), shell(f"echo {name} >>both")))
        assert "failed" not in said, said
        if chance.random() < 0.3:
            back = chance.choice(sorted(versions)[-8:])
            rewind_own(sitting, back, name, own, versions[back])
        if chance.random() < 0.05:
            sitting.resume()
    sitting.close()


def rewind_own(sitting: Sitting, back: int, name: str, own: Path, then: bytes | None) -> None:
    said = sitting.play(f"/rewind {back} files {name}", "/rewind confirm")
    assert "bug" not in said, said
    assert (own.read_bytes() if own.exists() else None) == then, (back, said)


def session_file(data: Path, name: str) -> Path:
    """Where the session called *name* leaves its id."""
    return data.parent / f"session {name}"


def together(root: Path, data: Path, turns: int) -> None:
    """Let two sessions work side by side; each finds its own as it left it, and both are sound."""
    before = sessions_in(data)
    children = [
        Child(lambda name=name: work(root, data, name, turns))  # type: ignore[misc]
        for name in ("one", "two")
    ]
    assert [child.wait() for child in children] == [0, 0]
    assert len(sessions_in(data)) == len(before) + 2
    check_stores([data])


def sessions_in(data: Path) -> set[str]:
    folder = data / "sessions"
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def watched(root: Path, data: Path, turns: int) -> None:
    """Let a third session look on: its preview names what each of two others changed as theirs."""
    sitting = Sitting(root, data, now=time.time)
    sitting.play(write("watched", "1"))
    together(root, data, turns)
    ids = {name: session_file(data, name).read_text() for name in ("one", "two")}

    plan = sitting.project.rewinder().plan(1, Mode.FILES)
    said = sitting.play("/rewind 1 files")
    sitting.close()

    assert plan.files is not None
    by = {change.path: change.by for change in plan.files.changes}
    for name in ids:
        authors = by[f"{name}/f".encode()]
        # The other's command may have written what this one's turn wrote meanwhile; and what a
        # turn writes while the other's capture is read may look like the person's as well.
        assert {author.kind for author in authors} <= {AuthorKind.SESSION, AuthorKind.PERSON}
        assert ids[name] in {author.session for author in authors} <= {*ids.values(), ""}
    assert set(ids.values()) <= {author.session for author in by[b"both"]}
    assert by[b"watched"] == (Author(AuthorKind.TURN, 1),)
    line = next(line for line in said.splitlines() if "one/f" in line)
    assert "session" in line, said


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "P"
    folder.mkdir()
    for n in range(30):
        (folder / f"f{n}").write_text(f"{n}\n")
    return folder


def test_two_sessions_side_by_side_each_rewind_right(root: Path, tmp_path: Path) -> None:
    together(root, tmp_path / "data", 30)


def test_a_preview_names_what_two_other_sessions_changed_as_theirs(
    root: Path, tmp_path: Path
) -> None:
    watched(root, tmp_path / "data", 8)


@pytest.mark.soak
def test_a_thousand_turns_of_two_sessions_harm_neither(root: Path, tmp_path: Path) -> None:
    together(root, tmp_path / "data", 500)
    for name in ("one", "two"):
        shutil.rmtree(root / name)
    watched(root, tmp_path / "data", 12)


def wait_for(path: Path) -> None:
    for _ in range(2000):
        if path.exists():
            return
        time.sleep(0.005)
    raise AssertionError(f"{path} did not come")


def hold(sitting: Sitting, base: Path) -> None:
    """Hold the session; once told to, take a turn, and leave what was said of it."""
    sitting.resume()
    (base / "held").touch()
    wait_for(base / "go on")
    said = sitting.play(write("late", "1"), "/rewind")
    (base / "said.part").write_text(said)
    (base / "said.part").rename(base / "said")


def test_the_lease_holds_while_its_holder_is_stopped_and_ends_when_it_is_killed(
    root: Path, tmp_path: Path
) -> None:
    sitting = Sitting(root, tmp_path / "data")
    sitting.play(write("a", "1"))
    session = sitting.project.session.id
    sitting.close()
    child = Child(lambda: hold(sitting, tmp_path))
    wait_for(tmp_path / "held")
    sessions = Sessions(tmp_path / "data", now=time.time)

    os.kill(child.pid, signal.SIGSTOP)
    with pytest.raises(HeldError, match=f"process {child.pid}"):
        sessions.open(session)

    child.kill()
    sitting.resume()
    sitting.rewind(1)
    assert not (root / "a").exists()
    sitting.close()


@pytest.mark.parametrize("taken", [True, False])
def test_a_holder_whose_lease_was_deleted_writes_nothing_more(
    root: Path, tmp_path: Path, taken: bool
) -> None:
    sitting = Sitting(root, tmp_path / "data")
    sitting.play(write("a", "1"))
    folder = sitting.project.session.folder
    sitting.close()
    child = Child(lambda: hold(sitting, tmp_path))
    wait_for(tmp_path / "held")

    os.kill(child.pid, signal.SIGSTOP)
    (folder / "lease").unlink()
    if taken:
        sitting.resume()
    os.kill(child.pid, signal.SIGCONT)
    before, files = see(folder), see(root)
    (tmp_path / "go on").touch()
    wait_for(tmp_path / "said")
    child.wait()

    assert "no longer holds the session" in (tmp_path / "said").read_text()
    assert see(folder) == before
    assert see(root) == files
    if not taken:
        sitting.resume()
    sitting.rewind(1)
    assert not (root / "a").exists()
    sitting.close()
