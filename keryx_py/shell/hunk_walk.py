"""Choosing hunks: asked one by one, or by their numbers. What is chosen is returned, never done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from keryx_py.rewind.hunks import Hunk, HunkedPath, HunkKind, hunk_text, split_hunk
from keryx_py.rewind.rewinder import Picking
from keryx_py.shell.asker import Answers
from keryx_py.shell.line import UsageError
from keryx_py.shell.render import SCREEN_LINES, counted, diff_text, first_lines
from keryx_py.shell.screen import Screen
from keryx_py.shell.visible import shown_path

HELP = """\
y - take this hunk back
n - leave it
q - leave this hunk and all the rest
a - take this hunk and the rest of this file back
d - leave this hunk and the rest of this file
s - split this hunk into smaller ones
? - show this"""


def hunks_text(paths: Sequence[HunkedPath]) -> Text:
    """List every hunk of *paths* under its number."""
    text = Text()
    number = 0
    for at in paths:
        text.append(f"{shown_path(at.path)}: {counted(len(at.hunks), 'hunk')}\n", "bold")
        for hunk in at.hunks:
            number += 1
            text.append(f"hunk {number}\n", "cyan")
            text.append_text(_drawn(at, hunk)).append("\n")
    text.rstrip()
    return text


def take_numbered(paths: Sequence[HunkedPath], wanted: Sequence[range]) -> Picking:
    """Take the hunks *wanted* by the numbers that hunks_text shows. Raises UsageError."""
    every = [(at, hunk) for at in paths for hunk in at.hunks]
    last = max((numbers.stop - 1 for numbers in wanted), default=0)
    if last > len(every):
        raise UsageError(
            f"there is no hunk {last}; the hunks are 1 to {len(every)}. Nothing was done"
        )
    taken = {number for numbers in wanted for number in numbers}
    numbered = [(at, hunk) for n, (at, hunk) in enumerate(every, 1) if n in taken]
    return [(at, [hunk for one, hunk in numbered if one is at]) for at in paths]


@dataclass(slots=True)
class _Walked:
    """How far the walk through one path is."""

    waiting: list[Hunk]
    taken: list[Hunk]
    done: int = 0

    @property
    def total(self) -> int:
        return self.done + len(self.waiting)


class HunkWalk:
    """Goes through hunks with a person, key by key as `git checkout -p` does."""

    def __init__(self, screen: Screen, answers: Answers) -> None:
        self._screen = screen
        self._answers = answers
        self._over = False

    def through(self, paths: Sequence[HunkedPath]) -> Picking:
        """Ask about each hunk of *paths*; return those that go back."""
        picking = []
        for at in paths:
            if not self._over:
                picking.append((at, self._through_path(at)))
        return picking

    def _through_path(self, at: HunkedPath) -> list[Hunk]:
        hunks = counted(len(at.hunks), "hunk")
        self._screen.say(f"{shown_path(at.path)}: {hunks}", "bold")
        walked = _Walked(list(at.hunks), [])
        while walked.waiting:
            self._screen.show(_drawn(at, walked.waiting[0]))
            self._ask_about(at, walked)
        return walked.taken

    def _ask_about(self, at: HunkedPath, walked: _Walked) -> None:
        """Ask about the first hunk that waits, until the answer moves the walk on."""
        hunk = walked.waiting[0]
        pieces = split_hunk(hunk)
        keys = "y,n,q,a,d,s,?" if len(pieces) > 1 else "y,n,q,a,d,?"
        question = f"({walked.done + 1}/{walked.total}) {_question(at, hunk)} [{keys}]? "
        while True:
            match self._answer(question):
                case "y" | "n" as key:
                    _move_on(walked, 1, take=key == "y")
                case "a" | "d" as key:
                    _move_on(walked, len(walked.waiting), take=key == "a")
                case "q":
                    self._over = True
                    _move_on(walked, len(walked.waiting), take=False)
                case "s" if len(pieces) > 1:
                    walked.waiting[:1] = pieces
                    self._screen.say(f"split into {len(pieces)} hunks")
                case "s":
                    self._screen.say("this hunk cannot be split")
                    continue
                case _:
                    self._screen.say(HELP)
                    continue
            return

    def _answer(self, question: str) -> str:
        try:
            return self._answers.ask(question).strip().lower()[:1]
        except EOFError:
            return "q"


def _move_on(walked: _Walked, count: int, *, take: bool) -> None:
    passed = walked.waiting[:count]
    del walked.waiting[:count]
    walked.done += len(passed)
    walked.taken += passed if take else []


def _question(at: HunkedPath, hunk: Hunk) -> str:
    match hunk.kind:
        case HunkKind.LINES:
            return "Take this hunk back"
        case HunkKind.MODE:
            return "Take this change of mode back"
        case HunkKind.WHOLE if at.now is None:
            return "Bring this back"
        case HunkKind.WHOLE if at.then is None:
            return "Remove this"
        case HunkKind.WHOLE:
            return "Take this change back"


def _drawn(at: HunkedPath, hunk: Hunk) -> Text:
    return diff_text(first_lines(hunk_text(at, hunk), SCREEN_LINES))
