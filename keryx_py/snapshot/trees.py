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
from keryx_py.snapshot.seen import Folder

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
    kept: object | None,
    is_kept: Callable[[bytes], bool],
    keep_tree: Callable[[bytes], bytes],
) -> list[Folder]:
    """Set the tree id and the totals of *root* and of every folder below it, the deepest first.

    *keep_tree* takes a tree's bytes and returns its id; it is not called for a tree that is known
    and kept. A folder of which git can hold nothing has an empty id. Return every folder looked
    into: not what an earlier call did, if it is marked with the state *kept* or that is None.
    """
    visited = []
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        if folder.totals is None or (kept is not None and folder.kept is not kept):
            visited.append(folder)
            waiting.extend(folder.folders.values())
    for folder in reversed(visited):
        if folder.tree is None or (folder.tree and not is_kept(folder.tree)):
            items = [(name, git_mode(mode), oid) for name, mode, oid in folder.items()]
            items += [
                (name, FOLDER_MODE, below.tree)
                for name, below in folder.folders.items()
                if below.tree
            ]
            folder.tree = keep_tree(encode_tree(items)) if items or folder is root else b""
        if folder.totals is None:
            folder.add_up()
    return visited
