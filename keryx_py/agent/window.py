"""The context and the window it has to fit in: its size, and making room by a summary."""

from __future__ import annotations

from collections.abc import Callable

from keryx_py.agent.events import NoticeGiven
from keryx_py.agent.runner import Append, Emit
from keryx_py.messages import Item, Usage
from keryx_py.models.base import Model, ModelError, Notice, Reply, Request
from keryx_py.session.archive import CompactionEntry, Entries
from keryx_py.session.compaction import plan_compaction
from keryx_py.session.context import TokenEstimate, build_context, measure

NEARLY_FULL = 0.8
"""The share of the window at which the context is compacted by itself."""


class ContextWindow:
    """Knows how full the window is, and has the model summarise early turns when it must."""

    def __init__(
        self,
        system: str,
        limit: int,
        *,
        entries: Callable[[], Entries],
        append: Append,
        now: Callable[[], float],
    ) -> None:
        self._system = system
        self._limit = limit
        self._entries = entries
        self._append = append
        self._now = now
        self._estimate = TokenEstimate()

    def items(self) -> tuple[Item, ...]:
        """The context as the archive gives it now."""
        return build_context(self._entries())

    def learn(self, usage: Usage, items: tuple[Item, ...]) -> None:
        """Correct the estimate by the server's count of a request with *items*."""
        self._estimate = self._estimate.seen(measure(items, self._system), usage)

    def tokens(self) -> int:
        """About how many tokens the context takes now."""
        return self._estimate.tokens(measure(self.items(), self._system))

    def make_room(self, model: Model, needed: bool, emit: Emit) -> bool:
        """Compact when the context nears the window, or at any rate when *needed*; say if it did.

        Where no summary comes, the person is told and the context stays.
        """
        limit = min(self._limit, model.context_tokens or self._limit)
        if not needed and self.tokens() < NEARLY_FULL * limit:
            return False
        try:
            covered = self.compact(model, "", emit)
        except ModelError as error:
            emit(NoticeGiven(f"the context is nearly full and was not compacted: {error}"))
            return False
        if covered:
            emit(NoticeGiven(f"compacted turns up to {covered[-1]} to make room in the context"))
        return bool(covered)

    def compact(self, model: Model, focus: str, emit: Emit) -> tuple[int, ...]:
        """Have early turns summarised; return their numbers, none when there is nothing to do.

        Raises ModelError when no summary came; then nothing was appended.
        """
        plan = plan_compaction(self._entries())
        if plan is None:
            return ()
        summary = _ask(model, Request(self._system, plan.request(focus), ()), emit)
        self._append(CompactionEntry(self._now(), plan.covers, summary, focus))
        return plan.covers


def _ask(model: Model, request: Request, emit: Emit) -> str:
    for part in model.stream(request):
        match part:
            case Notice(text):
                emit(NoticeGiven(text))
            case Reply(message, _) if message.text.strip():
                return message.text.strip()
            case _:
                pass
    raise ModelError("the model wrote no summary; nothing was compacted")
