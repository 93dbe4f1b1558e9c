"""Write docs/rewind.md by running each way to rewind: python examples/rewind_page.py

Each way is one entry of WAYS: the files to begin with, what turns and the person do, and the lines
that take it back. The pictures and the answers on the page are what really happened.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill

# The examples are a folder of scripts, not a part of the package.
sys.path.insert(0, str(Path(__file__).parent))
from readme_session import settled
from sitting import sit

from keryx_py.session.archive import live_turns
from keryx_py.session.others import read_other

PAGE = Path(__file__).parent.parent / "docs" / "rewind.md"
ABSENT = "–"


@dataclass(frozen=True)
class Column:
    """One thing that happens: lines that are typed, or edits of the person."""

    title: str
    lines: tuple[str, ...] = ()
    edits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Way:
    """One way to rewind, worked through."""

    title: str
    says: str
    files: Mapping[str, str]
    columns: tuple[Column, ...]
    """The last one's answer is shown."""


def turn(number: int, prompt: str) -> Column:
    """A turn of the model."""
    return Column(f"turn {number}", (prompt,))


def you(**edits: str) -> Column:
    """Edits of the person; a name's double underscore stands for its dot."""
    return Column("you", edits={name.replace("__", "."): text for name, text in edits.items()})


def after(*lines: str) -> Column:
    """The rewind itself."""
    return Column("after", lines)


FIRST = turn(1, 'replace "red" with "blue" in a.txt then create b.txt with "new"')
CONFIRM = "/rewind confirm"

WAYS = (
    Way(
        "Files",
        "`/rewind 1`, or `/rewind 1 files`: the files become what they were before turn 1. The "
        "conversation stays, and the next prompt tells the model which files went back. What you "
        "changed since goes too, and the first line says so.",
        {"a.txt": "red\n", "c.txt": "one\n"},
        (FIRST, you(c__txt="two\n"), after("/rewind 1", CONFIRM)),
    ),
    Way(
        "History",
        "`/rewind 1 history`: the conversation is cut to before turn 1. The files stay. What you "
        "typed for turn 1 is on the input line again.",
        {"a.txt": "red\n"},
        (FIRST, you(c__txt="mine\n"), after("/rewind 1 history", CONFIRM)),
    ),
    Way(
        "Both",
        "`/rewind 1 both`: as if the turn had never been sent.",
        {"a.txt": "red\n"},
        (FIRST, after("/rewind 1 both", CONFIRM)),
    ),
    Way(
        "Keep what you changed",
        "`/rewind 1 keep`, or `/rewind 1 both keep`: what only you changed stays. Where the turn "
        "and you changed one file, your lines are merged into what it was before; where that "
        "cannot be, the file stays as it is and is named.",
        {"a.txt": "red\n1\n2\n3\ngreen\n", "c.txt": "one\n"},
        (
            FIRST,
            you(a__txt="blue\n1\n2\n3\nmine\n", c__txt="two\n"),
            after("/rewind 1 files keep", CONFIRM),
        ),
    ),
    Way(
        "One turn alone",
        "`/rewind 1 only`: takes back what turn 1 did; what came later stays, merged where both "
        "changed one file.",
        {"a.txt": "red\n1\n2\n3\ngreen\n"},
        (
            FIRST,
            turn(2, 'replace "green" with "grey" in a.txt then create c.txt with "later"'),
            after("/rewind 1 only", CONFIRM),
        ),
    ),
    Way(
        "Some paths",
        "`/rewind 1 files PATH…`: only these; a folder stands for all below it.",
        {"a.txt": "red\n"},
        (FIRST, after("/rewind 1 files b.txt", CONFIRM)),
    ),
    Way(
        "Some hunks",
        "`/rewind 1 pick a.txt`: goes through the hunks of one file, on a terminal with the keys. "
        "With their numbers, as here, it needs none.",
        {"a.txt": "red\n1\n2\n3\n4\n5\n6\n7\ngreen\n"},
        (
            turn(
                1,
                'replace "red" with "blue" in a.txt then replace "green" with "grey" in a.txt',
            ),
            after("/rewind 1 pick a.txt 2", CONFIRM),
        ),
    ),
    Way(
        "Undo",
        "`/undo`: rewinds the latest turn, both, and at once when nobody but that turn would lose "
        "anything. Else it shows the preview and waits.",
        {"a.txt": "red\n"},
        (FIRST, after("/undo")),
    ),
    Way(
        "Redo",
        "`/redo`: takes the latest rewind back, files and history.",
        {"a.txt": "red\n"},
        (FIRST, Column("undone", ("/undo",)), after("/redo")),
    ),
    Way(
        "Checkpoint",
        "`/checkpoint NAME`: a point of your own. It is never pruned, and `@NAME` stands for its "
        "number.",
        {"a.txt": "red\n"},
        (
            you(a__txt="mine\n"),
            Column("checkpoint", ("/checkpoint good",)),
            turn(2, 'replace "mine" with "blue" in a.txt'),
            after("/rewind @good", CONFIRM),
        ),
    ),
)

HEAD = """# Rewinding, worked through

Each picture below was made by running keryx (`python examples/rewind_page.py` writes this page, and
a test keeps it true). A column shows the files after each step, lines divided by `/`;
`{absent}` means that there is no such file. The last column is after the rewind, and its answer
stands below. Every rewind shows its preview first and waits for `/rewind confirm`; any other line
withdraws it.
"""


class Played:
    """One way as it was really played: the files and the turns after each column."""

    def __init__(self, way: Way) -> None:
        self.way = way
        self.looks: list[dict[str, str]] = []
        self.turns: list[int] = []
        self.answer = ""
        self._start = 0

    def play(self) -> Played:
        """Run the shell on a throwaway project."""
        with tempfile.TemporaryDirectory(prefix="keryx-page-") as place:
            root, data, out = Path(place, "P"), Path(place, "data"), io.StringIO()
            root.mkdir()
            _write(root, self.way.files)
            sit(self._lines(root, data, out), root, data, out, go_on=False)
            self.answer = settled(out.getvalue()[self._start :], root)
        return self

    def _lines(self, root: Path, data: Path, out: io.StringIO) -> Iterator[str]:
        """Give the lines to type; look at the project before each column and after the last."""
        for column in self.way.columns:
            self._look(root, data)
            self._start = len(out.getvalue())
            _write(root, column.edits)
            yield from column.lines
        self._look(root, data)

    def _look(self, root: Path, data: Path) -> None:
        self.looks.append({path.name: path.read_text("utf-8") for path in root.iterdir()})
        (session,) = (data / "sessions").iterdir()
        self.turns.append(len(live_turns(read_other(session, root))))


def _write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (root / name).write_text(text, "utf-8")


def section(way: Way) -> str:
    """Write what the page says of *way*."""
    played = Played(way).play()
    titles = ["", "before", *(column.title for column in way.columns)]
    names = sorted({name for look in played.looks for name in look})
    rows = [[f"`{name}`", *(_cell(look.get(name)) for look in played.looks)] for name in names]
    rows.append(["turns told", *map(str, played.turns)])
    says = fill(way.says, 100, break_long_words=False, break_on_hyphens=False)
    lines = [f"## {way.title}", "", says, "", *_table(titles, rows), ""]
    lines += [f"    {line}".rstrip() for line in played.answer.split("\n")]
    return "\n".join(lines) + "\n"


def _cell(text: str | None) -> str:
    return ABSENT if text is None else " / ".join(text.splitlines())


def _table(titles: list[str], rows: list[list[str]]) -> list[str]:
    bar = ["---"] * len(titles)
    return ["| " + " | ".join(row) + " |" for row in (titles, bar, *rows)]


def page() -> str:
    """Write the whole page."""
    return "\n".join([HEAD.format(absent=ABSENT), *map(section, WAYS)])


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
