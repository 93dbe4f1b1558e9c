"""The points to rewind to, chosen with the keys at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from prompt_toolkit.output import Output
from rich.cells import cell_len, set_cell_size

from keryx_py.rewind.rewinder import ListedPoint
from keryx_py.session.archive import Mode
from keryx_py.shell.picking import Chosen, Decision
from keryx_py.shell.points_view import point_counts, point_label, point_mark
from keryx_py.shell.render import counted, first_words, padded, time_text
from keryx_py.shell.terminal_keys import depth_of, take_waiting_keys

T = TypeVar("T")

AFTER_ESCAPE = 0.05
"""How many seconds an Esc waits for what would make it another key."""
MOST_ROWS = 20
NARROW = 50
"""Below so many columns a point's line leaves the year out."""
FOR_COUNT = 10
"""How many columns the count of a turn's files has."""
MODES = {"enter": Mode.FILES, "f": Mode.FILES, "h": Mode.HISTORY, "b": Mode.BOTH}


@dataclass(slots=True)
class PointList:
    """The list as it stands: what is chosen, and from where on it is seen."""

    points: Sequence[ListedPoint]
    at: int = 0
    keep: bool = False
    top: int = field(default=0, init=False)
    rows: int = field(default=1, init=False)
    """On how many lines points are seen."""

    def move(self, by: int) -> None:
        """Choose the point *by* lines further down, or the nearest to that."""
        self.at = max(0, min(len(self.points) - 1, self.at + by))

    def chosen(self, mode: Mode, *, in_full: bool = False) -> Chosen:
        """Say what was chosen of the point."""
        return Chosen(self.at, mode, self.keep, in_full)

    def seen(self, rows: int) -> range:
        """Say which points are seen on *rows* lines: the chosen one always is."""
        self.rows = rows
        self.top = max(self.at - rows + 1, min(self.top, self.at, len(self.points) - rows), 0)
        return range(self.top, min(len(self.points), self.top + rows))

    def lines(self, width: int, height: int) -> StyleAndTextTuples:
        """Draw the list, what is known of the chosen point, and the keys."""
        keys = in_rows(self._keys(), width)
        seen = self.seen(rows_of(height, len(keys)))
        many = f" ({self.at + 1} of {len(self.points)})" if len(self.points) > len(seen) else ""
        drawn: StyleAndTextTuples = [("bold", first_words(f"rewind to before{many}", width - 1))]
        for number in seen:
            mark, style = ("> ", "reverse") if number == self.at else ("  ", "")
            drawn += [("", "\n" + mark), (style, self._row(self.points[number], width - 3))]
        counts = point_counts(self.points[self.at])
        drawn.append(("", "\n  " + first_words(counts, width - 3)))
        drawn.append(("", "".join("\n" + row for row in keys)))
        return drawn

    def _row(self, listed: ListedPoint, width: int) -> str:
        point = listed.point
        digits = max(len(str(one.point.number)) for one in self.points)
        narrow = width < NARROW
        time = time_text(point.at)[5 if narrow else 0 :]
        changed = "" if listed.changed is None else counted(listed.changed, "file")
        lead = f"{padded(str(point.number), digits)} {time} {point_mark(point)}"
        room = width - cell_len(lead) - (0 if narrow else FOR_COUNT + 2)
        row = lead + first_words(point_label(point), max(1, room))
        return set_cell_size(row if narrow else padded(row, width - FOR_COUNT) + changed, width)

    def _keys(self) -> Sequence[str]:
        keep = f"k keep yours ({'on' if self.keep else 'off'})"
        return ("f files", "h history", "b both", "d diff", keep, "Esc leave")


def rows_of(height: int, keys: int) -> int:
    """Say on how many lines of *height* points are seen, above *keys* lines that name keys."""
    # The others are the title, the counts and the one that the cursor is left on.
    return max(1, min(MOST_ROWS, height - keys - 3))


def in_rows(said: Sequence[str], width: int) -> Sequence[str]:
    """Put *said* on as few lines of less than *width* columns as hold it."""
    rows = [""]
    for one in said:
        if rows[-1] and len(rows[-1]) + 2 + len(one) >= width:
            rows.append("")
        rows[-1] += ("  " if rows[-1] else "") + one
    return rows


class TerminalPicker:
    """Lets a person choose with the keys."""

    def __init__(
        self, *, color: bool = True, source: Input | None = None, output: Output | None = None
    ) -> None:
        """*source* and *output* are the process's own terminal unless given."""
        self._color = color
        self._source = source
        self._output = output

    def choose(self, points: Sequence[ListedPoint], at: int, *, keep: bool) -> Chosen | None:
        """Let the person choose among *points*, beginning at *at*; None when they leave."""
        listed = PointList(points, keep=keep)
        listed.move(at)
        application: Application[Chosen | None] = self._application(
            list_bindings(listed), listed.lines
        )
        return application.run()

    def decide(self, chosen: Chosen, *, confirmable: bool) -> Decision:
        """Ask what becomes of the preview just drawn; no key pressed before answers."""
        keys = decision_keys(chosen, confirmable=confirmable)
        application: Application[Decision] = self._application(
            decision_bindings(tuple(keys)),
            lambda width, height: [("bold", "\n".join(in_rows(tuple(keys.values()), width)))],
        )
        # What was typed while the preview was worked out is no answer to it.
        take_waiting_keys(application.input)
        return application.run()

    def _application(
        self, bindings: KeyBindings, draw: Callable[[int, int], StyleAndTextTuples]
    ) -> Application[T]:
        def drawn() -> StyleAndTextTuples:
            size = application.output.get_size()
            return draw(size.columns, size.rows)

        control = FormattedTextControl(drawn, focusable=True, show_cursor=False)
        application: Application[T] = Application(
            Layout(Window(control, dont_extend_height=True)),
            key_bindings=bindings,
            color_depth=depth_of(self._color),
            erase_when_done=True,
            input=self._source,
            output=self._output,
        )
        application.ttimeoutlen = AFTER_ESCAPE
        application.timeoutlen = AFTER_ESCAPE
        return application


def list_bindings(listed: PointList) -> KeyBindings:
    """Bind the keys of the list."""
    bindings = _leaving(None)
    steps: Mapping[str, Callable[[], int]] = {
        "up": lambda: -1,
        "down": lambda: 1,
        "pageup": lambda: -listed.rows,
        "pagedown": lambda: listed.rows,
        "home": lambda: -len(listed.points),
        "end": lambda: len(listed.points),
    }
    for name, by in steps.items():
        _bind_step(bindings, name, listed, by)
    for name, mode in MODES.items():
        _bind_exit(bindings, name, partial(listed.chosen, mode))
    _bind_exit(bindings, "d", partial(listed.chosen, Mode.FILES, in_full=True))

    @bindings.add("k")
    def _(event: KeyPressEvent) -> None:
        listed.keep = not listed.keep

    return bindings


def decision_keys(chosen: Chosen, *, confirmable: bool) -> Mapping[Decision, str]:
    """Name the keys that answer a preview."""
    keys = {Decision.CONFIRM: "y apply it"} if confirmable else {}
    keys[Decision.BACK] = "n back"
    if chosen.mode.moves_files:
        keys[Decision.DIFF] = "d diff"
        keys[Decision.KEEP] = f"k keep yours ({'on' if chosen.keep else 'off'})"
    return keys


def decision_bindings(offered: Iterable[Decision]) -> KeyBindings:
    """Bind the keys that answer a preview."""
    bindings = _leaving(Decision.BACK)
    for decision in offered:
        _bind_exit(bindings, decision.value, partial(Decision, decision.value))
    return bindings


def _leaving(result: object) -> KeyBindings:
    bindings = KeyBindings()
    for name in ("escape", "c-d"):
        _bind_exit(bindings, name, lambda: result)

    @bindings.add("c-c")
    def _(event: KeyPressEvent) -> None:
        event.app.exit(exception=KeyboardInterrupt)

    return bindings


def _bind_exit(bindings: KeyBindings, name: str, result: Callable[[], object]) -> None:
    @bindings.add(name, eager=True)
    def _(event: KeyPressEvent) -> None:
        event.app.exit(result=result())


def _bind_step(bindings: KeyBindings, name: str, listed: PointList, by: Callable[[], int]) -> None:
    @bindings.add(name)
    def _(event: KeyPressEvent) -> None:
        listed.move(by())
