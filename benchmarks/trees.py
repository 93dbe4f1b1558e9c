"""Make a work tree of a given number of files from a seed: the same tree each time."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

CHANGED_FILES = 10
"""How many files change before a later snapshot."""
REPEATS = 3
"""How often a run measures what can be measured again."""
_RESTORED_SHARE = 20
_POOL_BYTES = 1 << 23
_WORDS = 4000
_LONGEST_FILE = 4 * 2**20
_DEEPEST = 10
_FILES_A_FOLDER = 12
_MEDIAN_BYTES_LOG = 8.3
"""A median of 4 kB; with the spread below, a mean of about 20 kB."""
_SPREAD = 1.8
_COPY_SHARE = 0.03
_BINARY_SHARE = 0.08
_SUFFIXES = (".py", ".ts", ".c", ".h", ".md", ".json", ".txt", ".html")
_RULES = b"*.log\n__pycache__/\n/build/\n.cache\n*.py[co]\n**/tmp/*.bak\n"


@dataclass(frozen=True, slots=True)
class WorkTreeMade:
    """What was made."""

    root: Path
    files: tuple[Path, ...]
    folders: int
    content_bytes: int


def make_tree(root: Path, files: int, seed: int) -> WorkTreeMade:
    """Make *files* files at *root*, which is not there yet: mostly text, mostly unique."""
    rng = random.Random(seed)
    contents = _Contents(rng)
    folders = _make_folders(root, max(1, files // _FILES_A_FOLDER), rng)
    (root / ".gitignore").write_bytes(_RULES)
    paths = [root / ".gitignore"]
    content_bytes = len(_RULES)
    for number in range(1, files):
        path = rng.choice(folders) / f"{contents.word()}_{number}{rng.choice(_SUFFIXES)}"
        content_bytes += path.write_bytes(contents.make(number))
        paths.append(path)
    return WorkTreeMade(root, tuple(paths), len(folders), content_bytes)


def change_files(tree: WorkTreeMade, count: int, mark: str) -> None:
    """Add a line that holds *mark* to *count* files all over the tree."""
    step = max(1, len(tree.files) // count)
    for path in tree.files[step - 1 :: step][:count]:
        with path.open("ab") as file:
            file.write(b"changed: %s\n" % mark.encode())


def change_random_files(tree: WorkTreeMade, count: int, rng: random.Random) -> None:
    """Add a line to *count* files, others each time."""
    for path in rng.sample(tree.files, min(count, len(tree.files))):
        with path.open("ab") as file:
            file.write(b"changed: %d\n" % rng.getrandbits(64))


def restored_files(tree: WorkTreeMade) -> int:
    """How many files are changed before a restore: 5,000 of 100,000."""
    return max(1, len(tree.files) // _RESTORED_SHARE)


def _make_folders(root: Path, count: int, rng: random.Random) -> list[Path]:
    root.mkdir(parents=True)
    folders, depths = [root], [0]
    for number in range(1, count):
        at = rng.randrange(len(folders))
        if depths[at] >= _DEEPEST:
            at = 0
        folder = folders[at] / f"folder_{number}"
        folder.mkdir()
        folders.append(folder)
        depths.append(depths[at] + 1)
    return folders


class _Contents:
    """What the files hold: text out of one long run of words, which packs as source code does."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._words = [
            "".join(rng.choices("etaoinshrdlucmfwypvbgkqjxz", k=rng.randint(2, 11)))
            for _ in range(_WORDS)
        ]
        weights = [1 / (rank + 3) for rank in range(_WORDS)]
        line = " ".join(rng.choices(self._words, weights, k=_POOL_BYTES // 6))
        self._pool = line.replace(" th", "\n    th").encode()
        self._last = b""

    def word(self) -> str:
        """One word for a name."""
        return self._rng.choice(self._words)

    def make(self, number: int) -> bytes:
        """What file *number* holds."""
        if self._last and self._rng.random() < _COPY_SHARE:
            return self._last
        size = min(int(self._rng.lognormvariate(_MEDIAN_BYTES_LOG, _SPREAD)), _LONGEST_FILE)
        if self._rng.random() < _BINARY_SHARE:
            self._last = self._rng.randbytes(size)
        else:
            start = self._rng.randrange(max(1, len(self._pool) - size))
            self._last = b"# file %d\n" % number + self._pool[start : start + size]
        return self._last
