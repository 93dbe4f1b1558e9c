"""What the last walk saw: in memory from capture to capture, on disk from process to process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from keryx_py.snapshot.frame import Known
from keryx_py.snapshot.seen import Folder
from keryx_py.snapshot.seen_file import SeenFile
from keryx_py.snapshot.sorting import Scan
from keryx_py.snapshot.taking import Place

if TYPE_CHECKING:
    from keryx_py.snapshot.objectdb import ObjectDatabase


class LastWalk:
    """The last walk over the work tree of one store."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._root: Folder | None = None
        self._file: SeenFile | None = None

    def recall(self, objects: Callable[[], ObjectDatabase]) -> None:
        """Read what an earlier process saw, at the first capture."""
        settings, like = self._place.settings(), self._place.like
        if self._file is None and self._place.folder.exists():
            self._file = SeenFile(self._place.folder, settings)
            seen = self._file.load()
            if seen is not None and self._file.packs <= objects().pack_names():
                for folder in seen.below():
                    folder.kept = objects().state
            self._root = self._root or seen
        if self._root is None and like is not None:
            self._root = SeenFile(like, settings).load()

    def known(self) -> Known | None:
        """What a walk that stores nothing need not read again; None while nothing is known."""
        return None if self._root is None else Known(self._root)

    def known_stored(self, objects: ObjectDatabase) -> Known | None:
        """What a walk that stores in *objects* need not read again."""
        return None if self._root is None else Known(self._root, objects.held, objects.state)

    def remember(self, scan: Scan) -> None:
        """Start the next walk from this one, unless it held what a plain one would not."""
        if not scan.asked_for:
            self._root = scan.root

    def save(self, scan: Scan, objects: ObjectDatabase) -> None:
        """Keep on disk what *scan* found, now that all of it is held. Raises OSError."""
        if self._file is not None and not scan.asked_for:
            self._file.save(scan.root, objects.pack_names())
