"""Turn plain instructions into tool calls. Nothing here makes a call."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType

from keryx_py.models.phrases import Phrase


@dataclass(frozen=True, slots=True)
class Instruction:
    """One thing asked for, as the call that does it."""

    tool: str
    args: Mapping[str, str | bool]
    done: str
    """What was done, once it is, such as "Wrote `a.txt`"."""
    wish: str
    """What is asked for, in the person's words."""


class NotUnderstoodError(ValueError):
    """A part of the prompt is no instruction; the argument is that part."""


def parse_instructions(prompt: str) -> tuple[Instruction, ...]:
    """Read every instruction in *prompt*, in order.

    Raises NotUnderstoodError with the first part that is none, so that nothing is half done.
    """
    return tuple(step for part in _parts(prompt) for step in _instructions(part))


def _parts(prompt: str) -> Iterator[str]:
    # A verb must follow: "then" and line ends are also found inside the text of a file.
    mask = Phrase(prompt).mask
    start = 0
    for found in _BORDER.finditer(mask):
        part = _less_joint(prompt[start : found.start()])
        if Phrase(f"{part} ").without(_LEAD).text.strip():
            yield part
        start = found.end()
    yield prompt[start:].strip()


def _less_joint(part: str) -> str:
    part = part.rstrip(" \t\r\n,;")
    less = re.sub(r"[\s,;]+and$", "", part, flags=re.IGNORECASE)
    return less.strip()


def _instructions(part: str) -> tuple[Instruction, ...]:
    phrase = Phrase(part).without(_LEAD)
    found = re.match(rf"({_VERBS})(?![\w.-])[ \t]*:?", phrase.mask, re.IGNORECASE)
    if found is None:
        raise NotUnderstoodError(part)
    rest = Phrase(phrase.text[found.end() :].strip())
    made = _READERS[found[1].lower()](rest, part)
    if not made:
        raise NotUnderstoodError(part)
    return made


def _write(rest: Phrase, wish: str) -> tuple[Instruction, ...]:
    folder = rest.without(_FOLDER)
    if folder is not rest and folder.name is not None:
        return _make_folder(folder.name, wish)
    rest = rest.without(_FILE)
    cut = rest.cut(_CONTAINING)
    if cut is None and (turned := rest.cut(r"\s(?:in)?to\s", last=True)):
        cut = turned[1].without(_FILE), turned[0].without(_SOME_TEXT)
    if cut is None:
        cut = rest.cut(r":\s|(?=\0)") or (rest, Phrase(""))
    name, text = cut[0].name, cut[1].value
    if name is None:
        return ()
    return (_made("write_file", wish, f"Wrote `{name}`", path=name, content=_lines(text)),)


def _make_folder(name: str, wish: str) -> tuple[Instruction, ...]:
    command = f"mkdir -p -- {shlex.quote(name)}"
    return (_made("shell_exec", wish, f"Made the folder `{name}`", command=command),)


def _append(rest: Phrase, wish: str) -> tuple[Instruction, ...]:
    cut = rest.cut(r"\s(?:(?:in)?to|at the end of)\s", last=True)
    if cut is None or (name := cut[1].without(_FILE).name) is None:
        return ()
    text = cut[0].without(_SOME_TEXT).value.removesuffix("\n")
    # Not read_file and write_file: what a tool shows of a file need not be all of it.
    command = f"printf '%s\\n' {shlex.quote(text)} >> {shlex.quote(name)}"
    return (_made("shell_exec", wish, f"Appended to `{name}`", command=command),)


def _replace(rest: Phrase, wish: str) -> tuple[Instruction, ...]:
    every = rest.without(r"(?:all|every|each)\s+(?:occurrences?\s+of\s+|the\s+)?")
    cut = every.cut(r"\s+(?:everywhere\s+)?in\s+", last=True)
    parts = cut and cut[0].cut(r"\s+(?:with|by|to)\s+")
    if cut is None or not parts or (name := cut[1].without(_FILE).name) is None:
        return ()
    old, new = parts[0].value, parts[1].value
    if not old:
        return ()
    return (
        _made(
            "edit_file",
            wish,
            f"Replaced text in `{name}`",
            path=name,
            old=old,
            new=new,
            replace_all=every is not rest,
        ),
    )


def _delete(rest: Phrase, wish: str) -> tuple[Instruction, ...]:
    left: Phrase | None = rest.without(_FILES)
    names: list[str | None] = []
    while left is not None:
        cut = left.cut(r"\s*,\s*(?:and\s+)?|\s+and\s+")
        names.append((cut[0] if cut else left).without(_FILE).name)
        left = cut[1] if cut else None
    return tuple(
        _made("delete_file", wish, f"Deleted `{name}`", path=name)
        for name in (() if None in names else names)
        if name is not None
    )


def _move(rest: Phrase, wish: str) -> tuple[Instruction, ...]:
    cut = rest.without(_FILE).cut(r"\s+(?:(?:in)?to|as)\s+")
    if cut is None or (source := cut[0].name) is None or (target := cut[1].name) is None:
        return ()
    if target.endswith("/"):
        target += PurePosixPath(source).name
    done = f"Moved `{source}` to `{target}`"
    return (_made("move_file", wish, done, source=source, target=target),)


def _list(rest: Phrase, wish: str) -> tuple[Instruction, ...]:
    rest = rest.without(
        r"(?:me\s+)?(?:all\s+)?(?:the\s+)?(?:(?:files|contents?|folder|directory)(?:\s+|$))?"
        r"(?:(?:of|in|under)(?:\s+|$))?(?:the\s+)?(?:(?:folder|directory)\s+)?"
    )
    name = "." if rest.text.lower() in {"", ".", "here", "it"} else rest.name
    return () if name is None else (_made("list_dir", wish, f"Listed `{name}`", path=name),)


def _read(rest: Phrase, wish: str) -> tuple[Instruction, ...]:
    name = rest.without(r"me\s+").without(_FILE).name
    return () if name is None else (_made("read_file", wish, f"Read `{name}`", path=name),)


def _find(rest: Phrase, wish: str) -> tuple[Instruction, ...]:
    rest = rest.without(
        r"(?:all\s+)?(?:the\s+)?(?:files?\s+)?(?:(?:named|called|matching|like)\s+)?"
    )
    cut = rest.cut(r"\s+files?[.!?]?$")
    name = (cut[0] if cut else rest).name
    if name is None:
        return ()
    # A name alone would be found at the root only.
    pattern = name if "/" in name else f"**/{name}"
    return (_made("find_files", wish, f"Looked for `{name}`", pattern=pattern),)


def _grep(rest: Phrase, wish: str) -> tuple[Instruction, ...]:
    """Read a search whose text is a regular expression, as grep's is."""
    return _searched(rest, wish, lambda text: text)


def _search(rest: Phrase, wish: str) -> tuple[Instruction, ...]:
    return _searched(rest, wish, lambda text: re.sub(r"[\\.^$*+?{}\[\]|()]", r"\\\g<0>", text))


def _searched(rest: Phrase, wish: str, pattern_of: Callable[[str], str]) -> tuple[Instruction, ...]:
    rest = rest.without(r"(?:for\s+)?(?:(?:the\s+)?text\s+)?")
    cut = rest.cut(r"\s+(?:in|under)\s+", last=True)
    folder = cut[1].without(_FOLDER).without(_FILE).name if cut else None
    text = cut[0].value if cut and folder else rest.value
    if not text:
        return ()
    done, pattern = f"Searched for `{text}`", pattern_of(text)
    if folder:
        where = f"{done} in `{folder}`"
        return (_made("search_text", wish, where, pattern=pattern, path=folder),)
    return (_made("search_text", wish, done, pattern=pattern),)


def _run(rest: Phrase, wish: str) -> tuple[Instruction, ...]:
    command = rest.without(r"(?:the\s+)?(?:shell\s+)?command\s*:?\s+").value.strip()
    return (_made("shell_exec", wish, f"Ran `{command}`", command=command),) if command else ()


def _delegate(rest: Phrase, wish: str) -> tuple[Instruction, ...]:
    task = rest.without(r"(?:the\s+)?task\s*:?\s+").value.strip()
    return (_made("delegate", wish, f"Delegated “{task}”", task=task),) if task else ()


def _made(tool: str, wish: str, done: str, **args: str | bool) -> Instruction:
    return Instruction(tool, MappingProxyType(args), done, wish)


def _lines(text: str) -> str:
    """Return *text* as a text file has it: its last line ended too."""
    return f"{text}\n" if text and not text.endswith("\n") else text


_READERS: Mapping[str, Callable[[Phrase, str], tuple[Instruction, ...]]] = MappingProxyType(
    {
        **dict.fromkeys(("create", "write", "make", "save"), _write),
        **dict.fromkeys(("append", "add"), _append),
        **dict.fromkeys(("replace", "change"), _replace),
        **dict.fromkeys(("delete", "remove"), _delete),
        **dict.fromkeys(("move", "rename"), _move),
        **dict.fromkeys(("list", "ls"), _list),
        **dict.fromkeys(("read", "show", "cat", "open", "print"), _read),
        "find": _find,
        "search": _search,
        "grep": _grep,
        **dict.fromkeys(("run", "execute"), _run),
        "delegate": _delegate,
    }
)
_VERBS = "|".join(_READERS)
_LEAD = (
    r"(?:[-*•]\s+|\d+[.)]\s+)?"
    r"(?:(?:please|now|first|next|finally|also|and|then|(?:can|could|would) you)\b,?\s+)*"
)
_BORDER = re.compile(
    rf"(?:\n\s*|(?<=\s)then\b,?\s+)(?={_LEAD}(?:{_VERBS})(?![\w.-]))", re.IGNORECASE
)
_FILE = r"(?:(?:the|an?)\s+(?:new\s+|empty\s+)?file\s+|file\s+|the\s+)?(?:(?:named|called)\s+)?"
_FILES = r"(?:the\s+)?(?:files\s+)?"
_FOLDER = r"(?:(?:the|a)\s+)?(?:(?:new|empty)\s+)?(?:folder|directory)\s+(?:(?:named|called)\s+)?"
_SOME_TEXT = r"(?:(?:the|an?)\s+(?:text|line|words?)\s*:?\s+|(?:text|line)\s*:\s+)?"
_CONTAINING = (
    r"\s(?:with|containing|that contains|saying|that says)"
    r"(?:\s+the\s+(?:text|contents?|lines?)(?=[\s:])|\s+(?:text|contents?)(?=:))?:?(?:\s+|$)"
)
