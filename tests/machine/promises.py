"""What is promised, held against plain copies of the tree before and after each step."""

from __future__ import annotations

from collections import Counter

from keryx_py.messages import Message, Role
from keryx_py.rewind.plan import PathChange, RewindPlan, Way
from keryx_py.rewind.rewinder import RewindReport
from keryx_py.session.archive import (
    RewindEntry,
    SnapshotEntry,
    SnapshotOutcome,
    UndoPointEntry,
    live_turns,
)
from keryx_py.session.context import join_messages
from keryx_py.snapshot.listing import FileState, Kind
from keryx_py.snapshot.store import Side, SnapshotKey, SnapshotStore
from tests.cases.sitting import Sitting
from tests.machine.oracle import (
    Asked,
    Copy,
    Row,
    check_nothing_protected_went,
    check_reasons_to_stay,
    folders_above,
)
from tests.machine.sight import Seen, blob_id, untouched
from tests.machine.strict import list_faults
from tests.rewind.judging import check
from tests.rewind.play import Look

done = Counter[str]()
"""What the steps came to, for the figures."""


class Promises:
    """Judges the steps of one session; remembers the tree at each capture."""

    def __init__(self, sitting: Sitting) -> None:
        self._sitting = sitting
        self._copies: dict[SnapshotKey, Copy] = {}
        """The tree as a plain look saw it when each capture was taken."""
        self._asked: dict[SnapshotKey, frozenset[bytes]] = {}
        """What each undo point was asked to hold, whatever rules say."""

    def check_turn(self, number: int, before: Seen, after: Seen, said: str) -> None:
        outcomes = {
            entry.number: entry
            for entry in self._sitting.project.session.entries
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
        asked = set(self._asked.get(key, ()))
        asked |= {folder for path in asked for folder in folders_above(path)}
        held = copy.held().keys()
        assert held <= listing.keys(), (key, held - listing.keys())  # R3
        assert listing.keys() <= held | asked, (key, listing.keys() - held)
        self._copies[key] = copy

    def check_report(self, report: RewindReport, before: Seen, after: Seen) -> None:
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
        if files is None or files.target is None or files.target not in self._copies:
            return
        then, now = self._copies[files.target], Copy(before)
        asked = self._asked.get(files.target, frozenset())
        put = self._copies.get(SnapshotKey(files.target.number, Side.END))
        check_nothing_protected_went(then, now, after, Asked(asked, put))  # R11
        if plan.way is Way.PLAIN and not plan.paths and plan.redoes is None:
            check(self._store(), then.look, before, after, report, asked)  # R7
            check_reasons_to_stay(then, now, {one.path for one in files.staying})

    def _check_undo_point(
        self, report: RewindReport, changes: tuple[PathChange, ...], before: Look, after: Look
    ) -> None:
        assert report.undo is not None
        key = SnapshotKey(report.undo)
        self._asked[key] = frozenset(change.path for change in changes)
        undo = self._store().load(key)
        for change in changes:
            if change.path in report.done and change.now is not None:
                assert undo.listing.get(change.path) == change.now, change  # R2
        self._check_capture(key, before)
        self._check_capture(SnapshotKey(report.undo, Side.END), after)

    def check_history(self, report: RewindReport, live: tuple[int, ...]) -> None:
        now = live_turns(self._sitting.project.session.entries)
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
        items = (*self._sitting.project.window.items(), Message(Role.USER, "next"))
        faults = list_faults(join_messages(items))
        assert not faults, faults  # R9

    def _store(self) -> SnapshotStore:
        store = self._sitting.project.store
        assert store is not None
        return store

    def check_ended(
        self,
        plan: RewindPlan,
        before: Seen,
        after: Seen,
        live: tuple[int, ...],
        said: tuple[str, ...],
    ) -> None:
        """All of the plan was done in the end, or nothing; and it was said which."""
        entries = self._sitting.project.session.entries[plan.position :]
        undo = next((e.number for e in reversed(entries) if isinstance(e, UndoPointEntry)), None)
        rewinds = [e for e in entries if isinstance(e, RewindEntry)]
        assert len(rewinds) <= 1, rewinds
        rewound = rewinds[0] if rewinds else None
        if undo is not None:
            self._asked[SnapshotKey(undo)] = frozenset(c.path for c in _changes(plan))
            self._check_capture(SnapshotKey(undo), before.look)
        expected = dict(before.look)
        if rewound is not None:
            for change in _changes(plan):
                row = after.look.get(change.path)
                assert _is(row, change.then), change  # R10
                _put(expected, change.path, row)
        assert after.look == expected  # R10
        assert not any("as far as possible" in words or "damaged" in words for words in said), said
        now = live_turns(self._sitting.project.session.entries)
        cut = plan.history if rewound is not None else None
        assert set(now) == set(live) - set(cut.turns if cut is not None else ())
        self._check_context()


def _is(row: Row | None, state: FileState | None) -> bool:
    """Whether a plain look and keryx mean the same."""
    if row is None or state is None:
        return row is None and state is None
    kind, mode, content = row
    if kind != state.kind.value or mode != state.mode:
        return False
    return state.kind is Kind.FOLDER or blob_id(content) == state.oid


def _changes(plan: RewindPlan) -> tuple[PathChange, ...]:
    return plan.files.changes if plan.files is not None else ()


def _put(look: Look, path: bytes, row: Row | None) -> None:
    if row is None:
        look.pop(path, None)
    else:
        look[path] = row
