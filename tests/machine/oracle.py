"""What is left out of a capture, and what may not go: worked out from plain copies alone.

Nothing here asks keryx or git. The rules are read by a matcher of its own, which knows the few
patterns that hostile hands write here: names, `*`, a leading `**/`, folders, anchors, negations.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tests.machine.hostile import LIMIT
from tests.rewind.play import Look

Row: TypeAlias = tuple[str, int, bytes]

NEVER = frozenset({b".git", b"node_modules"})


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a `.gitignore`."""

    shape: re.Pattern[bytes]
    """Of the name, or of the path from the file's folder where the line is anchored."""
    anchored: bool
    folders_only: bool
    takes_back: bool

    def says(self, path: bytes, is_folder: bool) -> bool:
        """Whether the rule speaks of *path*, seen from the folder of its file."""
        seen = path if self.anchored else path.rpartition(b"/")[2]
        return (is_folder or not self.folders_only) and self.shape.fullmatch(seen) is not None


class Copy:
    """A plain copy of a tree, and what of it no capture holds unless it is asked for."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self._bound = os.geteuid() != 0
        """Whether modes keep this process from reading."""
        self._rules: dict[bytes, list[Rule]] = {}
        self._out: dict[tuple[bytes, bool], bool] = {}

    def leaves_out(self, path: bytes, is_folder: bool) -> bool:
        """Whether *path*, which need not stand here, is ignored or skipped, or lies in such."""
        known = self._out.get((path, is_folder))
        if known is None:
            known = self._leaves_out(path, is_folder)
            self._out[path, is_folder] = known
        return known

    def _leaves_out(self, path: bytes, is_folder: bool) -> bool:
        above = path.rpartition(b"/")[0]
        if above and self.leaves_out(above, True):
            return True
        return self._skips(path) or self._ignores(path, is_folder)

    def held(self) -> Look:
        """The part that a capture holds."""
        return {
            path: row
            for path, row in self.look.items()
            if not self.leaves_out(path, row[0] == "folder")
        }

    def _skips(self, path: bytes) -> bool:
        kind, mode, content = self.look.get(path, ("", 0, b""))
        match kind:
            case "folder":
                return self._bound and mode & 0o500 != 0o500
            case "file":
                return len(content) > LIMIT or (self._bound and not mode & 0o400)
            case _:
                return kind == "other"

    def _ignores(self, path: bytes, is_folder: bool) -> bool:
        if path.rpartition(b"/")[2] in NEVER:
            return True
        for folder in (*folders_above(path), b""):
            inside = path[len(folder) + 1 :] if folder else path
            for rule in reversed(self._rules_in(folder)):
                if rule.says(inside, is_folder):
                    return not rule.takes_back
        return False

    def _rules_in(self, folder: bytes) -> list[Rule]:
        if folder not in self._rules:
            name = folder + b"/.gitignore" if folder else b".gitignore"
            kind, _, content = self.look.get(name, ("", 0, b""))
            lines = content.split(b"\n") if kind == "file" else []
            # A return at a line's end belongs to the line break, as git has it.
            rules = (_rule(line.removesuffix(b"\r").rstrip(b" ")) for line in lines)
            self._rules[folder] = [rule for rule in rules if rule is not None]
        return self._rules[folder]


def folders_above(path: bytes) -> Iterator[bytes]:
    """Name the folders above *path*, the nearest first, the root left out."""
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


def _rule(line: bytes) -> Rule | None:
    takes_back = line.startswith(b"!")
    pattern = line[1:] if takes_back else line
    folders_only = pattern.endswith(b"/")
    pattern = pattern[: len(pattern) - folders_only]
    if not pattern or b"[" in pattern or pattern.endswith(b"\\"):
        return None  # such a line matches nothing
    anywhere = pattern.startswith(b"**/")
    pattern = pattern.removeprefix(b"**/") if anywhere else pattern
    anchored = b"/" in pattern and not anywhere
    assert not anywhere or b"/" not in pattern, pattern
    shape = b"[^/]*".join(re.escape(part) for part in pattern.removeprefix(b"/").split(b"*"))
    return Rule(re.compile(shape, re.DOTALL), anchored, folders_only, takes_back)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the target of a rewind was asked for, whatever rules said then."""

    paths: Collection[bytes] = ()
    put: Copy | None = None
    """The tree as the rewind had left it that asked, when that is known."""

    def may_go(self, path: bytes, row: Row, now: Copy) -> bool:
        """Whether *path*, which was not there then, is just as that rewind put it, or in no rule's
        way now."""
        is_folder = row[0] == "folder"
        if not now.leaves_out(path, is_folder):
            return True
        put = self.put
        return put is not None and put.leaves_out(path, is_folder) and put.look.get(path) == row


def check_nothing_protected_went(then: Copy, now: Copy, after: Look, asked: Asked) -> None:
    """What was left out then, or is now, stands *after* a rewind as it stood, to the byte.

    But for what the target holds, and what the rewind that it is the undo point of put there.
    """
    for path, row in now.look.items():
        is_folder = row[0] == "folder"
        was_held = path in then.look and not then.leaves_out(path, then.look[path][0] == "folder")
        if was_held:
            continue
        if path in asked.paths and (path in then.look or asked.may_go(path, row, now)):
            continue
        if then.leaves_out(path, is_folder) or now.leaves_out(path, is_folder):
            assert after.get(path) == row, path  # R11


def check_reasons_to_stay(then: Copy, now: Copy, staying: Collection[bytes]) -> None:
    """Each path that a rewind of everything leaves has to: it, or what it holds, is left out."""
    both = then.look.keys() | now.look.keys()
    for path in staying:
        near = {path, *folders_above(path)}
        near |= {one for one in both if one.startswith(path + b"/")}
        assert any(_is_left_out(one, then, now) for one in near), path


def _is_left_out(path: bytes, then: Copy, now: Copy) -> bool:
    return any(
        side.leaves_out(path, is_folder) for side in (then, now) for is_folder in (False, True)
    )
