"""Neither the environment nor anyone's git configuration reaches what keryx keeps and restores."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cases.children import keryx_at
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, edit, shell, write
from tests.cases.watching import git, look_at, make_repository

POISON = {
    "GIT_DIR": ".git",
    "GIT_WORK_TREE": "",
    "GIT_INDEX_FILE": ".git/index",
    "GIT_OBJECT_DIRECTORY": ".git/objects",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": ".git/objects",
    "GIT_CEILING_DIRECTORIES": "",
    "GIT_COMMON_DIR": ".git",
    "GIT_CONFIG": ".git/config",
    "GIT_CONFIG_GLOBAL": ".git/config",
}


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A repository that is none of keryx's business."""
    folder = tmp_path / "victim"
    folder.mkdir()
    (folder / "v").write_text("victim\n")
    make_repository(folder)
    return folder


def poison(victim: Path) -> dict[str, str]:
    """Every variable that moves git elsewhere, all set to lead to *victim*."""
    return {
        **{name: str(victim / path) for name, path in POISON.items()},
        "GIT_NAMESPACE": "victim",
        "GIT_AUTHOR_NAME": "Victim",
        "GIT_COMMITTER_DATE": "1999-01-01T00:00:00Z",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.autocrlf",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_CONFIG_PARAMETERS": "'core.filemode=false'",
        "GIT_TRACE": "1",
        "GIT_LITERAL_PATHSPECS": "1",
    }


def plain_git(sitting: Sitting, *words: str) -> bytes:
    """Run git on the shadow repository, deaf to whatever a test has set."""
    shadow = sitting.project.session.folder / "shadow.git"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    ran = subprocess.run(
        ["git", f"--git-dir={shadow}", *words],
        cwd=sitting.root,
        env={**environment, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_git_variables_move_nothing(
    root: Path, victim: Path, sit: Sit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ENV-01: the victim is byte-identical, and the project is saved and rewound as ever."""
    (root / "f").write_bytes(b"old\r\n")
    (root / "f").chmod(0o755)
    before, project = look_at(victim), look_at(root)
    for name, value in poison(victim).items():
        monkeypatch.setenv(name, value)
    sitting = sit()

    sitting.play((edit("f", "old", "new"), write("g", "x")), "/checkpoint here")
    sitting.rewind(1, "both")

    assert look_at(victim) == before
    assert look_at(root) == project
    assert plain_git(sitting, "fsck", "--strict", "--no-dangling") == b""
    assert b"Victim" not in plain_git(sitting, "log", "--all", "--format=%an %cn")


def test_git_variables_move_nothing_in_a_process_of_its_own(
    root: Path, tmp_path: Path, victim: Path
) -> None:
    """ENV-01: the same from the command line, start to end."""
    (root / "f").write_bytes(b"old\r\n")
    script = tmp_path / "script.toml"
    script.write_text(
        '[[turn]]\nprompt = "go"\n[[turn.reply]]\n[[turn.reply.call]]\ntool = "write_file"\n'
        'args = { path = "f", content = "new" }\n[[turn.reply]]\ntext = "done"\n'
    )
    before = look_at(victim)
    command, environment = keryx_at(
        root, tmp_path / "data", "--model", f"script:{script}", "--approve", "write"
    )

    ran = subprocess.run(
        command,
        env={**environment, **poison(victim)},
        input=b"go\n/rewind 1 both\n/rewind confirm\n",
        capture_output=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert b"history: 1 turn went" in ran.stdout
    assert (root / "f").read_bytes() == b"old\r\n"
    assert look_at(victim) == before


ODD = {
    "signing": "[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = /bin/false\n",
    "hooks": "[core]\n\thooksPath = {hooks}\n",
    "template": "[init]\n\ttemplateDir = {template}\n",
    "fsmonitor": "[core]\n\tfsmonitor = {hooks}/fail\n\tuntrackedCache = true\n",
    "file modes": "[core]\n\tfileMode = false\n",
    "links": "[core]\n\tsymlinks = false\n",
    "case": "[core]\n\tignoreCase = true\n",
    "unicode": "[core]\n\tprecomposeUnicode = true\n",
    "attributes": "[core]\n\tattributesFile = {attributes}\n",
    "line endings": "[core]\n\tautocrlf = true\n\teol = crlf\n\tsafecrlf = true\n",
    "ignoring": "[core]\n\texcludesFile = {ignores}\n",
    "missing include": "[include]\n\tpath = /nowhere/at/all\n",
    "syntax error": "[core\n\tautocrlf == [\n",
    "sha256": "[init]\n\tdefaultObjectFormat = sha256\n\tdefaultBranch = ../x\n",
    "ownership": "[safe]\n\tdirectory = /nowhere\n\tbareRepository = explicit\n",
    "big files": "[core]\n\tbigFileThreshold = 1\n\tcompression = 0\n[pack]\n\tsizeLimit = 1\n",
}


@pytest.mark.parametrize(
    ("kind", "where"),
    [*((kind, "home") for kind in ODD), ("line endings", "xdg"), ("syntax error", "xdg")],
)
def test_a_person_s_git_configuration_is_without_effect(
    root: Path,
    tmp_path: Path,
    sit: Sit,
    sealed: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    where: str,
) -> None:
    """ENV-03: each one alone, and the same tree is kept as without it."""
    _hostile(root)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in (
        "fail",
        "pre-commit",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\nexit 1\n")
        (hooks / name).chmod(0o755)
    (tmp_path / "template" / "hooks").mkdir(parents=True)
    (tmp_path / "template" / "hooks" / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "attributes").write_text("* text=auto eol=crlf ident\n")
    (tmp_path / "ignores").write_text("*\n")
    text = ODD[kind].format(
        hooks=hooks,
        template=tmp_path / "template",
        attributes=tmp_path / "attributes",
        ignores=tmp_path / "ignores",
    )
    if where == "home":
        (sealed / ".gitconfig").write_text(text)
    else:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(sealed / "xdg"))
        (sealed / "xdg" / "git").mkdir(parents=True)
        (sealed / "xdg" / "git" / "config").write_text(text)
    before = look_at(root)
    sitting = sit()

    sitting.play(shell("rm -rf * .h*; echo x > new"))
    tree = plain_git(sitting, "rev-parse", "refs/keryx/1/before^{tree}").decode().strip()
    sitting.rewind(1)

    assert look_at(root) == before
    assert tree == as_git_has_it(root, tmp_path)
    assert not (tmp_path / "hook-ran").exists()
    assert not (sitting.project.session.folder / "shadow.git" / "hooks").exists()
    assert plain_git(sitting, "fsck", "--strict", "--no-dangling") == b""


def as_git_has_it(root: Path, tmp_path: Path) -> str:
    """The tree of *root* that git makes when nobody has configured it."""
    deaf = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_DIR": str(tmp_path / "judge.git")}
    git(root, "init", "-q", "--bare", str(tmp_path / "judge.git"), GIT_CONFIG_GLOBAL="/dev/null")
    git(root, f"--work-tree={root}", "add", "-A", **deaf)
    return git(root, "write-tree", **deaf).decode().strip()


def _hostile(root: Path) -> None:
    """Make files in which every setting above would show."""
    (root / "crlf").write_bytes(b"a\r\nb\r\n")
    (root / "lf").write_bytes(b"a\nb\n")
    (root / "ident").write_bytes(b"$Id$\n")
    (root / "run.sh").write_bytes(b"#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("lf")
    (root / "Case").write_bytes(b"upper\n")
    (root / "case").write_bytes(b"lower\n")
    (root / "e\u0301").write_bytes(b"decomposed\n")
    (root / "\u00e9").write_bytes(b"composed\n")
    (root / ".hidden").write_bytes(b"hidden\n")


@pytest.mark.parametrize("kind", ["no identity", "odd address", "no home", "home is a file"])
def test_nobody_s_identity_is_needed_or_used(
    root: Path, tmp_path: Path, sit: Sit, sealed: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """ENV-05: snapshots bear keryx's own name and address."""
    monkeypatch.setenv("EMAIL", "not an <address>\n")
    match kind:
        case "odd address":
            (sealed / ".gitconfig").write_text("[user]\n\tname = \n\temail = <>\n")
        case "home is a file":
            (sealed / "file").write_text("")
            monkeypatch.setenv("HOME", str(sealed / "file"))
    sitting = sit()
    if kind == "no home":
        monkeypatch.delenv("HOME")

    sitting.play(write("a", "1"))
    sitting.rewind(1)

    assert not (root / "a").exists()
    names = plain_git(sitting, "log", "--all", "--format=%an|%ae|%cn|%ce").decode().splitlines()
    assert len(set(names)) == 1
    assert "keryx" in names[0]
    assert "address" not in names[0]


# ---- what stands where the shadow repository belongs


def _older_and_empty(shadow: Path) -> None:
    git(shadow.parent, "init", "-q", "--bare", str(shadow))
    tree = git(shadow, "hash-object", "-w", "-t", "tree", "/dev/null").decode().strip()
    commit = git(shadow, "commit-tree", tree, "-m", "empty").decode().strip()
    git(shadow, "update-ref", "refs/heads/main", commit)


def _only_made(shadow: Path) -> None:
    git(shadow.parent, "init", "-q", "--bare", str(shadow))


def _empty_folder(shadow: Path) -> None:
    shadow.mkdir()


def _half_made(shadow: Path) -> None:
    (shadow / "objects" / "pack").mkdir(parents=True)
    (shadow / "config").write_text("")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_older_and_empty, "was made by another version and held no snapshots"),
        (_only_made, "was made by another version and held no snapshots"),
        (_empty_folder, "was empty"),
        (_half_made, ""),
    ],
)
def test_an_empty_shadow_repository_is_made_anew_and_said(
    root: Path, sit: Sit, make: object, said: str
) -> None:
    """ENV-07: found at the start, set aside, and the first turn is saved in a new one."""
    sitting = sit()
    folder = sitting.project.session.folder
    assert callable(make)
    make(folder / "shadow.git")

    started = sitting.resume().play()
    sitting.play(write("a", "1"))
    sitting.rewind(1)

    assert said in started
    assert (folder / "shadow.git.old-1").exists() is bool(said)
    assert not (root / "a").exists()
    assert b"refs/keryx/1/before" in plain_git(sitting, "for-each-ref")
    assert plain_git(sitting, "fsck", "--strict", "--no-dangling") == b""


def _with_snapshots(shadow: Path) -> None:
    _only_made(shadow)
    blob = git(shadow, "hash-object", "-w", str(shadow / "HEAD")).decode().strip()
    listing = shadow.parent / "listing"
    listing.write_text(f"100644 blob {blob}\tHEAD\n")
    with listing.open("rb") as file:
        ran = subprocess.run(
            ["git", "mktree"], cwd=shadow, stdin=file, capture_output=True, check=True
        )
    commit = git(shadow, "commit-tree", ran.stdout.decode().strip(), "-m", "old").decode().strip()
    git(shadow, "update-ref", "refs/old/1", commit)


def _newer(shadow: Path) -> None:
    _only_made(shadow)
    (shadow / "keryx-format").write_text("999\n")
    blob = git(shadow, "hash-object", "-w", str(shadow / "HEAD")).decode().strip()
    git(shadow, "update-ref", "refs/keryx/1/before", blob)


def _a_file(shadow: Path) -> None:
    shadow.write_text("not a folder\n")


def _something_else(shadow: Path) -> None:
    shadow.mkdir()
    (shadow / "holiday.jpg").write_text("x")


@pytest.mark.parametrize("make", [_with_snapshots, _newer, _a_file, _something_else])
def test_what_keryx_did_not_make_is_not_touched(root: Path, sit: Sit, make: object) -> None:
    """ENV-07: it is named with the way on, the history works, and nothing runs unsaved unasked."""
    sitting = sit()
    folder = sitting.project.session.folder
    assert callable(make)
    make(folder / "shadow.git")
    before = look_at(folder)

    said = sitting.resume().play(write("a", "1"), "/rewind")

    assert "snapshots  off: " in said
    assert "/new" in said
    assert "the call is denied" in said
    assert not (root / "a").exists()
    after = look_at(folder)
    assert {k: v for k, v in after.items() if k.startswith("shadow")} == {
        k: v for k, v in before.items() if k.startswith("shadow")
    }
