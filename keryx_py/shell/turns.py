"""Take turns in the open project: the loop, its gates, the snapshot, and how each turn ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from keryx_py.agent.approval import Asker
from keryx_py.agent.delegation import run_task
from keryx_py.agent.events import NoticeGiven, SnapshotEnded, SnapshotProgress
from keryx_py.agent.loop import TooManyStepsError, TurnWork, run_turn
from keryx_py.agent.prompt import system_prompt
from keryx_py.agent.runner import Emit, Gates, Kept, Saved, ToolRunner, TurnSnapshot
from keryx_py.models.base import ModelError
from keryx_py.rewind.recorder import TurnRecorder
from keryx_py.session.archive import ItemEntry, TurnEnd
from keryx_py.session.errors import SessionError
from keryx_py.snapshot.coverage import Coverage
from keryx_py.snapshot.store import WalkProgress
from keryx_py.tools.base import Outcome, Progress
from keryx_py.tools.toolbox import make_tools

if TYPE_CHECKING:
    from keryx_py.shell.project import OpenProject


@dataclass(frozen=True, slots=True)
class TurnReport:
    """How a turn went."""

    how: TurnEnd
    reason: str = ""
    """Why it failed, in one sentence; empty when it did not."""
    prompt_again: str = ""
    """The prompt to put back on the input line: set when it failed before any reply."""


class TurnTaker:
    """Takes the turns of one session."""

    def __init__(self, project: OpenProject) -> None:
        self._project = project
        self.tools = make_tools(project.root, project.settings.tool_environment, self._delegate)
        self._current: TurnWork | None = None

    def take(self, prompt: str, asker: Asker, emit: Emit) -> TurnReport:
        """Send *prompt* and work until the model makes no more calls. Ctrl-C ends the turn."""
        recorder = self._project.recorder()
        try:
            turn = recorder.begin(prompt, unattended=self._project.unattended)
        except SessionError as error:
            return TurnReport(TurnEnd.FAILED, str(error), prompt)
        if self._project.store is not None:
            # While the model thinks, most of what the snapshot needs is read and stored.
            self._project.store.begin_early()
        how, reason = self._run(self._work(turn, recorder, asker, emit))
        try:
            recorder.end(turn, how, reason, shown_progress(emit))
        except SessionError as error:
            how, reason = TurnEnd.FAILED, str(error)
        _captured(recorder, emit)
        again = prompt if how is TurnEnd.FAILED and not self._replied(turn) else ""
        return TurnReport(how, reason, again)

    def _run(self, work: TurnWork) -> tuple[TurnEnd, str]:
        self._current = work
        try:
            run_turn(work)
        except KeyboardInterrupt:
            return TurnEnd.INTERRUPTED, "Ctrl-C"
        except (ModelError, TooManyStepsError, SessionError) as error:
            return TurnEnd.FAILED, str(error)
        return TurnEnd.DONE, ""

    def _replied(self, turn: int) -> bool:
        entries = self._project.session.entries
        return any(isinstance(entry, ItemEntry) and entry.turn == turn for entry in entries)

    def _work(self, turn: int, recorder: TurnRecorder, asker: Asker, emit: Emit) -> TurnWork:
        project = self._project
        gates = Gates(
            policy=project.policy,
            asker=asker,
            snapshot=TurnSnapshot(lambda: self._save(turn, recorder, emit)),
            coverage=self._coverage,
            append=project.session.append,
            emit=emit,
        )
        return TurnWork(
            turn=turn,
            model=project.model,
            system=system_prompt(project.root),
            runner=ToolRunner(self.tools, turn, gates),
            context=project.window.items,
            make_room=lambda needed: project.window.make_room(project.model, needed, emit),
            count=project.window.learn,
            append=project.session.append,
            emit=emit,
            asker=asker,
            max_steps=project.settings.max_steps,
        )

    def _save(self, turn: int, recorder: TurnRecorder, emit: Emit) -> Saved:
        if self._project.unattended or not self._project.settings.snapshots:
            recorder.without(turn)
            return Saved(Kept.NOT_TAKEN)
        reason = recorder.snapshot(turn, shown_progress(emit))
        _captured(recorder, emit)
        return Saved(Kept.SAVED) if reason is None else Saved(Kept.FAILED, reason)

    def _coverage(self, paths: tuple[bytes, ...], size: int) -> str:
        if self._project.store is None:
            return ""
        settings = self._project.settings
        limit = int(settings.max_file_mb * 2**20)
        return Coverage(self._project.root, limit, settings.exclude).why_not(paths, size)

    def _delegate(self, task: str, progress: Progress) -> Outcome:
        work = self._current
        if work is None:
            return Outcome("no turn is under way", ok=False)
        system = system_prompt(self._project.root, delegated=True)
        return run_task(replace(work, system=system, runner=work.runner.for_delegate()), task)


def _captured(recorder: TurnRecorder, emit: Emit) -> None:
    """Say that a capture is over, and what the person should know of it."""
    emit(SnapshotEnded())
    for notice in recorder.notices():
        emit(NoticeGiven(notice))


def shown_progress(emit: Emit) -> Callable[[WalkProgress], None]:
    """Turn a capture's progress into events."""

    def show(progress: WalkProgress) -> None:
        emit(SnapshotProgress(progress.files, progress.content_bytes))

    return show
