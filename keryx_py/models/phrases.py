"""Read quoted text in plain sentences. Nothing here knows what the sentences ask for."""

from __future__ import annotations

import re
from dataclasses import dataclass

# An opening quote follows a blank or a separator, so that an apostrophe opens nothing.
_PROTECTED = re.compile(
    r"```.*?```"
    r'|(?<![^\s(:=,])"(?:\\.|[^"\\])*"'
    r"|(?<![^\s(:=,])'[^'\n]*'(?=[\s.,;:)!?]|$)"
    r"|`[^`\n]*`",
    re.DOTALL,
)
_FENCE = re.compile(r"```[^\n`]*\n(.*?)\n?[ \t]*```[.,;]?", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Phrase:
    """Some text, in which keywords are looked for outside quotes only."""

    text: str

    @property
    def mask(self) -> str:
        """The text with everything quoted blotted out, of the same length."""
        return _PROTECTED.sub(lambda found: "\0" * len(found[0]), self.text)

    def cut(self, keyword: str, *, last: bool = False) -> tuple[Phrase, Phrase] | None:
        """Cut at the first or *last* match of the pattern *keyword*; None when there is none."""
        found = list(re.finditer(keyword, self.mask, re.IGNORECASE))
        if not found:
            return None
        at = found[-1 if last else 0]
        return Phrase(self.text[: at.start()].strip()), Phrase(self.text[at.end() :].strip())

    def without(self, beginning: str) -> Phrase:
        """Return the phrase less a match of the pattern *beginning* at its start."""
        found = re.match(beginning, self.mask, re.IGNORECASE)
        return Phrase(self.text[found.end() :].strip()) if found else self

    @property
    def quoted(self) -> str | None:
        """What stands between the quotes that hold the whole phrase; None when none do."""
        text = self.text.strip()
        if fence := _FENCE.fullmatch(text):
            return f"{fence[1]}\n" if fence[1] else ""
        whole = _PROTECTED.fullmatch(text)
        if whole is None or len(text) < 2 or text.startswith("```"):
            return None
        inside = text[1:-1]
        return _unescaped(inside) if text[0] == '"' else inside

    @property
    def value(self) -> str:
        """The text, less the quotes that hold all of it."""
        quoted = self.quoted
        return self.text.strip() if quoted is None else quoted

    @property
    def name(self) -> str | None:
        """The phrase as one name: in quotes, or a single word; None when it is neither."""
        quoted = Phrase(self.text.strip().rstrip(".,;!?")).quoted
        if quoted is not None:
            return quoted.strip("\n") or None
        word = self.text.strip()
        if not word or re.search(r"\s", word):
            return None
        return word.rstrip(".,;!?") or word


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), text, flags=re.DOTALL)
