"""The shell on a real project: plain lines, a terminal, errors, and one unattended turn."""

from __future__ import annotations

import io
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from keryx_py.errors import KeryxError
from keryx_py.models.base import ModelError, ReplyPart, Request
from keryx_py.session.archive import TurnEntry
from keryx_py.session.sessions import Sessions
from keryx_py.settings import Settings
from keryx_py.shell.commands import command_table
from keryx_py.shell.line import UsageError
from keryx_py.shell.project import OpenProject
from keryx_py.shell.reader import TerminalReader
from keryx_py.shell.repl import Repl, run_once, run_shell, system_reason
from keryx_py.shell.screen import Screen, Streams
from keryx_py.shell.terminal import furnishing, terminal_shell
from keryx_py.tools.base import Risk

ENTER, CTRL_C, CTRL_D = "\r", "\x03", "\x04"
EVERYTHING = frozenset({Risk.WRITE, Risk.SHELL, Risk.DESTRUCTIVE})


class Place:
    """A project folder, a data folder, and the shells that were opened there."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.data = folder / "data"
        self.home = folder / "home"
        self.opened: list[OpenProject] = []

    def open(
        self,
        *,
        approve: frozenset[Risk] = frozenset(),
        snapshots: bool = True,
        unattended: bool = False,
        warnings: tuple[str, ...] = (),
    ) -> OpenProject:
        settings = Settings(
            self.data,
            self.home,
            approve=approve,
            snapshots=snapshots,
            off_because="" if snapshots else "KERYX_REWIND=off",
            warnings=warnings,
        )
        sessions = Sessions(self.data, now=time.time)
        session = sessions.create(self.root, unattended=unattended)
        project = OpenProject(settings, sessions, session, now=time.time, unattended=unattended)
        self.opened.append(project)
        return project


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    for project in place.opened:
        project.close()


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as source:
        yield source


def piped(project: OpenProject, *lines: str | bytes) -> str:
    raw = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
    out = io.StringIO()
    code = run_shell(project, Streams(io.TextIOWrapper(io.BytesIO(raw)), out, io.StringIO()))
    assert code == 0
    return out.getvalue()


def typed(project: OpenProject, keys: PipeInput, text: str) -> str:
    out = io.StringIO()
    reader = TerminalReader(furnishing(project, True), source=keys, output=DummyOutput())
    keys.send_text(text)
    assert Repl(terminal_shell(project, Screen(out), reader), reader).run() == 0
    return out.getvalue()


# ---- plain lines


def test_the_first_lines_say_what_is_open(place: Place) -> None:
    project = place.open(warnings=("KERYX_REWIND is odd",))

    rows = piped(project).split("\n")

    assert rows[0] == "! KERYX_REWIND is odd"
    assert [row.split()[0] for row in rows[1:5]] == ["root", "model", "session", "snapshots"]
    assert str(place.root) in rows[1]
    assert project.session.id in rows[3]
    assert "on, 0/50 kept" in rows[4]


def test_a_turn_a_rewind_and_its_prompt(place: Place) -> None:
    said = piped(
        place.open(approve=EVERYTHING),
        "create a.txt with one",
        "/rewind 1 both",
        "/rewind confirm",
    )

    assert "● write_file a.txt" in said
    assert "removed       a.txt" in said
    assert "the prompt was: create a.txt with one" in said
    assert "\x1b" not in said
    assert not (place.root / "a.txt").exists()


def test_nobody_is_asked_on_plain_lines(place: Place) -> None:
    said = piped(place.open(), "create a.txt with one", "y")

    assert "denied, since nobody can be asked here" in said
    assert not (place.root / "a.txt").exists()


@pytest.mark.parametrize("other", ["", "/status", "/rewind", "/rewind 1x", "/nothing", "hello"])
def test_any_other_line_withdraws_the_preview(place: Place, other: str) -> None:
    said = piped(
        place.open(approve=EVERYTHING), "create a.txt with 1", "/rewind 1", other, "/rewind confirm"
    )

    assert said.count("preview withdrawn") == 1
    assert "nothing to confirm" in said
    assert (place.root / "a.txt").exists()


def test_bytes_that_are_not_utf8_and_long_lines_are_fine(place: Place) -> None:
    said = piped(place.open(), b"say \xff\xfe", "x" * 200_000, b"/\xff", b"/rewind 1 files \xff")

    assert "Traceback" not in said
    assert "bug" not in said


def test_off_is_said_by_every_form(place: Place) -> None:
    lines = ("/rewind", "/rewind 1x", "/rewind confirm", "/undo", "/redo", "/diff 1", "/checkpoint")

    said = piped(place.open(snapshots=False), *lines)

    assert said.count("rewinding is off (KERYX_REWIND=off)") == len(lines)


MALFORMED = (
    *("/", "/ ", "/?", "/rewnd", "/rewind3", "/REWIND", "/\x1b[2J", "/help nothing", "/help '"),
    *(f"/rewind {rest}" for rest in ("0", "-1", "99", "1x", "1 file", "confirm", "confirm x")),
    *(f"/rewind {rest}" for rest in ("keep", "pick", "@x", "1 keep", "1 only", "'", "1 files ..")),
    *(f"/rewind {rest}" for rest in ("1 files /etc", "1 files $'\\0'", "9" * 5000, "1 both a")),
    *(f"/diff {rest}" for rest in ("", "0", "99", "1 2 3", "only", "1 only", "all", "'", "x")),
    *("/undo", "/redo", "/undo 1", "/redo x", "/checkpoint -x b", "/checkpoint '", "/compact '"),
    *("/resume", "/resume nothing", "/resume a b", "/new x", "/fork x", "/status x", "/sessions x"),
    *("/model nothing/at all", "/model openai/", "/model '", "/approve nothing", "/approve read"),
    *("/approve destructive", "/approve a b", "/exit now", "/quit x", "/help " + "x" * 10_000),
)


def test_no_malformed_line_ends_the_shell_or_shows_a_traceback(place: Place) -> None:
    said = piped(place.open(), *MALFORMED, "/status")

    assert "Traceback" not in said
    assert "keryx hit a bug" not in said
    assert said.rstrip().split("\n")[-1].startswith("context")
    assert list(place.root.iterdir()) == []
    assert all(len(row) < 400 for row in said.split("\n"))


def test_an_unknown_command_names_the_nearest(place: Place) -> None:
    said = piped(place.open(), "/rewnd", "/stat")

    assert "there is no command /rewnd; did you mean /rewind?" in said
    assert "did you mean /status?" in said


def test_help_is_drawn_from_the_table(place: Place) -> None:
    said = piped(place.open(), "/help")

    assert all(f"/{name}" in said for name in command_table() if name != "quit")


def test_exit_leaves_and_the_rest_is_not_read(place: Place) -> None:
    assert "/help" not in piped(place.open(), "/exit", "/help")


def test_approve_is_switched_on_and_off(place: Place) -> None:
    said = piped(place.open(), "/approve write", "/approve", "/approve write")

    assert said.split("\n")[-4:-1] == ["approved: write"] * 2 + ["asks before every change"]


def test_destructive_calls_can_only_be_taken_back_from_approval(place: Place) -> None:
    project = place.open()

    assert "always asked about" in piped(project, "/approve destructive")
    assert Risk.DESTRUCTIVE not in project.policy.approved

    given = place.open(approve=EVERYTHING)
    piped(given, "/approve destructive")
    assert Risk.DESTRUCTIVE not in given.policy.approved


def test_sessions_are_listed_forked_and_left(place: Place) -> None:
    project = place.open(approve=EVERYTHING)
    first = project.session.id

    said = piped(project, "create a.txt with one", "/fork", "/new", "/sessions", f"/resume {first}")

    assert project.session.id == first
    rows = [row for row in said.split("\n") if "create a.txt" in row]
    assert len(rows) == 2
    assert said.count("root  ") == 4


def test_a_session_held_elsewhere_is_not_taken(place: Place) -> None:
    other = place.open()

    said = piped(project := place.open(), f"/resume {other.session.id}")

    assert project.session.id != other.session.id
    assert "Traceback" not in said
    assert said.count("root  ") == 1


def test_checkpoint_takes_a_snapshot(place: Place) -> None:
    (place.root / "mine").write_text("1")

    said = piped(place.open(), "/checkpoint before", "/rewind")

    assert "checkpoint 1, @before, taken" in said
    assert "[checkpoint] @before" in said


# ---- errors


class Broken(OpenProject):
    """A project with a bug in it."""

    def list_sessions(self) -> tuple[()]:
        raise ZeroDivisionError("in\nthe \x1b[2J middle")


def test_a_bug_is_one_sentence_and_the_traceback_goes_to_a_private_file(place: Place) -> None:
    project = place.open()
    project.__class__ = Broken

    said = piped(project, "/sessions", "/help")

    (row,) = (row for row in said.split("\n") if "hit a bug" in row)
    log = place.data / "bugs.log"
    assert row.startswith(r"keryx hit a bug: ZeroDivisionError: in the \x1b[2J middle")
    assert str(log) in row
    assert "Traceback" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert "/rewind" in said


# ---- a terminal


def test_a_question_is_asked_and_answered(place: Place, keys: PipeInput) -> None:
    project = place.open()
    person = threading.Thread(target=_answer_after, args=(keys, ["y" + ENTER, CTRL_D]))
    person.start()

    said = typed(project, keys, "create a.txt with one" + ENTER)
    person.join()

    assert "the model asks: write_file a.txt  (write)" in said
    assert (place.root / "a.txt").read_text().strip() == "one"
    assert said.count("+one") == 1


def test_a_rewound_prompt_is_put_back_on_the_line(place: Place, keys: PipeInput) -> None:
    project = place.open(approve=EVERYTHING)

    said = typed(
        project,
        keys,
        f"create a.txt with one{ENTER}/undo{ENTER} two{ENTER}{CTRL_D}",
    )

    assert "the prompt was" not in said
    assert (place.root / "a.txt").read_text().strip() == "one two"


def test_ctrl_c_at_the_prompt_withdraws_the_preview(place: Place, keys: PipeInput) -> None:
    project = place.open(approve=EVERYTHING)
    lines = f"create a.txt with 1{ENTER}/rewind 1{ENTER}{CTRL_C}/rewind confirm{ENTER}{CTRL_D}"

    said = typed(project, keys, lines)

    assert "preview withdrawn" in said
    assert "nothing to confirm" in said
    assert (place.root / "a.txt").exists()


def test_a_turn_that_fails_before_any_reply_keeps_its_prompt(place: Place, keys: PipeInput) -> None:
    project = place.open(approve=EVERYTHING)
    project.model = Silent()

    said = typed(project, keys, f"fix it{ENTER} again{ENTER}/model offline{ENTER}{CTRL_D}")

    assert said.count("the turn failed: no answer") == 2
    prompts = [entry.prompt for entry in project.session.entries if isinstance(entry, TurnEntry)]
    assert prompts == ["fix it", "fix it again"]
    # A slash as the first key replaces the prompt that was put back.
    assert "model: offline" in said


class Silent:
    """A model that never answers."""

    name = "silent"
    context_tokens: int | None = None

    def stream(self, request: Request) -> Iterator[ReplyPart]:
        raise ModelError("no answer; try again")


def _answer_after(keys: PipeInput, texts: Sequence[str]) -> None:
    for text in texts:
        time.sleep(0.7)
        keys.send_text(text)


# ---- one unattended turn


def once(project: OpenProject, prompt: str) -> str:
    out = io.StringIO()
    code = run_once(project, prompt, Streams(io.StringIO(), out, io.StringIO()))
    assert code == 0
    return out.getvalue()


def test_run_takes_one_turn(place: Place) -> None:
    said = once(place.open(approve=EVERYTHING, unattended=True), "create a.txt with one")

    assert "● write_file a.txt" in said
    assert (place.root / "a.txt").exists()


def test_run_refuses_a_rewind_with_the_reason(place: Place) -> None:
    project = place.open(unattended=True)

    with pytest.raises(KeryxError, match="unattended"):
        once(project, "/rewind 1")
    with pytest.raises(KeryxError, match="a command of the shell"):
        once(project, "/status")
    with pytest.raises(UsageError, match="empty"):
        once(project, " ")


def test_run_sends_what_only_looks_like_a_command(place: Place) -> None:
    once(place.open(unattended=True), "/usr/bin/x fails")
    once(place.open(unattended=True), "//rewind is slow")


def test_a_refusal_of_the_system_is_told_also_where_only_a_descriptor_is_known() -> None:
    error = IsADirectoryError(21, "Is a directory", 6)

    assert system_reason(error) == "Is a directory"
