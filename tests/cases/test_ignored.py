"""What ignore rules leave out is neither saved nor ever removed, and git says what they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keryx_py.messages import ToolCall
from keryx_py.models.scripted import scripted_call as call
from tests.cases.as_user import as_user
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, delegate, edit, shell, write
from tests.cases.watching import captured, git, held, look_at, make_repository, stamps

SECRET = "TOKEN=1\n"


def test_a_file_that_the_turn_made_ignored_stays(root: Path, sit: Sit) -> None:
    """IGN-01: a) the snapshot holds it, the turn writes the rule; it stays, byte for byte."""
    (root / "secret.env").write_text(SECRET)
    before = stamps(root)
    sitting = sit()
    sitting.play(write(".gitignore", "secret.env\n"))

    sitting.rewind(1)

    assert look_at(root) == {"secret.env": ("file", 0o644, SECRET.encode())}
    assert stamps(root)["secret.env"] == before["secret.env"]


def test_a_folder_in_an_ignored_one_is_not_replaced_by_the_file_that_it_was(
    root: Path, sit: Sit
) -> None:
    (root / "build").mkdir()
    (root / "build/out").write_text("old\n")
    sitting = sit()
    sitting.play(
        shell("rm build/out; mkdir build/out; echo x >build/out/new; echo build/ >.gitignore")
    )

    shown = sitting.play("/rewind 1 both")
    said = sitting.play("/rewind 1 both", "/rewind confirm")

    assert "build/out" in shown
    assert "failed" not in said
    assert sitting.project.window.items() == ()
    assert look_at(root) == {
        "build": ("folder", 0o755, b""),
        "build/out": ("folder", 0o755, b""),
        "build/out/new": ("file", 0o644, b"x\n"),
    }


def test_a_folder_that_a_rewind_made_stays_with_what_was_put_in_it_under_a_new_rule(
    root: Path, sit: Sit
) -> None:
    """What it holds by now is ignored, also what the rewind itself brought back."""
    (root / "build/sub").mkdir(parents=True)
    (root / "build/sub/old").write_text("old\n")
    sitting = sit()
    sitting.play(shell("rm -r build"))
    sitting.rewind(1)
    (root / ".gitignore").write_text("build/\n")
    (root / "build/sub/mine").write_text("mine\n")

    said = sitting.play("/redo")

    assert "build (ignored)" in said
    assert "failed" not in said
    assert set(look_at(root)) == {
        ".gitignore",
        "build",
        "build/sub",
        "build/sub/mine",
        "build/sub/old",
    }


def test_a_file_that_came_to_be_ignored_after_a_rewind_stays_when_that_is_taken_back(
    root: Path, sit: Sit
) -> None:
    """IGN-01: the rewind brought it back, and the person's rule is newer."""
    (root / "secret.env").write_text(SECRET)
    (root / "notes").write_text("one\n")
    sitting = sit()
    sitting.play(shell("rm secret.env; echo two > notes"))
    sitting.rewind(1)
    (root / ".gitignore").write_text("secret.env\n")

    redone = sitting.play("/redo")
    preview = sitting.play("/rewind 2")

    assert "secret.env (ignored)" in redone
    assert "removed" not in redone
    assert (root / "secret.env").read_text() == SECRET
    assert (root / "notes").read_text() == "two\n"
    assert "removed       secret.env" not in preview
    assert "secret.env (ignored)" in preview


def test_a_redo_takes_back_to_the_letter_also_what_its_rewind_put_under_a_rule(
    root: Path, sit: Sit
) -> None:
    """REDO-01: the rules leave themselves out, so they stayed; the person's own file stays too."""
    (root / "build/sub").mkdir(parents=True)
    (root / "build/sub/old").write_text("old\n")
    (root / "build/more").mkdir()
    (root / "build/more/edited").write_text("old\n")
    sitting = sit()
    sitting.play(shell("rm -r build; printf 'build\\n.gitignore\\n' > .gitignore"))
    before = look_at(root)
    sitting.rewind(1)

    sitting.play("/redo", "/rewind confirm")
    redone = look_at(root)
    sitting.rewind(1)
    (root / "build/more/edited").write_text("mine\n")
    (root / "build/sub/new").write_text("mine\n")
    said = sitting.play("/redo", "/rewind confirm")

    assert redone == before
    assert set(look_at(root)) == {
        ".gitignore",
        "build",
        "build/more",
        "build/more/edited",
        "build/sub",
        "build/sub/new",
    }
    assert "build/more/edited (ignored)" in said
    assert "build/sub (holds build/sub/new)" in said
    assert "failed" not in said


def test_what_was_ignored_in_the_turn_goes_when_its_rewind_is_taken_back(
    root: Path, sit: Sit
) -> None:
    """REDO-01: it is known that it was not there, and no rule leaves it out now."""
    (root / "secret.env").write_text(SECRET)
    sitting = sit()
    sitting.play(shell("rm secret.env; echo secret.env > .gitignore"))
    sitting.rewind(1)

    said = sitting.play("/redo")

    assert "removed       secret.env" in said
    assert set(look_at(root)) == {".gitignore"}


def test_a_file_that_was_ignored_until_the_turn_stays(root: Path, sit: Sit) -> None:
    """IGN-01: b) the snapshot does not hold it, the turn takes the rule away."""
    (root / ".gitignore").write_text("secret.env\n")
    (root / "secret.env").write_text(SECRET)
    sitting = sit()
    sitting.play(shell("rm .gitignore"))

    said = sitting.rewind(1)

    assert look_at(root) == {
        ".gitignore": ("file", 0o644, b"secret.env\n"),
        "secret.env": ("file", 0o644, SECRET.encode()),
    }
    assert "secret.env (ignored then)" in said


@pytest.mark.parametrize(
    ("rules", "command"),
    [
        ({".gitignore": "*.env\n"}, "mv .gitignore ignore"),
        ({".gitignore": "*.env\n"}, "echo '!secret.env' >> .gitignore"),
        ({".gitignore": "*.env\n"}, "rm .gitignore; ln -s nowhere .gitignore"),
        ({".gitignore": "/conf/\n"}, ": > .gitignore"),
        ({"conf/.gitignore": "*\n"}, "rm conf/.gitignore"),
        ({"conf/.gitignore": "deep/\n"}, "rm conf/.gitignore; chmod 755 conf"),
        ({".gitignore": "**/deep\n"}, "rm .gitignore; echo x >> conf/deep/new"),
    ],
)
def test_what_was_ignored_stays_however_the_rules_went(
    root: Path, sit: Sit, rules: dict[str, str], command: str
) -> None:
    """IGN-01: the rules of that time, each file of them, are kept with the snapshot."""
    (root / "conf" / "deep").mkdir(parents=True)
    for name in ("secret.env", "conf/secret.env", "conf/deep/secret.env"):
        (root / name).write_text(SECRET)
    for name, text in rules.items():
        (root / name).write_text(text)
    sitting = sit()
    before = look_at(root)
    sitting.play(shell(command))
    saved = captured(sitting, 1)
    secrets = {name: state for name, state in before.items() if name.endswith("secret.env")}

    sitting.rewind(1)

    assert secrets.keys() - saved
    after = look_at(root)
    assert {name: after.get(name) for name in secrets} == secrets
    # A rule that ignores itself is not saved either, so it cannot come back.
    assert {n: after[n] for n in rules if n in saved} == {n: before[n] for n in rules if n in saved}


def test_a_file_that_the_rules_of_that_time_would_have_ignored_stays(root: Path, sit: Sit) -> None:
    """IGN-01: it was not there then; had it been, the snapshot would not hold it."""
    (root / ".gitignore").write_text("*.env\n/conf/\n")
    sitting = sit()
    sitting.play(
        shell("rm .gitignore; echo x > made; mkdir conf; echo x > conf/f; echo x > turn.env"),
        lambda: (root / "secret.env").write_text(SECRET),
    )

    said = sitting.rewind(1)

    assert look_at(root).keys() == {".gitignore", "conf", "conf/f", "turn.env", "secret.env"}
    assert "secret.env (ignored then)" in said
    assert "conf/f (ignored then)" in said


def test_a_file_that_the_turn_made_and_ignored_stays(root: Path, sit: Sit) -> None:
    """IGN-01: what is ignored now is not in the undo point either, so it may not go."""
    sitting = sit()
    sitting.play(shell("echo 'out/' > .gitignore; mkdir out; echo x > out/x; echo y > y"))

    said = sitting.rewind(1)

    assert look_at(root).keys() == {"out", "out/x"}
    assert "out (ignored)" in said


def test_a_file_that_is_held_comes_back_though_it_is_ignored_now(root: Path, sit: Sit) -> None:
    """IGN-01: what the snapshot holds counts, and the undo point holds what goes."""
    (root / "secret.env").write_text(SECRET)
    sitting = sit()
    sitting.play(shell("echo '*.env' > .gitignore; echo other > secret.env"))

    sitting.rewind(1)

    assert look_at(root) == {"secret.env": ("file", 0o644, SECRET.encode())}
    assert held(sitting, 2, "secret.env") == b"other\n"


def _tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


NESTED_RULES = {
    ".gitignore": "vendor/child\n",
    "vendor/child/.gitignore": "/o/**/*.json\n!/o/in/*.json\n",
    "vendor/child/o/a.json": "x",
    "vendor/child/o/in/b.json": "x",
    "vendor/other/c.json": "x",
}
RE_INCLUDED = {
    "vendor/child/.gitignore": "/o/**/*.json\n!/o/in/*.json\n",
    "vendor/child/o/a.json": "x",
    "vendor/child/o/in/b.json": "x",
    "vendor/child/o/in/deep/c.json": "x",
}
SELF_IGNORING = {
    ".gitignore": "*\n!.gitignore\n",
    "t/.gitignore": "!keep\n",
    "t/keep": "x",
    "u": "x",
}
ENTERED = {
    ".gitignore": "*\n!*/\n!.gitignore\n",
    "t/.gitignore": "!keep\n",
    "t/keep": "x",
    "t/other": "x",
    "t/deep/keep": "x",
}
LAST_WINS = {
    ".gitignore": "*.log\n!keep.log\n# no comment\n\\#odd\nspace\\ \ntrailing  \n",
    "a.log": "x",
    "keep.log": "x",
    "#odd": "x",
    "space ": "x",
    "trailing": "x",
    "d/keep.log": "x",
    "d/.gitignore": "keep.log\n",
}


@pytest.mark.parametrize("files", [NESTED_RULES, RE_INCLUDED, SELF_IGNORING, ENTERED, LAST_WINS])
def test_a_snapshot_holds_what_git_would_add(root: Path, sit: Sit, files: dict[str, str]) -> None:
    """IGN-03, IGN-05: rules of several folders, anchored, re-including, ignoring themselves."""
    _tree(root, files)
    git(root, "init", "-q")
    listed = git(root, "ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
    added = git(root, "-c", "core.quotePath=false", "add", "-An").decode().splitlines()
    sitting = sit()

    sitting.play(shell("true"))

    wanted = {os.fsdecode(name) for name in listed if name}
    assert set(captured(sitting, 1)) == wanted
    assert len(added) == len(wanted)


def test_what_is_ignored_now_and_then_is_what_git_calls_ignored(root: Path, sit: Sit) -> None:
    """IGN-03: the two lists leave nothing out: saved, or ignored."""
    _tree(root, {**RE_INCLUDED, "vendor/child/o/in/deep/d.txt": "x"})
    git(root, "init", "-q")
    status = git(root, "status", "--porcelain", "-z", "-uall", "--ignored=matching").decode()
    sitting = sit()

    sitting.play(shell("true"))

    saved = {line[3:] for line in status.split("\0") if line.startswith("?? ")}
    assert set(captured(sitting, 1)) == saved


def test_node_modules_are_never_walked_nor_removed(root: Path, sit: Sit) -> None:
    """IGN-07: with a rule or without, at any depth, however many files."""
    for above in ("", "packages/a"):
        modules = root / above / "node_modules"
        modules.mkdir(parents=True)
        for n in range(500):
            (modules / f"m{n}.js").write_text("x")
    (root / ".gitignore").write_text("/node_modules\n")
    sitting = sit()
    before = stamps(root)

    sitting.play(shell("echo x > packages/f; mkdir -p packages/b/node_modules; rm .gitignore"))
    sitting.rewind(1)

    assert captured(sitting, 1).keys() == {".gitignore"}
    after = stamps(root)
    assert {n: after[n] for n in after if "/m" in n} == {n: before[n] for n in before if "/m" in n}
    assert not (root / "packages" / "f").exists()
    assert (root / "packages" / "b" / "node_modules").is_dir()


def test_a_global_exclude_hides_nothing(root: Path, sit: Sit, sealed: Path) -> None:
    """IGN-09: the person's own git configuration has no say; neither has .git/info/exclude."""
    make_repository(root)
    (sealed / "gi").write_text("*.log\n")
    git(root, "config", "--global", "core.excludesFile", str(sealed / "gi"))
    (root / ".git" / "info" / "exclude").write_text("*.tmp\n")
    (root / "app.log").write_text("log\n")
    (root / "app.tmp").write_text("tmp\n")
    before = look_at(root)
    sitting = sit()
    sitting.play(shell("rm app.log app.tmp"))

    sitting.rewind(1)

    assert look_at(root) == before


def test_a_write_to_an_ignored_file_is_named_at_the_call_and_in_the_preview(
    root: Path, sit: Sit
) -> None:
    """IGN-11: never silence."""
    (root / ".gitignore").write_text(".env\n")
    sitting = sit()

    at_call = sitting.play(write(".env", "A=1\n"))
    in_preview = sitting.play("/rewind 1")
    sitting.rewind(1)

    line = next(line for line in at_call.splitlines() if "write_file" in line)
    assert line.count("a rewind will not cover it") == 1
    assert "a .gitignore leaves it out" in line
    assert "not covered by a rewind:\n  .env (ignored)\n" in in_preview
    assert (root / ".env").read_text() == "A=1\n"


@pytest.mark.parametrize(
    ("rules", "path"),
    [
        ("build/\n", "build/deep/f"),
        ("*.env\n", "conf/a.env"),
        ("", "node_modules/f"),
        ("", ".metaproject/data/f"),
    ],
)
def test_also_an_edit_of_an_ignored_file_is_named(
    root: Path, sit: Sit, rules: str, path: str
) -> None:
    """IGN-11: by a rule on a folder above, by a pattern, or because it is never saved."""
    (root / ".gitignore").write_text(rules)
    (root / path).parent.mkdir(parents=True)
    (root / path).write_text("old\n")
    sitting = sit()

    at_call = sitting.play(edit(path, "old", "new"))
    said = sitting.rewind(1)

    assert "a rewind will not cover it" in at_call
    assert f"{path} (ignored)" in said
    assert (root / path).read_text() == "new\n"


@pytest.mark.parametrize(
    ("made", "path", "named"),
    [
        (write("link", "x"), ".env", ".env"),
        (write("out/f", "x"), "build/f", "build/f"),
        (call("delete_file", path=".env"), None, ".env"),
        (call("move_file", source=".env", target="moved"), "moved", ".env"),
        (call("move_file", source="free", target="b.env"), "b.env", "b.env"),
        (call("move_file", source="src", target="dist"), "dist/f", "dist"),
    ],
)
@pytest.mark.parametrize("delegated", [False, True])
def test_every_way_of_a_file_tool_to_an_ignored_file_is_named(
    root: Path, sit: Sit, made: ToolCall, path: str | None, named: str, delegated: bool
) -> None:
    """IGN-11: through links, by moving and removing, and when a sub-agent does it."""
    for name in ("build", "src"):
        (root / name).mkdir()
    (root / ".gitignore").write_text("*.env\nbuild/\ndist/\n")
    for name in (".env", "free", "src/f"):
        (root / name).write_text("old\n")
    (root / "link").symlink_to(".env")
    (root / "out").symlink_to("build")
    sitting = sit(delegates={"job": (made,)})

    at_call = sitting.play(delegate("job") if delegated else made)
    in_preview = sitting.play("/rewind 1")

    assert (root / ".env").exists() == (path not in (None, "moved"))
    assert path is None or (root / path).exists()
    assert at_call.count("(a rewind will not cover it: a .gitignore leaves it out)") == 1
    assert f"\n  {named} (ignored)\n" in in_preview


@pytest.mark.parametrize(
    ("path", "named"),
    [
        (".env", ".env (ignored)"),
        ("build/f", "build/f (ignored)"),
        ("node_modules", "node_modules (ignored)"),
        (".git", ".git (a repository's own folder)"),
        (".git/config", ".git/config (a repository's own folder)"),
    ],
)
def test_a_path_asked_for_that_no_rewind_covers_is_named(
    root: Path, sit: Sit, path: str, named: str
) -> None:
    """IGN-11: it is never called as it was then, since nobody knows."""
    (root / ".gitignore").write_text(".env\nbuild/\n")
    (root / "f").write_text("old\n")
    for name in ("build", "node_modules"):
        (root / name).mkdir()
    make_repository(root)
    sitting = sit()
    sitting.play(shell("echo x | tee f .env build/f node_modules/f; git config a.b c"))

    said = sitting.play(f"/rewind 1 files {path}", "/rewind confirm")

    assert "already as they were" not in said
    assert f"not covered by a rewind:\n  {named}\n" in said
    assert (root / "f").read_text() == "x\n"


def test_the_setting_exclude_is_named_like_a_rule(root: Path, sit: Sit) -> None:
    """IGN-11: what the person's own settings leave out is not covered, and said to be."""
    (root / "data").mkdir()
    (root / "data" / "f").write_text("old\n")
    sitting = sit(settings={"exclude": ("/data",)})

    at_call = sitting.play(edit("data/f", "old", "new"))
    said = sitting.rewind(1)

    assert "the setting exclude leaves it out" in at_call
    assert "data/f (ignored)" in said
    assert (root / "data" / "f").read_text() == "new\n"


def test_rules_that_cannot_be_read_make_the_snapshot_fail(place: Path) -> None:
    """IGN-01: what they protect is not known, so nothing may run on a guess."""

    def act() -> None:
        root = place / "P"
        (root / "d").mkdir(parents=True)
        (root / "d" / ".gitignore").write_text("secret.env\n")
        (root / "d" / ".gitignore").chmod(0)
        sitting = Sitting(root, place / "data")

        said = sitting.play(shell("echo x > f"))

        assert not (root / "f").exists()
        assert "d/.gitignore cannot be read" in said

    as_user(place, act)


def test_rules_that_become_unreadable_make_the_rewind_refuse(place: Path) -> None:
    """IGN-01: and the sentence says what to do."""

    def act() -> None:
        root = place / "P"
        root.mkdir(parents=True)
        (root / ".gitignore").write_text("secret.env\n")
        (root / "secret.env").write_text(SECRET)
        sitting = Sitting(root, place / "data")
        sitting.play(shell("echo x > f; chmod 000 .gitignore"))

        said = sitting.rewind(1)
        refused = stamps(root)
        (root / ".gitignore").chmod(0o600)
        sitting.rewind(1)

        assert ".gitignore cannot be read" in said
        assert "make it readable" in said
        assert "f" in refused
        assert look_at(root) == {
            ".gitignore": ("file", 0o644, b"secret.env\n"),
            "secret.env": ("file", 0o644, SECRET.encode()),
        }

    as_user(place, act)
