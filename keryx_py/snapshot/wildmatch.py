"""Git's name patterns, read as git's wildmatch reads them, on bytes. Nothing here touches a disk.

Every pattern is regular: a path is matched folder by folder, and one name by a regular expression
in which no star ever takes back what it passed, so time grows with pattern times name at worst.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TypeAlias

_SLASH = ord("/")
_WILD = re.compile(rb"[*?\[\\]")
_ANY_BYTE = frozenset(range(1, 256)) - {_SLASH}
_LONGEST_NAME = 1024
"""No file system that keryx runs on has a longer name, so no longer pattern for one can match."""


class _BrokenPatternError(ValueError):
    """A class that never ends or that no one knows, or nothing after a backslash: fits nothing."""


class Wild(Enum):
    """The parts of a pattern that match a run of bytes."""

    STAR = "*"
    """Any bytes but a slash."""
    FOLDERS = "**/"
    """No folder, or any number of them, with the slash after the last."""
    REST = "**"
    """Whatever is below."""


Token: TypeAlias = int | frozenset[int] | Wild
"""One byte, one of a set of bytes, or a run."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Match one name."""

    text: bytes

    def fits(self, name: bytes) -> bool:
        """Whether *name* matches."""
        return name == self.text


@dataclass(frozen=True, slots=True)
class Suffix:
    """Match every name that ends in *text*."""

    text: bytes

    def fits(self, name: bytes) -> bool:
        """Whether *name* matches."""
        return name.endswith(self.text)


@dataclass(frozen=True)  # without slots: the compiled form is kept once it is needed
class Shape:
    """Match the names that the regular expression *source* describes in full."""

    source: bytes

    @cached_property
    def _compiled(self) -> re.Pattern[bytes]:
        return re.compile(self.source, re.DOTALL)

    def fits(self, name: bytes) -> bool:
        """Whether *name* matches."""
        return self._compiled.fullmatch(name) is not None


NameGlob: TypeAlias = Literal | Suffix | Shape
Segments: TypeAlias = tuple[NameGlob | None, ...]
"""What each name of a path must match, in order; None stands for any number of folders."""

ANY_NAME = Suffix(b"")


def parse_name_pattern(pattern: bytes) -> NameGlob | None:
    """Read a *pattern* without slashes; None when no name can match it."""
    if pattern and not _WILD.search(pattern):
        return Literal(pattern)
    if pattern[:1] == b"*" and not _WILD.search(pattern, 1):
        return Suffix(pattern[1:])
    try:
        return _name_glob(_tokens(pattern, None))
    except _BrokenPatternError:
        return None


def parse_path_pattern(pattern: bytes) -> tuple[Segments, ...]:
    """Read a *pattern* with a slash in it, as the alternatives that can match; none when none can.

    Git compares the part before the first wildcard by itself and matches the rest as a pattern of
    its own, so two stars right after that part count as if a folder began there.
    """
    body = pattern.removeprefix(b"/")
    wild = _WILD.search(body)
    plain = wild.start() if wild else len(body)
    try:
        tokens = _tokens(body, plain)
    except _BrokenPatternError:
        return ()
    return tuple(path for path in map(_segments, _alternatives(tokens)) if path is not None)


def _tokens(pattern: bytes, plain: int | None) -> list[Token]:
    """Split *pattern*.

    *plain* is the length of the part before the first wildcard; None when stars cross no folder.
    """
    tokens: list[Token] = []
    at = 0
    while at < len(pattern):
        token: Token
        match pattern[at : at + 1]:
            case b"?":
                token, at = _ANY_BYTE, at + 1
            case b"*":
                token, at = _stars(pattern, at, plain)
            case b"[":
                token, at = _class(pattern, at + 1)
            case _:
                token, at = _byte(pattern, at)
        if token is not Wild.FOLDERS or tokens[-1:] != [token]:
            tokens.append(token)
    return tokens


def _stars(pattern: bytes, at: int, plain: int | None) -> tuple[Wild, int]:
    """Read the run of stars at *at*; return what it means and where the pattern goes on."""
    end = at
    while pattern[end : end + 1] == b"*":
        end += 1
    begins = at == plain or pattern[at - 1 : at] == b"/"
    if plain is None or end - at < 2 or not begins:
        return Wild.STAR, end
    if end == len(pattern):
        return Wild.REST, end
    if pattern[end] == _SLASH:
        return Wild.FOLDERS, end + 1
    if pattern[end : end + 2] == b"\\/":
        return Wild.REST, end
    return Wild.STAR, end


def _class(pattern: bytes, at: int) -> tuple[frozenset[int], int]:
    """Read the character class whose `[` stands before *at*: its bytes, and where it ends."""
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    first = at
    members: set[int] = set()
    before = 0  # the byte that a range could begin with; 0 when none can
    closing = 0
    while at == first or pattern[at : at + 1] != b"]":
        if pattern.startswith(b"[:", at):
            # Looked for once for all that stand before it, or a row of `[:` would take too long.
            closing = closing if closing > at + 1 else _find_closing(pattern, at + 2)
            if closing > at + 2 and pattern[closing - 1] == ord(":"):
                members |= _named_class(pattern[at + 2 : closing - 1])
                at, before = closing + 1, 0
                continue
        if before and pattern[at : at + 1] == b"-" and pattern[at + 1 : at + 2] not in (b"", b"]"):
            last, at = _byte(pattern, at + 1)
            members.update(range(before, last + 1))
            before = 0
        else:
            before, at = _byte(pattern, at)
            members.add(before)
    return (_ANY_BYTE - members if negated else _ANY_BYTE & members), at + 1


def _find_closing(pattern: bytes, at: int) -> int:
    closing = pattern.find(b"]", at)
    if closing < 0:
        raise _BrokenPatternError
    return closing


def _byte(pattern: bytes, at: int) -> tuple[int, int]:
    """Read the byte at *at*, or the one that a backslash there quotes, and where to go on."""
    at += pattern[at : at + 1] == b"\\"
    if at >= len(pattern):
        raise _BrokenPatternError
    return pattern[at], at + 1


def _named_class(name: bytes) -> frozenset[int]:
    if name not in _CLASSES:
        raise _BrokenPatternError
    return _CLASSES[name]


def _bytes_between(*spans: tuple[int, int]) -> frozenset[int]:
    return frozenset(byte for first, last in spans for byte in range(first, last + 1))


_UPPER = _bytes_between((0x41, 0x5A))
_LOWER = _bytes_between((0x61, 0x7A))
_DIGIT = _bytes_between((0x30, 0x39))
_GRAPH = _bytes_between((0x21, 0x7E))
_CLASSES = {
    b"alnum": _UPPER | _LOWER | _DIGIT,
    b"alpha": _UPPER | _LOWER,
    b"blank": frozenset(b" \t"),
    b"cntrl": _bytes_between((0x01, 0x1F), (0x7F, 0x7F)),
    b"digit": _DIGIT,
    b"graph": _GRAPH,
    b"lower": _LOWER,
    b"print": _GRAPH | {0x20},
    b"punct": _GRAPH - _UPPER - _LOWER - _DIGIT,
    b"space": frozenset(b" \t\n\r"),  # git's own table has no \v and \f
    b"upper": _UPPER,
    b"xdigit": _DIGIT | frozenset(b"abcdefABCDEF"),
}


def _alternatives(tokens: list[Token]) -> Iterator[list[Token]]:
    """Write out `ab**/c` as the two patterns it stands for: `abc`, and `ab*`, folders, `c`."""
    for at, token in enumerate(tokens):
        inside = at > 0 and tokens[at - 1] not in (_SLASH, Wild.FOLDERS)
        if token is Wild.FOLDERS and inside:
            yield tokens[:at] + tokens[at + 1 :]
            yield [*tokens[:at], Wild.STAR, _SLASH, Wild.FOLDERS, *tokens[at + 1 :]]
            return
    yield tokens


def _segments(tokens: list[Token]) -> Segments | None:
    """Cut *tokens* at the slashes; None when nothing can match."""
    segments: list[NameGlob | None] = []
    name: list[Token] = []
    for token in [*tokens, _SLASH]:
        if token is Wild.FOLDERS:
            segments.append(None)
        elif token != _SLASH:
            name.append(token)
        else:
            below = name[-1:] == [Wild.REST]
            glob = _name_glob([*name[:-1], Wild.STAR] if below else name)
            if glob is None:
                return None
            segments += [glob, None] if below else [glob]
            name = []
    return tuple(
        segment
        for segment, before in zip(segments, [ANY_NAME, *segments], strict=False)
        if segment is not None or before is not None
    )


def _name_glob(tokens: Sequence[Token]) -> NameGlob | None:
    """Make the cheapest form of what *tokens* match; None when that is nothing."""
    least = sum(token is not Wild.STAR for token in tokens)
    if not tokens or frozenset() in tokens or least > _LONGEST_NAME:
        return None
    tail = bytes(token for token in tokens if isinstance(token, int))
    if len(tail) == len(tokens):
        return Literal(tail)
    if len(tail) == len(tokens) - 1 and tokens[0] is Wild.STAR:
        return Suffix(tail)
    return Shape(_regex(tokens))


def _regex(tokens: Sequence[Token]) -> bytes:
    """Write *tokens* as a regular expression without any choice that could be tried twice.

    What stands between two stars has one length, so its first fit is as good as any later one and
    is never given back; only the last star goes by the end of the name.
    """
    fixed = [b""]
    for token in tokens:
        if token is Wild.STAR:
            fixed.append(b"")
        else:
            fixed[-1] += _regex_part(token)
    if len(fixed) == 1:
        return fixed[0]
    middle = b"".join(b"(?>.*?%s)" % part for part in fixed[1:-1])
    return fixed[0] + middle + b".*" + fixed[-1]


def _regex_part(token: Token) -> bytes:
    match token:
        case int():
            return re.escape(bytes([token]))
        case frozenset() if token != _ANY_BYTE:
            return b"[%s]" % b"".join(b"\\x%02x" % byte for byte in sorted(token))
        case _:
            return b"."
