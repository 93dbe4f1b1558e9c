"""A session on a hostile tree, each step of which is held against plain copies of that tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from keryx_py.errors import KeryxError
from keryx_py.messages import ToolCall
from keryx_py.rewind.plan import RewindPlan, Way
from keryx_py.rewind.rewinder import RefusedError, RewindReport, StalePlanError
from keryx_py.session.archive import (
    Mode,
    SnapshotEntry,
    TurnEntry,
    UndoPointEntry,
    live_turns,
)
from keryx_py.snapshot.store import SnapshotError
from tests.cases.sitting import read, shell
from tests.machine.ground import Act, resolve
from tests.machine.hostile import LIMIT, as_shell, do
from tests.machine.killing import kill_in_rewind
from tests.machine.promises import Promises, done
from tests.machine.sight import as_root, blob_id, see
from tests.machine.strict import StrictSitting
from tests.rewind.play import Look
from tests.soundness import check_stores

SECRET = b"nobody may read this\n"
KEPT = 6


class Played:
    """One project in *base*, whose outside is watched, and the session on it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "P"
        self.outside = base / "outside"
        self.root.mkdir(parents=True)
        self.outside.mkdir()
        (self.outside / "secret").write_bytes(SECRET)
        (self.outside / "shared").write_bytes(b"shared\n")
        (self.outside / "shared too").hardlink_to(self.outside / "shared")
        (self.outside / "rules").write_bytes(b"a\n")
        self.sitting = StrictSitting(
            self.root,
            base / "data",
            settings={"max_file_mb": LIMIT / 2**20, "keep": KEPT},
        )
        self.promises = Promises(self.sitting)
        self.before_rewinds: list[Look] = []
        """The tree before each rewind that can be taken back and nothing has changed since."""

    # ---- what people and turns do

    def edit(self, acts: Sequence[Act]) -> None:
        """The person changes something."""
        do(self.root, resolve(acts, see(self.root).look))
        self.before_rewinds.clear()

    def turn(self, acts: Sequence[Act], calls: tuple[ToolCall, ...]) -> None:
        """Take a turn that does *acts* by a command and then *calls*."""
        before = see(self.root)
        number = self._next()
        edits = resolve(acts, before.look)
        said = self._take((shell(as_shell(edits)), *calls))
        self.promises.check_turn(number, before, see(self.root), said)

    def _take(self, calls: tuple[ToolCall, ...]) -> str:
        said = self.sitting.play(calls)
        self.before_rewinds.clear()
        bugs = self.base / "data" / "bugs.log"
        assert not bugs.exists(), bugs.read_text()  # R12
        assert "the system refused" not in said, said
        return said

    def ask(self) -> None:
        """Take a turn that only reads."""
        before = see(self.root)
        self._take((read("a"),))
        assert see(self.root) == before
        done["turns that read"] += 1

    def resume(self) -> None:
        """Leave, and come back: all is as it was."""
        before, points = see(self.root), self.sitting.project.rewinder().list_points()
        live = live_turns(self.sitting.project.session.entries)
        self.sitting.resume()
        assert self.sitting.project.rewinder().list_points() == points  # R9
        assert live_turns(self.sitting.project.session.entries) == live
        assert see(self.root) == before
        done["resumes"] += 1

    def _next(self) -> int:
        entries = self.sitting.project.session.entries
        numbered = (TurnEntry, SnapshotEntry, UndoPointEntry)
        numbers = [entry.number for entry in entries if isinstance(entry, numbered)]
        return max(numbers, default=0) + 1

    # ---- rewinds

    def rewind(
        self, back: int, mode: Mode, way: Way, picks: list[int], late: Sequence[Act]
    ) -> None:
        """Rewind to the *back*-th newest point; *late* is done between preview and confirm."""
        points = self.sitting.project.rewinder().list_points()
        if not points:
            return
        number = points[back % len(points)].point.number
        paths = self._paths(picks) if mode is Mode.FILES and way is Way.PLAIN else []
        plan = self._planned(
            lambda: self.sitting.project.rewinder().plan(number, mode, paths, way=way)
        )
        if plan is not None:
            self._apply(plan, late)

    def undo(self) -> None:
        """Rewind the latest turn."""
        plan = self._planned(lambda: self.sitting.project.rewinder().plan_undo())
        if plan is not None:
            self._apply(plan, [])

    def redo(self) -> None:
        """Take the latest rewind back; where nothing has moved since, all is as before it."""
        plan = self._planned(lambda: self.sitting.project.rewinder().plan_redo())
        if plan is None:
            return
        expected = self.before_rewinds.pop() if self.before_rewinds else None
        kept = list(self.before_rewinds)
        report = self._apply(plan, [])
        self.before_rewinds = kept
        if expected is not None and report is not None and not report.failed:
            assert see(self.root).look == expected  # R2
            done["redos to the letter"] += 1

    def rewind_killed(self, mode: Mode, steps: list[int]) -> None:
        """Rewind to the newest point in a process that is killed, as are those that go on.

        Each is killed just before one of its changes to the disk: the number in *steps*.
        """
        points = self.sitting.project.rewinder().list_points()
        plan = self._planned(
            lambda: self.sitting.project.rewinder().plan(points[0].point.number, mode)
        )
        if plan is None or plan.empty:
            return
        before, live = see(self.root), live_turns(self.sitting.project.session.entries)
        killed = kill_in_rewind(self.sitting, plan.point.number, mode, steps)
        said = self.sitting.project.notices
        self.before_rewinds.clear()
        self.promises.check_ended(plan, before, see(self.root), live, said)
        done["rewinds that were killed" if killed else "rewinds in another process"] += 1

    def _paths(self, picks: list[int]) -> list[bytes]:
        names = sorted(see(self.root).look)
        return [names[pick % len(names)] for pick in picks] if names else []

    def _planned(self, plan: Callable[[], RewindPlan]) -> RewindPlan | None:
        before = see(self.root)
        try:
            return plan()
        except (RefusedError, SnapshotError) as error:
            _check_sentence(error)
            return None
        finally:
            assert see(self.root) == before

    def _apply(self, plan: RewindPlan, late: Sequence[Act]) -> RewindReport | None:
        if late:
            self.edit(late)
        before = see(self.root)
        live = live_turns(self.sitting.project.session.entries)
        try:
            report = self.sitting.project.rewinder().apply(plan)
        except (RefusedError, StalePlanError, SnapshotError) as error:
            _check_sentence(error)
            assert see(self.root) == before
            assert live_turns(self.sitting.project.session.entries) == live
            done["stale plans" if isinstance(error, StalePlanError) else "refusals"] += 1
            return None
        after = see(self.root)
        # Nobody else moves anything here, and what may be read may be written by its owner.
        assert not report.failed, report.failed
        self.promises.check_report(report, before, after)
        self.promises.check_history(report, live)
        if plan.redoes is None:
            self.before_rewinds.append(before.look)
        else:
            self.before_rewinds.clear()
        kind = "redos" if plan.redoes is not None else f"rewinds, {plan.mode.value}"
        done[kind] += 1
        return report

    # ---- the end

    def end(self) -> None:
        """Leave; git finds the store sound, and no secret from outside in it."""
        shadow = self.sitting.project.session.folder / "shadow.git"
        self.sitting.close()
        with as_root():
            if shadow.exists():
                check_stores([self.base / "data"])
                found = subprocess.run(
                    ["git", f"--git-dir={shadow}", "cat-file", "-e", blob_id(SECRET).hex()],
                    capture_output=True,
                    check=False,
                )
                assert found.returncode != 0  # R8
            _open_all(self.base)
            shutil.rmtree(self.base)


def _check_sentence(error: KeryxError) -> None:
    words = str(error)
    assert words  # R12
    assert "\n" not in words
    assert "Traceback" not in words


def _open_all(folder: Path) -> None:
    if os.geteuid() != 0:
        subprocess.run(["chmod", "-R", "u+rwx", folder], check=False)
