"""Command lines that hide `rm -rf`: a real shell is the judge of what they would have run.

Random disguises are laid over one another and run in a scratch folder whose `rm` only writes down
how it was called. Whatever reaches it with -r or -f must have been judged destructive.
"""

from __future__ import annotations

import base64
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from keryx_py.tools.base import Risk
from keryx_py.tools.shell_risk import judge_command

Disguise = Callable[[str, random.Random], str]
SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]
RECORDER = """#!/bin/sh
for word; do case $word in -*[rRf]*) echo "$*" >> "$RECORD"; esac; done
"""


def single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def escaped(text: str) -> str:
    for letter in "\\$`":
        text = text.replace(letter, "\\" + letter)
    return text


def double(text: str) -> str:
    return '"' + escaped(text).replace('"', '\\"') + '"'


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def octal(text: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in text.encode())


def hexed(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


WORDS: list[Disguise] = [
    lambda word, chance: single(word),
    lambda word, chance: double(word),
    lambda word, chance: "\\" + word,
    lambda word, chance: "".join(letter + chance.choice(["", "''", '""']) for letter in word),
    lambda word, chance: "".join(chance.choice([letter, "\\" + letter]) for letter in word),
    lambda word, chance: f"$(echo {word})",
    lambda word, chance: f"`echo {word}`",
    lambda word, chance: f"$(printf '{octal(word)}')",
    lambda word, chance: f"${{nope:-{word}}}",
    lambda word, chance: f"$(echo {word[::-1]} | rev)",
    lambda word, chance: f"$(echo {encoded(word)} | base64 -d)",
    lambda word, chance: word[:1] + "$nope" + word[1:],
    lambda word, chance: word[:1] + "${nope}" + word[1:],
    lambda word, chance: word[:1] + "\\\n" + word[1:],
]
BASH_WORDS: list[Disguise] = [
    lambda word, chance: f"$'{hexed(word)}'",
    lambda word, chance: f"$'{octal(word)}'",
    lambda word, chance: f'$"{word}"',
]
LINES: list[Disguise] = [
    lambda line, chance: f"true; {line}",
    lambda line, chance: f"true && {line}",
    lambda line, chance: f"false || {line}",
    lambda line, chance: f"echo x | {line}",
    lambda line, chance: f"! {line}",
    lambda line, chance: f"({line})",
    lambda line, chance: f"{{ {line}; }}",
    lambda line, chance: f"A=1 B=2 {line}" if line[:1].isalpha() else f"A=1; {line}",
    lambda line, chance: f"> log; {line}",
    lambda line, chance: f"if true; then {line}\nfi",
    lambda line, chance: f"while true; do {line}\nbreak; done",
    lambda line, chance: f"for i in 1; do {line}\ndone",
    lambda line, chance: f"case x in x) {line}\n;; esac",
    lambda line, chance: f"f() {{ {line}\n}}; f",
    lambda line, chance: f"x=$({line})",
    lambda line, chance: f'echo "$({line})"',
    lambda line, chance: f"sh -c {single(line)}",
    lambda line, chance: f"sh -c {double(line)}",
    lambda line, chance: f"sh -ec {single(line)} name",
    lambda line, chance: f"eval {single(line)}",
    lambda line, chance: f"eval {double(line)}",
    lambda line, chance: f'x={single(line)}; eval "$x"',
    lambda line, chance: f'x={single(line)}; sh -c "$x"',
    lambda line, chance: f"trap {single(line)} EXIT",
    lambda line, chance: f"echo {single(line)} | sh",
    lambda line, chance: f"printf '%s\\n' {single(line)} | sh -s",
    lambda line, chance: f"echo {encoded(line)} | base64 -d | sh",
    lambda line, chance: f'eval "$(echo {encoded(line)} | base64 -d)"',
    lambda line, chance: f"sh <<'EOF'\n{line}\nEOF",
    lambda line, chance: f"sh <<EOF\n{escaped(line)}\nEOF",
    lambda line, chance: f"cat <<'EOF' | sh\n{line}\nEOF",
    lambda line, chance: f"echo {single(line)} > s.sh; sh s.sh",
    lambda line, chance: f"cat > s.sh <<'EOF'\n{line}\nEOF\n. ./s.sh",
    lambda line, chance: f"cat <<'EOF' > s.sh\n{line}\nEOF\nchmod +x s.sh && ./s.sh",
    lambda line, chance: f"env sh -c {single(line)}",
    lambda line, chance: f"env -i PATH=$PATH RECORD=$RECORD sh -c {single(line)}",
    lambda line, chance: f"nice sh -c {single(line)}",
    lambda line, chance: f"nohup sh -c {single(line)} 2>&1",
    lambda line, chance: f"timeout 5 sh -c {single(line)}",
    lambda line, chance: f"echo x | xargs sh -c {single(line)}",
    lambda line, chance: f"find . -maxdepth 0 -exec sh -c {single(line)} \\;",
    lambda line, chance: f"alias zap={single(line)}\nzap",
    lambda line, chance: f"sh -c 'eval \"$1\"' name {single(line)}",
    lambda line, chance: f'set -- {single(line)}; eval "$1"',
]
BASH_LINES: list[Disguise] = [
    lambda line, chance: f"bash -c {single(line)}",
    lambda line, chance: f"bash <<< {single(line)}",
    lambda line, chance: f"source <(echo {single(line)})",
    lambda line, chance: f"bash <(echo {encoded(line)} | base64 -d)",
    lambda line, chance: f"bash -c \"$(printf '{octal(line)}')\"",
    lambda line, chance: f"bash -O expand_aliases -c {single(line)}",
]
SIMPLE = (("rm", "-rf", "victim"), ("rm", "-r", "victim"), ("rm", "-f", "victim"))


def hide(chance: random.Random, *, in_bash: bool) -> str:
    """Make one command line that removes by force, in disguise."""
    words = list(chance.choice(SIMPLE))
    disguises = WORDS + (BASH_WORDS if in_bash else [])
    for at in range(len(words)):
        if chance.random() < 0.4:
            words[at] = chance.choice(disguises)(words[at], chance)
    line = " ".join(words)
    wraps = LINES + (BASH_LINES if in_bash else [])
    for _ in range(chance.randrange(4)):
        line = chance.choice(wraps)(line, chance)
    return line


def removes(shell: str, line: str, place: Path) -> bool:
    """Run *line* where `rm` only writes down how it was called; say if it was by force."""
    record = place / "record"
    record.unlink(missing_ok=True)
    subprocess.run(
        [shell, "-c", line],
        cwd=place / "work",
        env={"PATH": f"{place / 'bin'}:/usr/bin:/bin", "RECORD": str(record), "HOME": str(place)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=20,
    )
    return record.exists()


def hunt(place: Path, seeds: range) -> tuple[int, list[tuple[str, str]]]:
    """Try a disguise a seed; return how many really removed, and which of them were not seen."""
    (place / "bin").mkdir()
    (place / "work").mkdir()
    (place / "bin" / "rm").write_text(RECORDER)
    (place / "bin" / "rm").chmod(0o755)
    caught, missed = 0, []
    for seed in seeds:
        chance = random.Random(seed)
        shell = chance.choice(SHELLS)
        line = hide(chance, in_bash=shell == "bash")
        if not removes(shell, line, place):
            continue
        caught += 1
        if judge_command(line) is not Risk.DESTRUCTIVE:
            missed.append((shell, line))
    return caught, missed


def test_no_disguise_hides_a_removal_from_the_judge(tmp_path: Path) -> None:
    caught, missed = hunt(tmp_path, range(150))

    assert caught > 70
    assert not missed


@pytest.mark.parametrize(
    "line",
    [
        'echo "$(! case x in x) rm -f victim\n;; esac)"',
        'x="$(! case x in x) rm -f victim;; esac)"',
        "y=`! case x in x) rm -f victim;; esac`",
    ],
)
def test_what_random_disguises_once_hid_is_seen(line: str) -> None:
    assert judge_command(line) is Risk.DESTRUCTIVE


@pytest.mark.soak
def test_no_random_disguise_hides_a_removal_from_the_judge(tmp_path: Path) -> None:
    caught, missed = hunt(tmp_path, range(1000, 9000))

    print(f"{caught} removals in disguise")  # noqa: T201
    assert caught > 3000
    assert not missed
