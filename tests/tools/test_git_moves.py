"""Which git commands commit, move a HEAD or push, by a command's text alone."""

from __future__ import annotations

import pytest

from keryx_py.tools.git_moves import git_moves


@pytest.mark.parametrize(
    ("command", "moves"),
    [
        ("git commit -m x", ("commit",)),
        ("git add . && git commit -qm 'a b' && git push origin main", ("commit", "push")),
        ("cd sub; git -C .. -c user.name=a commit", ("commit",)),
        ("sh -c 'git merge topic'", ("merge",)),
        ("GIT_AUTHOR_NAME=a timeout 5 git pull --rebase | tee log", ("pull",)),
        ("if true; then (git rebase main); fi", ("rebase",)),
        ("echo $(git commit -m z)", ("commit",)),
        ("find . -name x -exec git cherry-pick abc \\;", ("cherry-pick",)),
        ("/usr/bin/git reset --hard HEAD~1", ("reset",)),
        ("git commit -F - <<END\ngit push\nEND", ("commit",)),
        ("git switch -c topic", ("switch",)),
        ("git commit; git commit", ("commit",)),
    ],
)
def test_what_moves_a_head_or_a_remote_is_named(command: str, moves: tuple[str, ...]) -> None:
    assert git_moves(command) == moves


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git log --oneline commit",
        "git commit --dry-run",
        "git push --help",
        "git checkout -- f",
        "git reset HEAD -- f",
        "echo git commit",
        "grep 'git push' *.sh",
        "git $verb",
        "git 'commit",
        "git",
        "",
        "\udcff git commit",
        "git commit " + "x" * 20_000,
    ],
)
def test_nothing_else_is(command: str) -> None:
    assert git_moves(command) == ()
