"""A second pair of eyes for a walk over a large tree that is known: which parts are unchanged.

Asking for statuses is bound by one processor, and Python runs on one. So a forked process goes
over the tree from its far end, part by part, and says of each whether all in it is as it was;
the walk takes its word for those parts and looks at the rest itself. Each marks what it begins,
so that they meet in between. The second process reads statuses only, and writes nothing but marks.
"""

from __future__ import annotations

import gc
import mmap
import os
import signal
import sys
from collections.abc import Callable, Sequence
from enum import IntEnum
from pathlib import Path

from keryx_py.snapshot.seen import Folder

LEAST_FILES = 5_000
"""With fewer files, a second process takes longer to start than it saves."""

PART_FILES = 200
"""About how many files a part has at most."""

_THREADS = Path("/proc/self/task")


class Mark(IntEnum):
    """What is known of one part."""

    OPEN = 0
    BEGUN = 1
    UNCHANGED = 2
    CHANGED = 3


class Scout:
    """The second process, and what it has found so far."""

    def __init__(self, parts: Sequence[Folder], is_unchanged: Callable[[Folder], bool]) -> None:
        """Start going over *parts*, the last first. Raises OSError."""
        self._numbers = {part.path: number for number, part in enumerate(parts)}
        self._marks = mmap.mmap(-1, len(parts))
        # A Ctrl-C is the first process's alone: the second would run on as a second shell.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process = os.fork()
        except OSError:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            raise
        if self._process == 0:
            _go_over(parts, is_unchanged, self._marks)
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        except BaseException:  # a Ctrl-C that waited
            self.dismiss()
            raise

    def vouches_for(self, folder: Folder) -> bool:
        """Whether *folder* and all below it were found to be unchanged; if it is one of the parts
        and nobody began it, the caller now does."""
        number = self._numbers.get(folder.path)
        if number is None:
            return False
        mark = self._marks[number]
        if mark == Mark.OPEN:
            self._marks[number] = Mark.BEGUN
        return mark == Mark.UNCHANGED

    def is_at_work(self) -> bool:
        """Whether the second process still runs."""
        return os.waitid(os.P_PID, self._process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def dismiss(self) -> None:
        """End the second process."""
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        self._marks.close()


def is_worth_it(root: Folder) -> bool:
    """Whether a second process can be had, and would save time over the known tree at *root*."""
    totals = root.totals
    if totals is None or totals.files < LEAST_FILES:
        return False
    if not sys.platform.startswith("linux") or len(os.sched_getaffinity(0)) < 2:
        return False
    try:
        # What another thread holds locked at the fork stays locked in the new process.
        return len(os.listdir(_THREADS)) == 1
    except OSError:
        return False


def list_parts(root: Folder) -> list[Folder]:
    """Cut the tree at *root* into parts, in the order in which a walk meets them."""
    parts = []
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        totals = folder.totals
        is_small = totals is None or totals.files <= PART_FILES
        if folder is not root and (is_small or not folder.folders):
            parts.append(folder)
        else:
            waiting.extend(folder.folders.values())
    return parts


def _go_over(
    parts: Sequence[Folder], is_unchanged: Callable[[Folder], bool], marks: mmap.mmap
) -> None:
    """Do the second process's work, and end it: nothing of the first one's is to run here."""
    try:
        gc.disable()
        for number in range(len(parts) - 1, -1, -1):
            if marks[number] != Mark.OPEN:
                break  # here the first process came from the other side
            marks[number] = Mark.BEGUN
            marks[number] = Mark.UNCHANGED if is_unchanged(parts[number]) else Mark.CHANGED
    finally:
        os._exit(0)
