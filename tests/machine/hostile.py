"""What a hostile hand does to a work tree: every odd name, kind, mode and swap, as shell text.

The same text is run by a turn's shell_exec and, between turns, by the person.
"""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

LIMIT = 400
"""The most bytes that a file may have to be held, in these tests."""

SHORT_FOR = {
    b"DEEP": b"/".join([b"p"] * 60),
    b"LONG": b"/".join([b"q" * 250] * 15 + [b"r" * 230]),  # nearly 4,000 bytes
    b"WIDE": b"x" * 255,
    b"FULL": b"y" * LIMIT,
    b"OVER": b"z" * (LIMIT + 1),
}
"""What edits write short, so that a failure can be read."""

NAMES = (
    b"a",
    b"A",
    b"b",
    b"d",
    b"D",
    b"\xff\n",
    b"..x",
    b"...",
    b".. ",
    b"WIDE",
    b"-rf",
    b"* ?",
    b"caf\xc3\xa9",
    b"cafe\xcc\x81",
    b"\x1b[2J",
)
LOOK_ALIKES = (b".git", b".GIT", b"GIT~1", b".git ", b".git.", b"node_modules", b".gitmodules")
RULES = (
    b"",
    b"a\n",
    b"d/\n",
    b"*\n!b\n!d/\n",
    b"/d/a\n!A\n",
    b"**/b\n",
    b"[\n\\\n***\n!\n",
    b".gitignore\nb\n",
    b"x*\n\xff*\n",
)
MODES = (0, 0o111, 0o200, 0o300, 0o400, 0o444, 0o500, 0o555, 0o600, 0o644, 0o700, 0o755, 0o777)
SPECIAL_MODES = (0o1777, 0o2755, 0o4755)
TARGETS = (
    b"a",
    b"d",
    b"..",
    b"../outside",
    b"../outside/secret",
    b"/proc/self",
    b"nowhere",
    b"../P/d",
    b".git",
)
CONTENTS = (b"", b"1\n", b"2\n", b"a\r\nb", b"\0\xff", b"FULL", b"OVER")


@dataclass(frozen=True, slots=True)
class Edit:
    """One thing that is done to one path."""

    what: str
    path: bytes
    how: bytes = b""


_name = st.sampled_from(NAMES)
_near = st.lists(st.sampled_from(NAMES[:5]), min_size=1, max_size=2).map(b"/".join)
"""Few enough that edits meet each other."""
_path = st.one_of(
    _near,
    _near,
    _near,
    st.lists(_name, min_size=1, max_size=3).map(b"/".join),
    st.lists(st.sampled_from(NAMES[:5]), min_size=1, max_size=3).map(b"/".join),
    st.lists(st.sampled_from((*LOOK_ALIKES, *NAMES[:5])), min_size=1, max_size=3).map(b"/".join),
    st.sampled_from((b"DEEP", b"DEEP/a", b"LONG")),
)
_rules_path = st.sampled_from((b".gitignore", b"d/.gitignore", b"d/a/.gitignore"))
_mode = st.sampled_from((*MODES, *SPECIAL_MODES)).map(lambda mode: b"%o" % mode)


def _edits(what: str, how: st.SearchStrategy[bytes]) -> st.SearchStrategy[Edit]:
    return st.builds(Edit, st.just(what), _path, how)


_nothing = st.just(b"")

_EVERY: st.SearchStrategy[Edit] = st.one_of(
    _edits("write", st.sampled_from(CONTENTS)),
    _edits("write", st.sampled_from(CONTENTS)),
    _edits("append", st.sampled_from((b"more\n", b"FULL"))),
    _edits("backdate", st.sampled_from((b"3\n", b"4\n"))),
    _edits("remove", _nothing),
    _edits("mkdir", _nothing),
    _edits("link", st.sampled_from(TARGETS)),
    _edits("hard", _path),
    _edits("hard", st.just(b"../outside/shared")),
    _edits("rename", _path),
    _edits("mode", _mode),
    _edits("mode", _mode),
    _edits("pipe", _nothing),
    _edits("sparse", st.sampled_from((b"100", b"400", b"90000"))),
    _edits("repository", _nothing),
    _edits("worktree", _nothing),
    st.builds(Edit, st.just("write"), _rules_path, st.sampled_from(RULES)),
    st.builds(Edit, st.just("mode"), _rules_path, st.sampled_from((b"0", b"644"))),
    st.builds(Edit, st.just("link"), _rules_path, st.just(b"../outside/rules")),
)


@st.composite
def _an_edit(draw: st.DrawFn, sockets: bool) -> Edit:
    # A function of its own, because the whole strategy is too long to be written in a report.
    return draw(st.one_of(_EVERY, _edits("socket", _nothing)) if sockets else _EVERY)


EDIT = _an_edit(sockets=False)
OWN_EDIT = _an_edit(sockets=True)
"""What the person does: no command makes a socket."""


def as_shell(edits: list[Edit]) -> str:
    """Write *edits* as a command for /bin/sh; one that cannot be done is passed over."""
    each = (f"for once in 1; do {_lines(edit)}; done" for edit in edits)
    return "\n".join(["exec 2>/dev/null", *each, ":"])


def do(root: Path, edits: list[Edit]) -> None:
    """Do *edits* in *root* as the person does."""
    subprocess.run(["/bin/sh", "-c", as_shell(edits)], cwd=root, check=True)
    for edit in edits:
        if edit.what == "socket":
            _bind(root, edit)


def _bind(root: Path, edit: Edit) -> None:
    """Leave a socket at the path, when that is short enough and free."""
    where = os.fsencode(root) + b"/" + in_full(edit.path)
    with socket.socket(socket.AF_UNIX) as made:
        try:
            made.bind(where)
        except OSError:
            return


def in_full(path: bytes) -> bytes:
    """Write out what *path* writes short."""
    for short, long in SHORT_FOR.items():
        path = path.replace(short, long)
    return path


def _lines(edit: Edit) -> str:
    edit = Edit(edit.what, in_full(edit.path), in_full(edit.how))
    path = _word("p", edit.path)
    other = _word("q", edit.how)
    clear = _way(edit.path)
    match edit.what:
        case "write":
            return f'{path}{clear}{_put(edit.how)} >"$p"'
        case "append":
            return f'{path}{clear}{_put(edit.how)} >>"$p"'
        case "backdate":
            return f'{path}{clear}{_put(edit.how)} >"$p"; touch -d @1000000000 -- "$p"'
        case "remove":
            return f'{_guard(edit.path)}{path}rm -rf -- "./$p"'
        case "mkdir":
            return f'{path}{clear}[ -d "$p" ] || rm -f -- "./$p"; mkdir -- "./$p"'
        case "link":
            return f'{path}{other}{clear}rm -rf -- "./$p"; ln -s -- "$q" "./$p"'
        case "hard":
            guard = _guard(edit.how)
            return (
                f'{clear}{guard}{path}{other}[ -d "$p" ] || [ -L "$p" ] || ln -f -- "./$q" "./$p"'
            )
        case "rename":
            return f'{clear}{_guard(edit.how)}{path}{other}mv -f -T -- "./$q" "./$p"'
        case "mode":
            return f'{_guard(edit.path)}{path}[ -L "$p" ] || chmod {edit.how.decode()} -- "./$p"'
        case "pipe":
            return f'{path}{clear}rm -rf -- "./$p"; mkfifo -- "./$p"'
        case "sparse":
            return f'{path}{clear}rm -f -- "./$p"; truncate -s {edit.how.decode()} -- "./$p"'
        case "repository":
            head = "ref: refs/heads/main\\n"
            return f'{path}{clear}mkdir -p -- "./$p/.git/refs"; printf "{head}" >"$p/.git/HEAD"'
        case "worktree":
            return f'{path}{clear}mkdir -p -- "./$p"; printf "gitdir: ../.git\\n" >"$p/.git"'
        case _:
            return ":"


def _put(content: bytes) -> str:
    """Print *content*; first what is no plain file makes way, and no link is followed."""
    printed = f"printf '{_octal(content)}'"
    # In a read-only folder it stays: a pipe would never be opened, a link would lead elsewhere.
    stays = '[ -p "$p" ] || [ -L "$p" ]'
    clear = '{ [ -f "$p" ] && [ ! -L "$p" ]; } || rm -rf -- "./$p"'
    return f"{clear}; {{ {stays}; }} && continue; {printed}"


def _word(variable: str, value: bytes) -> str:
    """Set *variable* to *value*, whatever bytes that holds; it ends in a dot on the way."""
    return f"{variable}=$(printf '{_octal(value)}.'); {variable}=${{{variable}%.}}; "


def _way(path: bytes) -> str:
    """Make real folders of all that lies above *path*."""
    lines = [
        f"{_word('f', above)}"
        '{ [ -d "$f" ] && [ ! -L "$f" ]; } || { rm -f -- "./$f"; mkdir -p -- "./$f"; }; '
        for above in _above(path)
    ]
    return "".join(lines)


def _guard(path: bytes) -> str:
    """Go no further where a link lies above *path*: these edits keep to the root."""
    return "".join(f'{_word("f", above)}[ -L "$f" ] && continue; ' for above in _above(path))


def _above(path: bytes) -> list[bytes]:
    names = path.split(b"/")
    depths = range(1, len(names)) if len(names) <= 10 else (1, len(names) - 1)
    return [b"/".join(names[:depth]) for depth in depths if path[:3] != b"../"]


def _octal(value: bytes) -> str:
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./"
    return "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in value)
