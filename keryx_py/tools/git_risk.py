"""Which git commands rewrite history or discard work."""

from __future__ import annotations

from collections.abc import Sequence

from keryx_py.tools.shell_words import HOLE, Word

WITH_VALUE = frozenset(
    {
        "-C",
        "-c",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--exec-path",
        "--super-prefix",
        "--config-env",
        "--attr-source",
    }
)
"""git's own options before the subcommand that take the next word."""

# For each subcommand: the letters and the long names of options that discard or rewrite.
_OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "am": ("", ("abort", "skip")),
    "branch": ("DMCf", ("force",)),
    "checkout": ("fB", ("force", "ours", "theirs")),
    "checkout-index": ("f", ("force",)),
    "cherry-pick": ("", ("abort", "skip")),
    "commit": ("", ("amend",)),
    "fetch": ("f", ("force",)),
    "gc": ("", ("prune",)),
    "merge": ("", ("abort",)),
    "mv": ("f", ("force",)),
    "pull": ("fr", ("force", "rebase")),
    "push": ("fd", ("force", "force-with-lease", "mirror", "delete", "prune")),
    "read-tree": ("u", ("reset",)),
    "reset": ("", ("hard", "merge", "keep")),
    "revert": ("", ("abort", "skip")),
    "rm": ("rf", ("force",)),
    "submodule": ("f", ("force",)),
    "switch": ("fC", ("force", "force-create", "discard-changes")),
    "tag": ("df", ("delete", "force")),
    "update-ref": ("d", ("delete", "stdin")),
    "worktree": ("f", ("force",)),
}
# For each subcommand: the verbs after it that discard or rewrite.
_VERBS = {
    "lfs": ("prune",),
    "notes": ("remove", "prune"),
    "reflog": ("expire", "delete"),
    "stash": ("drop", "clear"),
    "worktree": ("prune",),
}
_ALWAYS = frozenset({"rebase", "filter-branch", "filter-repo", "prune", "replace", "fast-import"})


def why_git_destroys(args: Sequence[Word]) -> str:
    """Say what `git` with *args* would discard or rewrite; empty for nothing known."""
    rest = after_options(args)
    if rest is None or (rest and not rest[0].exact):
        return "runs a git command that is only known when it runs"
    if not rest:
        return ""
    name, given = rest[0].text.lower(), rest[1:]
    if name in _ALWAYS or _is_destructive(name, given):
        return f"git {name} rewrites history or discards work"
    return ""


def after_options(args: Sequence[Word]) -> Sequence[Word] | None:
    """Return what follows git's own options; None when that is not known."""
    index = 0
    while index < len(args) and args[index].may_be_option:
        if not args[index].text.startswith("-") or args[index].splits:
            return None
        index += 2 if args[index].text in WITH_VALUE else 1
    return args[index:]


def has_option(args: Sequence[Word], letters: str, names: Sequence[str]) -> bool:
    """Say whether *args* hold, or may hold, one of the options, before `--`.

    Long names count also when shortened, as programs take them.
    """
    for word in args:
        if word.text == "--":
            return False
        if not word.may_be_option:
            continue
        if not word.text.startswith("-") or HOLE in word.text.partition("=")[0]:
            return bool(letters or names)
        given = word.text[2:].partition("=")[0]
        if word.text.startswith("--"):
            if given and any(name.startswith(given) for name in names):
                return True
        elif set(word.text[1:]) & set(letters):
            return True
    return False


def _is_destructive(name: str, given: Sequence[Word]) -> bool:
    letters, names = _OPTIONS.get(name, ("", ()))
    if (letters or names) and has_option(given, letters, names):
        return True
    operands = [word for word in given if not word.text.startswith("-")]
    if name in _VERBS and operands:
        return not operands[0].exact or operands[0].text in _VERBS[name]
    match name:
        case "clean":
            return not has_option(given, "n", ("dry-run",)) or any(not w.exact for w in given)
        case "restore":
            staged = has_option(given, "S", ("staged",))
            return not staged or has_option(given, "W", ("worktree",))
        case "checkout":
            return _checks_out_paths(given)
        case "push":
            return any(word.text.startswith(("+", ":", HOLE)) or word.splits for word in operands)
        case "fetch" | "pull":
            return any(word.text.startswith(("+", HOLE)) for word in operands)
        case _:
            return False


def _checks_out_paths(given: Sequence[Word]) -> bool:
    """Whether a checkout takes files from a commit or the index, over what is there."""
    if any(word.text == "--" for word in given[:-1]):
        return True
    if has_option(given, "p", ("patch", "pathspec-from-file")):
        return True
    operands = [word for word in given if not word.text.startswith("-")]
    if has_option(given, "bt", ("orphan", "track", "detach")):
        return False
    if len(operands) > 1:
        return True
    return any(_looks_like_path(word.text) for word in operands)


def _looks_like_path(text: str) -> bool:
    # A branch may hold a dot too; asking once more is the smaller harm.
    last = text.rpartition("/")[2]
    ending = last.rpartition(".")[2]
    return (
        HOLE in text
        or text.startswith((".", ":", "/", "~"))
        or text.endswith("/")
        or ("." in last and ending[:1].isalpha())
    )
