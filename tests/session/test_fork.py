"""A fork is the whole session under a new id, and each goes its own way."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from keryx_py.session.archive import PrunedEntry, TurnEntry
from keryx_py.session.errors import SessionError
from keryx_py.session.sessions import Sessions

Child = Callable[..., "subprocess.Popen[str]"]
HELLO = TurnEntry(1, 1.0, "hello", None)


def shadow_of(folder: Path) -> Path:
    """Make something like a shadow repository."""
    shadow = folder / "shadow.git"
    (shadow / "objects" / "pack").mkdir(parents=True)
    (shadow / "refs" / "keryx" / "1").mkdir(parents=True)
    (shadow / "refs" / "tags").mkdir()
    (shadow / "objects" / "pack" / "pack-1.pack").write_bytes(b"pack" * 1000)
    (shadow / "refs" / "keryx" / "1" / "before").write_text("1" * 40)
    (shadow / "states").write_bytes(b"cache")
    os.utime(shadow / "states", (1_000.0, 1_000.0))
    return shadow


def content(folder: Path) -> dict[str, bytes | None]:
    """Read all files and folders below *folder*."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def test_a_fork_holds_all_that_was_said_and_saved(sessions: Sessions, root: Path) -> None:
    with sessions.create(root, unattended=True) as original:
        original.append(HELLO)
        shadow = shadow_of(original.folder)

        with sessions.fork(original.id) as fork:
            assert fork.id != original.id
            assert fork.entries == original.entries
            assert fork.root == root
            assert not fork.unattended
            assert content(fork.folder / "shadow.git") == content(shadow)


def test_what_never_changes_is_shared_and_the_rest_is_a_copy(
    sessions: Sessions, root: Path
) -> None:
    with sessions.create(root) as original:
        shadow = shadow_of(original.folder)
        with sessions.fork(original.id) as fork:
            copy = fork.folder / "shadow.git"

    assert (copy / "objects/pack/pack-1.pack").samefile(shadow / "objects/pack/pack-1.pack")
    for name in ("refs/keryx/1/before", "states"):
        assert not (copy / name).samefile(shadow / name)
    # A copy of a cache that looked newer than it is would hide changes.
    assert (copy / "states").stat().st_mtime == 1_000.0


def test_each_goes_its_own_way(sessions: Sessions, root: Path) -> None:
    with sessions.create(root) as original:
        original.append(HELLO)
        with sessions.fork(original.id) as fork:
            fork.append(PrunedEntry(0.0, (1,)))
            original.append(TurnEntry(2, 1.0, "mine", 1))
            theirs, mine = fork.entries, original.entries

    assert theirs == (HELLO, PrunedEntry(0.0, (1,)))
    assert mine[1] == TurnEntry(2, 1.0, "mine", 1)
    sessions.delete(original.id)
    with sessions.open(fork.id) as again:
        assert again.entries == theirs


def test_leases_and_what_a_restore_left_are_not_copied(sessions: Sessions, root: Path) -> None:
    with sessions.create(root) as original:
        (original.folder / "restore.json").write_bytes(b"{}")
        with sessions.fork(original.id) as fork:
            names = {path.name for path in fork.folder.iterdir()}

    assert names == {"archive.jsonl", "lease", "lease.json"}


def test_a_torn_line_of_the_original_is_not_copied(sessions: Sessions, root: Path) -> None:
    with sessions.create(root) as original:
        original.append(HELLO)
    with (original.folder / "archive.jsonl").open("ab") as file:
        file.write(b'[1,9,"')

    with sessions.fork(original.id) as fork:
        assert fork.notices == ()
        assert fork.entries == (HELLO,)


def test_the_fork_of_a_moved_project_has_the_new_root(
    sessions: Sessions, root: Path, tmp_path: Path
) -> None:
    sessions.create(root).close()
    moved = root.rename(tmp_path / "moved")
    sessions.open("20", new_root=moved).close()

    with sessions.fork("20") as fork:
        assert fork.root == moved


HOLD = """
import sys, time
from pathlib import Path
from keryx_py.session.archive import TurnEntry
from keryx_py.session.sessions import Sessions

session = Sessions(Path(sys.argv[1]), now=time.time).create(Path(sys.argv[2]))
session.append(TurnEntry(1, 1.0, "hello", None))
print(session.id, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("stop", [False, True])
def test_a_session_that_another_process_holds_can_be_forked(
    sessions: Sessions, root: Path, tmp_path: Path, child: Child, *, stop: bool
) -> None:
    process = child(HOLD, tmp_path / "data", root)
    assert process.stdout
    session_id = process.stdout.readline().strip()
    if stop:
        process.send_signal(signal.SIGSTOP)

    with sessions.fork(session_id) as fork:
        assert fork.entries == (HELLO,)


def test_files_that_come_and_go_meanwhile_leave_a_whole_copy(
    sessions: Sessions, root: Path
) -> None:
    with sessions.create(root) as original:
        shadow = shadow_of(original.folder)
        (shadow / "refs/keryx/1/before").write_text("1")
        stop = time.monotonic() + 0.4

        def churn() -> None:
            number = 1
            while time.monotonic() < stop:
                # As a store does: what a ref names is there before it, and goes after it.
                number += 1
                (shadow / f"objects/pack/pack-{number}.pack").write_bytes(b"new" * 1000)
                (shadow / "ref.new").write_text(str(number))
                (shadow / "ref.new").replace(shadow / "refs/keryx/1/before")
                (shadow / f"objects/pack/pack-{number - 1}.pack").unlink()

        thread = threading.Thread(target=churn)
        thread.start()
        try:
            with sessions.fork(original.id) as fork:
                copy = fork.folder / "shadow.git"
                named = (copy / "refs/keryx/1/before").read_text()
                assert (copy / f"objects/pack/pack-{named}.pack").exists()
        finally:
            thread.join()


def test_a_shadow_repository_that_is_a_link_is_not_copied(
    sessions: Sessions, root: Path, tmp_path: Path
) -> None:
    with sessions.create(root) as original:
        (original.folder / "shadow.git").symlink_to(root)

        with pytest.raises(SessionError, match="is a link"):
            sessions.fork(original.id)

    assert [info.id for info in sessions.list()] == [original.id]
    assert [path.name for path in (tmp_path / "data" / "sessions").iterdir()] == [original.id]
