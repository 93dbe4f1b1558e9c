"""Changes a tree at random for as long as one likes, and keeps it from growing without end."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

RULES = (b"", b"*.log\n", b"build/\n", b"*.log\n!kept.log\n", b"/lib\n*.tmp\n", b"*\n!*/\n!*.py\n")
NAMES = ("main", "kept", "build", "lib", "a b", "é", "\udcff", "notes", "x1", "x2", "x3", "deep")
SUFFIXES = ("", ".py", ".log", ".tmp", ".md")
MODES = (0o644, 0o755, 0o600, 0o444)
TARGETS = ("main", "../lib", "/nowhere", ".", "é")
_MOST_PATHS = 220
_MOST_BYTES = 16_000
_FOLDERS_THAT_STAY = 20
_DEEPEST = 6


class Wanderer:
    """Makes random changes below a root: files, links, folders, modes, names, ignore rules."""

    def __init__(self, root: Path, seed: int) -> None:
        self._root = root
        self._random = random.Random(seed)
        self._acts = {
            self._write: 9,
            self._edit: 8,
            self._edit_in_place: 4,
            self._delete: 3,
            self._rename: 3,
            self._change_mode: 2,
            self._link: 2,
            self._make_folder: 3,
            self._delete_folder: 1,
            self._change_rules: 1,
        }

    def take_turn(self) -> None:
        """Make one to five changes; beyond a few hundred paths more goes than comes."""
        for _ in range(self._random.randint(1, 5)):
            (act,) = self._random.choices(list(self._acts), list(self._acts.values()))
            act()
        while len(self._paths()) > _MOST_PATHS:
            self._delete_folder()
            self._delete()

    # ---- what there is

    def _paths(self) -> list[Path]:
        return [
            Path(above, name)
            for above, folders, names in os.walk(self._root)
            for name in (*folders, *names)
        ]

    def _folders(self) -> list[Path]:
        inside = [path for path in self._paths() if path.is_dir() and not path.is_symlink()]
        return [self._root, *inside]

    def _files(self) -> list[Path]:
        """All but the rules, whose text each capture holds once more."""
        files = (path for path in self._paths() if path.is_file() and not path.is_symlink())
        return [path for path in files if path.name != ".gitignore"]

    def _free_path(self) -> Path | None:
        """A path where nothing stands; None when the one tried is taken."""
        name = self._random.choice(NAMES) + self._random.choice(SUFFIXES)
        path = self._random.choice(self._folders()) / name
        deep = len(path.relative_to(self._root).parts) > _DEEPEST
        return None if deep or path.is_symlink() or path.exists() else path

    def _content(self) -> bytes:
        size = self._random.randrange(_MOST_BYTES)
        if self._random.random() < 0.3:
            return (b"line %d of a text\n" % size) * (size // 20)
        return self._random.randbytes(size)

    # ---- changes

    def _write(self) -> None:
        path = self._free_path()
        if path is not None:
            path.write_bytes(self._content())
            path.chmod(self._random.choice(MODES))

    def _edit(self) -> None:
        for path in self._some(self._files()):
            mode = path.stat().st_mode
            kept = path.read_bytes()[: self._random.randrange(_MOST_BYTES)]
            path.chmod(0o600)
            path.write_bytes((kept + self._content())[: 2 * _MOST_BYTES])
            path.chmod(mode & 0o777)

    def _edit_in_place(self) -> None:
        """Change a file's bytes and not its size."""
        for path in self._some(self._files()):
            if path.stat().st_size:
                mode = path.stat().st_mode
                path.chmod(0o600)
                with path.open("r+b") as file:
                    file.seek(self._random.randrange(path.stat().st_size))
                    file.write(self._random.randbytes(1))
                path.chmod(mode & 0o777)

    def _delete(self) -> None:
        gone = [path for path in self._paths() if not path.is_dir() or path.is_symlink()]
        for path in self._some(gone):
            path.unlink()

    def _delete_folder(self) -> None:
        # Not one of the few at the top: most of the tree would be gone with it.
        for path in self._some(self._folders()[_FOLDERS_THAT_STAY:]):
            shutil.rmtree(path)

    def _rename(self) -> None:
        for path in self._some(self._paths()):
            target = self._free_path()
            if target is not None and path not in target.parents:
                path.rename(target)

    def _change_mode(self) -> None:
        for path in self._some([path for path in self._paths() if not path.is_symlink()]):
            choice = (0o700, 0o755, 0o775) if path.is_dir() else MODES
            path.chmod(self._random.choice(choice))

    def _link(self) -> None:
        path = self._free_path()
        if path is not None:
            path.symlink_to(self._random.choice(TARGETS))

    def _make_folder(self) -> None:
        path = self._free_path()
        if path is not None:
            path.mkdir()

    def _change_rules(self) -> None:
        rules = self._random.choice(self._folders()) / ".gitignore"
        if not rules.is_symlink() and not rules.is_dir():
            rules.unlink(missing_ok=True)
            rules.write_bytes(self._random.choice(RULES))

    def _some(self, paths: list[Path]) -> list[Path]:
        """One of *paths*; none of none."""
        return [self._random.choice(paths)] if paths else []
