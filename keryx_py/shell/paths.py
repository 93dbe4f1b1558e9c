"""Typed paths: names below the root, relative to it or absolute inside it, never patterns."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from keryx_py.shell.line import UsageError
from keryx_py.shell.visible import shown_name


def typed_paths(words: Iterable[str], root: Path) -> tuple[bytes, ...]:
    """Read *words* as paths below *root*; empty when one of them names all of it."""
    paths = tuple(typed_path(word, root) for word in words)
    return () if b"" in paths else paths


def typed_path(word: str, root: Path) -> bytes:
    """Read *word* as a path below *root*; b"" is the root itself.

    Raises UsageError for one that leads outside.
    """
    if not word or "\0" in word:
        raise UsageError("a path is empty or holds a zero byte; leave it out")
    path = os.path.normpath(_relative(word, root) if word.startswith("/") else word)
    if path == ".." or path.startswith(("../", "/")):
        raise UsageError(f"{shown_name(word)} is outside the project root; name a path inside it")
    return b"" if path == "." else os.fsencode(path)


def _relative(word: str, root: Path) -> str:
    lexical = os.path.relpath(word, root)
    if not lexical.startswith(".."):
        return lexical
    # The root may have been reached through a link: its folder is resolved, its own name is not,
    # since a link is itself a path that can be named.
    folder, name = os.path.split(word.rstrip("/"))
    return os.path.relpath(Path(os.path.realpath(folder), name), os.path.realpath(root))
