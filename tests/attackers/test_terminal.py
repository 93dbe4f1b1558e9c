"""Nothing that others say drives the terminal: every stream into one real shell, byte by byte."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from keryx_py.messages import JsonValue
from tests.cases.children import keryx_at
from tests.servers import Answer, Received, StrictChatServer, refusal

EVIL = (
    "\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b[13;37H\x1b[6n\x9b2J\x1bP$q\x1b\\"
    "\x1b]8;;owned:x\x07\x9d0;owned\x9c\x1b_owned\x1b\\"
    "\x08\x0c\x0e\r\u202e\u2066\u061c\xad\u200b\x7f"
)
"""A title, the clipboard, the cursor, a question, a clear screen, a link, and what hides text."""
MARK = "(evil)"
OWN = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>78]|\x1b\][0-9]*;\x1b\\|\r")
"""What keryx and its line editor write of their own accord on a terminal."""
FORBIDDEN = (
    *(b"\x1b]0;owned", b"\x1b]52", b"\x1b[13;37H", b"\x1bP", b"\x07", b"\x08", b"\x0c", b"\x0e"),
    *(b"\x7f", b"\xc2\x9b", b"\x9b2J", b"\x1b]8;", b"\xc2\x9d", b"\x1b_", b"\xc2\xad"),
    *(letter.encode() for letter in "\u202e\u200b\u2066\u061c"),
)
NAME = f"n{EVIL}{MARK}".replace("/", "")
PROMPTS = (
    "go",
    f"a title {EVIL}{MARK}",
    "/rewind",
    "/diff 1",
    "/diff all",
    f"/checkpoint {MARK}{EVIL}",
    "/rewind 1 both diff",
    f"/rewind @{EVIL}",
    f"/rewind 1 files {EVIL}",
    f"/{EVIL}",
    f"/model {EVIL}",
    f"/resume {EVIL}",
    "/sessions",
    "/status",
    "/compact",
    "/rewind 1 files",
    "/rewind confirm",
    "/redo",
)


def steps(root: Path) -> list[str | list[tuple[str, dict[str, JsonValue]]]]:
    """What the model says and calls: each of its streams carries what would drive a terminal."""
    (root / NAME).write_text(f"before {EVIL}{MARK}\n")
    (root / f"d{EVIL}").mkdir()
    (root / f"l{MARK}").symlink_to(f"to {EVIL}")
    print_it = f"printf '%s' '{EVIL}{MARK}'; printf '%s' '{EVIL}' >&2; exit 3"
    return [
        [
            ("write_file", {"path": NAME, "content": f"after {EVIL}{MARK}\n"}),
            ("shell_exec", {"command": print_it}),
            ("shell_exec", {"command": f"true '{EVIL}'"}),
            ("read_file", {"path": NAME}),
            ("read_file", {"path": f"missing {EVIL}"}),
            ("list_dir", {"path": "."}),
            ("find_files", {"pattern": f"*{EVIL}*"}),
            ("search_text", {"pattern": f"[{EVIL}"}),
            ("move_file", {"source": NAME, "target": f"m{EVIL}"}),
            ("delete_file", {"path": f"m{EVIL}"}),
            (f"tool {EVIL}", {EVIL: EVIL}),
        ],
        f"The model says {EVIL}{MARK}\n",
        f"And again {EVIL}\n",
    ]


class HostileServer(StrictChatServer):
    """Says what it is told, then refuses with words that would drive a terminal."""

    def answer(self, received: Received) -> Answer:
        """Refuse the prompts that are no part of the play."""
        return super().answer(received) if self._replies else refusal(400, f"no {EVIL}{MARK}")


@pytest.fixture
def hostile(root: Path) -> Iterator[HostileServer]:
    with HostileServer(*steps(root)) as server:
        yield server


def approved(server: StrictChatServer) -> list[str]:
    words = ["--model", f"openai/m{MARK}", "--base-url", server.base_url]
    for risk in ("write", "shell", "destructive"):
        words += ["--approve", risk]
    return words


def test_piped_lines_hold_no_control_character(
    root: Path, tmp_path: Path, hostile: HostileServer
) -> None:
    """Not one but the newline and the tab, on standard output and standard error."""
    command, environment = keryx_at(root, tmp_path / "data", *approved(hostile))

    ran = subprocess.run(
        command,
        env=environment,
        input="\n".join(PROMPTS).replace("\r", "").encode() + b"\n",
        capture_output=True,
        check=False,
        timeout=100,
    )
    listed = [
        subprocess.run(
            [*command[:3], *words], env=environment, capture_output=True, check=False, cwd=root
        )
        for words in (
            ("sessions", "list"),
            ("sessions", "show", EVIL),
            ("rewind", "list"),
            ("rewind", "preview", EVIL),
            ("rewind", "preview", "1", "--json"),
            ("--model", EVIL),
        )
    ]

    printed = ran.stdout + ran.stderr + b"".join(one.stdout + one.stderr for one in listed)
    assert ran.returncode == 0
    assert printed.count(MARK.encode()) > 10
    assert "bug" not in printed.decode()
    assert not controls_in(printed)
    json.loads(listed[4].stdout)


def controls_in(printed: bytes) -> set[str]:
    text = printed.decode("utf-8")
    return {
        letter
        for letter in text
        if (ord(letter) < 32 and letter not in "\n\t") or 0x7F <= ord(letter) < 0xA0
    } | (set(text) & set("\u202e\u200b\u2066\u061c\xad"))


def test_a_terminal_gets_only_keryx_s_own_escapes(
    root: Path, tmp_path: Path, hostile: HostileServer
) -> None:
    """Raw from the terminal's other end: no title, no clipboard, no question, no cursor moved."""
    command, environment = keryx_at(root, tmp_path / "data", *approved(hostile))
    child = pexpect.spawn(
        command[0],
        command[1:],
        env={**environment, "TERM": "xterm-256color", "PAGER": "cat"},
        dimensions=(40, 100),
        timeout=20,
    )
    child.delaybeforesend = None
    seen = bytearray()

    def read_on(until: bytes, seconds: float = 20) -> None:
        end, start = time.monotonic() + seconds, len(seen)
        while until not in seen[start:] and time.monotonic() < end:
            try:
                seen.extend(child.read_nonblocking(65536, timeout=0.1))
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                return
        assert until in seen[start:], bytes(seen[start:])

    read_on(b"snapshots")
    for line, until in (
        ("go", b"The model says"),
        ("/rewind", b"go"),
        ("/diff 1", b"before"),
        ("/rewind 1", b"applies it"),
        ("/rewind confirm", b"takes this back"),
        ("again", b"And again"),
        ("refused", b"failed"),
        ("/sessions", b"open here"),
    ):
        child.send(b"\x15" + line.encode() + b"\r")
        read_on(until)
    child.send(b"\x15/exit\r")
    read_on(b"", 3)
    child.close(force=True)

    raw = bytes(seen)
    assert raw.count(MARK.encode()) > 4
    assert not [one for one in FORBIDDEN if one in raw]
    assert b"\x1b" not in OWN.sub(b"", raw)
