"""Removals that one program is handed to run for another: in an option, a script, or other code."""

from __future__ import annotations

import time

import pytest

from keryx_py.tools.base import Risk
from keryx_py.tools.shell_parse import MOST_CHARACTERS
from keryx_py.tools.shell_risk import judge_command, reasons

IN_AN_OPTION = r"""
git difftool -x 'rm -rf x'
git difftool --extcmd='rm -rf x'
git grep -O'rm -rf x' word
git clone ext::'rm -rf x'
git archive --remote=ext::"rm -rf x" HEAD
git --exec-path=. x
git --config-env=alias.x=V x
tar --checkpoint=1 --checkpoint-action=exec='rm -rf x' -cf /dev/null .
tar xf a.tar --to-command='rm -rf x'
tar -I 'rm -rf x' -xf a.tar
rsync -e 'rm -rf x' a b:
rsync --rsh='rm -rf x' a b:
ssh -o ProxyCommand='rm -rf x' host
ssh -oProxyCommand='rm -rf x' host
scp -o 'ProxyCommand rm -rf x' a host:
man -P 'rm -rf x' ls
split --filter='rm -rf x' f
sort --compress-program='rm -rf x' f
mapfile -C 'rm -rf x' -c 1 < f
complete -C 'rm -rf x' ls
less '+!rm -rf x' f
vim -c ':!rm -rf x' -c q
ex -sc '!rm -rf x' f
find . -fprint /dev/sda
crontab -r
at now <<< 'rm -rf x'
echo 'rm -rf x' | at now
"""

IN_OTHER_CODE = r"""
python3 -c 'import shutil; shutil.rmtree("x")'
python3 -c "import os; os.system('rm -rf x')"
python3 -c "import subprocess; subprocess.run(['rm', '-rf', 'x'])"
python3 -c "import subprocess; subprocess.run(['git', 'reset', '--hard'])"
perl -e 'system("rm -rf x")'
perl -e 'unlink glob "*"'
perl -e '`rm -rf x`'
perl -MFile::Path -e 'rmtree "x"'
node -e 'require("fs").rmSync("x", {recursive: true})'
node -e 'require("child_process").execSync("rm -rf x")'
ruby -e 'FileUtils.rm_rf "x"'
php -r 'system("rm -rf x");'
lua -e 'os.execute("rm -rf x")'
awk 'BEGIN{system("rm -rf x")}'
sed -n '1e rm -rf x' f
sed 's/x/rm -rf x/e' f
ed <<< '!rm -rf x'
tclsh <<< 'exec rm -rf x'
expect -c 'spawn rm -rf x'
gdb -ex '!rm -rf x'
sqlite3 x '.shell rm -rf x'
psql -c '\! rm -rf x'
mysql -e 'system rm -rf x'
"""

WRITTEN_THEN_RUN = [
    "echo 'rm -rf x' > a.sh && sh a.sh",
    "echo 'rm -rf x' >> ./a.sh; . a.sh",
    "printf 'rm -rf x' > a; chmod +x a; ./a",
    "cat > a.sh <<'E'\nset -e\nrm -rf x\nE\nbash -x a.sh",
    "cat <<E > d/a.sh\n$c\nE\nsh d/a.sh",
    "cat > a.py <<'E'\nimport shutil\nshutil.rmtree('x')\nE\npython3 a.py",
    "cat > a <<'E'\n#!/usr/bin/env python3\nimport shutil; shutil.rmtree('x')\nE\nchmod +x a; ./a",
    "A=1 echo 'rm -rf x' > a; A=1 sh a",
    "! echo 'rm -rf x' > a; sh a",
    "false || echo 'rm -rf x' > a; sh a",
    "echo y | true && echo 'rm -rf x' > a; sh a",
    "bash <<< 'echo \"rm -rf x\" > a; sh a'",
]

PLAIN = [
    "echo 'rm -rf x' > notes.txt; sh a.sh",
    "cat > a.sh <<'E'\nls -la\nE\nsh a.sh",
    "cat > a.py <<'E'\nprint('rm -rf')\nE\npython3 a.py",
    "cat > a <<'E'\n#!/usr/bin/env python3\nprint(1)\nE\nchmod +x a; ./a",
    "rsync -avz -e ssh a b:",
    "rsync -avz -e 'ssh -p 22' a b:",
    "tar -I zstd -xf a.tar",
    "tar -cf a.tar --use-compress-program=pigz b",
    "ssh -o StrictHostKeyChecking=no host uptime",
    "scp -P 22 a host:b",
    "git clone https://example.org/a.git",
    "git grep -n word",
    "man ls",
    "sort -u f",
    "split -b 1M f",
    "perl -ne 'print if /x/' f",
    "perl -pe 's/system/rm/' f",
    "awk '{print $2}' f",
    "sed -e 's/a/b/' -e 's/rm -r/x/g' f",
    "python3 -c 'import os; print(os.system)'",
    "vim -c 'set nu' f",
    "less +F log",
    "crontab -l",
    "at -l",
    "find . -fprint list.txt",
]


def lines(table: str) -> list[str]:
    return [line for line in table.splitlines() if line]


@pytest.mark.parametrize("command", lines(IN_AN_OPTION) + lines(IN_OTHER_CODE) + WRITTEN_THEN_RUN)
def test_what_is_handed_over_to_be_run_is_judged(command: str) -> None:
    assert judge_command(command) is Risk.DESTRUCTIVE


@pytest.mark.parametrize("command", PLAIN)
def test_what_is_handed_over_and_harmless_is_no_alarm(command: str) -> None:
    assert reasons(command) == ""


@pytest.mark.parametrize(
    "piece", ["echo x>a;./a;", "echo ls>a\n", "perl -e 'rm rm \" ' ", "python -c '`rm `rm - '\n"]
)
def test_no_hand_over_makes_judging_hang(piece: str) -> None:
    command = piece * (MOST_CHARACTERS // len(piece))
    before = time.monotonic()

    reasons(command)

    assert time.monotonic() - before < 8
