"""Work that is begun in a thread before it is asked for, so that there is less to wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable

from keryx_py.snapshot.failures import SnapshotError
from keryx_py.snapshot.taking import Progress, WalkProgress

_SHOWN_EACH = 0.05
"""How long a waiter goes without word of the progress, in seconds."""


EARLY_WALK = "keryx-early-walk"
"""The name of the thread that works early."""


class _StoppedError(Exception):
    """The work was told to stop."""


class EarlyWork:
    """One piece of early work, under way or done."""

    def __init__(self, work: Callable[[Progress], None]) -> None:
        """Start *work*, which tells how far it is; that is also where it can be stopped.

        That it fails is of no account: whoever asks for it later meets the same failure.
        """
        self._work = work
        self._stopping = False
        self._latest: WalkProgress | None = None
        # A daemon: it must not keep a process alive that ends in haste.
        self._thread = threading.Thread(target=self._run, name=EARLY_WALK, daemon=True)
        self._thread.start()

    def wait(self, progress: Progress | None) -> None:
        """Wait until it is done; stop it at a KeyboardInterrupt, which is passed on."""
        try:
            while self._thread.is_alive():
                self._thread.join(_SHOWN_EACH)
                if progress is not None and self._latest is not None:
                    progress(self._latest)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Have it stop where it is, and wait until it has."""
        self._stopping = True
        self._thread.join()

    def _run(self) -> None:
        try:
            self._work(self._tell)
        except (SnapshotError, OSError, _StoppedError):
            return

    def _tell(self, progress: WalkProgress) -> None:
        if self._stopping:
            raise _StoppedError
        self._latest = progress
