"""The command line: what each form does, its exit code, and one sentence for every mistake."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from keryx_py import __version__
from keryx_py.cli.app import app


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project that is the current folder."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    monkeypatch.chdir(root)
    return root


def keryx(*words: str, lines: str = "") -> Result:
    return CliRunner().invoke(app, list(words), input=lines)


def sat_at(*lines: str) -> Result:
    return keryx("--approve", "write", "--approve", "shell", lines="\n".join(lines) + "\n")


def test_the_version_is_said() -> None:
    assert keryx("--version").output == f"keryx {__version__}\n"


def test_the_shell_reads_plain_lines_and_leaves_at_their_end(project: Path) -> None:
    done = sat_at('create b.txt with "two"', "/rewind")

    assert done.exit_code == 0
    assert "snapshots  on" in done.output
    assert (project / "b.txt").read_text() == "two\n"
    assert "\x1b" not in done.output


def test_without_anyone_to_ask_a_call_is_denied_and_it_is_said(project: Path) -> None:
    done = keryx(lines='create b.txt with "two"\n')

    assert done.exit_code == 0
    assert "denied" in done.output
    assert "--approve write" in done.output
    assert not (project / "b.txt").exists()


def test_a_session_in_which_nothing_happened_leaves_nothing_behind(project: Path) -> None:
    sat_at("/status", "/new", "/help")

    assert json.loads(keryx("sessions", "list", "--json").stdout) == []


def test_continue_goes_on_in_the_session_used_last(project: Path) -> None:
    sat_at('create b.txt with "two"')

    done = keryx("-c", lines="/rewind\n/rewind 1 both\n/rewind confirm\n")

    assert done.exit_code == 0
    assert not (project / "b.txt").exists()


def test_continue_without_a_session_says_so_and_opens_one(project: Path) -> None:
    done = keryx("-c", lines="")

    assert done.exit_code == 0
    assert "no session to go on with" in done.output


def test_a_session_is_resumed_by_a_prefix_of_its_id(project: Path) -> None:
    sat_at('create b.txt with "two"')
    [session] = json.loads(keryx("sessions", "list", "--json").stdout)

    done = keryx("-r", session["id"][:-1], lines="/rewind\n")

    assert "create b.txt" in done.output


def test_a_moved_project_is_given_to_its_session(project: Path) -> None:
    sat_at('create b.txt with "two"')
    [session] = json.loads(keryx("sessions", "list", "--json").stdout)
    moved = project.parent / "moved"
    project.rename(moved)
    os.chdir(moved.parent)

    gone = keryx("-r", session["id"], lines="/rewind 1 files\n")
    done = keryx("-r", session["id"], "--root", str(moved), lines="/rewind 1\n/rewind confirm\n")

    assert "gone" in gone.output
    assert done.exit_code == 0
    assert not (moved / "b.txt").exists()


def test_run_takes_one_turn_and_makes_no_shadow_repository(project: Path) -> None:
    done = keryx("run", 'create b.txt with "two"', "--approve", "write")

    assert done.exit_code == 0
    assert (project / "b.txt").exists()
    [session] = json.loads(keryx("sessions", "list", "--json").stdout)
    assert session["unattended"]
    assert not Path(session["folder"]["path"], "shadow.git").exists()
    assert "no session to go on with" in keryx("-c").output


def test_run_reads_its_prompt_from_standard_input(project: Path) -> None:
    done = keryx("run", "-", "--approve", "write", lines='create b.txt with "two"')

    assert done.exit_code == 0
    assert (project / "b.txt").exists()


@pytest.mark.parametrize("prompt", ["/rewind", "/rewind 1 both", "/undo", "/diff 1"])
def test_run_refuses_to_rewind_with_the_reason(project: Path, prompt: str) -> None:
    done = keryx("run", prompt)

    assert done.exit_code == 1
    assert "unattended" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_session_run_unattended_takes_snapshots_once_resumed(project: Path) -> None:
    keryx("run", 'create b.txt with "two"', "--approve", "write")
    [session] = json.loads(keryx("sessions", "list", "--json").stdout)

    done = keryx(
        "-r", session["id"], "--approve", "write", lines='create c.txt with "three"\n/rewind 2\n'
    )

    assert "c.txt" in done.output
    assert "/rewind confirm applies it" in done.output


def test_off_refuses_every_rewind_and_says_how_to_turn_it_on(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sat_at('create b.txt with "two"')
    monkeypatch.setenv("KERYX_REWIND", " OFF ")
    before = sorted((project.parent).rglob("*"))

    for words in (["list"], ["preview", "1"], ["apply", "1", "--yes"], ["undo", "--yes"]):
        done = keryx("rewind", *words)
        assert done.exit_code == 1
        assert "KERYX_REWIND=off" in done.stderr
    done = sat_at("/rewind", "/rewind 1", "/rewind confirm", "/undo", "/redo", "/diff 1")
    done_too = sat_at("/checkpoint")

    assert done.output.count("rewinding is off") == 6
    assert "rewinding is off" in done_too.output
    assert sorted((project.parent).rglob("*")) == before


def test_rewinding_without_the_shell(project: Path) -> None:
    sat_at('create b.txt with "two"', 'create c.txt with "three"')

    points = json.loads(keryx("rewind", "list", "--json").stdout)
    plan = json.loads(keryx("rewind", "preview", "2", "both", "--json").stdout)
    unsure = keryx("rewind", "apply", "2", "both")
    (project / "d.txt").write_text("mine")
    stale = keryx("rewind", "apply", "1", "both", "--yes", "--plan", plan["plan"])
    done = keryx("rewind", "apply", "2", "both", "--yes", "--json")

    assert [point["number"] for point in points] == [2, 1]
    assert [change["path"] for change in plan["files"]["changes"]] == ["c.txt"]
    assert unsure.exit_code == 2
    assert stale.exit_code == 1
    assert done.exit_code == 0
    assert not (project / "c.txt").exists()
    assert (project / "b.txt").exists()
    assert keryx("rewind", "redo", "--yes").exit_code == 0
    assert (project / "c.txt").exists()


def test_a_held_session_is_refused_with_its_holder(project: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-m", "keryx_py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    )
    try:
        assert holder.stdout is not None
        assert b"root" in holder.stdout.readline()
        done = keryx("-c")
    finally:
        holder.communicate()

    assert done.exit_code == 1
    assert str(holder.pid) in done.stderr


def test_ctrl_c_outside_the_shell_is_130(project: Path, tmp_path: Path) -> None:
    script = tmp_path / "slow.toml"
    script.write_text('[[reply]]\ntext = "late"\ndelay = 30\n')
    running = subprocess.Popen(
        [sys.executable, "-m", "keryx_py", "run", "hi", "--model", f"script:{script}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    )
    data = Path(os.environ["KERYX_DATA_DIR"], "sessions")
    deadline = time.monotonic() + 20
    while not list(data.glob("*/archive.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=20)

    assert running.returncode == 130
    assert b"Traceback" not in errors


def test_a_mistake_in_the_settings_is_one_line(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    (config / "keryx").mkdir(parents=True)
    (config / "keryx" / "settings.toml").write_text("modle = 'x'\n")

    done = keryx()

    assert done.exit_code == 1
    assert "'model'" in done.stderr
    assert done.stderr.count("\n") == 1


WORDS = (
    *("list", "show", "path", "delete", "erase", "preview", "apply", "diff", "undo", "redo"),
    *("sessions", "rewind", "run", "-c", "-r", "--resume", "--yes", "--json", "--plan", "--root"),
    *("--session", "--model", "--approve", "--older-than", "--orphaned", "--project", "--base-url"),
    *("0", "1", "-1", "99", "1x", "", " ", "both", "files", "histroy", "nan", "1e999", "--"),
    *("\udcff", "../..", "/etc", "offline", "openai/", "script:", "wrtie", "\x1b[2J", "é"),
    *("openai/x", "script:/nowhere", "--no-color", "http://127.0.0.1:1", "a" * 5000, "--help"),
)


def test_no_command_line_ends_in_a_traceback(project: Path) -> None:
    chance = random.Random(7)
    for _ in range(300):
        words = [chance.choice(WORDS) for _ in range(chance.randint(1, 6))]
        done = keryx(*words)

        assert done.exit_code in (0, 1, 2), words
        assert "Traceback" not in done.output, words
        assert "hit a bug" not in done.output, (words, done.output)
        assert done.exception is None or isinstance(done.exception, SystemExit), words
    assert (project / "a.txt").read_text() == "one\n"


def test_days_below_none_are_refused_before_anything_is_deleted(project: Path) -> None:
    sat_at('create b.txt with "two"')

    done = keryx("sessions", "delete", "--older-than", "-1", "--yes")

    assert done.exit_code == 2
    assert len(json.loads(keryx("sessions", "list", "--json").stdout)) == 1


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user whom nobody knows")
@pytest.mark.parametrize(
    ("extra", "said", "code"),
    [({}, "set KERYX_DATA_DIR", 1), ({"KERYX_DATA_DIR": "data"}, "Wrote", 0)],
)
def test_a_user_without_a_home_folder_can_run_keryx(
    tmp_path: Path, extra: dict[str, str], said: str, code: int
) -> None:
    """As cron and containers start programs: no HOME, and a number that nobody has as a name."""
    checkout = Path(__file__).parent.parent
    ran = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, 'create b.txt with "two"'],
        cwd=_open_to_all(tmp_path),
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(checkout),
            "HOME": str(tmp_path),
            **extra,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, "Traceback" in ran.stderr) == (code, False), ran.stderr
    assert said in ran.stdout + ran.stderr
    assert not (tmp_path / "~").exists()


AS_NOBODY = """
import os, sys
from keryx_py.cli.app import main
from tests.cases.as_user import load_everything
load_everything()
os.environ.pop("HOME")
os.setgid(54321)
os.setuid(54321)
sys.argv = ["keryx", "run", "--approve", "write", sys.argv[1]]
main()
"""


def _open_to_all(folder: Path) -> Path:
    """Let whoever the child is write into *folder* of pytest's."""
    for above in (folder, *folder.parents[:2]):
        above.chmod(0o777)
    return folder


def test_a_piped_difference_and_an_export_are_patches_that_git_applies(
    project: Path, tmp_path: Path
) -> None:
    sat_at('create b.txt with "two"', "/checkpoint good")
    (project / "a.txt").write_bytes(b"one\r\n\0\xff")
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "a.txt").write_text("one\n")

    for words in (["diff", "@good"], ["export", "1", "--patch"]):
        made = subprocess.run(
            [sys.executable, "-m", "keryx_py", "rewind", *words], capture_output=True, check=True
        )
        subprocess.run(["git", "apply", "-"], cwd=copy, input=made.stdout, check=True)

    assert (copy / "a.txt").read_bytes() == b"one\r\n\0\xff"
    assert (copy / "b.txt").read_text() == "two\n"
    assert keryx("rewind", "preview", "@good").exit_code == 0
    refused = keryx("rewind", "export", "1")
    assert refused.exit_code == 2
    assert "--patch" in refused.output
