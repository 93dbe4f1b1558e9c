"""Walk the work tree: what is there, what is left out, and what must be read because it is new.

The walk goes by folder descriptors, never follows a link, and reads no content but `.gitignore`
files. A folder whose names and statuses are as they were is taken over as it was, unasked; only
where something differs is each name looked at by itself.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence

from keryx_py.snapshot.descent import Descent, Identity
from keryx_py.snapshot.frame import Frame, Known, Met
from keryx_py.snapshot.objects import ID_BYTES
from keryx_py.snapshot.reading import is_our_own, is_unreadable, said_of
from keryx_py.snapshot.ruling import RULES_NAME, Rulings, read_rules
from keryx_py.snapshot.scout import Scout, is_worth_it, list_parts
from keryx_py.snapshot.seen import Folder, row_to_trust
from keryx_py.snapshot.sorting import Scan, ScanRules, Sorting
from keryx_py.snapshot.statuses import Statuses, columns_of, mode_of, row_of


class Walk:
    """One walk over the tree at an open *root* descriptor."""

    def __init__(
        self,
        root: int,
        rules: ScanRules,
        known: Known | None,
        trusted_before: int,
        tick: Callable[[int], None],
    ) -> None:
        """What changed since *trusted_before* (nanoseconds since the epoch) is looked at anew by
        the next walk; *tick* is told how many files have been seen."""
        self._status = status = os.fstat(root)
        self._descent = Descent(root, Identity.of(status))
        self._rules = rules
        self._known = known
        self._trusted_before = trusted_before
        self._tick = tick
        self._statuses = Statuses()
        self._ancestors = {Identity.of(status)}
        self._scan = Scan(Folder(b"", stat.S_IMODE(status.st_mode), status.st_dev))
        self._sorting = Sorting(rules, self._scan)
        self._seen = 0
        self._scout: Scout | None = None
        self._is_scouting = False

    def run(self) -> Scan:
        """Walk the whole tree. Raises OSError, RulesUnreadableError."""
        try:
            top = self._root_frame(self._status)
            self._scout = self._send_scout()
            self._scan.root = self._finish(top)
        finally:
            self._descent.close()
            if self._scout is not None:
                self._scout.dismiss()
        return self._scan

    def _finish(self, top: Frame) -> Folder:
        """Walk all below the folder of *top*, which is the current one; give what came of it."""
        frames = [top]
        while True:
            frame = frames[-1]
            if frame.waiting:
                name, narrow = frame.waiting.pop()
                below = self._enter(frame, name, narrow)
                if below is not None:
                    frames.append(below)
                continue
            done = frames.pop().result()
            if not frames:
                return done
            self._leave()
            frames[-1].folders[done.name] = done

    def _send_scout(self) -> Scout | None:
        """Have a second process look for what is unchanged, where that saves time."""
        if self._known is None or not is_worth_it(self._known.root):
            return None
        try:
            return Scout(list_parts(self._known.root), self._is_part_unchanged)
        except OSError:
            return None  # no more processes, or no memory for one

    def _is_part_unchanged(self, part: Folder) -> bool:
        """Whether all in *part*, a folder of the last walk, is as it was; asked by the scout."""
        assert self._known is not None
        self._is_scouting = True
        above = self._known.root.find(part.path.rpartition(b"/")[0])
        assert above is not None
        frame = Frame(None, above, above, same_rules=True, unchanged=True)
        try:
            self._descent.go(above.path)
            self._ancestors = set(self._descent.identities())
            below = self._enter(frame, part.name, narrow=False)
            if below is None:
                return False
            done = self._finish(below)
            self._leave()
        except (OSError, _ChangedError):
            self._descent.close()
            return False
        return done is part

    def _root_frame(self, status: os.stat_result) -> Frame:
        known = self._known.root if self._known is not None else None
        frame = self._list(None, b"", status, known)
        exclude = b"\n".join(self._rules.exclude) or None
        frame.known_rulings = Rulings.of_root(frame.folder.text, exclude)
        self._look_at_each(frame)
        return frame

    def _leave(self) -> None:
        self._ancestors.discard(self._descent.identity)
        self._descent.leave()

    def _enter(self, above: Frame, name: bytes, narrow: bool) -> Frame | None:
        """Go into a subfolder and list it; None when there is nothing to walk there."""
        known = None
        if above.known is not None and not narrow:
            known = above.known.folders.get(name)
            if known is not None and self._is_vouched_for(above, known):
                self._take_over(above, known)
                return None
        try:
            status = self._descent.enter(name)
        except OSError as error:
            self._not_entered(above, name, error)
            return None
        if self._is_refused(above, name):
            self._descent.leave()
            return None
        path = above.folder.prefix + name
        try:
            if narrow:
                frame = self._list_narrow(above, path, status)
            else:
                frame = self._list(above, path, status, known)
        except OSError as error:
            if not is_unreadable(error):
                raise said_of(path, error) from error
            above.refused[name] = "unreadable"  # it may be listed, but not looked into
            self._leave()
            return None
        self._look_at_each(frame)
        return frame

    def _is_vouched_for(self, above: Frame, known: Folder) -> bool:
        return self._scout is not None and above.same_rules and self._scout.vouches_for(known)

    def _take_over(self, above: Frame, known: Folder) -> None:
        """Take a subfolder and all below it for unchanged."""
        above.folders[known.name] = known
        self._count(known.totals.files if known.totals is not None else 0)

    def _is_refused(self, above: Frame, name: bytes) -> bool:
        """Whether the folder just entered is keryx's own, or one that the walk is already in."""
        identity = self._descent.identity
        if identity in self._rules.off_limits:
            above.refused[name] = ""
        elif identity in self._ancestors:
            above.refused[name] = "a folder inside itself"
        else:
            self._ancestors.add(identity)
            return False
        return True

    def _not_entered(self, above: Frame, name: bytes, error: OSError) -> None:
        """Say what came of a subfolder that could not be opened. Raises OSError."""
        if is_our_own(error):
            raise error
        try:
            status = os.stat(name, dir_fd=self._descent.descriptor(), follow_symlinks=False)
        except FileNotFoundError:
            above.own().distrust(name)
            return
        except OSError as asked:
            error = asked
        else:
            if not stat.S_ISDIR(status.st_mode):
                index = above.own().distrust(name)
                self._sorting.sort_out(above, Met(index, name, status.st_mode, status.st_size))
                return
        if is_unreadable(error):
            above.refused[name] = "unreadable"
        elif isinstance(error, FileNotFoundError | NotADirectoryError):
            above.refused[name] = "being written"  # something else stood there in between
        else:
            raise said_of(above.folder.prefix + name, error) from error

    def _list(
        self, above: Frame | None, path: bytes, status: os.stat_result, known: Folder | None
    ) -> Frame:
        """List the current folder, and see whether anything in it changed. Raises OSError."""
        descriptor = self._descent.descriptor()
        listed = os.fsencode("\0".join(os.listdir(descriptor)))
        names = listed.split(b"\0") if listed else []
        if not names:
            # Raises where it may be listed, but not looked into: so does asking for any name.
            os.stat(".", dir_fd=descriptor)
        stats = self._statuses.read(descriptor, names)
        if known is not None and known.device != status.st_dev:
            known = None
        same_rules = known is not None and (above is None or above.same_rules)
        if (
            known is not None
            and same_rules
            and stats == known.stats
            and listed == known.listed
            and known.mode == stat.S_IMODE(status.st_mode)
            and self._may_stay(known)
        ):
            below = [(name, False) for name in (*known.folders, *known.refused)]
            self._count(len(names) - len(below))
            return Frame(above, known, known, same_rules=True, unchanged=True, waiting=below)
        if self._is_scouting:
            raise _ChangedError
        if stats is None:
            names, stats = self._ask_each(descriptor, names)
            listed = b"\0".join(names)
        folder = Folder(path, stat.S_IMODE(status.st_mode), status.st_dev, listed, stats)
        folder.ids = bytearray(len(names) * ID_BYTES)
        folder.text = self._read_rules(descriptor, folder, known, names)
        same_rules = same_rules and known is not None and folder.text == known.text
        return Frame(above, folder, known, same_rules, unchanged=False)

    def _may_stay(self, known: Folder) -> bool:
        """Whether nothing more is asked for in a folder, and all that it holds is stored."""
        if self._sorting.is_asked_within(known):
            return False
        return self._known is not None and self._known.is_stored(known)

    def _count(self, files: int) -> None:
        self._seen += files
        self._tick(self._seen)

    def _ask_each(self, descriptor: int, names: Sequence[bytes]) -> tuple[list[bytes], bytearray]:
        """Ask for each status by itself; leave out the names that are gone."""
        there, rows = [], []
        for name in names:
            try:
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except FileNotFoundError:
                continue
            there.append(name)
            rows.append(row_of(status))
        return there, columns_of(rows)

    def _read_rules(
        self, descriptor: int, folder: Folder, known: Folder | None, names: Sequence[bytes]
    ) -> bytes | None:
        if RULES_NAME not in names:
            return None
        row = folder.columns().row(names.index(RULES_NAME))
        if known is not None and known.row_of(RULES_NAME) == row:
            return known.text
        return read_rules(descriptor, folder.prefix, mode_of(row[0]))

    def _look_at_each(self, frame: Frame) -> None:
        """Take over what is as it was, and sort out the rest, unless all is as it was."""
        if frame.unchanged:
            return
        folder, known = frame.folder, frame.known
        names, columns = folder.names(), folder.columns()
        if known is None or not frame.same_rules:
            new = Met.all_of(names, columns)
        elif folder.listed == known.listed and not self._sorting.is_asked_within(known):
            new = frame.take_over_most(known, names, columns, self._known)
        else:
            new = frame.take_over_by_name(known, names, columns, self._known)
        for met in new:
            self._sorting.sort_out(frame, met)
        if folder.text is not None:
            # Rules that changed too lately are read anew by the next walk, held or not.
            index = names.index(RULES_NAME)
            columns.put(index, row_to_trust(columns.row(index), self._trusted_before))
        self._count(len(names) - len(frame.waiting))

    def _list_narrow(self, above: Frame, path: bytes, status: os.stat_result) -> Frame:
        """Look only at the names in the current folder that were asked for. Raises OSError."""
        asked = self._sorting.asked_in(path)
        descriptor = self._descent.descriptor()
        names, stats = self._ask_each(descriptor, sorted(asked))
        listed, ids = b"\0".join(names), bytearray(len(names) * ID_BYTES)
        mode = stat.S_IMODE(status.st_mode)
        folder = Folder(path, mode, status.st_dev, listed, stats, ids, narrow=True)
        with os.scandir(descriptor) as there:
            for entry in there:
                if (name := os.fsencode(entry.name)) not in asked:
                    folder.left_out[name] = entry.is_dir(follow_symlinks=False)
        return Frame(above, folder, None, same_rules=False, unchanged=False)


class _ChangedError(Exception):
    """Something in a part of the tree is not as it was."""
