"""A session on a hostile tree, each step of which is held against plain copies of that tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from keryx_py.errors import KeryxError
from keryx_py.messages import Message, Role, ToolCall
from keryx_py.rewind.plan import PathChange, RewindPlan, Way
from keryx_py.rewind.rewinder import RefusedError, RewindReport, StalePlanError
from keryx_py.session.archive import Mode, SnapshotEntry, SnapshotOutcome, TurnEntry, live_turns
from keryx_py.session.context import join_messages
from keryx_py.snapshot.listing import FileState, Kind
from keryx_py.snapshot.store import Side, SnapshotError, SnapshotKey, SnapshotStore
from tests.cases.sitting import read, shell
from tests.machine.ground import Act, resolve
from tests.machine.hostile import LIMIT, as_shell, do
from tests.machine.oracle import (
    Copy,
    check_nothing_protected_went,
    check_reasons_to_stay,
    folders_above,
)
from tests.machine.sight import Seen, as_root, blob_id, see, untouched
from tests.machine.strict import StrictSitting, list_faults
from tests.rewind.judging import check
from tests.rewind.play import Look
from tests.soundness import check_stores

SECRET = b"nobody may read this\n"
KEPT = 6
Row: TypeAlias = tuple[str, int, bytes]

done = Counter[str]()
"""What the steps came to, for the figures."""


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
        self.copies: dict[SnapshotKey, Copy] = {}
        """The tree as a plain look saw it when each capture was taken."""
        self.asked: dict[SnapshotKey, frozenset[bytes]] = {}
        """What each undo point was asked to hold, whatever rules say."""
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
        self._check_turn(number, before, see(self.root), said)

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
        numbers = [e.number for e in entries if isinstance(e, TurnEntry | SnapshotEntry)]
        return max(numbers, default=0) + 1

    # ---- rewinds

    def rewind(self, back: int, mode: Mode, way: Way, picks: list[int], late: Sequence[Act]) -> None:
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
        self._check_report(report, before, after)
        self._check_history(report, live)
        if plan.redoes is None:
            self.before_rewinds.append(before.look)
        else:
            self.before_rewinds.clear()
        kind = "redos" if plan.redoes is not None else f"rewinds, {plan.mode.value}"
        done[kind] += 1
        return report

    # ---- promises

    def _check_turn(self, number: int, before: Seen, after: Seen, said: str) -> None:
        outcomes = {
            entry.number: entry
            for entry in self.sitting.project.session.entries
            if isinstance(entry, SnapshotEntry)
        }
        if number not in outcomes or outcomes[number].outcome is not SnapshotOutcome.TAKEN:
            # Nobody could be asked, so the call was denied.
            assert before == after
            reason = outcomes[number].reason if number in outcomes else ""
            assert ".gitignore" in reason, (number, reason, said)
            done["turns without a snapshot"] += 1
            return
        done["turns"] += 1
        self._check_capture(SnapshotKey(number), before.look)
        self._check_capture(SnapshotKey(number, Side.END), after.look)

    def _check_capture(self, key: SnapshotKey, look: Look) -> None:
        """The capture holds the tree to the byte, but for what is left out by a plain look."""
        store = self._store()
        if key not in store.keys():  # noqa: SIM118 - a store is no dict
            return
        listing, copy = store.load(key).listing, Copy(look)
        for path, held_state in listing.items():
            assert _is(look.get(path), held_state), (key, path)  # R3, R7
        asked = {path for path in self.asked.get(key, ()) if path in listing}
        asked |= {folder for path in asked for folder in folders_above(path)}
        held = copy.held().keys()
        assert held <= listing.keys(), (key, held - listing.keys())  # R3
        assert listing.keys() <= held | asked, (key, listing.keys() - held)
        self.copies[key] = copy

    def _check_report(self, report: RewindReport, before: Seen, after: Seen) -> None:
        files = report.plan.files
        if files is None or not files.changes:
            assert before == after  # R1
            return
        failed = {one.path for one in report.failed}
        changed = {c.path for c in files.changes} - failed
        for path in before.stamps.keys() - changed - failed:
            assert untouched(before.stamps[path], after.stamps.get(path)), path  # R1, R5
        for change in files.changes:
            if change.path in changed:
                assert _is(before.look.get(change.path), change.now), change
                assert _is(after.look.get(change.path), change.then), change
                assert b".git" not in change.path.split(b"/")  # R4
        assert changed == set(report.done)
        self._check_whole(report, before.look, after.look)
        self._check_undo_point(report, files.changes, before.look, after.look)

    def _check_whole(self, report: RewindReport, before: Look, after: Look) -> None:
        plan, files = report.plan, report.plan.files
        changed = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
        assert changed == set(report.done)  # R1
        if files is None or files.target is None or files.target not in self.copies:
            return
        then, now = self.copies[files.target], Copy(before)
        asked = self.asked.get(files.target, frozenset())
        check_nothing_protected_went(then, now, after, asked)  # R11
        if plan.way is Way.PLAIN and not plan.paths and plan.redoes is None:
            check(self._store(), then.look, before, after, report, asked)  # R7
            check_reasons_to_stay(then, now, {one.path for one in files.staying})

    def _check_undo_point(
        self, report: RewindReport, changes: tuple[PathChange, ...], before: Look, after: Look
    ) -> None:
        assert report.undo is not None
        key = SnapshotKey(report.undo)
        self.asked[key] = frozenset(change.path for change in changes)
        undo = self._store().load(key)
        for change in changes:
            if change.path in report.done and change.now is not None:
                assert undo.listing.get(change.path) == change.now, change  # R2
        self._check_capture(key, before)
        self._check_capture(SnapshotKey(report.undo, Side.END), after)

    def _check_history(self, report: RewindReport, live: tuple[int, ...]) -> None:
        now = live_turns(self.sitting.project.session.entries)
        cut = report.plan.history
        if report.plan.redoes is not None:
            assert set(live) <= set(now)
        elif cut is not None and not report.history_error:
            assert report.history_cut
            assert set(now) == set(live) - set(cut.turns)
        else:
            assert now == live  # R6
        if now:
            self._check_context()

    def _check_context(self) -> None:
        items = (*self.sitting.project.window.items(), Message(Role.USER, "next"))
        faults = list_faults(join_messages(items))
        assert not faults, faults  # R9

    def _store(self) -> SnapshotStore:
        store = self.sitting.project.store
        assert store is not None
        return store

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


def _is(row: Row | None, state: FileState | None) -> bool:
    """Whether a plain look and keryx mean the same."""
    if row is None or state is None:
        return row is None and state is None
    kind, mode, content = row
    if kind != state.kind.value or mode != state.mode:
        return False
    return state.kind is Kind.FOLDER or blob_id(content) == state.oid


def _check_sentence(error: KeryxError) -> None:
    words = str(error)
    assert words  # R12
    assert "\n" not in words
    assert "Traceback" not in words


def _open_all(folder: Path) -> None:
    if os.geteuid() != 0:
        subprocess.run(["chmod", "-R", "u+rwx", folder], check=False)
