"""Git judges: the rules must leave in exactly the files that git would list."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from keryx_py.snapshot.ignore import FolderRules, is_ignored

GITIGNORE = b".gitignore"
NAMES = [
    *(
        b"a",
        b"b",
        b"ab",
        b"aab",
        b"B",
        b"foo",
        b"bar",
        b"foobar",
        b"foo.txt",
        b"a.o",
        b".a",
        b"a-b",
    ),
    *(b"a b", b"a ", b" a", b"#a", b"!a", b"*", b"?", b"\\", b"\\a", b"[a]", b"]", b"^", b"a\r"),
    *(
        b"\xff",
        b"a\xfe",
        "é".encode(),
        "é".encode()[:1],
        b"a\nb",
        b"\t",
        b"\x01",
        b"~",
        b"0",
        b"a:",
    ),
]
CLASSES = [
    *(b"alnum", b"alpha", b"blank", b"cntrl", b"digit", b"graph", b"lower", b"print", b"punct"),
    *(b"space", b"upper", b"xdigit", b"", b"ALPHA", b"alphas"),
]
SCRAPS = [
    *(b"*", b"*", b"*", b"**", b"**", b"/", b"/", b"/", b"?", b"[", b"]", b"!", b"^", b"-", b":"),
    *(b"[:alpha:]", b"[:punct:]", b"[:nope:]", b"[[:space:]]", b"[a-b]", b"[!a]", b"[]a]", b"\\"),
    *(
        b"a",
        b"a",
        b"b",
        b"o",
        b"foo",
        b".",
        b" ",
        b"#",
        b"\r",
        b"\0",
        b"\xff",
        b"\xc3",
        b"**/",
        b"/**",
    ),
]


@dataclass
class Tree:
    """A folder of a made-up work tree."""

    folders: dict[bytes, Tree] = field(default_factory=dict)
    files: dict[bytes, bytes] = field(default_factory=dict)

    def paths(self, above: bytes = b"") -> Iterator[tuple[bytes, bool]]:
        """Each path below, and whether it is a folder."""
        for name in self.files:
            yield above + name, False
        for name, folder in self.folders.items():
            yield above + name, True
            yield from folder.paths(above + name + b"/")

    def write(self, place: bytes) -> None:
        """Make the tree on disk."""
        here = Path(place.decode("utf-8", "surrogateescape"))
        here.mkdir()
        for name, content in self.files.items():
            (here / name.decode("utf-8", "surrogateescape")).write_bytes(content)
        for name, folder in self.folders.items():
            folder.write(place + b"/" + name)


def make_tree(rng: random.Random, depth: int = 0) -> Tree:
    """Make a tree up to four folders deep, with hostile rules in some of its folders."""
    tree = Tree({}, dict.fromkeys(rng.sample(NAMES, rng.randint(1, 6)), b""))
    if depth < 4:
        for name in rng.sample(NAMES, rng.choice((0, 1, 1, 2) if depth else (2, 3))):
            tree.files.pop(name, None)
            tree.folders[name] = make_tree(rng, depth + 1)
    if depth == 0 or rng.random() < 0.4:
        tree.files[GITIGNORE] = make_rules(rng, [path for path, _ in tree.paths()])
    return tree


def tree_of_seed(seed: int) -> Tree:
    """Make the same tree each time."""
    return make_tree(random.Random(seed))


def make_rules(rng: random.Random, paths: list[bytes]) -> bytes:
    """Write a `.gitignore` of which many lines nearly fit one of *paths*."""
    lines = [make_line(rng, rng.choice(paths)) for _ in range(rng.randint(1, 6))]
    mark = b"\xef\xbb\xbf" if rng.random() < 0.05 else b""
    return mark + rng.choice((b"\n", b"\n", b"\r\n")).join(lines) + rng.choice((b"", b"\n"))


def make_line(rng: random.Random, path: bytes) -> bytes:
    """Write one line, from a path bent out of shape or from scraps."""
    if rng.random() < 0.3:
        body = b"".join(rng.choices(SCRAPS, k=rng.randint(1, 7)))
    else:
        names = path.split(b"/")
        names = names[rng.randrange(len(names)) if rng.random() < 0.4 else 0 :]
        body = b"/".join(bend(rng, name) for name in names)
    before = rng.choice((b"", b"", b"", b"", b"/", b"**/", b"*/", b"#"))
    after = rng.choice(
        (b"", b"", b"", b"", b"/", b"/**", b"/*", b" ", b"\\ ", b"  ", b"\r", b"\t", b"\\")
    )
    return rng.choice((b"", b"", b"!", b"!", b"\\")) + before + body + after


def bend(rng: random.Random, name: bytes) -> bytes:
    """Turn a name into a pattern that fits it, or almost."""
    match rng.randrange(9):
        case 0:
            return rng.choice((b"*", b"**", b"?" * len(name), b"***"))
        case 1:
            return b"".join(b"\\" + name[at : at + 1] for at in range(len(name)))
        case 2:
            return b"".join(make_class(rng, byte) for byte in name)
        case 3:
            at = rng.randrange(len(name))
            return name[:at] + rng.choice((b"*", b"?", b"**", b"*?", b"?*")) + name[at + 1 :]
        case 4:
            return name[: rng.randrange(len(name) + 1)] + rng.choice((b"*", b"**", b"**/**"))
        case 5:
            return rng.choice((b"*", b"**")) + name[rng.randrange(len(name)) :]
        case _:
            return name


def make_class(rng: random.Random, byte: int) -> bytes:
    """Write a class that holds *byte*, or almost."""
    low, high = bytes([max(1, byte - 1)]), bytes([min(255, byte + rng.choice((0, 1)))])
    inside = rng.choice(
        (
            bytes([byte]),
            low + b"-" + high,
            b"\\" + low + b"-\\" + high,
            b"x-" + bytes([byte]),
            b"[:alnum:]",
            b"[:graph:]-" + bytes([byte]),
            b"]" + bytes([byte]),
            bytes([byte]) + b"-",
            b"--" + bytes([byte]),
            b"[:alpha" + bytes([byte]),
        )
    )
    return (
        b"[" + rng.choice((b"", b"", b"", b"!", b"^")) + inside + rng.choice((b"]",) * 9 + (b"",))
    )


def kept_by_git(repository: Path) -> set[bytes]:
    """List the files below *repository* that git does not ignore."""
    command = ["git", "ls-files", "-z", "--others", f"--exclude-per-directory={GITIGNORE.decode()}"]
    listed = subprocess.run(command, cwd=repository, check=True, capture_output=True)
    return set(filter(None, listed.stdout.split(b"\0")))


def kept_by_walk(tree: Tree, rules: FolderRules, above: bytes) -> Iterator[bytes]:
    """List the files of *tree* that *rules* leave in, going down as a walk of the disk would."""
    for name in tree.files:
        if not rules.ignores(name, is_folder=False):
            yield above + name
    for name, folder in tree.folders.items():
        if not rules.ignores(name, is_folder=True):
            below = rules.enter(name, folder.files.get(GITIGNORE))
            yield from kept_by_walk(folder, below, above + name + b"/")


def kept_by_path(tree: Tree, above: bytes) -> Iterator[bytes]:
    """List the files of *tree* that are not ignored, asking about each whole path."""
    slash = b"/" + GITIGNORE
    files = dict(_contents(tree, b""))
    texts = {path[: -len(slash)]: text for path, text in files.items() if path.endswith(slash)}
    texts |= {b"": files[GITIGNORE]} if GITIGNORE in files else {}
    for path in files:
        if not is_ignored(texts, path, is_folder=False):
            yield above + path


def _contents(tree: Tree, above: bytes) -> Iterator[tuple[bytes, bytes]]:
    for name, content in tree.files.items():
        yield above + name, content
    for name, folder in tree.folders.items():
        yield from _contents(folder, above + name + b"/")


def rules_of(tree: Tree) -> list[tuple[bytes, bytes]]:
    """Every `.gitignore` in *tree*, for the message of a failure."""
    return [(path, text) for path, text in _contents(tree, b"") if path.endswith(GITIGNORE)]


def check_trees(made: Iterable[Tree], repository: Path) -> None:
    """Write the trees side by side into one repository, and compare what is left in."""
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    trees = {b"%d" % number: tree for number, tree in enumerate(made)}
    for name, tree in trees.items():
        tree.write(bytes(repository) + b"/" + name)

    by_git = kept_by_git(repository)

    for name, tree in trees.items():
        above = name + b"/"
        expected = {path for path in by_git if path.startswith(above)}
        rules = FolderRules.of_root(tree.files.get(GITIGNORE))
        assert set(kept_by_walk(tree, rules, above)) == expected, rules_of(tree)
        assert set(kept_by_path(tree, above)) == expected, rules_of(tree)


def test_rules_leave_in_what_git_lists_on_hostile_trees(tmp_path: Path) -> None:
    check_trees(map(tree_of_seed, range(200)), tmp_path / "repository")


@pytest.mark.parametrize("pattern", [b"[[:%s:]]", b"[![:%s:]]"])
def test_named_classes_hold_the_bytes_that_git_says(tmp_path: Path, pattern: bytes) -> None:
    names = [bytes([byte]) for byte in range(1, 256) if byte not in b"./"]
    tree = Tree()
    for name in CLASSES:
        tree.folders[b"of-" + name] = Tree(
            {}, {**dict.fromkeys(names, b""), GITIGNORE: pattern % name}
        )
    check_trees([tree], tmp_path / "repository")


@pytest.mark.soak
@pytest.mark.parametrize("batch", range(20))
def test_rules_leave_in_what_git_lists_on_ten_thousand_trees(tmp_path: Path, batch: int) -> None:
    first = 1000 + 500 * batch
    check_trees(map(tree_of_seed, range(first, first + 500)), tmp_path / "repository")
