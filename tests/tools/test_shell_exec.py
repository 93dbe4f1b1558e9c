"""Running commands: bounded in time, output and leftovers, with keryx's own keys kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from keryx_py.tools.base import Args, Outcome, Risk, ShownAs, ToolError
from keryx_py.tools.paths import ProjectRoot
from keryx_py.tools.shell import KEPT_AT_END, KEPT_AT_START, Capped, ShellExec

PATHS = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def quiet(text: str) -> None:
    """Let the output of a running command go."""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[ShellExec]:
    shell = ShellExec(ProjectRoot(tmp_path), PATHS)
    yield shell
    shell.end_background()


def run(
    shell: ShellExec,
    command: str,
    timeout_s: int | None = None,
    progress: Callable[[str], None] = quiet,
) -> Outcome:
    args: Args = {"command": command} | ({} if timeout_s is None else {"timeout_s": timeout_s})
    return shell.run(args, progress)


def wait_for(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 3
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def is_gone(pid: int) -> bool:
    """Whether a process is over; one that is dead but not reaped is."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_output_of_both_streams_and_the_exit_code_are_told(shell: ShellExec) -> None:
    outcome = run(shell, "echo out; echo err >&2; exit 3")

    assert outcome.output == "out\nerr\n[exit 3]"
    assert outcome.summary == "exit 3"
    assert not outcome.ok
    assert outcome.shown is not None
    assert outcome.shown.kind is ShownAs.OUTPUT
    assert outcome.shown.text == "out\nerr\n"


def test_a_quiet_command_says_so(shell: ShellExec) -> None:
    outcome = run(shell, "true")

    assert outcome.output == "[exit 0, no output]"
    assert outcome.ok
    assert outcome.shown is None


def test_it_runs_in_the_root_with_input_closed_and_only_its_own_environment(
    shell: ShellExec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")

    output = run(shell, "pwd; cat; env | cut -d= -f1 | sort | tr '\\n' ' '").output

    assert output.startswith(f"{tmp_path.resolve()}\n")
    assert "OPENAI_API_KEY" not in output
    assert "PATH" in output


def test_output_streams_while_it_runs(shell: ShellExec) -> None:
    pieces: list[tuple[float, str]] = []

    run(
        shell,
        "echo one; sleep 0.4; echo two",
        progress=lambda text: pieces.append((time.monotonic(), text)),
    )

    assert [text for _, text in pieces] == ["one\n", "two\n"]
    assert pieces[1][0] - pieces[0][0] > 0.2


def test_characters_cut_between_two_reads_are_whole(shell: ShellExec) -> None:
    outcome = run(shell, r"printf '\303'; sleep 0.2; printf '\251\n\377'")

    assert outcome.shown is not None
    assert outcome.shown.text == "é\n�"


def test_the_head_and_the_tail_of_long_output_are_kept(shell: ShellExec) -> None:
    outcome = run(shell, "echo first; yes x | head -c 50000000; echo last")

    assert outcome.output.startswith("first\nx\n")
    assert outcome.output.endswith("x\nlast\n[exit 0]")
    assert "characters left out …]" in outcome.output
    assert len(outcome.output) < KEPT_AT_START + KEPT_AT_END + 200


@pytest.mark.parametrize("size", [0, 1, 5, 9, 10, 11, 25, 1_000])
@pytest.mark.parametrize("piece", [1, 3, 7, 2_000])
def test_capped_text_keeps_head_and_tail_exactly(size: int, piece: int) -> None:
    text = "".join(chr(65 + n % 26) for n in range(size))
    capped = Capped(head=4, tail=6)

    for start in range(0, size, piece):
        capped.add(text[start : start + piece])

    whole = (
        text
        if size <= 10
        else (f"{text[:4]}\n[… {size - 10:,} characters left out …]\n{text[-6:]}")
    )
    assert capped.text() == whole


def test_the_timeout_ends_the_whole_group(shell: ShellExec, tmp_path: Path) -> None:
    before = time.monotonic()

    outcome = run(
        shell, "sleep 60 & echo $! > pid; (sleep 60; touch late) & echo said; wait", timeout_s=1
    )

    assert 0.9 < time.monotonic() - before < 5
    assert outcome.output == "said\n[timed out after 1 s]"
    assert outcome.summary == "timed out after 1 s"
    assert not outcome.ok
    assert wait_for(lambda: is_gone(int((tmp_path / "pid").read_text())))
    assert shell.background() == ()


def test_what_ignores_being_asked_is_killed(shell: ShellExec, tmp_path: Path) -> None:
    run(shell, "trap '' TERM; echo $$ > pid; while :; do sleep 1; done", timeout_s=1)

    assert wait_for(lambda: is_gone(int((tmp_path / "pid").read_text())))


def test_what_is_asked_may_clean_up(shell: ShellExec, tmp_path: Path) -> None:
    outcome = run(shell, "trap 'echo cleaned; exit 0' TERM; sleep 60 & wait; sleep 60", timeout_s=1)

    assert "cleaned" in outcome.output


def test_ctrl_c_ends_the_whole_group_and_goes_on_up(shell: ShellExec, tmp_path: Path) -> None:
    def interrupt(text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(shell, "sleep 60 & echo $! > pid; echo $$ > leader; echo now; wait", progress=interrupt)

    pids = [int((tmp_path / name).read_text()) for name in ("pid", "leader")]
    assert wait_for(lambda: all(map(is_gone, pids)))
    assert shell.background() == ()


def test_ctrl_c_just_when_the_command_started_ends_it_too(shell: ShellExec, tmp_path: Path) -> None:
    def press(frame: FrameType, event: str, value: object) -> None:
        if event == "return" and frame.f_code.co_name == "start_group":
            signal.raise_signal(signal.SIGINT)

    sys.setprofile(press)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(shell, "sleep 0.3; echo late > late")
    finally:
        sys.setprofile(None)
    time.sleep(0.5)

    assert not (tmp_path / "late").exists()


def test_a_real_ctrl_c_ends_the_command(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from keryx_py.tools.paths import ProjectRoot
from keryx_py.tools.shell import ShellExec
shell = ShellExec(ProjectRoot(Path(sys.argv[1])), {"PATH": "/usr/bin:/bin"})
try:
    shell.run({"command": "echo $$ > pid; sleep 60"}, print)
except KeyboardInterrupt:
    print("interrupted")
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        pid = tmp_path / "pid"
        assert wait_for(lambda: pid.exists() and pid.read_text().strip() != "")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=5)

    assert output == "interrupted\n"
    assert wait_for(lambda: is_gone(int(pid.read_text())))


def test_a_background_process_does_not_hold_the_call_and_is_remembered(
    shell: ShellExec, tmp_path: Path
) -> None:
    before = time.monotonic()

    outcome = run(shell, "(while :; do echo tick; sleep 0.05; done) & echo $! > pid; echo started")

    assert time.monotonic() - before < 2
    assert "started" in outcome.output
    assert outcome.output.endswith("[a process that it started still runs in the background]")
    assert outcome.ok
    (left,) = shell.background()
    assert left.command.startswith("(while")
    time.sleep(0.3)
    # What it prints later is still read, so that it neither dies nor stands still.
    assert not is_gone(int((tmp_path / "pid").read_text()))
    shell.end_background()
    assert shell.background() == ()
    assert wait_for(lambda: is_gone(int((tmp_path / "pid").read_text())))


def test_a_background_process_that_ends_is_forgotten(shell: ShellExec) -> None:
    run(shell, "sleep 0.3 & echo started")

    assert len(shell.background()) == 1
    assert wait_for(lambda: shell.background() == ())


def test_a_command_that_closes_its_output_is_waited_for(shell: ShellExec) -> None:
    outcome = run(shell, "echo before; exec >&- 2>&-; sleep 0.3; exit 4")

    assert outcome.output == "before\n[exit 4]"


def test_a_command_that_closes_its_output_still_times_out(shell: ShellExec) -> None:
    outcome = run(shell, "exec >&- 2>&-; sleep 60", timeout_s=1)

    assert outcome.summary == "timed out after 1 s"


def test_the_signal_that_ended_it_is_named(shell: ShellExec) -> None:
    assert run(shell, "kill -9 $$").summary == "ended by signal 9"


@pytest.mark.parametrize(
    ("command", "says"),
    [("", "empty"), (" \n", "empty"), ("ls\0", "NUL"), ("ls " + "x" * 200_000, "too long")],
)
def test_a_command_that_cannot_run_is_refused_before_anybody_is_asked(
    shell: ShellExec, command: str, says: str
) -> None:
    with pytest.raises(ToolError, match=says):
        shell.preview({"command": command})
    with pytest.raises(ToolError, match=says):
        run(shell, command)
    assert shell.risk({"command": command or "\0"}) in (Risk.SHELL, Risk.DESTRUCTIVE)


def test_a_root_that_is_gone_gives_a_sentence(tmp_path: Path) -> None:
    root = tmp_path / "gone"
    root.mkdir()
    shell = ShellExec(ProjectRoot(root), PATHS)
    root.rmdir()

    with pytest.raises(ToolError, match="could not be started: no such file"):
        run(shell, "ls")


def test_the_whole_command_is_shown_and_its_first_line_is_the_title(shell: ShellExec) -> None:
    args: Args = {"command": "cat caf\udce9\nrm -rf x\n"}

    shown = shell.preview(args)

    assert shown is not None
    assert shown.kind is ShownAs.COMMAND
    assert shown.text == "cat caf\\xe9\nrm -rf x\n"
    assert shell.title(args) == "cat caf\\xe9 …"
    assert shell.targets(args) == ()


def test_a_name_that_is_not_utf8_can_be_used_in_a_command(shell: ShellExec, tmp_path: Path) -> None:
    run(shell, "touch caf\udce9")

    assert os.listdir(os.fsencode(tmp_path)) == [b"caf\xe9"]


def test_the_risk_is_judged_by_the_text(shell: ShellExec) -> None:
    assert shell.risk({"command": "ls"}) is Risk.SHELL
    assert shell.risk({"command": "rm -rf x"}) is Risk.DESTRUCTIVE


def test_many_calls_leave_nothing_open(shell: ShellExec) -> None:
    def open_now() -> int:
        return len(os.listdir("/dev/fd"))

    run(shell, "true")
    before = open_now()

    for _ in range(20):
        run(shell, "echo x")

    assert open_now() == before


@pytest.mark.parametrize(
    ("command", "outside"),
    [
        ("echo x > {out}/f", True),
        ("touch {out}/f", True),
        ("cp a {out}", True),
        ("(cd sub; ls >> {out}/log)", True),
        ("echo x > {root}/f", False),
        ("echo x > f 2> /dev/null", False),
        ("cat {out}/f", False),
        ("cp {out}/f a", False),
        ("echo '> {out}/f'", False),
        ("echo x > $DIR/f", False),
    ],
)
def test_a_write_outside_the_root_is_told_where_it_is_plain(
    shell: ShellExec,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    command: str,
    outside: bool,
) -> None:
    out = tmp_path_factory.mktemp("outside")

    outcome = run(shell, command.format(out=out, root=tmp_path))

    assert outcome.outside is outside
