"""The disk fails at one call, any call, of a whole session with rewinds.

After each: one clear sentence and no traceback, no file torn, none lost that is neither on the
disk nor in a snapshot, nothing outside or in `.git` touched, no leftover in the project; the
session opens again, a further turn is saved and taken back, and git finds the store sound.
"""

from __future__ import annotations

import errno

import pytest

from tests.disks.conftest import Inject
from tests.disks.fault_driver import Came, Fault

DATA, PROJECT = "/data/", "/P/"
FIRST_ALONE = 100_000
"""As how many calls one is tried: only the first of them."""
FAULTS = [
    # The data folder's disk is full, once and for good; its quota; one bad sector.
    Fault("room", errno.ENOSPC, DATA, lasts=True),
    Fault("room", errno.ENOSPC, DATA),
    Fault("room", errno.EDQUOT, DATA),
    Fault("change", errno.EIO, DATA),
    Fault("read,open", errno.EIO, DATA),
    Fault("change", errno.EROFS, DATA),
    # The same of the project's disk.
    Fault("room", errno.ENOSPC, PROJECT, lasts=True),
    Fault("room", errno.EDQUOT, PROJECT),
    Fault("write,fsync,create,rename,read,open", errno.EIO, PROJECT),
    # A pack's index, read back right after it was written.
    Fault("open", errno.EIO, ".idx"),
]
KILLS = [Fault("change", 0, DATA), Fault("change", 0, PROJECT)]
QUICK = {0: 150, 3: 130, 6: 30, 9: 14}
"""Of which faults the quick test tries one in how many calls."""


def assert_all_well(played: list[Came]) -> None:
    wrong = [(came.at, came.faults, came.said) for came in played if came.faults]
    assert len(played) > 1
    assert not wrong, (len(wrong), wrong[0])


@pytest.mark.parametrize("at", QUICK)
def test_a_disk_that_fails_at_some_call_loses_nothing(inject: Inject, at: int) -> None:
    fault = FAULTS[at]

    assert_all_well(inject(Fault(fault.calls, fault.number, fault.path, fault.lasts, QUICK[at])))


@pytest.mark.soak
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault}")
def test_a_disk_that_fails_at_any_call_loses_nothing(inject: Inject, fault: Fault) -> None:
    played = inject(fault)

    print(f"{fault}: {len(played) - 1} failures")  # noqa: T201 - the figures for the docs
    assert_all_well(played)


@pytest.mark.parametrize(("at", "every"), [(0, 99), (1, 19)])
def test_killed_at_some_call_a_session_goes_on(inject: Inject, at: int, every: int) -> None:
    """By the kernel's own count: also in the middle of one write, and in other people's code."""
    fault = KILLS[at]

    assert_all_well(inject(Fault(fault.calls, fault.number, fault.path, fault.lasts, every)))


@pytest.mark.soak
@pytest.mark.parametrize("fault", KILLS, ids=lambda fault: f"{fault}")
def test_killed_at_any_call_a_session_goes_on(inject: Inject, fault: Fault) -> None:
    played = inject(fault)

    print(f"{fault}: {len(played) - 1} kills")  # noqa: T201 - the figures for the docs
    assert_all_well(played)


def test_a_ref_is_there_whole_or_not_at_all(inject: Inject) -> None:
    """Killed half-way through each write of a ref, no point is lost and none is half there."""
    assert_all_well(inject(Fault("write", 0, "/refs/keryx/", every=3)))


QUOTAS = {
    "/archive.jsonl": ("/archive.jsonl: Disk quota exceeded", 1),
    "/objects/": ("the snapshot cannot be taken: the disk quota is used up", 4),
    "/refs/": ("the snapshot cannot be taken: the disk quota is used up", 4),
    "/restore.json": ("of the restore could not be written: Disk quota exceeded; nothing was", 2),
    # These only help: without them everything works, more slowly.
    "/keryx-seen": ("undo point 6: /redo takes this back", 1),
    "/lease.json": ("undo point 6: /redo takes this back", 1),
}
"""What is said, and how often at least, when no more can be written below a path."""


@pytest.mark.parametrize("path", QUOTAS)
def test_a_used_up_quota_is_one_sentence_wherever_it_strikes(inject: Inject, path: str) -> None:
    sentence, times = QUOTAS[path]

    played = inject(Fault("room", errno.EDQUOT, path, lasts=True, every=FIRST_ALONE))

    assert_all_well(played)
    assert played[1].said.count(sentence) >= times


def test_a_used_up_quota_in_the_project_leaves_every_file_whole(inject: Inject) -> None:
    """The tool says so; what a restore cannot write stays as it was, and the history too."""
    played = inject(Fault("write", errno.EDQUOT, PROJECT, lasts=True, every=FIRST_ALONE))

    assert_all_well(played)
    assert "f: disk quota exceeded" in played[1].said
    assert "the disk quota is used up" in played[1].said


def test_a_file_that_the_disk_cannot_read_is_not_left_out_of_a_snapshot(inject: Inject) -> None:
    """The snapshot fails and the call is denied: without the file it would be incomplete."""
    played = inject(Fault("read", errno.EIO, "/P/d/x", lasts=True, every=FIRST_ALONE))

    assert_all_well(played)
    assert "the snapshot cannot be taken: input/output error (" in played[1].said
    assert "(d/x); the call is denied" in played[1].said
    assert "unreadable" not in played[1].said


def test_a_folder_that_the_disk_cannot_open_is_not_left_out_of_a_snapshot(inject: Inject) -> None:
    played = inject(Fault("open", errno.EIO, "/P/d", lasts=True, every=FIRST_ALONE))

    assert_all_well(played)
    assert "the snapshot cannot be taken: input/output error (d); " in played[1].said
    assert "unreadable" not in played[1].said


def test_what_cannot_be_cleared_away_is_named(inject: Inject) -> None:
    """A tool and a restore that can put nothing in place, and remove nothing that they wrote."""
    _, came = inject(Fault("rename,unlink", errno.EIO, PROJECT, lasts=True, every=FIRST_ALONE))

    by_tool, by_restore = came.said.split("/rewind confirm applies it", 1)
    assert "what was written of it is left beside it as .keryx-" in by_tool
    assert "what was written of it is left beside it as .keryx-" in by_restore
    assert not [fault for fault in came.faults if ".keryx-" not in fault and "left is" not in fault]
