"""Work out the git trees of a walked tree, folder by folder; what is unchanged keeps its id."""

from __future__ import annotations

import stat
from collections.abc import Callable

from keryx_py.snapshot.objects import (
    EXEC_MODE,
    FOLDER_MODE,
    LINK_MODE,
    PLAIN_MODE,
    encode_tree,
)
from keryx_py.snapshot.seen import Folder, Seen

_OWNER_MAY_RUN = 0o100


def git_mode(mode: int) -> bytes:
    """Say which of git's modes stands for the *mode* of a file, link or folder."""
    if stat.S_ISDIR(mode):
        return FOLDER_MODE
    if stat.S_ISLNK(mode):
        return LINK_MODE
    return EXEC_MODE if mode & _OWNER_MAY_RUN else PLAIN_MODE


def build_trees(
    root: Folder,
    known: Folder | None,
    is_kept: Callable[[bytes], bool],
    keep_tree: Callable[[bytes], bytes],
) -> None:
    """Set the tree id of *root* and of every folder below it, the deepest first.

    *keep_tree* takes a tree's bytes and returns its id; it is not called for a folder that is as
    in *known* and whose tree is kept. A folder of which git can hold nothing has an empty id.
    """
    for folder, before in reversed(_pairs(root, known)):
        if before is not None and is_kept(before.tree) and _is_same(folder, before):
            folder.tree = before.tree
            folder.modes = before.modes
            continue
        items = [_item(folder, seen) for seen in folder.held()]
        start = len(folder.prefix)
        items += [
            (below.path[start:], FOLDER_MODE, below.tree)
            for below in folder.folders.values()
            if below.tree
        ]
        folder.tree = keep_tree(encode_tree(items)) if items or folder is root else b""


def _pairs(root: Folder, known: Folder | None) -> list[tuple[Folder, Folder | None]]:
    pairs = [(root, known)]
    for folder, before in pairs:
        folders = before.folders if before is not None else {}
        pairs.extend((below, folders.get(name)) for name, below in folder.folders.items())
    return pairs


def _item(folder: Folder, seen: Seen) -> tuple[bytes, bytes, bytes]:
    return seen.path[len(folder.prefix) :], git_mode(seen.mode), seen.state.oid


def _is_same(folder: Folder, before: Folder) -> bool:
    """Whether two walks found the same in a folder."""
    if not before.tree or folder.forced or before.forced or folder.files != before.files:
        return False
    trees = {name: below.tree for name, below in before.folders.items()}
    return trees == {name: below.tree for name, below in folder.folders.items()}
