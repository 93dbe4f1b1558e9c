"""Judge a shell command by a parse of its text, also what it runs through other commands.

Whatever cannot be parsed for sure, or is only known when it runs, counts as destructive.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from keryx_py.tools.base import Risk
from keryx_py.tools.code_words import speaks_of_removal, takes_code
from keryx_py.tools.fetched_code import is_fetcher, is_interpreter, reads_code, script_file
from keryx_py.tools.program_risk import NAMES, TAKE_TEXT, why_program_destroys, writes_device
from keryx_py.tools.shell_parse import (
    DoubtfulError,
    heredoc_is_quoted,
    nodes_below,
    parse,
    text_of_node,
)
from keryx_py.tools.shell_redirects import heredoc_text, is_redirect, target_of, words_after
from keryx_py.tools.shell_runners import (
    SHELLS,
    Destroys,
    Run,
    RunsInput,
    RunsText,
    RunsWords,
    what_assignment_runs,
    what_runs,
)
from keryx_py.tools.shell_words import Word, read_word
from keryx_py.tools.written_scripts import words_of, written_scripts

if TYPE_CHECKING:
    from tree_sitter import Node

_MOST_DEPTH = 8
_MOST_LEVELS = 150


@dataclass(frozen=True, slots=True)
class Input:
    """Where a command's standard input comes from, as far as it matters when a shell reads it."""

    text: Word | None = None
    """The text itself, from a heredoc or a here-string."""
    piped: bool = False
    fetched: bool = False
    """Whether a program that downloads or decodes stands before the pipe."""


_CLOSED = Input()


def judge_command(command: str) -> Risk:
    """Judge what *command* could do, by its text: SHELL or DESTRUCTIVE. Never raises."""
    return Risk.DESTRUCTIVE if reasons(command) else Risk.SHELL


def reasons(command: str) -> str:
    """Say why *command* is destructive, in a few words; empty when it is not."""
    try:
        _Judge(_Budget()).text(command, _CLOSED)
    except _FoundError as found:
        return str(found)
    except (DoubtfulError, RecursionError) as error:
        return str(error) if isinstance(error, DoubtfulError) else "it is nested too deeply"
    return ""


class _FoundError(Exception):
    """The first reason that was found."""


@dataclass(slots=True)
class _Budget:
    """How much one judgement may look at, over all the texts in the text."""

    left: int = 300_000

    def spend(self, amount: int) -> None:
        """Take *amount* away. Raises DoubtfulError when there is no more."""
        self.left -= amount
        if self.left < 0:
            raise DoubtfulError("it is too long to be judged")


class _Judge:
    """Goes through one text; raises _FoundError at the first thing that destroys."""

    def __init__(self, budget: _Budget, depth: int = 0) -> None:
        if depth > _MOST_DEPTH:
            raise DoubtfulError("it is nested too deeply to be judged")
        self._budget = budget
        self._depth = depth
        self._level = 0
        self._fetching: list[int] = []
        """Where programs that download or decode are named, in rising order."""

    def text(self, text: str, given: Input) -> None:
        """Judge *text* as shell code."""
        self._budget.spend(len(text))
        root = parse(text)
        self._fetching = [node.start_byte for node in nodes_below(root) if _names_fetcher(node)]
        if self._fetching:
            self._check_fetched_files(root)
        self._check_written_files(root)
        self._visit(root, given)

    def _visit(self, node: Node, given: Input) -> None:
        self._budget.spend(1)
        self._level += 1
        if self._level > _MOST_LEVELS:
            raise DoubtfulError("it is nested too deeply to be judged")
        match node.type:
            case "command":
                self._command(node, given, ())
            case "redirected_statement":
                self._redirected(node, given)
            case "pipeline":
                self._pipeline(node.children, given, None)
            case "function_definition":
                # Who calls it, and with what input, is not followed.
                self._visit_all(node.children, Input(piped=True))
            case "variable_assignment":
                self._assignment(node, given)
            case "command_substitution":
                self._substitution(node, given)
            case "compound_statement" if node.children[0].type == "((":
                # dash reads (( … )) as two subshells.
                self._inner(text_of_node(node)[2:-2], given)
                self._visit_all(node.children, given)
            case "file_redirect":
                self._redirect(node)
                self._visit_all(node.children, given)
            case "comment" | "raw_string" | "ansi_c_string":
                pass
            case _:
                self._visit_all(node.children, given)
        self._level -= 1

    def _visit_all(self, nodes: Iterable[Node], given: Input) -> None:
        for node in nodes:
            self._visit(node, given)

    def _deeper(self) -> _Judge:
        return _Judge(self._budget, self._depth + 1)

    def _inner(self, text: str, given: Input) -> None:
        self._deeper().text(text, given)

    # ---- where input comes from

    def _fetches(self, node: Node) -> bool:
        """Whether a program that downloads or decodes is named in *node*."""
        place = bisect_left(self._fetching, node.start_byte)
        return place < len(self._fetching) and self._fetching[place] < node.end_byte

    def _pipeline(self, stages: Sequence[Node], given: Input, before: Input | None) -> Input:
        """Visit *stages*, the first after *before*; return what a next stage would read."""
        for stage in stages:
            if stage.is_named:
                self._visit(stage, before or given)
                before = self._pipe_from(stage, before or given)
        return before or given

    def _pipe_from(self, stage: Node, given: Input) -> Input:
        return Input(piped=True, fetched=given.fetched or self._fetches(stage))

    def _redirected(self, node: Node, given: Input) -> None:
        body = [child for child in node.children if not is_redirect(child)]
        redirects = [child for child in node.children if is_redirect(child)]
        own: Input | None = None
        extra: list[Word] = []
        for redirect in redirects:
            own = self._redirect_input(redirect) or own
            extra += words_after(redirect)
            self._visit_redirect(redirect, own or given, body)
        if extra and not body:
            raise DoubtfulError("a word in it cannot be placed")
        self._last(body, given, own, tuple(extra))

    def _last(
        self, body: Sequence[Node], given: Input, own: Input | None, extra: tuple[Word, ...]
    ) -> None:
        """Visit *body*, whose last command reads *own* and has the words *extra* too."""
        for node in body:
            match node.type:
                case "command":
                    self._command(node, own or given, extra)
                case "pipeline":
                    named = [child for child in node.children if child.is_named]
                    piped = self._pipeline(named[:-1], given, None)
                    self._last(named[-1:], piped, own, extra)
                case "list" | "negated_command":
                    self._visit_all(node.children[:-1], given)
                    self._last(node.children[-1:], given, own, extra)
                case _ if extra:
                    raise DoubtfulError("a word in it cannot be placed")
                case _:
                    self._visit(node, own or given)

    def _redirect_input(self, redirect: Node) -> Input | None:
        """What *redirect* gives to read; None when it gives nothing."""
        match redirect.type:
            case "heredoc_redirect":
                return Input(text=heredoc_text(redirect))
            case "herestring_redirect":
                return Input(text=read_word(redirect.children[-1]))
            case "file_redirect" if any(child.type in ("<", "<&") for child in redirect.children):
                target = target_of(redirect)
                # A script that lies there is run as `sh script` runs it.
                return _CLOSED if target is not None and target.exact else Input(piped=True)
            case _:
                return None

    def _visit_redirect(self, redirect: Node, given: Input, body: Sequence[Node]) -> None:
        if redirect.type != "heredoc_redirect":
            self._visit(redirect, given)
            return
        # What follows `<<END` on its line stands below the redirect in the tree.
        for child in redirect.children:
            if child.type == "pipeline":
                before = [self._pipe_from(stage, given) for stage in body] or [Input(piped=True)]
                self._pipeline(child.children, given, before[-1])
            elif child.type not in ("heredoc_body", "heredoc_start", "heredoc_end"):
                self._visit(child, given)
            elif child.type == "heredoc_body" and not heredoc_is_quoted(redirect):
                self._visit_all(child.children, given)

    # ---- commands

    def _command(self, node: Node, given: Input, extra: tuple[Word, ...]) -> None:
        words: list[Word] = []
        for child in node.children:
            if is_redirect(child):
                given = self._redirect_input(child) or given
                words += words_after(child)
                self._visit_redirect(child, given, ())
            elif child.type == "variable_assignment":
                self._assignment(child, given)
            else:
                words.append(read_word(child))
                self._visit(child, given)
        self._run([*words, *extra], given, over_many=False)
        if self._fetches(node) and any(map(is_interpreter, words)):
            self._check_fetched_code(node)

    def _check_fetched_code(self, node: Node) -> None:
        """Raise when an interpreter is given what a substitution downloads or decodes."""
        for below in nodes_below(node):
            self._budget.spend(1)
            if below.type in ("command_substitution", "process_substitution") and (
                self._fetches(below)
            ):
                raise _FoundError("it runs what it downloads or decodes")

    def _run(
        self, words: Sequence[Word], given: Input, over_many: bool, look_inside: bool = True
    ) -> None:
        """Judge a program and its arguments."""
        self._budget.spend(len(words))
        while words and words[0].text in ("{", "}", "!", "then", "do", "else"):
            words = words[1:]
        if not words:
            return
        if not words[0].exact:
            raise _FoundError("it runs a command that is only known when it runs")
        # On some file systems /bin/RM is rm.
        name = posixpath.basename(words[0].text).lower()
        args = words[1:]
        reason = why_program_destroys(name, args)
        if over_many and name in ("rm", "unlink", "chmod", "chown", "chgrp"):
            reason = f"{name} runs on all that is found"
        if reason:
            raise _FoundError(reason)
        for run in what_runs(name, args):
            self._also(run, given, over_many)
        codes = (*args, given.text) if given.text is not None else args
        if takes_code(name) and any(speaks_of_removal(code.text) for code in codes):
            raise _FoundError(f"the code given to {name} removes recursively or by force")
        if is_interpreter(words[0]) and given.fetched and reads_code(args):
            raise _FoundError(f"what was downloaded or decoded is piped into {name}")
        if name == "exec" and not args and given != _CLOSED:
            raise _FoundError("exec changes what later commands read")
        if look_inside and name not in TAKE_TEXT:
            self._words_inside(args, given)

    def _also(self, run: Run, given: Input, over_many: bool) -> None:
        """Judge what a program runs in turn."""
        match run:
            case Destroys(reason):
                raise _FoundError(reason)
            case RunsWords(words, many):
                self._deeper()._run(words, given, over_many or many)
            case RunsText(text):
                self._script(text, given)
            case RunsInput() if given.text is not None:
                self._script(given.text, _CLOSED)
            case RunsInput() if given.piped:
                raise _FoundError("a shell runs what is piped into it")

    def _script(self, text: Word, given: Input) -> None:
        if not text.exact:
            raise _FoundError("it runs code that is only known when it runs")
        self._inner(text.text, given)

    def _words_inside(self, args: Sequence[Word], given: Input) -> None:
        """Look for commands among the words of a program that is not known."""
        for index, word in enumerate(args[:-1]):
            name = posixpath.basename(word.text).lower()
            if word.exact and (name in NAMES or name in SHELLS):
                self._deeper()._run(args[index:], given, over_many=False, look_inside=False)

    # ---- the rest

    def _assignment(self, node: Node, given: Input) -> None:
        name, value = text_of_node(node.children[0]), node.children[-1]
        for run in what_assignment_runs(name, read_word(value)):
            self._also(run, given, over_many=False)
        for part in nodes_below(value):
            # Arithmetic evaluates what a variable holds, substitutions too.
            if part.type == "raw_string" and re.search(r"\$\(|`", text_of_node(part)):
                self._inner(text_of_node(part)[1:-1], given)
        self._visit_all(node.children, given)

    def _substitution(self, node: Node, given: Input) -> None:
        self._visit_all(node.children, given)
        if node.children[0].type == "`" or text_of_node(node).startswith("`"):
            # Between backticks a backslash is taken away before the text is read.
            inner = re.sub(r"\\([\\`$\"])", r"\1", text_of_node(node)[1:-1])
            self._inner(inner, given)

    def _redirect(self, node: Node) -> None:
        target = target_of(node)
        writes = any(">" in child.type for child in node.children if not child.is_named)
        if writes and target is not None and writes_device(target):
            raise _FoundError("it writes to a device, or to a place only known when it runs")

    def _check_fetched_files(self, root: Node) -> None:
        """Raise when what was fetched into a file is run from there."""
        fetched: set[str] = set()
        for node in nodes_below(root):
            if node.type == "command" and self._fetches(node):
                fetched |= {posixpath.basename(read_word(word).text) for word in node.children}
            if node.type == "file_redirect" and (target := target_of(node)) is not None:
                fetched.add(posixpath.basename(target.text))
        for node in nodes_below(root):
            if node.type == "command":
                script = script_file(words_of(node))
                if script and script in fetched:
                    raise _FoundError("it runs what it downloads or decodes")

    def _check_written_files(self, root: Node) -> None:
        """Judge what is written into a file and run from there."""
        written: dict[str, list[Word]] = {}
        for name, text in written_scripts(root):
            written.setdefault(name, []).append(text)
        if not written:
            return
        judged: set[tuple[str, bool]] = set()
        for node in nodes_below(root):
            if node.type != "command":
                continue
            words = words_of(node)
            script = script_file(words)
            if script in written and (script, is_interpreter(words[0])) not in judged:
                judged.add((script, is_interpreter(words[0])))
                for text in written[script]:
                    self._written(words[0], text)

    def _written(self, program: Word, text: Word) -> None:
        first = text.text.partition("\n")[0]
        in_shell = not first.startswith("#!") or re.search(r"\b(ba|da|z|k|a)?sh\b", first)
        if in_shell and not is_interpreter(program):
            self._script(text, _CLOSED)
        elif speaks_of_removal(text.text):
            raise _FoundError("the script that it writes removes recursively or by force")


def _names_fetcher(node: Node) -> bool:
    kinds = ("word", "concatenation", "raw_string", "string", "ansi_c_string")
    return node.type in kinds and is_fetcher(read_word(node))
