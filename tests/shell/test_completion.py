"""What the tab key offers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from keryx_py.shell.completion import ShellCompleter
from keryx_py.shell.hints import Hint, Offer
from keryx_py.shell.line import split_words

COMMANDS = {
    "help": (Hint.COMMAND,),
    "rewind": (Hint.POINT, Hint.MODE, Hint.PATH),
    "redo": (),
    "resume": (Hint.SESSION,),
}
OFFERS = {
    Hint.POINT: ("confirm", "12", "3"),
    Hint.MODE: ("files", "history", "both"),
    Hint.SESSION: ("20260101-a",),
    Hint.COMMAND: ("help", "rewind"),
}


def offered(hint: Hint) -> Iterable[Offer]:
    return [Offer(text) for text in OFFERS.get(hint, ())]


def completed(line: str, root: Path) -> list[str]:
    completer = ShellCompleter(COMMANDS, offered, lambda: root)
    document = Document(line, len(line))
    return [
        line[: len(line) + found.start_position] + found.text
        for found in completer.get_completions(document, CompleteEvent())
    ]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").touch()
    (tmp_path / "two words").touch()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".env").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("/re", ["/rewind", "/redo", "/resume"]),
        ("/rewind ", ["/rewind confirm", "/rewind 12", "/rewind 3"]),
        ("/rewind 1", ["/rewind 12"]),
        ("/rewind 3 f", ["/rewind 3 files"]),
        ("/rewind 3 files s", ["/rewind 3 files src/"]),
        ("/rewind 3 files x src/", ["/rewind 3 files x src/a.py"]),
        ("/rewind 3 files t", ["/rewind 3 files 'two words'"]),
        ("/rewind 3 files .", ["/rewind 3 files .env"]),
        ("/rewind 3 'files ", []),
        ("/resume 2", ["/resume 20260101-a"]),
        ("/redo ", []),
        ("/nothing ", []),
        ("look at @sr", ["look at @src/"]),
        ("look at @src/a", ["look at @src/a.py"]),
        ("mail me@sr", []),
        ("//re", []),
        ("plain", []),
        ("@nowhere/", []),
    ],
)
def test_what_could_stand_there_is_offered(project: Path, line: str, lines: list[str]) -> None:
    assert completed(line, project) == lines


def test_an_odd_name_is_offered_so_that_it_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "o\ndd\udcff").touch()

    (line,) = completed("/rewind 1 files o", tmp_path)

    assert split_words(line)[-1] == "o\ndd\udcff"
