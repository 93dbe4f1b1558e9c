"""What a session keeps is its owner's alone, holds no key, and can be erased for good."""

from __future__ import annotations

import io
import os
import shutil
import stat
import subprocess
import zlib
from pathlib import Path

from keryx_py.settings import KEYS, Flags, load_settings
from keryx_py.shell.screen import Streams
from keryx_py.shell.sessions_cli import SessionsCli, Which
from tests.cases.children import keryx_at
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, shell, write
from tests.cases.watching import shadow_git

TOKEN = "tok-3f9a-not-to-be-kept"


def everything(folder: Path, sitting: Sitting | None = None) -> bytes:
    """All bytes below *folder*, and with *sitting* every object of its shadow repository."""
    found = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    if sitting is not None and (sitting.project.session.folder / "shadow.git").exists():
        rows = shadow_git(sitting, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
        for oid in rows.decode().split():
            kind = shadow_git(sitting, "cat-file", "-t", oid).decode().strip()
            found.append(shadow_git(sitting, "cat-file", kind, oid))
    return b"".join(found)


def commands(sitting: Sitting, data: Path) -> tuple[SessionsCli, io.StringIO]:
    out = io.StringIO()
    return SessionsCli(sitting.sessions, data, Streams(io.StringIO(), out, out, color=False)), out


# ---- who can read it


def test_everything_that_is_kept_is_its_owner_s_alone(root: Path, tmp_path: Path, sit: Sit) -> None:
    """SEC-01: folders 0700, files 0600 or less, whatever the umask and the file's own mode."""
    (root / ".secrets").mkdir(mode=0o755)
    (root / ".secrets" / "t.json").write_text(TOKEN)
    (root / ".secrets" / "t.json").chmod(0o644)
    before = os.umask(0o000)
    try:
        sitting = sit(settings={"keep": 2})
        sitting.play(*(shell(f"echo {n} > f") for n in range(4)), "/checkpoint c", "/rewind 3")
        sitting.rewind(3, "both")
        sitting.play("/compact", "/fork", write("g", "1"))
    finally:
        os.umask(before)

    kept = [tmp_path / "data", *(tmp_path / "data").rglob("*")]
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in kept}
    folders = {path for path in kept if path.is_dir()}
    assert len(kept) > 30
    assert {modes[path] for path in folders} == {0o700}
    assert {modes[path] & 0o177 for path in modes.keys() - folders} == {0}


def test_nothing_but_the_store_holds_what_a_file_holds(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """SEC-01: no log, no export, no index of names has the content of a secret."""
    (root / ".secrets").mkdir()
    (root / ".secrets" / "t.json").write_text(TOKEN)
    sitting = sit()
    sitting.play(shell("echo x > f"), "/rewind", "/rewind 1 diff", "/rewind confirm")

    assert TOKEN.encode() not in everything(tmp_path / "data")
    assert TOKEN.encode() in everything(tmp_path / "data", sitting)
    config = (sitting.project.session.folder / "shadow.git" / "config").read_text()
    assert "remote" not in config


def test_deleting_a_session_purges_what_it_kept(root: Path, tmp_path: Path, sit: Sit) -> None:
    """SEC-01: the command to be rid of a stored secret; the project's own file stays."""
    (root / "t.json").write_text(TOKEN)
    sitting = sit()
    sitting.play(shell("echo x > f"))
    session = sitting.project.session.id
    cli, out = commands(sitting, tmp_path / "data")

    held = cli.delete(Which((session,)), yes=True, now=sitting.now())
    sitting.close()
    done = cli.delete(Which((session,)), yes=True, now=sitting.now())

    assert (held, done) == (1, 0)
    assert "in use by process" in out.getvalue()
    assert not any((tmp_path / "data" / "sessions").iterdir())
    assert (root / "t.json").read_text() == TOKEN


# ---- keys


def test_keys_reach_neither_the_disk_nor_a_tool(root: Path, tmp_path: Path) -> None:
    """SEC-01: not the archive, not the shadow repository, not the environment of a command."""
    script = tmp_path / "script.toml"
    script.write_text(
        '[[turn]]\nprompt = "go"\n[[turn.reply]]\n[[turn.reply.call]]\ntool = "shell_exec"\n'
        'args = { command = "env > seen" }\n[[turn.reply]]\ntext = "done"\n'
    )
    command, environment = keryx_at(
        root, tmp_path / "data", "--model", f"script:{script}", "--approve", "shell"
    )

    ran = subprocess.run(
        command,
        env={**environment, **dict.fromkeys(KEYS, TOKEN), "OTHER": "kept"},
        input=b"go\n/status\n/rewind\n",
        capture_output=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert "OTHER=kept" in (root / "seen").read_text()
    assert TOKEN not in (root / "seen").read_text()
    assert TOKEN.encode() not in everything(tmp_path / "data") + ran.stdout + ran.stderr


def test_a_key_is_not_shown_with_the_settings(tmp_path: Path) -> None:
    """SEC-01: nor by whatever prints them in an error."""
    settings = load_settings(
        {**dict.fromkeys(KEYS, TOKEN), "HOME": str(tmp_path)}, Flags(), tmp_path / "none.toml"
    )

    assert settings.openai_key == TOKEN
    assert TOKEN not in repr(settings)


# ---- erasing


def test_a_prompt_that_was_rewound_is_hidden_until_it_is_erased(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """SEC-03: a rewind takes it from the model; `sessions erase` takes it from the disk."""
    sitting = sit()
    sitting.play(write("f", "kept\n"), f"my token is {TOKEN}", write("f", "later\n"))
    sitting.rewind(2, "history")
    hidden = everything(tmp_path / "data", sitting)
    asked = str(sitting.project.window.items())
    sitting.close()
    cli, out = commands(sitting, tmp_path / "data")

    cli.erase(sitting.project.session.id)
    sitting.resume()

    assert TOKEN.encode() in hidden
    assert TOKEN not in asked
    assert "erased 2 rewound turns" in out.getvalue()
    assert TOKEN.encode() not in everything(tmp_path / "data", sitting)
    said = sitting.play("/rewind", write("f", "again\n"), "/rewind 1 both", "/rewind confirm")
    assert "bug" not in said
    assert "kept" not in said.split("/rewind")[-1]


def test_what_the_erased_turns_alone_had_saved_goes_too(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """SEC-03: their snapshots are dropped, and the objects behind them."""
    sitting = sit()
    sitting.play(write("f", "kept\n"))
    (root / "secret").write_text(TOKEN)
    sitting.play(shell("rm secret"))
    sitting.rewind(2, "history")
    hidden = everything(tmp_path / "data", sitting)
    sitting.close()
    cli, _ = commands(sitting, tmp_path / "data")

    cli.erase(sitting.project.session.id)
    sitting.resume()

    assert TOKEN.encode() in hidden
    left = everything(tmp_path / "data", sitting)
    assert TOKEN.encode() not in left
    for pack in (tmp_path / "data").rglob("*.pack"):
        assert zlib.compress(TOKEN.encode(), 1)[2:10] not in pack.read_bytes()
    sitting.rewind(1)
    assert not (root / "f").exists()


def many_files(root: Path) -> None:
    """Make so much content that one secret is far less than a fifth of it."""
    for number in range(60):
        (root / f"bulk{number}").write_bytes(os.urandom(500))


def test_no_byte_of_an_erased_secret_stays_however_small_it_is(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """SEC-03: also where so little garbage would otherwise be left lying about."""
    many_files(root)
    sitting = sit()
    sitting.play(write("f", "kept\n"), write("secret", TOKEN), write("g", "more\n"))
    sitting.rewind(2, "both")
    sitting.play(write("h", "later\n"))
    hidden = everything(tmp_path / "data", sitting)
    sitting.close()
    cli, _ = commands(sitting, tmp_path / "data")

    cli.erase(sitting.project.session.id)
    sitting.resume()

    assert TOKEN.encode() in hidden
    assert TOKEN.encode() not in everything(tmp_path / "data", sitting)
    assert b"dangling" not in shadow_git(sitting, "fsck", "--strict", "--full")
    said = sitting.play("/rewind", "/redo")
    assert "[undo point]" not in said
    sitting.rewind(1)
    assert not (root / "f").exists()


def test_a_session_whose_root_is_gone_can_be_erased(root: Path, tmp_path: Path, sit: Sit) -> None:
    """SEC-03: what is kept of a removed project is not kept for ever."""
    many_files(root)
    sitting = sit()
    sitting.play(write("f", "kept\n"), write("secret", TOKEN))
    sitting.rewind(2, "both")
    sitting.close()
    cli, out = commands(sitting, tmp_path / "data")
    shutil.rmtree(root)

    cli.erase(sitting.project.session.id)

    assert "erased 1 rewound turn" in out.getvalue()
    root.mkdir()  # for git alone, which looks from there
    assert TOKEN.encode() not in everything(tmp_path / "data", sitting)


def test_turns_that_still_count_are_never_erased(root: Path, tmp_path: Path, sit: Sit) -> None:
    """SEC-03: with nothing rewound there is nothing to erase, and nothing is."""
    sitting = sit()
    sitting.play(write("f", "1\n"), write("f", "2\n"))
    archive = sitting.project.session.folder / "archive.jsonl"
    before = archive.read_bytes()
    sitting.close()
    cli, out = commands(sitting, tmp_path / "data")

    cli.erase(sitting.project.session.id)
    sitting.resume()

    assert archive.read_bytes() == before
    assert "erased 0 rewound turns" in out.getvalue()
    sitting.rewind(2)
    assert (root / "f").read_text() == "1\n"
