"""A command in a process group of its own: start it, follow its output, end all of it.

A group is asked to end, and killed after a short grace.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from keryx_py.tools.base import ToolError

GRACE_SECONDS = 1.0
_DRAIN_SECONDS = 0.3
_LOOK_SECONDS = 0.05
_CHUNK = 65_536


class HeldInterrupts:
    """Ctrl-C, held from when a command is about to start until somebody would end it."""

    def __init__(self) -> None:
        self._came = False
        # Only the main thread is ever interrupted, and only it may say how.
        self._holds = threading.current_thread() is threading.main_thread()
        if self._holds:
            self._before = signal.signal(signal.SIGINT, self._note)

    def _note(self, number: int, frame: object) -> None:
        self._came = True

    def release(self) -> None:
        """Let Ctrl-C interrupt again; the one that came meanwhile does so now."""
        if not self._holds:
            return
        self._holds = False
        before = self._before
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
        if self._came:
            signal.raise_signal(signal.SIGINT)


class Group:
    """A running command, and all that it started in its group."""

    def __init__(
        self, process: subprocess.Popen[bytes], pipe: int, interrupts: HeldInterrupts
    ) -> None:
        """*interrupts* are held until the command is followed: only then are they answered."""
        self.pgid = process.pid
        self._process = process
        self._pipe = pipe
        self._interrupts = interrupts

    def follow(self, take: Callable[[bytes], None], seconds: float) -> int | None:
        """Pass on what the command prints until it ends; return its code, None when out of time.

        The code is negative for the signal that ended it. The whole group is ended when *seconds*
        are over, and when this is interrupted.
        """
        try:
            self._interrupts.release()
            return self._follow(take, time.monotonic() + seconds)
        except BaseException:
            self._end()
            raise
        finally:
            self._let_go()

    def _follow(self, take: Callable[[bytes], None], deadline: float) -> int | None:
        for chunk in self._output(deadline):
            take(chunk)
        with suppress(subprocess.TimeoutExpired):
            # It may have closed its output long before its end.
            return self._process.wait(max(0.0, deadline - time.monotonic()))
        self._end()
        for chunk in self._output(time.monotonic() + _DRAIN_SECONDS):
            take(chunk)
        return None

    def _end(self) -> None:
        try:
            end_group(self.pgid)
        finally:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_SECONDS)

    def _output(self, deadline: float) -> Iterator[bytes]:
        """Yield output until it ends, the deadline, or a little after the command's own end.

        What the command left running may hold the pipe open for ever.
        """
        drained_by: float | None = None
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ)
            while True:
                ready = selector.select(_LOOK_SECONDS)
                if ready:
                    chunk = os.read(self._pipe, _CHUNK)
                    if not chunk:
                        return
                    yield chunk
                now = time.monotonic()
                if drained_by is not None:
                    if not ready or now > drained_by:
                        return
                elif self._process.poll() is not None:
                    # Once more round: it may have printed since the selector looked.
                    drained_by = now + _DRAIN_SECONDS
                elif now > deadline:
                    return

    def _let_go(self) -> None:
        """Close the pipe; while the group lives on, keep it empty instead.

        A server left running would die at its next line if the pipe were closed, and stand still
        when it is full. Only a thread can read on while the shell waits for the person.
        """
        if left_running(self.pgid):
            threading.Thread(target=_empty, args=(self._pipe,), daemon=True).start()
        else:
            os.close(self._pipe)


def start_group(command: bytes, folder: bytes, environment: Mapping[str, str]) -> Group:
    """Start *command* in `/bin/sh`; Ctrl-C is held until the group is followed.

    Raises ToolError when it cannot be started.
    """
    read_end, write_end = os.pipe()
    interrupts = HeldInterrupts()
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=write_end,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        os.close(read_end)
        interrupts.release()
        raise ToolError(f"the command could not be started: {_why(error)}") from error
    finally:
        os.close(write_end)
    return Group(process, read_end, interrupts)


def end_group(pgid: int) -> None:
    """End every process of the group."""
    try:
        _signal(pgid, signal.SIGTERM)
        _wait_gone(pgid)
    finally:
        # Also when a second Ctrl-C cuts the grace short.
        if _members(pgid):
            _signal(pgid, signal.SIGKILL)
            _wait_gone(pgid)


def left_running(pgid: int) -> bool:
    """Say whether processes of a group whose leader is gone still run."""
    members = _members(pgid)
    # A leader means that the number was given to somebody else's group meanwhile.
    return bool(members) and pgid not in members


def _wait_gone(pgid: int) -> None:
    end = time.monotonic() + GRACE_SECONDS
    while _members(pgid) and time.monotonic() < end:
        time.sleep(0.02)


def _signal(pgid: int, number: signal.Signals) -> None:
    # Gone already, or another user's, which nothing here can end.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, number)


def _members(pgid: int) -> frozenset[int]:
    """List the living processes of a group; one that is dead but not reaped does not count."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pgid, 0)
        return frozenset(pid for pid, group, state in _processes() if group == pgid and state)
    return frozenset()


def _processes() -> Iterator[tuple[int, int, bool]]:
    """Yield each process's number, its group, and whether it lives."""
    if not Path("/proc/self/stat").exists():
        yield from _processes_by_ps()
        return
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with suppress(OSError):
                # The name in brackets may hold anything, brackets too.
                fields = Path("/proc", name, "stat").read_bytes().rpartition(b")")[2].split()
                yield int(name), int(fields[2]), fields[0] not in (b"Z", b"X")


def _processes_by_ps() -> Iterator[tuple[int, int, bool]]:
    listed = subprocess.run(
        ["/bin/ps", "-A", "-o", "pid=,pgid=,stat="], capture_output=True, check=False, env={}
    )
    for line in listed.stdout.splitlines():
        pid, group, state = line.split()[:3]
        yield int(pid), int(group), not state.startswith(b"Z")


def _empty(pipe: int) -> None:
    with suppress(OSError):
        while os.read(pipe, _CHUNK):
            pass
    os.close(pipe)


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)
