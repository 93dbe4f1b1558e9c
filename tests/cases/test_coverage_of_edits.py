"""However a turn changed a file, a rewind takes it back: no tracker has to have seen the edit."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, delegate, edit, read, shell, write
from tests.cases.watching import look_at, shadow_git

WAYS = {
    "sed": "sed -i s/old/new/ a",
    "heredoc": "cat > a <<'END'\nnew\nEND",
    "python": f"{sys.executable} -c \"open('a', 'w').write('new')\"",
    "mv": "mv a moved",
    "mv over": "mv a b",
    "redirect": "echo new > a; echo more >> b",
    "truncate": ": > a",
    "cp": "cp b a",
    "ln": "ln -sf b a",
    "hard link": "ln b c",
    "rm": "rm a d/inner; rmdir d",
    "mkdir": "mkdir -p x/y/z; touch x/y/z/f",
    "chmod": "chmod 700 a d",
    "tar": "tar cf all.tar a b d; rm -r a d",
    "swap": "mv a t; mv b a; mv t b",
    "background": "(sleep .05; echo new > a) & wait",
    "failing": "echo new > a; false",
    "outside and back": 'cd /; cd "$OLDPWD"; echo new > a',
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_command_changed_comes_back(root: Path, sit: Sit, way: str) -> None:
    """COV-01: with sed, a heredoc, python, mv, a redirection, and all the others."""
    (root / "a").write_text("old\n")
    (root / "b").write_text("other\n")
    (root / "d").mkdir()
    (root / "d" / "inner").write_text("inner\n")
    before = look_at(root)
    sitting = sit()
    sitting.play(shell(WAYS[way]))
    changed = look_at(root)

    sitting.rewind(1)

    assert changed != before
    assert look_at(root) == before


def test_a_sub_agent_s_work_is_taken_back_with_its_turn(root: Path, sit: Sit) -> None:
    """COV-03: one snapshot, taken before its first change, counted once, and both halves go."""
    (root / "a").write_text("old\n")
    before = look_at(root)
    sitting = sit(
        delegates={"improve it": (read("a"), edit("a", "old", "new"), shell("echo x > b"))}
    )

    sitting.play((delegate("improve it"), write("c", "after")))
    refs = shadow_git(sitting, "for-each-ref", "--format=%(refname)").decode().split()
    said = sitting.play("/rewind", "/rewind 1 both", "/rewind confirm")

    assert refs == ["refs/keryx/1/before", "refs/keryx/1/end"]
    assert "snapshots  on, 1/50 kept" in said
    assert "  3 files, you changed 0 since" in said
    assert "turn 1 delegated: improve it" in said
    assert "turn 1 ran: echo x > b (exit 0)" in said
    assert "history: 1 turn went" in said
    assert look_at(root) == before


def test_a_sub_agent_that_only_reads_changes_nothing(root: Path, sit: Sit) -> None:
    """COV-03: nothing is to be taken back, and the preview says so."""
    (root / "a").write_text("old\n")
    sitting = sit(delegates={"look": (read("a"),)})

    sitting.play(delegate("look"))
    said = sitting.play("/rewind 1")

    assert "nothing would change" in said


def test_two_sub_agents_in_one_turn_share_its_snapshot(root: Path, sit: Sit) -> None:
    """COV-03: what the first one wrote goes as well."""
    sitting = sit(delegates={"one": (write("a", "1"),), "two": (write("b", "2"),)})

    sitting.play((delegate("one"), delegate("two")))
    sitting.rewind(1)

    assert look_at(root) == {}
    assert shadow_git(sitting, "for-each-ref").count(b"\n") == 4


def test_each_turn_goes_back_to_its_own_before(root: Path, sit: Sit) -> None:
    """COV-05: to the version of the turn before, and to nothing before the first."""
    sitting = sit()
    sitting.play(write("f", "v1"), edit("f", "v1", "v2"), shell("printf v3 > f"))

    found = []
    for number in (3, 2, 1):
        sitting.rewind(number)
        found.append((root / "f").read_text() if (root / "f").exists() else None)

    assert found == ["v2", "v1", None]


def test_each_turn_can_be_gone_to_from_any_other(root: Path, sit: Sit) -> None:
    """COV-05: forward as well as back, in any order, through undo points that pile up."""
    sitting = sit()
    sitting.play(write("f", "v1"), edit("f", "v1", "v2"), shell("printf v3 > f"))
    expected = {1: None, 2: "v1", 3: "v2", 4: "v3"}

    sitting.rewind(1)
    for number in (3, 4, 2, 1, 3, 2):
        sitting.rewind(number)
        found = (root / "f").read_text() if (root / "f").exists() else None
        assert found == expected[number], number


def test_folders_that_the_turn_made_go_with_their_files(root: Path, sit: Sit) -> None:
    """COV-07: all the way up, and no further."""
    (root / "there").mkdir()
    sitting = sit()
    sitting.play((write("new/deep/f", "1"), write("there/too/g", "2")))

    sitting.rewind(1)

    assert look_at(root) == {"there": ("folder", 0o755, b"")}


def test_a_later_rewind_does_not_bring_back_what_went_before(root: Path, sit: Sit) -> None:
    """COV-09: to turn 2, the file that turn 1 removed is gone; to turn 1, it is back."""
    (root / "u").write_text("untracked\n")
    sitting = sit()
    sitting.play(shell("rm u"), write("v", "1"))

    sitting.rewind(2)
    second = look_at(root)
    sitting.rewind(1)

    assert second == {}
    assert look_at(root) == {"u": ("file", 0o644, b"untracked\n")}


def test_the_very_first_turn_of_all_can_be_rewound(tmp_path: Path, sealed: Path) -> None:
    """COV-11: a new home, a new data folder, an empty project."""
    root = tmp_path / "new"
    root.mkdir()
    sitting = Sitting(root, sealed / "not" / "yet" / "there")

    sitting.play(write("f", "1"))
    during = look_at(root)
    sitting.rewind(1)
    sitting.close()

    assert during.keys() == {"f"}
    assert look_at(root) == {}


def test_a_write_outside_the_project_is_refused_by_the_file_tools(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """COV-13: they stay inside the root, through links as well; the inner write is undone."""
    (root / "out").symlink_to(tmp_path)
    sitting = sit()

    said = sitting.play(
        (
            write(str(tmp_path / "a.txt"), "x"),
            write("../b.txt", "x"),
            write("out/c.txt", "x"),
            write("in.txt", "x"),
        )
    )
    sitting.rewind(1)

    assert not list(tmp_path.glob("*.txt"))
    assert look_at(root).keys() == {"out"}
    assert said.count("outside the project") >= 3


def test_what_a_command_wrote_outside_stays_and_the_preview_says_that_it_may(
    root: Path, tmp_path: Path, sit: Sit
) -> None:
    """COV-13: no preview can know it all, so each command is named as not undone."""
    out = tmp_path / "out.txt"
    sitting = sit(settings={"tool_environment": {"PATH": os.environ["PATH"], "OUT": str(out)}})
    sitting.play((shell('echo x > "$OUT"'), write("in.txt", "x")))

    said = sitting.rewind(1)

    assert out.read_text() == "x\n"
    assert look_at(root) == {}
    assert "cannot be undone, but for the files above:\n" in said
    assert '  turn 1 ran: echo x > "$OUT" (exit 0)\n' in said
