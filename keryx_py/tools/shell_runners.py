"""Programs that run another command: what it is, read from their words. Nothing here parses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from keryx_py.tools.command_texts import command_texts
from keryx_py.tools.git_risk import WITH_VALUE as GIT_WITH_VALUE
from keryx_py.tools.program_risk import writes_device
from keryx_py.tools.shell_words import HOLE, UNKNOWN, Word, joined


@dataclass(frozen=True, slots=True)
class RunsWords:
    """A program and its arguments are run."""

    words: tuple[Word, ...]
    over_many: bool = False
    """Whether it is run for each file that a search finds."""


@dataclass(frozen=True, slots=True)
class RunsText:
    """A text is run as shell code."""

    text: Word


@dataclass(frozen=True, slots=True)
class RunsInput:
    """What comes on standard input is run as shell code."""


@dataclass(frozen=True, slots=True)
class Destroys:
    """It is destructive for this reason."""

    reason: str


Run: TypeAlias = RunsWords | RunsText | RunsInput | Destroys

_UNSURE = Destroys("runs something that is only known when it runs")

SHELLS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "yash", "rbash"}
)
_STDIN_FILES = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_SHELL_WITH_VALUE = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})

# Programs that run the words after their options and operands: the options that take the next
# word, and how many operands come before the command.
_WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    name: (frozenset(options.split()), operands)
    for name, options, operands in (
        ("builtin", "", 0),
        ("busybox", "", 0),
        ("caffeinate", "-t -w", 0),
        ("chronic", "", 0),
        ("chrt", "-T -P -D", 1),
        ("command", "", 0),
        ("coproc", "", 0),
        ("eatmydata", "", 0),
        ("exec", "-a", 0),
        ("fakeroot", "-l -s -i -b", 0),
        ("flock", "-w --timeout -E", 1),
        ("ionice", "-c -n -p -P -u --class --classdata", 0),
        ("ltrace", "-o -e -p -s -u -n", 0),
        ("nice", "-n --adjustment", 0),
        ("nohup", "", 0),
        ("setsid", "", 0),
        ("stdbuf", "-i -o -e --input --output --error", 0),
        ("strace", "-o -e -p -s -u -E -P", 0),
        ("taskset", "", 1),
        ("time", "-f -o --format --output", 0),
        ("timeout", "-s -k --signal --kill-after", 1),
        ("toybox", "", 0),
        ("unbuffer", "", 0),
    )
}
_XARGS_REPLACES = re.compile(r"-[0rtxpo]*([IJi])(.*)", re.DOTALL)
_XARGS_WITH_VALUE = re.compile(r"-[0rtxpo]*[adELnPsRS]")
_XARGS_LONG = frozenset(
    {"--arg-file", "--delimiter", "--max-lines", "--max-args", "--max-procs", "--max-chars"}
    | {"--process-slot-var"}
)
_SSH_WITH_VALUE = frozenset(f"-{letter}" for letter in "BbcDEeFIiJLlmOopQRSWw")
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FIND_WRITES = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})
_FD_RUNS = frozenset({"-x", "--exec", "-X", "--exec-batch"})
_ASSIGNS = re.compile(r"[A-Za-z_][\w]*=", re.ASCII)
_RUN_BY_NAME = re.compile(r"(GIT_)?(EDITOR|PAGER|SEQUENCE_EDITOR)|VISUAL|MANPAGER|GIT_SSH_COMMAND")
_RUN_BY_SHELL = re.compile(r"PS[0-4]|PROMPT_COMMAND|BASH_ENV|GIT_EXTERNAL_DIFF|BASH_FUNC.*")


def what_runs(name: str, args: Sequence[Word]) -> list[Run]:
    """Say what else runs when the program *name* is run with *args*."""
    return [*_what_words_run(name, args), *map(RunsText, command_texts(name, args))]


def _what_words_run(name: str, args: Sequence[Word]) -> list[Run]:
    if name in SHELLS:
        return _by_shell(args)
    if name in _WRAPPERS:
        return _by_wrapper(name, args)
    match name:
        case "eval":
            return [RunsText(joined(args))]
        case "." | "source":
            return _by_source(args)
        case "trap":
            return _by_trap(args)
        case "alias":
            return _by_alias(args)
        case "env":
            return _by_env(args)
        case "xargs":
            return _by_xargs(args)
        case "parallel":
            return [RunsText(joined([*args, UNKNOWN]))] if args else [RunsInput()]
        case "watch" | "entr":
            return [RunsText(joined(_after_options(args, frozenset({"-n", "-d"})) or [UNKNOWN]))]
        case "script":
            return _by_text_option(args, "c", "command")
        case "ssh":
            rest = _after_options(args, _SSH_WITH_VALUE)
            return [RunsText(joined(rest[1:]))] if rest is not None and len(rest) > 1 else []
        case "at" | "batch":
            return [RunsInput()]
        case "crontab" if any(word.text.startswith("-") and "r" in word.text for word in args):
            return [Destroys("crontab -r removes all that was to run by the clock")]
        case "find":
            return _by_find(args)
        case "fd" | "fdfind":
            return _by_fd(args)
        case "git":
            return _by_git(args)
        case _:
            return []


def what_assignment_runs(name: str, value: Word) -> list[Run]:
    """Say what a program may run because the variable *name* has *value*."""
    if _RUN_BY_SHELL.fullmatch(name):
        return [Destroys(f"setting {name} makes a shell run something later")]
    if _RUN_BY_NAME.fullmatch(name):
        return [RunsText(value)]
    return []


def _after_options(args: Sequence[Word], with_value: frozenset[str]) -> list[Word] | None:
    """Drop the options before the first operand; None when that place is not known."""
    index = 0
    while index < len(args):
        word = args[index]
        if word.splits or (word.may_be_option and HOLE in word.text.partition("=")[0]):
            return None
        if word.text == "--":
            return list(args[index + 1 :])
        if not word.text.startswith("-"):
            break
        index += 2 if word.text in with_value else 1
    return list(args[index:])


def _by_wrapper(name: str, args: Sequence[Word]) -> list[Run]:
    with_value, operands = _WRAPPERS[name]
    if name == "command" and args and args[0].text in ("-v", "-V"):
        return []
    rest = _after_options(args, with_value)
    if rest is None:
        return [_UNSURE]
    if name == "flock" and len(rest) > 1 and rest[1].text in ("-c", "--command"):
        return [RunsText(joined(rest[2:]))]
    return [RunsWords(tuple(rest[operands:]))] if rest[operands:] else []


def _by_shell(args: Sequence[Word]) -> list[Run]:
    index, takes_text, takes_input = 0, False, False
    while index < len(args) and (args[index].may_be_option or args[index].text.startswith("+")):
        word = args[index]
        if not word.exact:
            return [_UNSURE]
        index += 1
        if word.text in ("-", "--"):
            break
        if word.text in _SHELL_WITH_VALUE:
            index += 1
        elif word.text.startswith("--"):
            takes_text = takes_text or word.text.startswith("--c")
        else:
            takes_text = takes_text or "c" in word.text
            takes_input = takes_input or "s" in word.text
            # The last letter o takes the next word, as in -eo pipefail.
            index += word.text.endswith(("o", "O"))
    rest = args[index:]
    if takes_text:
        return [RunsText(rest[0])] if rest else []
    if takes_input or not rest or rest[0].text in _STDIN_FILES:
        return [RunsInput()]
    return [] if rest[0].exact else [_UNSURE]


def _by_source(args: Sequence[Word]) -> list[Run]:
    if not args:
        return []
    if args[0].text in _STDIN_FILES:
        return [RunsInput()]
    return [] if args[0].exact else [_UNSURE]


def _by_trap(args: Sequence[Word]) -> list[Run]:
    rest = _after_options(args, frozenset())
    if rest is None:
        return [_UNSURE]
    return [RunsText(rest[0])] if len(rest) > 1 else []


def _by_alias(args: Sequence[Word]) -> list[Run]:
    if any("=" in word.text or not word.exact for word in args):
        return [Destroys("an alias changes how what follows it is read")]
    return []


def _by_env(args: Sequence[Word]) -> list[Run]:
    runs: list[Run] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word.splits or word.text.startswith(HOLE):
            return [_UNSURE]
        if word.text in ("-u", "--unset", "-C", "--chdir", "-P"):
            del rest[:1]
        elif word.text.startswith(("-S", "--split-string", "-vS", "-iS")):
            value = word.text.partition("S" if not word.text.startswith("--") else "=")[2]
            return [RunsText(joined([Word(value), *rest]))]
        elif _ASSIGNS.match(word.text):
            name, _, value = word.text.partition("=")
            runs += what_assignment_runs(name, Word(value))
        elif "=" in word.text and not word.text.startswith("-"):
            runs.append(_UNSURE)
        elif not word.text.startswith("-"):
            return [*runs, RunsWords((word, *rest))]
    return runs


def _by_xargs(args: Sequence[Word]) -> list[Run]:
    rest, placeholder = list(args), ""
    while rest and rest[0].may_be_option:
        word = rest.pop(0)
        if not word.exact:
            return [_UNSURE]
        if word.text == "--":
            break
        if word.text.startswith("--replace"):
            placeholder = word.text.partition("=")[2] or "{}"
        elif cluster := _XARGS_REPLACES.fullmatch(word.text):
            # Only -i may stand without a word of its own.
            following = rest.pop(0).text if rest and not cluster[2] and cluster[1] != "i" else ""
            placeholder = cluster[2] or following or "{}"
        elif word.text in _XARGS_LONG or _XARGS_WITH_VALUE.fullmatch(word.text):
            del rest[:1]
    if not rest:
        return []
    if placeholder:
        filled = [Word(word.text.replace(placeholder, HOLE), word.splits) for word in rest]
        return [RunsWords(tuple(filled), over_many=True)]
    return [RunsWords((*rest, UNKNOWN), over_many=True)]


def _by_text_option(args: Sequence[Word], letter: str, name: str) -> list[Run]:
    for index, word in enumerate(args):
        if word.text.startswith(f"--{name}="):
            return [RunsText(Word(word.text.partition("=")[2], word.splits))]
        if word.text == f"--{name}" or re.fullmatch(rf"-[a-z]*{letter}", word.text):
            return [RunsText(following) for following in args[index + 1 : index + 2]]
    return [] if all(word.exact for word in args) else [_UNSURE]


def _by_find(args: Sequence[Word]) -> list[Run]:
    runs: list[Run] = []
    index = 0
    while index < len(args):
        word = args[index]
        index += 1
        if word.text == "-delete":
            runs.append(Destroys("find -delete removes all that it finds"))
        elif word.text in _FIND_RUNS:
            end = index
            while end < len(args) and args[end].text not in (";", "+"):
                end += 1
            inner = [Word(w.text.replace("{}", f"./{HOLE}"), w.splits) for w in args[index:end]]
            runs.append(RunsWords(tuple(inner), over_many=True))
            index = end + 1
        elif word.text in _FIND_WRITES and any(map(writes_device, args[index : index + 1])):
            runs.append(Destroys("find writes to a device"))
        elif word.splits or (word.may_be_option and word.text.startswith(HOLE)):
            runs.append(_UNSURE)
    return runs


def _by_fd(args: Sequence[Word]) -> list[Run]:
    for index, word in enumerate(args):
        if word.text in _FD_RUNS:
            return [RunsWords((*args[index + 1 :], Word(f"./{HOLE}")), over_many=True)]
        if word.splits:
            return [_UNSURE]
    return []


def _by_git(args: Sequence[Word]) -> list[Run]:
    runs: list[Run] = []
    index = 0
    while index < len(args) and args[index].text.startswith("-"):
        if args[index].text == "-c" and index + 1 < len(args):
            runs += _by_git_setting(args[index + 1])
        if args[index].text.startswith(("--exec-path=", "--config-env")):
            runs.append(Destroys("git runs something that is only known when it runs"))
        index += 2 if args[index].text in GIT_WITH_VALUE else 1
    name, rest = (args[index].text, args[index + 1 :]) if index < len(args) else ("", ())
    texts = [word.text for word in rest]
    if name == "config":
        runs += [run for word in rest for run in _by_git_value(word)]
    if name == "bisect" and texts[:1] == ["run"]:
        runs.append(RunsWords(tuple(rest[1:])))
    if name == "submodule" and "foreach" in texts:
        after = [w for w in rest[texts.index("foreach") + 1 :] if not w.text.startswith("--")]
        runs.append(RunsText(joined(after)))
    return runs


def _by_git_setting(setting: Word) -> list[Run]:
    key, _, value = setting.text.partition("=")
    if HOLE in key or key.lower().startswith("alias."):
        return [Destroys("git runs an alias that is made on the spot")]
    if re.search(r"pager|editor|command|hookspath|fsmonitor|external|textconv|driver", key.lower()):
        return [RunsText(Word(value))]
    return []


def _by_git_value(word: Word) -> list[Run]:
    return [RunsText(Word(word.text[1:]))] if word.text.startswith("!") else []
