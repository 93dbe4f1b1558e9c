"""What the person wrote and a turn carried off: moved to another path, or out of the way.

A rewind that keeps goes path by path. Where it cannot join what the person and turns did to a
path, the path stays as it is; and when a turn has taken the person's words away from there since,
they must not go with what they were carried to. Nothing here touches a disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from keryx_py.rewind.merge import Conflict, Joined, Merging
from keryx_py.snapshot.listing import FileState, Kind, Listing


@dataclass(frozen=True, slots=True)
class Edit:
    """What the person did to one path from one capture to the next."""

    before: FileState | None
    after: FileState | None


def hold_carried(
    results: dict[bytes, Joined],
    edits: Mapping[bytes, Sequence[Edit]],
    now: Listing,
    merging: Merging,
) -> None:
    """See to it that no *results* take away what the person's *edits* of other paths wrote.

    A path in conflict that a turn removed since comes back as the person left it. Of one that a
    turn changed since, what holds lines that the person had written there stays as well.
    """
    lost: dict[bytes, bytes] = {}
    for path, joined in results.items():
        mine = edits[path][-1].after if edits.get(path) else None
        state = now.get(path)
        if not isinstance(joined, Conflict) or not _is_content(mine) or state == mine:
            continue
        if state is None:
            reason = f"{joined.reason}; it comes back as you left it"
            results[path] = replace(joined, reason=reason, instead=mine)
        else:
            written = _written(edits[path], merging) - _lines(state, merging)
            lost.update(dict.fromkeys(written, path))
    for path, joined in results.items() if lost else ():
        state = now.get(path)
        if isinstance(joined, Conflict) or state == joined or not _is_content(state):
            continue
        found = next((lost[line] for line in _lines(state, merging) if line in lost), None)
        if found is not None:
            shown = found.decode("utf-8", "backslashreplace")
            results[path] = Conflict(f"it holds what you wrote in {shown}")


def _is_content(state: FileState | None) -> bool:
    return state is not None and state.kind is not Kind.FOLDER


def _written(edits: Sequence[Edit], merging: Merging) -> set[bytes]:
    """List the lines that *edits* wrote."""
    written: set[bytes] = set()
    for edit in edits:
        written |= _lines(edit.after, merging) - _lines(edit.before, merging)
    return written


def _lines(state: FileState | None, merging: Merging) -> set[bytes]:
    content = merging.content(state) if state is not None and _is_content(state) else None
    return {line for line in (content or b"").splitlines() if line.strip()}
