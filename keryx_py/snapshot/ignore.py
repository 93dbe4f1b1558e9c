"""Git's ignore rules, on bytes. Nothing here touches a disk.

The rules are those of `git ls-files --others --exclude-per-directory=.gitignore`: the deepest
folder's file speaks first, in each file the last pattern that fits decides, and what is below an
ignored folder is never asked about. The judge is git itself, in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from keryx_py.snapshot.wildmatch import (
    ANY_NAME,
    Literal,
    NameGlob,
    Segments,
    Shape,
    Suffix,
    parse_name_pattern,
    parse_path_pattern,
)

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NONE_FITS = -1
_SHAPES_AT_ONCE = 200
"""How many patterns go into one regular expression."""


@dataclass(frozen=True, slots=True)
class FolderRules:
    """What the `.gitignore` files from the root down to one folder say of the names in it.

    A folder on whose names the same rules bear as on its parent's shares the parent's value.
    """

    _places: tuple[_Place, ...]
    """The files that can still say something here, the deepest first."""

    @staticmethod
    def of_root(text: bytes | None) -> FolderRules:
        """The rules at the root; None when it has no `.gitignore`."""
        return FolderRules(_begin(text))

    def enter(self, name: bytes, text: bytes | None) -> FolderRules:
        """The rules in the subfolder *name*, which is itself not ignored."""
        below = tuple(place.enter(name) for place in self._places)
        places = _begin(text) + tuple(place for place in below if place.speaks)
        return self if places == self._places else FolderRules(places)

    def ignores(self, name: bytes, is_folder: bool) -> bool:
        """Whether *name* in this folder is ignored; a link is not a folder."""
        for place in self._places:
            order = place.last_fit(name, is_folder)
            if order != _NONE_FITS:
                return not place.patterns.negative[order]
        return False


def is_ignored(texts: Mapping[bytes, bytes], path: bytes, is_folder: bool) -> bool:
    """Whether *path* or a folder above it is ignored under the `.gitignore` *texts* by folder."""
    *folders, name = path.split(b"/")
    rules = FolderRules.of_root(texts.get(b""))
    above = b""
    for folder in folders:
        if rules.ignores(folder, is_folder=True):
            return True
        above = above + b"/" + folder if above else folder
        rules = rules.enter(folder, texts.get(above))
    return rules.ignores(name, is_folder)


def _begin(text: bytes | None) -> tuple[_Place, ...]:
    """The place of a file in its own folder; none when it can say nothing."""
    if not text:
        return ()
    place = _parse(text).place
    return (place,) if place.speaks else ()


@dataclass(frozen=True, slots=True)
class _PathRule:
    """A pattern that looks at folders too."""

    order: int
    folders_only: bool
    segments: Segments

    def reach(self, positions: Iterable[int]) -> tuple[int, ...]:
        """Add to *positions* those that `**` lets stand beside them, and leave out the end."""
        reached = set(positions)
        reached |= {at + 1 for at in reached if self.segments[at : at + 1] == (None,)}
        return tuple(sorted(at for at in reached if at < len(self.segments)))

    def enter(self, positions: tuple[int, ...], name: bytes) -> tuple[int, ...]:
        """Where the pattern may stand in the subfolder *name*."""
        moved = []
        for at in positions:
            segment = self.segments[at]
            if segment is None:
                moved.append(at)
            elif segment.fits(name):
                moved.append(at + 1)
        return self.reach(moved)

    def globs(self, positions: tuple[int, ...]) -> Iterator[NameGlob]:
        """What a name must match here to complete the pattern."""
        for at in positions:
            left = len(self.segments) - at - 1
            if left == 0 or (left == 1 and self.segments[-1] is None):
                yield self.segments[at] or ANY_NAME


@dataclass(frozen=True, slots=True)
class _Place:
    """One file's patterns as they stand in its folder, or in a folder below."""

    patterns: _Patterns
    live: tuple[tuple[_PathRule, tuple[int, ...]], ...]
    """The path patterns that can still match, and how far each has come."""
    here: tuple[tuple[int, bool, NameGlob], ...]
    """Order, whether for folders only, and the last name of those that can end here, last first."""

    @property
    def speaks(self) -> bool:
        """Whether any pattern can match here or below."""
        return bool(self.live) or not self.patterns.folders.is_empty

    def enter(self, name: bytes) -> _Place:
        """The same file's patterns in the subfolder *name*."""
        if not self.live:
            return self
        moved = [(rule, rule.enter(positions, name)) for rule, positions in self.live]
        live = tuple((rule, positions) for rule, positions in moved if positions)
        return self if live == self.live else _place(self.patterns, live)

    def last_fit(self, name: bytes, is_folder: bool) -> int:
        """The order of the last pattern that *name* matches, or _NONE_FITS."""
        names = self.patterns.folders if is_folder else self.patterns.files
        last = names.last_fit(name)
        for order, folders_only, glob in self.here:
            if order <= last:
                break
            if (is_folder or not folders_only) and glob.fits(name):
                return order
        return last


def _place(patterns: _Patterns, live: tuple[tuple[_PathRule, tuple[int, ...]], ...]) -> _Place:
    here = [
        (rule.order, rule.folders_only, glob)
        for rule, positions in reversed(live)
        for glob in rule.globs(positions)
    ]
    return _Place(patterns, live, tuple(here))


class _Names:
    """Patterns for a name in any folder, arranged so that most names cost a few look-ups."""

    def __init__(self, globs: Iterable[tuple[int, NameGlob]]) -> None:
        orders = {glob: order for order, glob in globs}
        self.is_empty = not orders
        self._literals = {g.text: order for g, order in orders.items() if isinstance(g, Literal)}
        self._by_suffix = {g.text: order for g, order in orders.items() if isinstance(g, Suffix)}
        self._suffixes = tuple(self._by_suffix)
        shapes = [(order, g.source) for g, order in orders.items() if isinstance(g, Shape)]
        self._shapes = sorted(shapes, reverse=True)

    def last_fit(self, name: bytes) -> int:
        """The order of the last pattern that *name* matches, or _NONE_FITS."""
        last = self._literals.get(name, _NONE_FITS)
        if name.endswith(self._suffixes):
            fits = (order for text, order in self._by_suffix.items() if name.endswith(text))
            last = max(last, *fits)
        for pattern, orders in self._unions:
            if orders[0] <= last:
                break
            if (found := pattern.fullmatch(name)) and found.lastindex:
                return max(last, orders[found.lastindex - 1])
        return last

    @cached_property
    def _unions(self) -> list[tuple[re.Pattern[bytes], Sequence[int]]]:
        """Some shapes at a time as one expression, in which the last rule is tried first."""
        return [
            (
                re.compile(b"|".join(b"(%s)" % source for _, source in shapes), re.DOTALL),
                [order for order, _ in shapes],
            )
            for at in range(0, len(self._shapes), _SHAPES_AT_ONCE)
            if (shapes := self._shapes[at : at + _SHAPES_AT_ONCE])
        ]


class _Patterns:
    """The patterns of one file."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        negative: list[bool] = []
        anywhere: list[tuple[int, bool, NameGlob]] = []
        paths: list[_PathRule] = []
        for order, line in enumerate(lines):
            negative.append(line.startswith(b"!"))
            body = line.removeprefix(b"!")
            folders_only = body.endswith(b"/")
            for segments in _parse_pattern(body.removesuffix(b"/")):
                match segments:
                    case (None, glob) if glob is not None:
                        anywhere.append((order, folders_only, glob))
                    case _:
                        paths.append(_PathRule(order, folders_only, segments))
        self.negative = tuple(negative)
        self.folders = _Names((order, glob) for order, _, glob in anywhere)
        self.files = _Names(
            (order, glob) for order, folders_only, glob in anywhere if not folders_only
        )
        self.place = _place(self, tuple((rule, rule.reach({0})) for rule in paths))


def _parse_pattern(body: bytes) -> tuple[Segments, ...]:
    """Read one pattern; without a slash it may match in any folder."""
    if b"/" in body:
        return parse_path_pattern(body)
    glob = parse_name_pattern(body)
    return () if glob is None else ((None, glob),)


@lru_cache(maxsize=1024)
def _parse(text: bytes) -> _Patterns:
    return _Patterns(_lines(text))


def _lines(text: bytes) -> Iterator[bytes]:
    """The lines of *text* that hold a pattern."""
    for line in text.removeprefix(_BYTE_ORDER_MARK).split(b"\n"):
        if line and not line.startswith(b"#"):
            # Git reads the line as a C string.
            pattern = line.removesuffix(b"\r").split(b"\0", 1)[0]
            yield _without_trailing_blanks(pattern)


def _without_trailing_blanks(line: bytes) -> bytes:
    """Drop the blanks at the end of *line*, but not one that a backslash keeps."""
    bare = line.rstrip(b" ")
    backslashes = len(bare) - len(bare.rstrip(b"\\"))
    return line[: len(bare) + 1] if backslashes % 2 else bare
