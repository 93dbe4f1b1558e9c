"""The `.gitignore` rules that hold in a folder: read when they changed, put together when asked."""

from __future__ import annotations

import os
import stat

from keryx_py.snapshot.ignore import FolderRules
from keryx_py.snapshot.reading import NotReadError, read_content
from keryx_py.snapshot.seen import Folder

RULES_NAME = ".gitignore"


class RulesUnreadableError(Exception):
    """A `.gitignore` cannot be read, so what it protects is not known; the text is its path."""


class Ruling:
    """The rules in one folder, put together only when a name is asked about that is new."""

    def __init__(self, above: Ruling | None, name: bytes, text: bytes | None) -> None:
        self._above = above
        self._name = name
        self._text = text
        self._rules: FolderRules | None = None

    def ignores(self, name: bytes, is_folder: bool) -> bool:
        """Whether *name* in this folder is ignored."""
        return self._whole().ignores(name, is_folder)

    def _whole(self) -> FolderRules:
        # Not recursive: folders nest deeper than Python calls may.
        waiting: list[Ruling] = []
        ruling: Ruling | None = self
        while ruling is not None and ruling._rules is None:
            waiting.append(ruling)
            ruling = ruling._above
        rules = None if ruling is None else ruling._rules
        for ruling in reversed(waiting):
            if rules is None:
                rules = FolderRules.of_root(ruling._text)
            else:
                rules = rules.enter(ruling._name, ruling._text)
            ruling._rules = rules
        assert rules is not None
        return rules


def read_rules(descriptor: int, folder: Folder, known: Folder | None) -> bytes | None:
    """Read the `.gitignore` in the *folder* of that descriptor, or take its text as *known*.

    None when it has none. Raises RulesUnreadableError, PermissionError when nothing in the folder
    can be looked at.
    """
    try:
        status = os.stat(RULES_NAME, dir_fd=descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return None  # as in git: neither is read for rules
    text = _known_text(known, status)
    if text is not None:
        return text
    try:
        return read_content(RULES_NAME, descriptor, None).data
    except FileNotFoundError:
        return None
    except NotReadError as error:
        raise RulesUnreadableError(os.fsdecode(folder.prefix) + RULES_NAME) from error


def _known_text(known: Folder | None, status: os.stat_result) -> bytes | None:
    seen = known.files.get(RULES_NAME) if known is not None else None
    if known is None or seen is None:
        return None
    same = (
        seen.modified == status.st_mtime_ns
        and seen.changed == status.st_ctime_ns
        and seen.size == status.st_size
        and seen.inode == status.st_ino
    )
    return known.text if same else None
