"""Small values → texts to show: counts, sizes, times, diffs, folded output. Nothing here prints."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from keryx_py.shell.visible import on_one_line, visible, visible_output
from keryx_py.tools.base import Shown, ShownAs

LONGEST_LINE = 2000
WARNING = "bold yellow"
ERROR = "bold red"
QUIET = "dim"


def counted(number: int, thing: str, many: str = "") -> str:
    """Say *number* of a *thing*: "1 file", "2 files"."""
    return f"{number:,} {thing if number == 1 else many or thing + 's'}"


def size_text(size: int) -> str:
    """Say a *size* in bytes in three digits or so."""
    if size < 1000:
        return counted(size, "byte")
    value = float(size)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.5 or unit == "GB":
            break
    return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"


def time_text(at: float) -> str:
    """Say the local time of *at*, in seconds since the epoch."""
    try:
        return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "????-??-?? ??:??"


def first_words(text: str, width: int) -> str:
    """Cut *text* to one line of at most *width* columns, between words where that is possible."""
    # A prompt can be megabytes long; what lies past any screen's width is never looked at.
    line = on_one_line(text[: width * 8])
    if cell_len(line) <= width and len(text) <= width * 8:
        return line
    cut = set_cell_size(line, width - 1).rstrip()
    at_blank = cut.rfind(" ")
    if at_blank > width // 2 and not line.startswith(cut + " "):
        cut = cut[:at_blank]
    return cut.rstrip() + "…"


def padded(text: str, width: int) -> str:
    """Fill *text* with blanks up to *width* columns."""
    return text + " " * max(0, width - cell_len(text))


def fold(text: str, lines: int) -> str:
    """Leave the middle of *text* out when it has more than *lines* lines."""
    rows = text.split("\n")
    if len(rows) <= lines:
        return "\n".join(short(row) for row in rows)
    head = max(1, lines // 2)
    tail = max(1, lines - head - 1)
    folded = f"… {counted(len(rows) - head - tail, 'line')} folded …"
    return "\n".join(short(row) for row in [*rows[:head], folded, *rows[-tail:]])


SCREEN_LINES = 2000
"""How many lines of a difference are shown on the screen at most."""


def first_lines(text: str, lines: int) -> str:
    """Keep the first *lines* lines of *text*, and say where it was cut."""
    rows = text.split("\n")
    if rows and rows[-1] == "":
        rows.pop()
    if len(rows) <= lines:
        return "\n".join(rows)
    return "\n".join([*rows[:lines], f"… cut after {lines:,} lines"])


def diff_text(diff: str, *, whole: bool = False) -> Text:
    """Colour a unified *diff* by its lines; very long ones are cut unless it must be *whole*."""
    text = Text()
    for row in visible(diff).split("\n"):
        text.append((row if whole else short(row)) + "\n", _diff_style(row))
    text.rstrip()
    return text


def shown_text(shown: Shown, lines: int | None) -> Text:
    """Draw *shown*; folded past *lines* lines, or whole when there is no such limit."""
    keep: Callable[[str], str] = (lambda text: text) if lines is None else lambda t: fold(t, lines)
    match shown.kind:
        case ShownAs.DIFF:
            return diff_text(keep(shown.text.rstrip("\n")), whole=lines is None)
        case ShownAs.COMMAND:
            return Text(_indented(visible(shown.text.rstrip("\n")), "$ "), "bold")
        case ShownAs.OUTPUT:
            return Text(_indented(keep(visible_output(shown.text).rstrip("\n")), "  "), QUIET)
        case ShownAs.TEXT:
            return Text(keep(visible_output(shown.text).rstrip("\n")))


def _indented(text: str, lead: str) -> str:
    return lead + text.replace("\n", "\n" + " " * len(lead))


def short(row: str) -> str:
    """Cut *row* where it is far longer than any screen is wide, and say so."""
    if len(row) <= LONGEST_LINE:
        return row
    return f"{row[:LONGEST_LINE]}… {counted(len(row) - LONGEST_LINE, 'more character')}"


def _diff_style(row: str) -> str:
    if row.startswith(("+++", "---", "diff ")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(row[:1], "")
