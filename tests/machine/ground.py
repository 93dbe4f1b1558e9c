"""The tree that a hostile session begins on, and edits of whatever stands there by then."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import strategies as st

from tests.machine.hostile import CONTENTS, MODES, RULES, TARGETS, Edit
from tests.rewind.play import Look

GROUND = (
    Edit("write", b"a", b"1\n"),
    Edit("write", b"b", b"a\r\nb"),
    Edit("write", b"A", b"2\n"),
    Edit("write", b"d/a", b"FULL"),
    Edit("write", b"d/b", b"\0\xff"),
    Edit("write", b"d/D/a", b"1\n"),
    Edit("write", b"d/D/b/x", b"2\n"),
    Edit("write", b"shut/in/a", b"1\n"),
    Edit("write", b"shut/b", b"1\n"),
    Edit("write", b"\xff\n/ .. /...", b"1\n"),
    Edit("write", b"too/large", b"OVER"),
    Edit("sparse", b"too/sparse", b"90000"),
    Edit("write", b"too/closed", b"1\n"),
    Edit("pipe", b"too/pipe"),
    Edit("mkdir", b"bare"),
    Edit("mkdir", b"D/bare"),
    Edit("link", b"d/out", b"../../outside"),
    Edit("link", b"out", b"../outside/secret"),
    Edit("hard", b"shared", b"../outside/shared"),
    Edit("hard", b"d/a too", b"d/a"),
    Edit("write", b"module/a", b"1\n"),
    Edit("repository", b"module"),
    Edit("write", b"D/linked/a", b"1\n"),
    Edit("worktree", b"D/linked"),
    Edit("write", b"node_modules/a", b"1\n"),
    Edit("write", b"LONG/WIDE", b"1\n"),
    Edit("write", b"DEEP/a", b"1\n"),
    Edit("mode", b"too/closed", b"0"),
    Edit("mode", b"bare", b"711"),
    Edit("mode", b"d/D/b", b"750"),
    Edit("mode", b"D/bare", b"1777"),
    Edit("mode", b"shut/b", b"4755"),
    Edit("mode", b"shut/in", b"555"),
    Edit("mode", b"shut", b"500"),
)
"""Every kind of thing, so that the first step meets them all."""


ROOTS = (
    (),
    (Edit("repository", b"."),),
    (Edit("write", b".git", b"gitdir: ../outside/worktrees/P\n"),),
)
"""What the root itself is: no repository, one, a linked worktree or a submodule."""


@dataclass(frozen=True, slots=True)
class Strike:
    """One thing that is done to what stands there."""

    what: str
    at: int
    """Which of the paths that stand there then, in order, counted round."""
    how: bytes = b""
    other: int = 0
    """Where it takes a second path, which."""


Act: TypeAlias = Edit | Strike

_PLAIN = re.compile(rb"[A-Za-z0-9.-]+")
"""Names that mean themselves in a rule."""

_INTERESTING = (
    *(st.sampled_from(CONTENTS).map(lambda content: ("write", content)) for _ in range(2)),
    st.sampled_from((b"more\n", b"FULL", b"OVER")).map(lambda more: ("append", more)),
    *(st.sampled_from(MODES).map(lambda mode: ("mode", b"%o" % mode)) for _ in range(3)),
    *(st.just(("remove", b"")) for _ in range(2)),
    st.sampled_from(TARGETS).map(lambda target: ("link", target)),
    st.sampled_from(("mkdir", "pipe", "rename", "swap", "hard")).map(lambda what: (what, b"")),
    *(st.sampled_from(("ignore", "ignore all in", "keep")).map(lambda w: (w, b"")) for _ in "12"),
    st.sampled_from(RULES).map(lambda rules: ("rules", rules)),
)


@st.composite
def _a_strike(draw: st.DrawFn) -> Strike:
    what, how = draw(st.one_of(_INTERESTING))
    return Strike(what, draw(st.integers(0, 200)), how, draw(st.integers(0, 200)))


STRIKE = _a_strike()


def resolve(acts: Iterable[Act], look: Look) -> list[Edit]:
    """Turn *acts* into edits, by what a plain *look* sees before the first of them."""
    paths = sorted(path for path in look if b".git" not in path.split(b"/"))
    edits: list[Edit] = []
    for act in acts:
        if isinstance(act, Edit):
            edits.append(act)
        elif paths:
            edits += _edits_of(act, paths, look)
    return edits


def _edits_of(strike: Strike, paths: list[bytes], look: Look) -> list[Edit]:
    path, other = paths[strike.at % len(paths)], paths[strike.other % len(paths)]
    above, _, name = path.rpartition(b"/")
    beside = above + b"/" if above else b""
    match strike.what:
        case "rename" | "hard":
            return [Edit(strike.what, path, other)]
        case "swap":
            # The two change places, folder or file or link, by way of a third name.
            moves = ((b"between", path), (path, other), (other, b"between"))
            return [Edit("rename", to, at) for to, at in moves]
        case "ignore":
            # What is held is hidden from the next look on, and changed after that.
            pattern = name if _PLAIN.fullmatch(name) else b"*"
            rules = Edit("write", beside + b".gitignore", pattern + b"\n")
            return [rules, Edit("append", path, b"hidden\n")] if _is_file(look, path) else [rules]
        case "ignore all in":
            return [Edit("write", beside + b".gitignore", b"*\n")]
        case "keep":
            return [Edit("remove", beside + b".gitignore")]
        case "rules":
            return [Edit("write", beside + b".gitignore", strike.how)]
        case _:
            return [Edit(strike.what, path, strike.how)]


def _is_file(look: Look, path: bytes) -> bool:
    return look[path][0] == "file"
