"""One writer a session, kept by the operating system and by nothing else."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from keryx_py.session.errors import HeldError, LeaseLostError, SessionError
from keryx_py.session.lease import Lease, is_held, read_holder

Child = Callable[..., "subprocess.Popen[str]"]

HOLD = """
import sys
from pathlib import Path
from keryx_py.session.lease import Lease

lease = Lease.take(Path(sys.argv[1]), 1000.0)
print("held", flush=True)
sys.stdin.read()
"""


def held_by(child: Child, folder: Path) -> subprocess.Popen[str]:
    """Start a process that holds *folder* until its input ends."""
    process = child(HOLD, folder)
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_claim_is_told_who_holds_it(tmp_path: Path, child: Child) -> None:
    holder = held_by(child, tmp_path)

    with pytest.raises(HeldError, match=rf"process {holder.pid} on .*since 1970-01-01 00:16:40"):
        Lease.take(tmp_path, 0.0)

    assert is_held(tmp_path)


def test_a_claim_in_the_same_process_counts_too(tmp_path: Path) -> None:
    lease = Lease.take(tmp_path, 0.0)

    with pytest.raises(HeldError, match=str(os.getpid())):
        Lease.take(tmp_path, 0.0)

    lease.check()
    lease.release()
    Lease.take(tmp_path, 0.0).release()


def test_a_stopped_process_still_holds(tmp_path: Path, child: Child) -> None:
    holder = held_by(child, tmp_path)
    holder.send_signal(signal.SIGSTOP)

    with pytest.raises(HeldError):
        Lease.take(tmp_path, 0.0)

    holder.send_signal(signal.SIGCONT)


def test_a_killed_process_holds_nothing(tmp_path: Path, child: Child) -> None:
    holder = held_by(child, tmp_path)

    holder.kill()
    holder.wait()

    assert not is_held(tmp_path)
    lease = Lease.take(tmp_path, 5.0)
    found = read_holder(tmp_path)
    assert found
    assert (found.pid, found.since) == (os.getpid(), 5.0)
    lease.release()


def test_a_program_that_the_holder_started_does_not_keep_the_claim(
    tmp_path: Path, child: Child
) -> None:
    code = HOLD.replace('print("held"', 'import subprocess\n'
        'worker = subprocess.Popen(["sleep", "30"], close_fds=False)\nprint(worker.pid',
    )  # fmt: skip
    holder = child(code, tmp_path)
    assert holder.stdout
    worker = int(holder.stdout.readline())
    holder.kill()
    holder.wait()

    try:
        Lease.take(tmp_path, 0.0).release()
    finally:
        os.kill(worker, signal.SIGKILL)


def test_a_lease_whose_file_was_deleted_is_lost(tmp_path: Path) -> None:
    lease = Lease.take(tmp_path, 0.0)
    (tmp_path / "lease").unlink()

    with pytest.raises(LeaseLostError, match="no longer holds"):
        lease.check()
    lease.release()


def test_who_takes_a_new_file_takes_the_lease(tmp_path: Path, child: Child) -> None:
    first = Lease.take(tmp_path, 0.0)
    (tmp_path / "lease").unlink()

    second = held_by(child, tmp_path)

    with pytest.raises(LeaseLostError):
        first.check()
    first.release()
    found = read_holder(tmp_path)
    assert found
    assert found.pid == second.pid
    assert is_held(tmp_path)


def test_a_process_that_was_forked_off_does_not_hold(tmp_path: Path, child: Child) -> None:
    code = HOLD.replace(
        'print("held"',
        "import os\n"
        "from keryx_py.session.errors import LeaseLostError\n"
        "if os.fork() == 0:\n"
        "    try:\n"
        "        lease.check()\n"
        "    except LeaseLostError:\n"
        "        os._exit(7)\n"
        "    os._exit(0)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1])",
    )
    process = child(code, tmp_path)
    assert process.stdout

    assert process.stdout.readline() == "7\n"


def test_letting_go_leaves_no_note(tmp_path: Path) -> None:
    lease = Lease.take(tmp_path, 0.0)

    lease.release()
    lease.release()

    assert read_holder(tmp_path) is None
    assert not is_held(tmp_path)
    with pytest.raises(LeaseLostError):
        lease.check()


def test_a_lease_moves_with_its_folder(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    lease = Lease.take(before, 0.0)

    before.rename(after)
    lease.moved(after)

    lease.check()
    assert is_held(after)
    lease.release()
    assert not is_held(after)


def test_only_the_owner_reads_the_lease(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        lease = Lease.take(tmp_path, 0.0)
    finally:
        os.umask(before)

    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {0o600}
    lease.release()


def test_a_link_in_the_place_of_the_lease_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    (tmp_path / "lease").symlink_to(other)

    with pytest.raises(SessionError, match="is a link"):
        Lease.take(tmp_path, 0.0)

    assert not other.exists()


def test_a_note_that_cannot_be_read_spoils_nothing(tmp_path: Path, child: Child) -> None:
    held_by(child, tmp_path)
    (tmp_path / "lease.json").write_bytes(b"\xff{[")

    with pytest.raises(HeldError, match="in use by another process"):
        Lease.take(tmp_path, 0.0)
