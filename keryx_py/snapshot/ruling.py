"""The `.gitignore` rules that hold in a folder: read when they changed, put together when asked."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from keryx_py.snapshot.ignore import FolderRules
from keryx_py.snapshot.reading import NotReadError, read_content, said_of

RULES_NAME = b".gitignore"


class RulesUnreadableError(Exception):
    """A `.gitignore` cannot be read, so what it protects is not known; the text is its path."""


@dataclass(frozen=True, slots=True)
class Rulings:
    """The rules that bear on the names in one folder: the project's, and the setting `exclude`."""

    project: FolderRules
    exclude: FolderRules

    @classmethod
    def of_root(cls, text: bytes | None, exclude: bytes | None) -> Rulings:
        """The rules at the root, whose `.gitignore` holds *text*; None where there is nothing."""
        return cls(FolderRules.of_root(text), FolderRules.of_root(exclude))

    def enter(self, name: bytes, text: bytes | None) -> Rulings:
        """The rules in the subfolder *name*, whose own `.gitignore` holds *text*."""
        return Rulings(self.project.enter(name, text), self.exclude.enter(name, None))

    def ignores(self, name: bytes, is_folder: bool) -> bool:
        """Whether *name* is left out."""
        return self.exclude.ignores(name, is_folder) or self.project.ignores(name, is_folder)


def read_rules(descriptor: int, prefix: bytes, mode: int) -> bytes | None:
    """Read the `.gitignore`, a thing of that *mode*, in the folder of that descriptor.

    None when it counts for nothing. Raises RulesUnreadableError, naming it after *prefix*.
    """
    if stat.S_ISLNK(mode) or stat.S_ISDIR(mode):
        return None  # as in git: neither is read for rules
    try:
        return read_content(RULES_NAME, descriptor, None).data
    except FileNotFoundError:
        return None
    except NotReadError as error:
        raise RulesUnreadableError(os.fsdecode(prefix + RULES_NAME)) from error
    except OSError as error:
        raise said_of(prefix + RULES_NAME, error) from error
