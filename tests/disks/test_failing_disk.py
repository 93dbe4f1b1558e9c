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
