"""Whose change each path carries: what would go when it is taken back. Nothing here acts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from keryx_py.rewind.plan import Author
from keryx_py.rewind.timeline import UNKNOWN
from keryx_py.snapshot.listing import FileChange, FileState, Kind, Listing
from keryx_py.snapshot.objects import ObjectKind, object_id

_EMPTY = object_id(ObjectKind.BLOB, b"")


@dataclass(frozen=True, slots=True)
class Chapter:
    """What changed from one capture to the next, and whose it is."""

    author: Author | None
    """None when a rewind wrote it: nobody's change."""
    changes: tuple[FileChange, ...]
    from_before: bool = False
    """Whether a rewind wrote it that brought back what stood there before the first capture told
    of: no edit made since is in it."""
    place: int = 0
    """Which stretch it is of, in order of time: those of one stretch may be in any order."""


def attribute(
    paths: Iterable[bytes],
    then: Listing,
    chapters: Sequence[Chapter],
    now: Listing,
    last: Author | None,
    hidden: Collection[bytes] = (),
) -> Mapping[bytes, tuple[Author, ...]]:
    """Say who changed each of *paths* since *then*, in order of time.

    *chapters* lead from *then* to the newest capture, *last* is whose the time from there to
    *now* is. What a rewind brought back carries again the authors that it had at that time, and
    what was moved whole those that it had where it was.
    *hidden* are the paths that rules or limits of now leave out: a capture that lacks one of them
    may have been unable to hold it.
    """
    asked = tuple(paths)
    moves = [_list_moves(chapter) for chapter in chapters]
    stories = {path: _Story(then.get(path)) for path in _with_origins(asked, moves)}
    for chapter, moved in zip(chapters, moves, strict=True):
        carried = {to: stories[origin].authors for to, origin in moved.items() if to in stories}
        for change in chapter.changes:
            story = stories.get(change.path)
            if story is not None:
                story.go_on(change.after, chapter.author, carried.get(change.path, ()))
    for path, story in stories.items():
        if story.state is None and path in hidden:
            story.come_to_light(now.get(path))
        elif now.get(path) != story.state:
            story.go_on(now.get(path), last)
    return {path: stories[path].authors for path in asked}


def _list_moves(chapter: Chapter) -> Mapping[bytes, bytes]:
    """List the paths that came in *chapter* to hold what had stood in another; name that one.

    The other is gone, or holds something else since. What was changed as it was moved is not known
    from what is new.
    """
    moved = [change for change in chapter.changes if _oid(change.before) != _oid(change.after)]
    origins = {
        change.before.oid: change.path
        for change in moved
        if change.before is not None and _tells_apart(change.before)
    }
    return {
        change.path: origins[change.after.oid]
        for change in moved
        if change.after is not None and change.after.oid in origins
    }


def _oid(state: FileState | None) -> bytes | None:
    return None if state is None else state.oid


def _tells_apart(state: FileState) -> bool:
    return state.kind is Kind.FILE and state.oid != _EMPTY


def _with_origins(paths: Iterable[bytes], moves: Sequence[Mapping[bytes, bytes]]) -> set[bytes]:
    """Add to *paths* those that they were moved from, step by step."""
    wanted = set(paths)
    for moved in reversed(moves):
        wanted.update(origin for to, origin in moved.items() if to in wanted)
    return wanted


class _Story:
    """The states that one path went through, each with those whose change it carries."""

    def __init__(self, first: FileState | None) -> None:
        self._pages: list[tuple[FileState | None, tuple[Author, ...]]] = [(first, ())]

    @property
    def state(self) -> FileState | None:
        return self._pages[-1][0]

    @property
    def authors(self) -> tuple[Author, ...]:
        return self._pages[-1][1]

    def come_to_light(self, state: FileState | None) -> None:
        """Go on to *state* after captures that may have been unable to hold it."""
        held = next(((was, by) for was, by in reversed(self._pages) if was is not None), None)
        if held is not None and held[0] == state:
            self._pages.append(held)
        else:
            self.go_on(state, UNKNOWN)

    def go_on(
        self,
        state: FileState | None,
        author: Author | None,
        carried: tuple[Author, ...] = (),
    ) -> None:
        """Come to *state*, by *author*; *carried* had a hand in what was moved here."""
        if state == self._pages[0][0]:
            authors: tuple[Author, ...] = ()
        elif author is None:
            authors = next((by for was, by in reversed(self._pages) if was == state), self.authors)
        else:
            authors = (*self.authors, *carried)
            if authors[-1:] != (author,):
                authors = (*authors, author)
        self._pages.append((state, authors))
