"""Rewinds that are killed, and starts after them that are killed too."""

from __future__ import annotations

import signal

from keryx_py.session.archive import Mode
from tests.cases.children import Child, signal_at
from tests.cases.sitting import Sitting


def kill_in_rewind(sitting: Sitting, number: int, mode: Mode, steps: list[int]) -> bool:
    """Rewind to *number* in a process killed before its *steps*[0]-th change to the disk.

    Each later one of *steps* kills a start that comes after that. In the end *sitting* has resumed
    the session. Tell whether the rewind was killed.
    """
    sitting.close()

    def rewind() -> None:
        sitting.resume()
        rewinder = sitting.project.rewinder()
        plan = rewinder.plan(number, mode)
        signal_at(steps[0], signal.SIGKILL)
        rewinder.apply(plan)

    killed = Child(rewind).wait() == signal.SIGKILL
    for step in steps[1:]:
        Child(lambda step=step: _start(sitting, step)).wait()  # type: ignore[misc]
    sitting.resume()
    return killed


def _start(sitting: Sitting, step: int) -> None:
    signal_at(step, signal.SIGKILL)
    sitting.resume()
