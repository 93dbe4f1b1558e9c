"""`keryx rewind` does what the shell does, and prints JSON that programs can rely on."""

from __future__ import annotations

import base64
import io
import json
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keryx_py.errors import KeryxError
from keryx_py.messages import JsonValue
from keryx_py.rewind.rewinder import RefusedError, StalePlanError
from keryx_py.session.sessions import Sessions
from keryx_py.settings import Settings
from keryx_py.shell.line import UsageError
from keryx_py.shell.project import OpenProject
from keryx_py.shell.repl import run_shell
from keryx_py.shell.rewind_cli import Asked, RewindCli
from keryx_py.shell.rewind_json import path_json
from keryx_py.shell.screen import Streams
from keryx_py.shell.sessions_cli import SessionsCli
from keryx_py.tools.base import Risk

Run = Callable[[RewindCli], int]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "kept").write_text("kept\n")
    return root


@pytest.fixture
def project(tmp_path: Path, root: Path) -> Iterator[OpenProject]:
    settings = Settings(
        tmp_path / "data", tmp_path / "home", approve=frozenset({Risk.WRITE, Risk.SHELL})
    )
    sessions = Sessions(settings.data_dir, now=time.time)
    project = OpenProject(settings, sessions, sessions.create(root), now=time.time)
    play(project, "create a.txt with one", "create b.txt with two")
    yield project
    project.close()


def play(project: OpenProject, *lines: str) -> None:
    stdin = io.TextIOWrapper(io.BytesIO("".join(f"{line}\n" for line in lines).encode()))
    run_shell(project, Streams(stdin, io.StringIO(), io.StringIO()))


def cli(project: OpenProject, *, as_json: bool = False) -> tuple[RewindCli, io.StringIO]:
    out = io.StringIO()
    return RewindCli(project, Streams(io.StringIO(), out, io.StringIO()), as_json), out


def test_the_list_is_that_of_the_shell(project: OpenProject) -> None:
    rewinds, out = cli(project)

    assert rewinds.list_points() == 0

    assert [row.split(" ")[0] for row in out.getvalue().splitlines()] == ["2", "1"]


def test_a_preview_names_the_command_that_applies_exactly_it(
    project: OpenProject, root: Path
) -> None:
    rewinds, out = cli(project)
    assert rewinds.preview(Asked("1")) == 0
    last = out.getvalue().splitlines()[-1].split()

    assert last[:6] == ["keryx", "rewind", "apply", "1", "files", "--yes"]
    assert rewinds.apply(Asked("1"), yes=True, plan_id=last[7]) == 0
    assert sorted(path.name for path in root.iterdir()) == ["kept"]


ODD_NAMES = ("a b", "$(touch PWNED)", ";touch PWNED;", "-x", "only", "7", "it's", "*", "@tag")


@pytest.mark.parametrize("name", ODD_NAMES)
def test_the_lines_that_a_preview_offers_name_the_path_and_nothing_else(
    project: OpenProject, root: Path, name: str
) -> None:
    """They are typed at a shell: a file of a cloned project must not become a command there."""
    play(project, f"run `printf turn > ./{shlex.quote(name)}`")
    (root / name).write_text("mine")
    rewinds, out = cli(project)

    rewinds.preview(Asked("3", "files", (f"./{name}",)))
    apply_line = shlex.split(out.getvalue().splitlines()[-1])
    rewinds.preview(Asked("3", keep=True))
    (diff_line,) = (line for line in out.getvalue().splitlines() if "shows both sides" in line)
    diff_words = shlex.split(diff_line.split(": ", 1)[1])
    plan_id = apply_line[apply_line.index("--plan") + 1]

    assert apply_line[:5] == ["keryx", "rewind", "apply", "3", "files"]
    assert rewinds.diff(diff_words[3 : diff_words.index("shows")]) == 0
    assert "-turn" not in out.getvalue().splitlines()
    assert "+mine" in out.getvalue()
    assert not apply_line[5].startswith("-")
    assert rewinds.apply(Asked("3", "files", (apply_line[5],)), yes=True, plan_id=plan_id) == 0
    assert not (root / name).exists()


def test_a_stale_plan_is_refused_and_shown_anew(project: OpenProject, root: Path) -> None:
    rewinds, out = cli(project)
    rewinds.preview(Asked("1"))
    plan_id = out.getvalue().splitlines()[-1].split()[7]
    (root / "a.txt").write_text("mine\n")

    with pytest.raises(StalePlanError):
        rewinds.apply(Asked("1"), yes=True, plan_id=plan_id)

    assert (root / "a.txt").read_text() == "mine\n"
    assert out.getvalue().count("--plan") == 2


def test_without_yes_nothing_is_applied(project: OpenProject, root: Path) -> None:
    runs: tuple[Run, ...] = (
        lambda rewinds: rewinds.apply(Asked("1"), yes=False),
        lambda rewinds: rewinds.undo(yes=False),
    )
    for run in runs:
        with pytest.raises(UsageError, match="--yes"):
            run(cli(project)[0])

    assert (root / "a.txt").exists()
    assert (root / "b.txt").exists()


def test_undo_and_redo(project: OpenProject, root: Path) -> None:
    rewinds, out = cli(project)

    assert rewinds.undo(yes=True) == 0
    assert not (root / "b.txt").exists()
    assert "the prompt was: create b.txt with two" in out.getvalue()

    assert rewinds.redo(yes=True) == 0
    assert (root / "b.txt").exists()


def test_only_the_paths_named_go_back(project: OpenProject, root: Path) -> None:
    cli(project)[0].apply(Asked("1", "files", (str(root / "a.txt"),)), yes=True)

    assert sorted(path.name for path in root.iterdir()) == ["b.txt", "kept"]


@pytest.mark.parametrize(
    "asked",
    [
        Asked("0"),
        Asked("1x"),
        Asked("1", "file"),
        Asked("1", "both", ("a",)),
        Asked("1", "files", ("../x",)),
    ],
)
def test_a_wrong_line_is_a_usage_error(project: OpenProject, asked: Asked) -> None:
    with pytest.raises(UsageError):
        cli(project)[0].apply(asked, yes=True)


def test_a_number_that_is_not_there_is_refused(project: OpenProject) -> None:
    with pytest.raises(RefusedError):
        cli(project)[0].preview(Asked("99"))


def test_the_difference_is_printed(project: OpenProject) -> None:
    rewinds, out = cli(project)

    assert rewinds.diff(("1", "a.txt")) == 0

    assert "+one" in out.getvalue()
    assert "b.txt" not in out.getvalue()


def as_object(value: JsonValue) -> dict[str, JsonValue]:
    assert isinstance(value, dict)
    return value


def test_json_holds_the_plan_and_the_report(project: OpenProject) -> None:
    rewinds, out = cli(project, as_json=True)

    assert rewinds.apply(Asked("1", "both"), yes=True) == 0

    said = as_object(json.loads(out.getvalue()))
    plan, report = as_object(said["plan"]), as_object(said["report"])
    assert as_object(plan["history"])["turns"] == [1, 2]
    assert report["failed"] == []
    assert report["history_cut"] is True
    assert report["done"] == [{"path": "a.txt"}, {"path": "b.txt"}]


def test_json_of_the_list_and_a_preview(project: OpenProject) -> None:
    rewinds, out = cli(project, as_json=True)

    rewinds.list_points()
    points = json.loads(out.getvalue())
    out.truncate(out.seek(0))
    rewinds.preview(Asked("2"))
    plan = json.loads(out.getvalue())

    assert [point["number"] for point in points] == [2, 1]
    assert points[0]["label"] == "create b.txt with two"
    (change,) = plan["files"]["changes"]
    assert change["path"] == "b.txt"
    assert change["change"] == "removed"
    assert change["by"] == [{"kind": "turn", "turn": 2}]


def test_keep_and_only_are_previewed_and_applied(project: OpenProject) -> None:
    (project.root / "a.txt").write_text("mine\n")
    rewinds, out = cli(project, as_json=True)

    rewinds.preview(Asked("1", "both", keep=True))
    plan = json.loads(out.getvalue())

    assert plan["way"] == "keep"
    assert [one["path"] for one in plan["files"]["changes"]] == ["b.txt"]
    assert [one["path"] for one in plan["files"]["conflicts"]] == ["a.txt"]
    assert plan["files"]["merged"] == plan["files"]["kept"] == []
    rewinds, out = cli(project)
    rewinds.preview(Asked("1", "both", keep=True))
    assert f"keryx rewind apply 1 both --keep --yes --plan {plan['plan']}" in out.getvalue()
    assert "keryx rewind diff 1 a.txt shows both sides" in out.getvalue()
    assert rewinds.apply(Asked("2", "only"), yes=True) == 0
    assert not (project.root / "b.txt").exists()


def test_keep_goes_with_files_or_both_alone(project: OpenProject) -> None:
    rewinds, _ = cli(project)

    for asked in (Asked("1", "history", keep=True), Asked("1", "only", keep=True)):
        with pytest.raises(UsageError, match="keep"):
            rewinds.preview(asked)


def test_a_path_that_is_not_utf8_is_in_base64_too() -> None:
    said = path_json(b"a\xff")

    assert base64.b64decode(str(said["path_base64"])) == b"a\xff"
    assert "path_base64" not in path_json("é".encode())


def test_off_is_said(project: OpenProject) -> None:
    project.unattended = True

    runs: tuple[Run, ...] = (
        lambda rewinds: rewinds.list_points(),
        lambda rewinds: rewinds.preview(Asked("1x")),
        lambda rewinds: rewinds.undo(yes=True),
    )
    for run in runs:
        with pytest.raises(KeryxError, match="unattended"):
            run(cli(project)[0])


def test_erasing_drops_the_snapshots_of_rewound_turns(project: OpenProject) -> None:
    cli(project)[0].undo(yes=True)
    session_id, data = project.session.id, project.settings.data_dir
    project.new_session()
    out = io.StringIO()
    sessions = SessionsCli(project.sessions, data, Streams(io.StringIO(), out, io.StringIO()))

    assert sessions.erase(session_id) == 0

    assert "erased 1 rewound turn" in out.getvalue()
    project.resume(session_id)
    assert project.store is not None
    # With the turn went its undo point, which held the files as the turn had left them.
    assert {key.number for key in project.store.keys()} == {1}  # noqa: SIM118
