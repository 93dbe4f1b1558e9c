"""Whose change each path carries: what would go when it is taken back. Nothing here acts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from keryx_py.rewind.plan import Author
from keryx_py.rewind.timeline import UNKNOWN
from keryx_py.snapshot.listing import FileChange, FileState, Listing


@dataclass(frozen=True, slots=True)
class Chapter:
    """What changed from one capture to the next, and whose it is."""

    author: Author | None
    """None when a rewind wrote it: nobody's change."""
    changes: tuple[FileChange, ...]


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
    *now* is. What a rewind brought back carries again the authors that it had at that time.
    *hidden* are the paths that rules or limits of now leave out: a capture that lacks one of them
    may have been unable to hold it.
    """
    stories = {path: _Story(then.get(path)) for path in paths}
    for chapter in chapters:
        for change in chapter.changes:
            story = stories.get(change.path)
            if story is not None:
                story.go_on(change.after, chapter.author)
    for path, story in stories.items():
        if story.state is None and path in hidden:
            story.come_to_light(now.get(path))
        elif now.get(path) != story.state:
            story.go_on(now.get(path), last)
    return {path: story.authors for path, story in stories.items()}


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

    def go_on(self, state: FileState | None, author: Author | None) -> None:
        if state == self._pages[0][0]:
            authors: tuple[Author, ...] = ()
        elif author is None:
            authors = next((by for was, by in reversed(self._pages) if was == state), self.authors)
        elif self.authors[-1:] == (author,):
            authors = self.authors
        else:
            authors = (*self.authors, author)
        self._pages.append((state, authors))
