"""A difference as it is shown: how much of it there is, then its lines. Nothing here prints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.text import Text

from keryx_py.rewind.differing import Compared
from keryx_py.rewind.textdiff import diff_file
from keryx_py.shell.render import counted, diff_text, first_lines


@dataclass(frozen=True, slots=True)
class ShownDiff:
    """A difference, and how much of it there is."""

    text: str
    files: int
    added: int
    """Lines, here and below; binary files have none."""
    removed: int

    @property
    def stat(self) -> str:
        """How much differs, in one line."""
        return f"{counted(self.files, 'file')} changed, +{self.added:,} -{self.removed:,}"


def shown_diff(compared: Iterable[Compared], most_lines: int | None = None) -> ShownDiff:
    """Write the difference of all that was *compared*, and count its lines.

    With *most_lines* the text ends after the file in which it has more; all of it is counted.
    """
    texts: list[str] = []
    files = added = removed = lines = 0
    for one in compared:
        text = diff_file(one.path, one.old, one.new)
        if not text:
            continue
        if most_lines is None or lines <= most_lines:
            texts.append(text)
            lines += text.count("\n")
        plus, minus = _count(text)
        files, added, removed = files + 1, added + plus, removed + minus
    return ShownDiff("".join(texts), files, added, removed)


def shown_diff_text(diff: ShownDiff, most_lines: int | None = None) -> Text:
    """Draw *diff*, its sum first; no more than *most_lines* of it where that is given."""
    text = Text(diff.stat + "\n", "bold")
    kept = diff.text if most_lines is None else first_lines(diff.text, most_lines)
    text.append_text(diff_text(kept, whole=most_lines is None))
    return text


def _count(diff: str) -> tuple[int, int]:
    """Count the lines that one file's *diff* adds and removes."""
    added = removed = 0
    in_hunk = False
    for line in diff.split("\n"):
        # Within a hunk every line begins with its sign, so that no content looks like a head.
        if line.startswith(("diff --git ", "@@ ")):
            in_hunk = line.startswith("@@")
        elif in_hunk:
            added += line.startswith("+")
            removed += line.startswith("-")
    return added, removed
