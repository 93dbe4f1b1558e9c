"""What someone wrote and a turn carried off: moved to another path, or out of the way.

A rewind that keeps goes path by path, and where it takes back what a turn put into one path, lines
that the person had written in another may go with it. They must not: what holds them now stays.
So do those of another session, and of nobody known. Nothing here touches a disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from keryx_py.rewind.merge import Conflict, Merging
from keryx_py.rewind.plan import AuthorKind
from keryx_py.snapshot.listing import FileState, Kind, Listing

_AS_LEFT = {
    AuthorKind.PERSON: "as you left it",
    AuthorKind.SESSION: "as another session left it",
    AuthorKind.UNKNOWN: "as it was left",
}
_WROTE = {
    AuthorKind.PERSON: "what you wrote",
    AuthorKind.SESSION: "what another session wrote",
    AuthorKind.UNKNOWN: "what was written",
}


@dataclass(frozen=True, slots=True)
class Edit:
    """What was done to one path in one stretch."""

    before: FileState | None
    after: FileState | None
    by: AuthorKind
    place: int
    """Which stretch it was, in order of time."""


@dataclass(frozen=True, slots=True)
class Past:
    """What happened to one path since the point."""

    edits: tuple[Edit, ...]
    """Those of who is no turn, as far as no rewind took them back; in order of time."""
    turns: tuple[Edit, ...]
    """Those of turns."""


def come_back(conflict: Conflict, past: Past) -> Conflict:
    """Let what a turn removed come back as who is no turn left it, if any did."""
    if not past.edits or not _is_content(past.edits[-1].after):
        return conflict
    left = past.edits[-1]
    reason = f"{conflict.reason}; it comes back {_AS_LEFT[left.by]}"
    return replace(conflict, reason=reason, instead=left.after)


def hold_carried(
    pasts: Mapping[bytes, Past],
    now: Listing,
    after: Mapping[bytes, FileState | None],
    merging: Merging,
) -> Mapping[bytes, Conflict]:
    """List what must stay, because it alone holds lines that someone wrote in another of *pasts*.

    *after* is what a rewind would have stand at each path.
    """
    lost = _list_lost(pasts, after, merging)
    for state in after.values() if lost else ():
        for line in _lines(state, merging) & lost.keys():
            del lost[line]
    going = {
        path: now.get(path) for path in (pasts if lost else ()) if now.get(path) != after[path]
    }
    held: dict[bytes, Conflict] = {}
    for path, state in going.items():
        there = _lines(state, merging) & lost.keys()
        gained = _list_gained(pasts[path].turns if there else (), merging)
        origins = [
            (origin, edit.by)
            for line in there & gained.keys()
            for origin, edit in lost[line]
            if edit.place <= gained[line]
        ]
        if origins:
            held[path] = _conflict(origins)
    return held


def _conflict(origins: Iterable[tuple[bytes, AuthorKind]]) -> Conflict:
    kinds = list(_WROTE)
    origin, by = min(origins, key=lambda one: (one[0], kinds.index(one[1])))
    shown = origin.decode("utf-8", "backslashreplace")
    return Conflict(f"it holds {_WROTE[by]} in {shown}")


def _list_lost(
    pasts: Mapping[bytes, Past], after: Mapping[bytes, FileState | None], merging: Merging
) -> dict[bytes, list[tuple[bytes, Edit]]]:
    """List the lines that were written in a path and do not stand there *after*: where, and by
    which edit."""
    lost: dict[bytes, list[tuple[bytes, Edit]]] = {}
    for path, past in pasts.items():
        if _is_all_there(past.edits, after[path]):
            continue
        # First by the path itself: mostly nothing is lost, and then no other need be read.
        written = _list_written(past.edits, merging)
        for line in written.keys() - _lines(after[path], merging):
            lost.setdefault(line, []).append((path, written[line]))
    return lost


def _is_all_there(edits: Sequence[Edit], state: FileState | None) -> bool:
    """Whether *state* is what *edits* came to, told without reading any."""
    whole = all(one.after == other.before for one, other in pairwise(edits))
    return not edits or (whole and edits[-1].after == state)


def _list_written(edits: Sequence[Edit], merging: Merging) -> Mapping[bytes, Edit]:
    """List the lines that *edits* wrote and did not take away again, each with the first to."""
    written: dict[bytes, Edit] = {}
    for edit in edits:
        before, after = _lines(edit.before, merging), _lines(edit.after, merging)
        for line in before - after:
            written.pop(line, None)
        for line in after - before:
            written.setdefault(line, edit)
    return written


def _list_gained(turns: Sequence[Edit], merging: Merging) -> Mapping[bytes, int]:
    """List the lines that *turns* added, each with the place of the last to."""
    return {
        line: edit.place
        for edit in turns
        for line in _lines(edit.after, merging) - _lines(edit.before, merging)
    }


def _is_content(state: FileState | None) -> bool:
    return state is not None and state.kind is not Kind.FOLDER


def _lines(state: FileState | None, merging: Merging) -> set[bytes]:
    content = merging.content(state) if state is not None and _is_content(state) else None
    return {line for line in (content or b"").splitlines() if line.strip()}
