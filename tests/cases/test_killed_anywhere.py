"""Killed at any of its changes to the disk, whatever was going on is done or never was (R10).

Restores have their own tests in `tests/rewind/test_killed.py`. Here one session is killed again
and again, a step later each time, so that what one dead process left lies in the way of the next.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import BuiltinFunctionType, FrameType

import pytest

from keryx_py.messages import Message, Role
from keryx_py.models.base import Request
from keryx_py.models.chat_wire import chat_body
from keryx_py.rewind.points import MISSING, FilesState
from keryx_py.session.archive import CompactionEntry, live_turns
from keryx_py.session.context import join_messages
from keryx_py.session.sessions import NoSuchSessionError, Sessions
from tests.cases.children import elsewhere, in_child
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, shell, write
from tests.cases.watching import look_at
from tests.servers import chat_faults
from tests.soundness import check_stores

CHANGES = frozenset(
    {
        "write",
        "fsync",
        "fdatasync",
        "ftruncate",
        "rename",
        "replace",
        "link",
        "symlink",
        "unlink",
        "remove",
        "mkdir",
        "rmdir",
        "chmod",
        "fchmod",
    }
)
"""The calls into the operating system that change files, or make a change last."""
FEW = 6
"""How many kills of each kind the quick tests make."""


def kill_at(step: int) -> None:
    """Have this process killed just before its *step*-th change from here on. For a child alone."""
    left = step

    def count(frame: FrameType, event: str, called: object) -> None:
        nonlocal left
        if event != "c_call" or not isinstance(called, BuiltinFunctionType):
            return
        if called.__name__ in CHANGES and called.__module__ == "posix":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)


def kill_in(sitting: Sitting, act: Callable[[], object], step: int) -> int:
    """Do *act* in a process that is killed at its change number *step*; say what ended it."""

    def doomed() -> None:
        kill_at(step)
        act()
        sys.setprofile(None)

    return elsewhere(sitting, doomed)


def changes_of(sitting: Sitting, act: Callable[[], object]) -> int:
    """Count the changes that *act* makes, in a process of its own."""
    read_end, write_end = os.pipe()

    def counting() -> None:
        steps = 0

        def count(frame: FrameType, event: str, called: object) -> None:
            nonlocal steps
            if event == "c_call" and isinstance(called, BuiltinFunctionType):
                steps += called.__name__ in CHANGES and called.__module__ == "posix"

        sys.setprofile(count)
        act()
        sys.setprofile(None)
        os.write(write_end, str(steps).encode())

    elsewhere(sitting, counting)
    os.close(write_end)
    with os.fdopen(read_end) as counted:
        return int(counted.read())


def steps_of(sitting: Sitting, act: Callable[[], object], *, every: bool) -> range:
    """The steps at which *act* is to be killed: all, or a few spread over them."""
    changes = changes_of(sitting, act)
    assert changes > 1
    return range(1, changes + 1, 1 if every else max(1, changes // FEW))


@dataclass(frozen=True, slots=True)
class Seen:
    """A session as a new start finds it."""

    turns: tuple[int, ...]
    held: tuple[int, ...]
    """The points whose files can be restored."""


def check(sitting: Sitting) -> Seen:
    """Assert that the session is whole: what it offers is there, and its context is accepted."""
    said = sitting.play("/rewind", "/status")
    assert "bug" not in said
    session, store = sitting.project.session, sitting.project.store
    assert store is not None
    listed = sitting.project.rewinder().list_points()
    # What was let go is said to be pruned before it goes: no snapshot is ever merely missing.
    assert not [one.point.number for one in listed if MISSING in one.point.reason]
    held = [one.point for one in listed if one.point.files is FilesState.HELD]
    for point in held:
        assert point.key is not None
        state = store.load(point.key)
        store.verify(entry.oid for entry in state.listing.values() if entry.oid)
    items = join_messages((*sitting.project.window.items(), Message(Role.USER, "next")))
    assert list(chat_faults(chat_body("m", Request("system", items, ()), usage=False))) == []
    shadow = session.folder / "shadow.git"
    assert not [path for path in shadow.rglob("*") if path.name.endswith((".lock", ".tmp"))]
    check_stores([session.folder.parent])
    return Seen(live_turns(session.entries), tuple(point.number for point in held))


# Each kind takes the session, says what is done in the process that is killed, and judges.


def snapshot(sitting: Sitting, *, every: bool) -> int:
    """Whenever the turn's command ran, the files before it can be had back."""
    before = (sitting.root / "f").read_bytes()

    def act() -> None:
        sitting.play((shell("echo turn > f; rm -f d/x"), write("new", "x")))

    kills = 0
    for step in steps_of(sitting, act, every=every):
        sitting.play("/rewind 1 files", "/rewind confirm")
        (sitting.root / "f").write_bytes(before)
        look = look_at(sitting.root)
        ended = kill_in(sitting, act, step)
        assert ended == signal.SIGKILL or step > 1
        kills += ended == signal.SIGKILL
        seen = check(sitting)
        if look_at(sitting.root) != look:
            assert seen.held[0] == seen.turns[-1]
            sitting.play(f"/rewind {seen.turns[-1]} files", "/rewind confirm")
            assert look_at(sitting.root) == look
    return kills


def append(sitting: Sitting, *, every: bool) -> int:
    """The line that cuts the history is there whole, or not at all."""

    def act() -> None:
        turn = live_turns(sitting.project.session.entries)[-1]
        sitting.play(f"/rewind {turn} history", "/rewind confirm")

    kills = 0
    for step in steps_of(sitting, act, every=every):
        sitting.play(())
        turns = live_turns(sitting.project.session.entries)
        files = look_at(sitting.root)
        ended = kill_in(sitting, act, step)
        assert ended == signal.SIGKILL or step > 1
        kills += ended == signal.SIGKILL
        assert check(sitting).turns in (turns, turns[:-1])
        assert look_at(sitting.root) == files
    return kills


def prune(sitting: Sitting, *, every: bool) -> int:
    """What is not yet pruned is whole, and the next turn prunes what this one did not."""
    content = iter(range(10_000))

    def act() -> None:
        sitting.play(write("f", f"{next(content)} {'x' * 5000}\n"))

    act()
    act()
    kills = 0
    for step in steps_of(sitting, act, every=every):
        ended = kill_in(sitting, act, step)
        assert ended == signal.SIGKILL or step > 1
        kills += ended == signal.SIGKILL
        seen = check(sitting)
        assert len(seen.held) >= 2
        act()
        act()
        store = sitting.project.store
        assert store is not None
        kept = store.keys()
        assert {key.number for key in kept} <= set(check(sitting).held)
    return kills


def fork(sitting: Sitting, *, every: bool) -> int:
    """There is a whole fork or none, and the original is as it was."""

    def act() -> None:
        Sessions(sitting.data_dir, now=sitting.now).fork(sitting.project.session.id).close()

    kills = 0
    for step in steps_of(sitting, act, every=every):
        before = check(sitting)
        entries = sitting.project.session.entries
        ended = kill_in(sitting, act, step)
        assert ended == signal.SIGKILL or step > 1
        kills += ended == signal.SIGKILL
        assert check(sitting) == before
        for info in sitting.sessions.list():
            sitting.project.close()
            with Sessions(sitting.data_dir, now=sitting.now).open(info.id) as found:
                assert found.entries == entries
            sitting.resume()
    return kills


def compaction(sitting: Sitting, *, every: bool) -> int:
    """The summary stands in for all that it covers, or for nothing; no turn is lost."""

    def act() -> None:
        sitting.play("/compact")

    kills = 0
    for step in steps_of(sitting, act, every=every):
        sitting.play((), (), ())
        turns = live_turns(sitting.project.session.entries)
        files = look_at(sitting.root)
        ended = kill_in(sitting, act, step)
        assert ended == signal.SIGKILL or step > 1
        kills += ended == signal.SIGKILL
        assert check(sitting).turns == turns
        assert look_at(sitting.root) == files
        for entry in sitting.project.session.entries:
            assert not isinstance(entry, CompactionEntry) or entry.summary
    return kills


def delete(sitting: Sitting, *, every: bool) -> int:
    """There is the whole session or none, and what is left of it goes at the next start."""
    entries = sitting.project.session.entries

    def killed_at(step: int, doomed: str) -> bool:
        def dies() -> None:
            kill_at(step)
            Sessions(sitting.data_dir, now=sitting.now).delete(doomed)
            sys.setprofile(None)

        return in_child(dies) == signal.SIGKILL

    step, kills, was_killed = 1, 0, True
    while was_killed:
        with sitting.sessions.fork(sitting.project.session.id) as forked:
            doomed = forked.id
        was_killed = killed_at(step, doomed)
        kills += was_killed
        again = Sessions(sitting.data_dir, now=sitting.now)
        try:
            with again.open(doomed) as found:
                assert found.entries == entries
            check_stores([sitting.data_dir])
            again.delete(doomed)
        except NoSuchSessionError:
            again.create(sitting.root).close()
        folders = [path.name for path in (sitting.data_dir / "sessions").iterdir()]
        assert not [name for name in folders if name.startswith(".") or name == doomed]
        assert check(sitting).turns == live_turns(entries)
        step += 1 if every else 4
    return kills


KINDS = [snapshot, append, prune, fork, compaction, delete]


def killed_in(kind: Callable[..., int], sit: Sit, root: Path, *, every: bool) -> int:
    (root / "d").mkdir()
    (root / "d" / "x").write_text("x\n")
    (root / "f").write_text("old\n")
    sitting = sit(settings={"keep": 2} if kind is prune else {})
    sitting.play(shell("echo 1 > f"), shell("echo 2 > f"), (), ())

    return kind(sitting, every=every)


@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_some_steps_the_next_start_is_right(
    root: Path, sit: Sit, kind: Callable[..., int]
) -> None:
    assert killed_in(kind, sit, root, every=False) > 0


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_any_step_the_next_start_is_right(
    root: Path, sit: Sit, kind: Callable[..., int]
) -> None:
    kills = killed_in(kind, sit, root, every=True)

    print(f"{kind.__name__}: {kills} kills")  # noqa: T201 - the figures for the docs
    assert kills > 1
