"""The project that the shell is open on: its session, its snapshots, its model, its turns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from keryx_py.agent.approval import Asker, Policy
from keryx_py.agent.events import SnapshotEnded
from keryx_py.agent.prompt import system_prompt
from keryx_py.agent.runner import Emit
from keryx_py.agent.window import ContextWindow
from keryx_py.models.base import Model
from keryx_py.models.catalog import open_model, preload
from keryx_py.rewind.points import named_checkpoints
from keryx_py.rewind.recorder import TurnRecorder
from keryx_py.rewind.recovery import is_cut_short, recover
from keryx_py.rewind.retention import count_snapshots
from keryx_py.rewind.rewinder import RefusedError, Rewinder
from keryx_py.session.archive import SnapshotOutcome
from keryx_py.session.lease import is_held
from keryx_py.session.others import list_used_since
from keryx_py.session.sessions import HeldError, Session, SessionError, SessionInfo, Sessions
from keryx_py.settings import Settings
from keryx_py.shell.pager import Pager
from keryx_py.shell.turns import TurnReport, TurnTaker, shown_progress
from keryx_py.snapshot.settling import clear_after_the_dead
from keryx_py.snapshot.shadow import has_leftovers
from keryx_py.snapshot.store import (
    Limits,
    RootRefusedError,
    SnapshotError,
    SnapshotStore,
)
from keryx_py.tools.shell import BackgroundProcess, ShellExec

SHADOW = "shadow.git"
"""The shadow repository's name in a session's folder."""


class OpenProject:
    """One root, one session under this process's lease, and what works on them."""

    def __init__(
        self,
        settings: Settings,
        sessions: Sessions,
        session: Session,
        *,
        now: Callable[[], float],
        unattended: bool = False,
    ) -> None:
        self.settings = settings
        self.sessions = sessions
        self.policy = Policy(settings.approve)
        self.unattended = unattended
        self.notices: tuple[str, ...] = ()
        """What the person should know since the session was opened."""
        self._now = now
        self._shells: list[ShellExec] = []
        """What runs commands, of every session that was open: what those left may still run."""
        self.model = self._open_model(settings.model)
        self._hold(session)

    # ---- what is open

    def _hold(self, session: Session) -> None:
        self.session = session
        self.root = session.root
        self.notices = session.notices
        self.store: SnapshotStore | None = None
        self.snapshots_off = self._open_store()
        self._recover_all()
        self._clear_others()
        self.window = self._open_window()
        self.turns = TurnTaker(self)
        self._shells += [t for t in self.turns.tools.values() if isinstance(t, ShellExec)]

    def _open_store(self) -> str:
        """Open the store unless there is a reason not to; return the reason."""
        if self.unattended:
            return "this run is unattended"
        if not self.root.is_dir():
            return f"the project's folder {self.root} is gone"
        if not self.settings.snapshots:
            return self.settings.off_because
        try:
            self.store = open_store(self.settings, self.session, self._like())
        except (RootRefusedError, SnapshotError) as error:
            return str(error)
        self.notices += self.store.notices
        return ""

    def _like(self) -> Path | None:
        """The shadow repository that a new session begins from: the one used last here."""
        if (self.session.folder / SHADOW).exists():
            return None
        latest = self.sessions.latest(self.root)
        if latest is None or latest.id == self.session.id:
            return None
        shadow = latest.folder / SHADOW
        return shadow if shadow.exists() else None

    @property
    def rewind_refused(self) -> str:
        """Why every rewind command is refused, a whole sentence; empty when they are not."""
        if self.unattended:
            return (
                "rewinding is refused here: this run is unattended and took no snapshots; "
                f"open the session in the shell with: keryx -r {self.session.id}"
            )
        if not self.settings.snapshots:
            how = self.settings.off_because
            return f"rewinding is off ({how}); take that away and start keryx again to turn it on"
        return ""

    def _recover_all(self) -> None:
        """Finish what a dead process left half-restored in this project, in any session of it.

        Where that cannot be done now, it is said that it is still to be done.
        """
        if is_cut_short(self.session.folder):
            self.notices += (recover(self.session, self.store, self._now),)
        for folder in self.sessions.folders():
            if folder != self.session.folder and is_cut_short(folder):
                info = self.sessions.find(folder.name)
                if info.root == self.root and (said := self._recover_other(info)):
                    self.notices += (said,)

    def _recover_other(self, info: SessionInfo) -> str:
        try:
            with self.sessions.open(info.id) as other:
                store = None if self.store is None else open_store(self.settings, other)
                said = recover(other, store, self._now)
        except HeldError:
            said = (
                "a restore of the project's files was begun there and is not done yet; "
                "it is for the process that has the session open"
            )
        except (SessionError, SnapshotError, RootRefusedError) as error:
            said = f"a restore was cut short and cannot be finished: {error}"
        # Nothing is left to say when its holder ended it just now.
        return f"session {info.id}: {said}" if said else ""

    def _clear_others(self) -> None:
        """Clear the half-made packs that dead processes left in other sessions: they may be big,
        and nobody may ever open those sessions again."""
        if self.store is None:
            return
        for folder in self.sessions.folders():
            left = folder != self.session.folder and has_leftovers(folder / SHADOW)
            # A living process's are its own; what is refused is left.
            if left and not is_held(folder):
                with suppress(SessionError, OSError), self.sessions.claimed(folder):
                    clear_after_the_dead(folder / SHADOW)

    # ---- turns

    def take_turn(self, prompt: str, asker: Asker, emit: Emit) -> TurnReport:
        """Send *prompt* and work until the model makes no more calls. Ctrl-C ends the turn."""
        return self.turns.take(prompt, asker, emit)

    def recorder(self) -> TurnRecorder:
        """Make what records a turn or a checkpoint in this session."""
        if self.unattended:
            without = SnapshotOutcome.UNATTENDED
        elif not self.settings.snapshots:
            without = SnapshotOutcome.OFF
        else:
            without = SnapshotOutcome.FAILED
        return TurnRecorder(
            self.session,
            self.store,
            without=without,
            reason=self.snapshots_off,
            keep=self.settings.keep,
            now=self._now,
        )

    # ---- the context

    def _open_window(self) -> ContextWindow:
        return ContextWindow(
            system_prompt(self.root),
            self.settings.context_tokens,
            entries=lambda: self.session.entries,
            append=self.session.append,
            now=self._now,
        )

    def compact(self, focus: str, emit: Emit) -> str:
        """Compact the context now; say in one sentence what came of it.

        Raises ModelError, SessionError.
        """
        self.session.check_lease()
        covered = self.window.compact(self.model, focus, emit)
        if not covered:
            return "nothing to compact: the last three turns always stay as they are"
        return f"compacted {_turns(len(covered))} into a summary; the last three stay as they are"

    def page(self, text: str) -> bool:
        """Show a *text* that is longer than the screen in a pager; False where none can."""
        return Pager(self.settings.pager, self.settings.tool_environment).show(text)

    # ---- points

    def rewinder(self) -> Rewinder:
        """The rewinds of this session.

        Raises RefusedError when every rewind is refused, LeaseLostError.
        """
        if self.rewind_refused:
            raise RefusedError(self.rewind_refused)
        self.session.check_lease()
        return Rewinder(
            self.session,
            self.store,
            now=self._now,
            keep=self.settings.keep,
            others=self._others_used_since,
            no_store=self.snapshots_off,
        )

    def _others_used_since(self, since: float) -> tuple[Path, ...]:
        """Name the folders of the other sessions of this root that were used after *since*."""
        others = (folder for folder in self.sessions.folders() if folder != self.session.folder)
        return list_used_since(others, self.root, since)

    def checkpoint(self, name: str, emit: Emit, note: str = "") -> int:
        """Take a snapshot now, pinned when named; return its number.

        Raises RefusedError, also for a name that is taken, SnapshotError, SessionError.
        """
        if self.rewind_refused:
            raise RefusedError(self.rewind_refused)
        taken = named_checkpoints(self.session.entries)
        if name in taken:
            raise RefusedError(
                f"checkpoint {taken[name]} has the name {name}; /checkpoint -d {name} takes it away"
            )
        if self.store is None:
            raise SnapshotError(f"no snapshot can be taken: {self.snapshots_off}")
        number = self.recorder().checkpoint(name, shown_progress(emit), note)
        emit(SnapshotEnded())
        return number

    def unpin(self, name: str) -> int:
        """Take the name of a checkpoint away; return its number. Raises RefusedError."""
        number = self.rewinder().find_named(name)
        self.recorder().unpin(number)
        return number

    def snapshot_count(self) -> int:
        """How many snapshots are kept of those that count against the limit."""
        if self.store is None:
            return 0
        return count_snapshots(self.session.entries, self.store.keys())

    def background(self) -> tuple[BackgroundProcess, ...]:
        """The processes that commands left running and that still run."""
        return tuple(one for shell in self._shells for one in shell.background())

    def end_background(self) -> None:
        """End all that commands left running."""
        for shell in self._shells:
            shell.end_background()

    # ---- other sessions, other models

    def new_session(self) -> None:
        """Go on in a new session of the same root."""
        self._switch(self.sessions.create(self.root))

    def resume(self, id_or_prefix: str) -> None:
        """Go on in another session. Raises as Sessions.open; then this one stays open."""
        if self.sessions.find(id_or_prefix).id == self.session.id:
            raise SessionError("that session is the one that is open")
        self._switch(self.sessions.open(id_or_prefix))

    def fork(self) -> str:
        """Go on in a copy of this session; return its id."""
        self._switch(self.sessions.fork(self.session.id))
        return self.session.id

    def _switch(self, session: Session) -> None:
        self.close()
        self._hold(session)

    def use_model(self, name: str) -> None:
        """Answer with another model from now on. Raises ModelError for an unknown name."""
        self.model = self._open_model(name)

    def _open_model(self, name: str) -> Model:
        return open_model(
            name,
            base_url=self._base_url(name),
            openai_key=self.settings.openai_key,
            anthropic_key=self.settings.anthropic_key,
            context_tokens=None,
        )

    def preload_model(self) -> None:
        """Import what the model needs, which takes a second for some; for a background thread."""
        preload(self.settings.model, self._base_url(self.settings.model))

    def _base_url(self, name: str) -> str | None:
        if name.startswith("anthropic/"):
            return self.settings.anthropic_base_url
        return self.settings.base_url

    def list_sessions(self) -> tuple[SessionInfo, ...]:
        """The sessions of this root, the one used last first."""
        return self.sessions.list(self.root)

    def close(self) -> None:
        """Let the session go; one in which nothing happened leaves nothing behind."""
        if self.store is not None:
            self.store.end_early()
        self.session.close()
        if not self.session.entries:
            # Another process may have taken it meanwhile; then it is that one's.
            with suppress(SessionError):
                if self.sessions.find(self.session.id).turns == 0:
                    self.sessions.delete(self.session.id)


def open_store(settings: Settings, session: Session, like: Path | None = None) -> SnapshotStore:
    """Open *session*'s shadow repository, which begins from *like*.

    Raises RootRefusedError, SnapshotError.
    """
    return SnapshotStore.open(
        session.folder / SHADOW,
        session.root,
        home=settings.home,
        data_dir=settings.data_dir,
        exclude=settings.exclude,
        limits=Limits(
            max_file_bytes=int(settings.max_file_mb * 2**20),
            size_limit_bytes=int(settings.size_limit_gb * 10**9),
            free_floor_bytes=int(settings.free_floor_gb * 10**9),
        ),
        like=like,
    )


def _turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count} turns"
