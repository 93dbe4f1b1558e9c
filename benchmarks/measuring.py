"""Measure one action: its seconds, the blocks and the memory that it takes."""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from enum import Enum
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeAlias, TypeVar

_BLOCK = 512
_STATUS = Path("/proc/self/status")

Asked = ParamSpec("Asked")
Found = TypeVar("Found")


class What(Enum):
    """One thing that is measured on one side."""

    FIRST = "first"
    UNCHANGED = "unchanged"
    CHANGED = "changed"
    RESUMED = "resumed"
    SECOND = "second"
    PREVIEW = "preview"
    RESTORE = "restore"
    PREVIEW_AND_RESTORE = "preview and restore"
    DISK = "disk"
    PRUNED = "pruned"
    ONLY_KEPT = "only kept"
    KEPT_MEMORY = "kept memory"
    PEAK_MEMORY = "peak memory"
    HELP = "help"
    PROMPT = "prompt"


Measured: TypeAlias = Mapping[What, tuple[float, ...]]
"""All values of each thing that one side was measured for: seconds, or bytes."""


def merged(measured: list[Measured]) -> Measured:
    """Put the values of several runs together."""
    return {
        what: tuple(value for one in measured for value in one.get(what, ()))
        for what in dict.fromkeys(what for one in measured for what in one)
    }


def seconds(action: Callable[[], object]) -> float:
    """Time *action*."""
    # What earlier measurements left to be written must not be paid for by this one.
    os.sync()
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def disk_bytes(folder: Path) -> float:
    """Count the blocks below *folder* that are taken, in bytes."""
    return float(sum(path.lstat().st_blocks * _BLOCK for path in folder.rglob("*")))


def memory_now() -> int:
    """The bytes of memory that this process takes now."""
    return _status_bytes("VmRSS") or peak_memory()


def peak_memory() -> int:
    """The bytes of memory that this process took at most."""
    # Not getrusage() where there is another way: after a fork it begins with the parent's peak.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return _status_bytes("VmHWM") or (peak if sys.platform == "darwin" else peak * 1024)


def _status_bytes(field: str) -> int:
    if not _STATUS.exists():
        return 0
    lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines() if ":" in line)
    return int(lines[field].split()[0]) * 1024 if field in lines else 0


def in_new_process(
    action: Callable[Asked, Found], *args: Asked.args, **named: Asked.kwargs
) -> Found:
    """Do *action* in a process that knows nothing yet."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(_act, partial(action, *args, **named)).result()


def _act(action: Callable[[], Found]) -> Found:
    # What the benchmark itself knows of the tree must not be gone through by each collection.
    gc.freeze()
    return action()
