"""What the turns of a span did that no rewind takes back or covers. Nothing here acts."""

from __future__ import annotations

import os
import posixpath
from collections import defaultdict, deque
from collections.abc import Iterator

from keryx_py.rewind.difference import Limit, at_or_above, why_ignored
from keryx_py.rewind.plan import NotUndone
from keryx_py.session.archive import (
    Entries,
    RanEntry,
    RunEntry,
)
from keryx_py.snapshot.listing import Skipped, TreeState

COMMAND_TOOL = "shell_exec"
DELEGATE_TOOL = "delegate"
_GIT_DEEDS = {
    "am": "committed patches",
    "checkout": "checked out",
    "cherry-pick": "cherry-picked",
    "commit": "committed",
    "merge": "merged",
    "pull": "pulled",
    "push": "pushed",
    "rebase": "rebased",
    "reset": "reset",
    "revert": "reverted",
    "switch": "switched branches",
}
"""What git's subcommands that move a HEAD or a remote have done, in one word or two."""


def list_not_undone(entries: Entries, start: int) -> tuple[NotUndone, ...]:
    """List what ran from the position *start* on and stays done whatever is rewound."""
    found: list[NotUndone] = []
    outcomes = _outcomes(entries[start:])
    for entry in entries[start:]:
        if isinstance(entry, RunEntry):
            waiting = outcomes[entry.turn, entry.call_id]
            ran = waiting.popleft() if waiting else None
            found += [NotUndone(entry.turn, what) for what in _what_stays(entry, ran)]
    return tuple(found)


def _outcomes(span: Entries) -> defaultdict[tuple[int, str], deque[RanEntry]]:
    """The ends of runs by turn and call, in order: a server may give an id twice in a turn."""
    outcomes: defaultdict[tuple[int, str], deque[RanEntry]] = defaultdict(deque)
    for entry in span:
        if isinstance(entry, RanEntry):
            outcomes[entry.turn, entry.call_id].append(entry)
    return outcomes


def _what_stays(run: RunEntry, ran: RanEntry | None) -> Iterator[str]:
    if run.tool == COMMAND_TOOL:
        summary = ran.summary if ran is not None else "cut short"
        said = f"{_deed(run, ran)}: {run.title}"
        yield f"{said} ({summary})" if summary else said
    elif run.tool == DELEGATE_TOOL:
        yield f"delegated: {run.title}"
    if ran is not None and ran.outside:
        yield f"wrote outside the project: {run.title}"


def _deed(run: RunEntry, ran: RanEntry | None) -> str:
    """Say what a command did: that it ran, or what its git commands did to a repository."""
    deeds = dict.fromkeys(_GIT_DEEDS.get(name, f"ran git {name}") for name in run.git)
    if not deeds:
        return "ran"
    done = " and ".join(deeds)
    # One that failed may have done its git commands all the same: nobody looks into .git.
    return done if ran is not None and ran.ok else f"may have {done}"


def list_not_covered(
    entries: Entries, start: int, trees: tuple[TreeState, ...], limit: Limit
) -> tuple[Skipped, ...]:
    """List what *trees* do not hold: all that is skipped, and the ignored paths that were asked
    for by name or that a file tool wrote from the position *start* on."""
    found: dict[bytes, str] = {}
    for tree in trees:
        for skipped in tree.skipped:
            if limit.covers(skipped.path):
                found.setdefault(skipped.path, skipped.reason)
    for path in (*_written_paths(entries[start:]), *limit.within):
        for tree in trees:
            if (above := at_or_above(path, tree.ignored)) is not None:
                found.setdefault(path, why_ignored(above))
    return tuple(Skipped(path, found[path]) for path in sorted(found) if limit.covers(path))


def _written_paths(span: Entries) -> Iterator[bytes]:
    """Name the paths that file tools wrote in *span*, relative to the root."""
    for entry in span:
        if isinstance(entry, RunEntry):
            yield from (os.fsencode(path) for path in entry.writes)


def relative_path(path: bytes, root: bytes) -> bytes | None:
    """Write *path* relative to the *root*, b"" for the root itself; None when it lies outside."""
    whole = posixpath.normpath(posixpath.join(root, path))
    if whole == root:
        return b""
    below = root if root.endswith(b"/") else root + b"/"
    return whole[len(below) :] if whole.startswith(below) else None
