"""What to summarise, and how the model is asked to. Nothing here touches a disk."""

from __future__ import annotations

from dataclasses import dataclass

from keryx_py.messages import Item, Message, Role
from keryx_py.session.archive import CompactionEntry, Entries, live_turns
from keryx_py.session.context import context_of, join_messages, standing_compaction

KEEP_TURNS = 3
"""How many of the last turns stay verbatim."""

SUMMARY_INSTRUCTION = """\
Summarise the conversation above, so that the work can go on from the summary alone. It stands \
in for these messages; nothing else of them is kept in view. Use no tools; answer with the \
summary only. Keep, in this order and as briefly as it can be said exactly:
- what the person wants, with every rule and preference that still holds, in their own words;
- what was done: the files that were read, changed, made or deleted, by path, and why;
- what was found out: facts, decisions, commands that worked, errors and their causes;
- what is unfinished, and what comes next."""

_FOCUS = "The person asks that the summary dwell on this: {}"


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The turns that a summary would stand in for, and what it is to be made from."""

    covers: tuple[int, ...]
    """The numbers of the turns, ascending, those under an earlier summary among them."""
    items: tuple[Item, ...]
    """Their messages; an earlier summary stands in for what it covers."""

    def request(self, focus: str = "") -> tuple[Item, ...]:
        """Build the messages that ask for the summary; no tools go with them."""
        instruction = SUMMARY_INSTRUCTION
        if focus.strip():
            instruction += "\n\n" + _FOCUS.format(focus.strip())
        return join_messages((*self.items, Message(Role.USER, instruction)))


def plan_compaction(entries: Entries, keep_turns: int = KEEP_TURNS) -> CompactionPlan | None:
    """Work out what a compaction would cover; None when there is nothing to compact.

    All live turns but the last *keep_turns* are covered.
    """
    live = live_turns(entries)
    covers = live[: max(len(live) - keep_turns, 0)]
    earlier = standing_compaction(entries)
    if not covers or (earlier and set(earlier.covers).issuperset(covers)):
        return None
    return CompactionPlan(covers, context_of(entries, covers, _within(earlier, covers)))


def _within(earlier: CompactionEntry | None, covers: tuple[int, ...]) -> CompactionEntry | None:
    """Keep *earlier* only when it stands for nothing that stays verbatim."""
    return earlier if earlier and set(earlier.covers).issubset(covers) else None
