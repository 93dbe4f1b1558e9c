"""keryx as a library: snapshots, previews and restores, each in processes as a session has them."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.measuring import Measured, What, in_new_process, merged, seconds
from benchmarks.trees import CHANGED_FILES, REPEATS, WorkTreeMade, change_files, restored_files
from keryx_py.rewind.recorder import TurnRecorder
from keryx_py.rewind.rewinder import Rewinder
from keryx_py.session.archive import Mode, TurnEnd
from keryx_py.session.sessions import Session, Sessions
from keryx_py.snapshot.store import SnapshotKey, SnapshotStore

PREVIEWED_FILES = 100
_RESUMED_NUMBER = 100


def measure_keryx(tree: WorkTreeMade, work: Path, mark: str) -> Measured:
    """Time keryx on *tree*, sessions in *work*: a new one, it again, a second one, and rewinds."""
    data = work / f"data-{mark}"
    data.mkdir()
    first = data / "first" / "shadow.git"
    first.parent.mkdir()
    second = data / "second" / "shadow.git"
    second.parent.mkdir()
    return merged(
        [
            in_new_process(_measure_session, tree, first, mark),
            in_new_process(_measure_resumed, tree, first),
            in_new_process(_measure_second, tree, second, first),
            in_new_process(_measure_rewinds, tree, data, first, mark),
        ]
    )


def open_store(tree: WorkTreeMade, folder: Path, like: Path | None = None) -> SnapshotStore:
    """Open a store as the shell does, in *folder*, which lies in the data folder's session."""
    data = folder.parent.parent
    return SnapshotStore.open(folder, tree.root, home=data / "home", data_dir=data, like=like)


def _measure_session(tree: WorkTreeMade, folder: Path, mark: str) -> Measured:
    store = open_store(tree, folder)
    numbers = iter(range(1, _RESUMED_NUMBER))

    def take() -> None:
        store.take(SnapshotKey(next(numbers)), time.time())

    first = seconds(take)
    unchanged = [seconds(take) for _ in range(REPEATS)]
    changed = []
    for number in range(REPEATS):
        change_files(tree, CHANGED_FILES, f"keryx-{mark}-{number}")
        changed.append(seconds(take))
    return {
        What.FIRST: (first,),
        What.UNCHANGED: tuple(unchanged),
        What.CHANGED: tuple(changed),
    }


def _measure_resumed(tree: WorkTreeMade, folder: Path) -> Measured:
    def open_and_take() -> None:
        open_store(tree, folder).take(SnapshotKey(_RESUMED_NUMBER), time.time())

    return {What.RESUMED: (seconds(open_and_take),)}


def _measure_second(tree: WorkTreeMade, folder: Path, like: Path) -> Measured:
    def open_and_take() -> None:
        open_store(tree, folder, like).take(SnapshotKey(1), time.time())

    return {What.SECOND: (seconds(open_and_take),)}


def _measure_rewinds(tree: WorkTreeMade, data: Path, like: Path, mark: str) -> Measured:
    with Sessions(data, now=time.time).create(tree.root) as session:
        store = open_store(tree, session.folder / "shadow.git", like)
        rewinds = _Rewinds(tree, session, store)
        return {**rewinds.previews(mark), **rewinds.restores(mark)}


class _Rewinds:
    """Turns of one session, and rewinds to before them."""

    def __init__(self, tree: WorkTreeMade, session: Session, store: SnapshotStore) -> None:
        self._tree = tree
        self._recorder = TurnRecorder(session, store, now=time.time)
        self._rewinder = Rewinder(session, store, now=time.time)

    def previews(self, mark: str) -> Measured:
        """Time previews of a turn that changed a hundred files."""
        turn = self._play(f"keryx-preview-{mark}", PREVIEWED_FILES)

        def preview() -> None:
            plan = self._rewinder.plan(turn, Mode.FILES)
            assert plan.files is not None
            assert 0 < len(plan.files.changes) <= PREVIEWED_FILES

        return {What.PREVIEW: tuple(seconds(preview) for _ in range(REPEATS))}

    def restores(self, mark: str) -> Measured:
        """Time restores after changes that no capture holds yet, as on git's side."""
        turn = self._play(f"keryx-turn-{mark}", 1)
        times, with_preview = [], []
        for number in range(REPEATS):
            change_files(self._tree, restored_files(self._tree), f"keryx-restore-{mark}-{number}")
            preview, restore = self._restore(turn)
            times.append(restore)
            with_preview.append(preview + restore)
        return {What.RESTORE: tuple(times), What.PREVIEW_AND_RESTORE: tuple(with_preview)}

    def _play(self, mark: str, count: int) -> int:
        turn = self._recorder.begin("change files")
        failed = self._recorder.snapshot(turn)
        assert failed is None, failed
        change_files(self._tree, count, mark)
        self._recorder.end(turn, TurnEnd.DONE)
        return turn

    def _restore(self, turn: int) -> tuple[float, float]:
        """Preview, then confirm; return the seconds of each."""
        plans, reports = [], []
        preview = seconds(lambda: plans.append(self._rewinder.plan(turn, Mode.FILES)))
        restore = seconds(lambda: reports.append(self._rewinder.apply(plans[0])))
        assert not reports[0].failed, "keryx did not bring the files back"
        assert len(reports[0].done) >= restored_files(self._tree)
        return preview, restore
