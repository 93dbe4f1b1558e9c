"""Work out what the model is sent from the archive. Nothing here touches a disk.

Whatever was lost, cut short or rewound, the context is one that every server accepts: it
begins with the person, sides alternate, and each call has its one result right after it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from keryx_py.messages import Item, Message, Role, ToolCall, ToolResult, ToolSpec, Usage
from keryx_py.session.archive import (
    CompactionEntry,
    Entries,
    ItemEntry,
    TurnEntry,
    live_turns,
    turn_entries,
)

INTERRUPTED = "interrupted"
"""The result of a call that was cut short."""

_NO_WORDS = "(no words)"
_SUMMARY = "[Summary of the conversation so far]\n{}\n[End of summary]"


def build_context(entries: Entries) -> tuple[Item, ...]:
    """Work out the messages that the model is sent next."""
    return context_of(entries, live_turns(entries), standing_compaction(entries))


def standing_compaction(entries: Entries) -> CompactionEntry | None:
    """Find the newest compaction whose every turn is live."""
    live = set(live_turns(entries))
    return next(
        (
            entry
            for entry in reversed(entries)
            if isinstance(entry, CompactionEntry) and entry.covers and live.issuperset(entry.covers)
        ),
        None,
    )


def context_of(
    entries: Entries, turns: Sequence[int], compaction: CompactionEntry | None
) -> tuple[Item, ...]:
    """Work out the messages of *turns*, with *compaction* in place of those that it covers."""
    prompts = turn_entries(entries)
    items = _items_by_turn(entries, turns)
    covered = set(compaction.covers) if compaction else set()
    parts: list[Item] = []
    for turn in turns:
        if compaction and turn == compaction.covers[0]:
            parts.append(_from_user(_SUMMARY.format(compaction.summary)))
        if turn not in covered:
            parts.append(_from_user(_prompt_text(prompts[turn])))
            parts.extend(_whole(items[turn]))
    return tuple(_alternating(_with_own_ids(parts)))


def join_messages(items: Iterable[Item]) -> tuple[Item, ...]:
    """Merge neighbours of the same side, so that the sides alternate."""
    return tuple(_alternating(items))


def _items_by_turn(entries: Entries, turns: Collection[int]) -> dict[int, list[Item]]:
    wanted = frozenset(turns)
    items: dict[int, list[Item]] = defaultdict(list)
    for entry in entries:
        if isinstance(entry, ItemEntry) and entry.turn in wanted:
            items[entry.turn].append(entry.item)
    return items


def _prompt_text(turn: TurnEntry) -> str:
    return "\n\n".join(part for part in (turn.note, turn.prompt) if part.strip())


def _from_user(text: str) -> Message:
    return Message(Role.USER, text if text.strip() else _NO_WORDS)


def _whole(items: Sequence[Item]) -> Iterator[Item]:
    """Give each call of one turn's *items* exactly one result, and leave out what says nothing."""
    for message, results in _steps(items):
        if message.role is Role.USER:
            yield _from_user(message.text)
        elif message.calls:
            yield message
            yield from _results_of(message.calls, results)
        elif message.text.strip():
            yield message


def _steps(items: Sequence[Item]) -> Iterator[tuple[Message, list[ToolResult]]]:
    """Pair each message with the results that came before the next one."""
    message: Message | None = None
    results: list[ToolResult] = []
    for item in items:
        if isinstance(item, ToolResult):
            results.append(item)
            continue
        if message:
            yield message, results
        message, results = item, []
    if message:
        yield message, results


def _results_of(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> Iterator[ToolResult]:
    waiting: dict[str, list[ToolResult]] = defaultdict(list)
    for result in results:
        waiting[result.call_id].append(result)
    for call in calls:
        found = waiting[call.id]
        yield found.pop(0) if found else ToolResult(call.id, INTERRUPTED, ok=False)


def _with_own_ids(items: Iterable[Item]) -> Iterator[Item]:
    """Give each call an id of its own over the whole context, and its result the same.

    Some servers count the calls of each reply from nought; others refuse an id twice.
    """
    taken: set[str] = set()
    ids: list[str] = []
    for item in items:
        if isinstance(item, ToolResult):
            # Results stand right after their message, in the order of its calls.
            yield replace(item, call_id=ids.pop(0))
            continue
        ids = [_own_id(call.id, taken) for call in item.calls]
        calls = tuple(replace(call, id=own) for call, own in zip(item.calls, ids, strict=True))
        yield replace(item, calls=calls) if calls != item.calls else item


def _own_id(wanted: str, taken: set[str]) -> str:
    base = wanted or "call"
    own, count = base, 1
    while own in taken:
        count += 1
        own = f"{base}-{count}"
    taken.add(own)
    return own


def _alternating(items: Iterable[Item]) -> Iterator[Item]:
    """Merge neighbours of the same side; leave out an answer that comes before any prompt."""
    last: Item | None = None
    for item in items:
        if last is None:
            last = item if isinstance(item, Message) and item.role is Role.USER else None
        elif isinstance(last, Message) and isinstance(item, Message) and last.role is item.role:
            # The first made no calls: their results would stand between.
            last = _joined(last, item)
        else:
            yield last
            last = item
    if last is not None:
        yield last


def _joined(first: Message, second: Message) -> Message:
    text = "\n\n".join(part for part in (first.text, second.text) if part.strip())
    # Thinking goes with the calls that it led to; a signed block fits no other message.
    return replace(second, text=text, thinking=second.thinking or first.thinking)


def measure(items: Iterable[Item], system: str = "", tools: Iterable[ToolSpec] = ()) -> int:
    """Count the UTF-8 bytes of what a request would say."""
    size = _bytes(system)
    for tool in tools:
        size += _bytes(tool.name) + _bytes(tool.description) + _bytes(str(tool.parameters))
    for item in items:
        if isinstance(item, ToolResult):
            size += _bytes(item.output)
            continue
        size += _bytes(item.text)
        size += sum(_bytes(call.tool) + _bytes(call.args) for call in item.calls)
        size += sum(_bytes(block.data) for block in item.thinking)
    return size


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class TokenEstimate:
    """How many tokens a byte makes, corrected by what the server counts."""

    ratio: float = 0.3
    """Tokens a byte."""

    def tokens(self, size: int) -> int:
        """Estimate the tokens of *size* bytes."""
        return round(size * self.ratio)

    def seen(self, size: int, usage: Usage | None) -> TokenEstimate:
        """Correct the estimate: the server counted *usage* for a request of *size* bytes."""
        if usage is None or usage.input_tokens <= 0 or size < _TELLING_SIZE:
            return self
        return TokenEstimate(min(max(usage.input_tokens / size, _LEAST_RATIO), _MOST_RATIO))


_TELLING_SIZE = 1000
"""Below this many bytes a server's own framing outweighs what is said."""
_LEAST_RATIO = 0.05
_MOST_RATIO = 2.0
