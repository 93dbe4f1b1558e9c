"""What is previewed is what is done, and what is said is what happened."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cases.conftest import Sit
from tests.cases.sitting import edit, shell, write
from tests.cases.watching import look_at, stamps


@pytest.mark.parametrize(
    ("command", "count"),
    [
        ("echo b > settings.json", "1 file (1 modified)"),
        ("rm settings.json", "1 file (1 brought back)"),
        ("echo x > new", "1 file (1 removed)"),
        ("chmod 600 settings.json", "1 file (1 modified)"),
        ("mv settings.json moved.json", "2 files (1 brought back, 1 removed)"),
        ("rm settings.json; ln -s d settings.json", "1 file (1 modified)"),
        ("mkdir -p p/q; echo x > p/q/r", "1 file (1 removed) and 2 folders"),
        ("mkdir empty", "1 folder"),
        ("rm -r d", "1 file (1 brought back) and 1 folder"),
        ("rm -r d; echo x > d", "2 files (1 modified, 1 brought back)"),
        ("chmod 700 d", "1 folder"),
    ],
)
def test_list_preview_and_result_agree(root: Path, sit: Sit, command: str, count: str) -> None:
    """PREV-01: the three count the same files, and the result's count is of what was done."""
    (root / "settings.json").write_text("a\n")
    (root / "d").mkdir()
    (root / "d" / "inner").write_text("i\n")
    before = look_at(root)
    sitting = sit()
    sitting.play(shell(command))

    listed = sitting.play("/rewind")
    said = sitting.play("/rewind 1 files", "/rewind confirm")

    files = count.partition(" (")[0] if "(" in count else "0 files"
    assert f"  {files}, you changed 0 since" in listed
    assert said.count(f"files: {count}\n") == 2
    assert look_at(root) == before


def test_the_paths_named_are_the_paths_changed(root: Path, sit: Sit) -> None:
    """PREV-01: path by path, and each as the kind of change that it is."""
    for name in ("kept", "changed", "gone"):
        (root / name).write_text("old\n")
    sitting = sit()
    sitting.play(shell("echo new > changed; rm gone; echo new > made"))
    before = look_at(root)

    said = sitting.rewind(1)

    after = look_at(root)
    named = {
        tuple(line.split()[:-4])
        for line in said.splitlines()
        if line.startswith(("  modified", "  removed", "  brought back"))
    }
    assert named == {("modified", "changed"), ("brought", "back", "gone"), ("removed", "made")}
    differing = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert differing == {"changed", "gone", "made"}


def _edit(root: Path) -> None:
    (root / "listed").write_text("changed since\n")


def _edit_same_size_and_time(root: Path) -> None:
    status = (root / "listed").stat()
    (root / "listed").write_text("TURN\n")
    os.utime(root / "listed", ns=(status.st_atime_ns, status.st_mtime_ns))


def _remove(root: Path) -> None:
    (root / "listed").unlink()


def _make_a_link(root: Path) -> None:
    (root / "listed").unlink()
    (root / "listed").symlink_to("elsewhere")


def _make_a_folder(root: Path) -> None:
    (root / "listed").unlink()
    (root / "listed").mkdir()


def _change_mode(root: Path) -> None:
    (root / "listed").chmod(0o600)


def _add_another(root: Path) -> None:
    (root / "another").write_text("mine\n")


@pytest.mark.parametrize(
    "meddle",
    [
        _edit,
        _edit_same_size_and_time,
        _remove,
        _make_a_link,
        _make_a_folder,
        _change_mode,
        _add_another,
    ],
)
@pytest.mark.parametrize("mode", ["files", "both"])
def test_confirm_does_nothing_when_the_disk_has_moved(
    root: Path, sit: Sit, meddle: Callable[[Path], None], mode: str
) -> None:
    """PREV-03: it notices, shows what is true now, and waits for another word."""
    (root / "listed").write_text("old\n")
    sitting = sit()
    sitting.play(edit("listed", "old", "turn"))

    moved: dict[str, object] = {}

    def meddle_and_look() -> None:
        meddle(root)
        moved.update(stamps(root))

    said = sitting.play(f"/rewind 1 {mode}", meddle_and_look, "/rewind confirm")

    assert stamps(root) == moved
    assert "the project has changed since; nothing was done" in said
    assert said.count(f"rewind {mode} to before turn 1") == 2
    assert "turn went" not in said


def test_the_new_preview_can_be_confirmed(root: Path, sit: Sit) -> None:
    """PREV-03: the second confirm carries out what the second preview showed."""
    sitting = sit()
    sitting.play(write("listed", "turn\n"))

    said = sitting.play("/rewind 1", lambda: _edit(root), "/rewind confirm", "/rewind confirm")

    assert look_at(root) == {}
    assert "turn 1, you" in said


def test_a_turn_in_between_withdraws_the_preview(root: Path, sit: Sit) -> None:
    """PREV-03: nothing that was shown before another line is applied after it."""
    sitting = sit()
    sitting.play(write("a", "1"))

    said = sitting.play("/rewind 1", write("b", "2"), "/rewind confirm")

    assert look_at(root).keys() == {"a", "b"}
    assert "preview withdrawn" in said
    assert "nothing to confirm" in said


def test_a_change_of_what_no_rewind_covers_makes_no_preview_stale(root: Path, sit: Sit) -> None:
    """PREV-03: a log that is ignored may grow as it likes."""
    (root / ".gitignore").write_text("*.log\n")
    (root / "a.log").write_text("1\n")
    sitting = sit()
    sitting.play(write("a", "1"))

    sitting.play("/rewind 1", lambda: (root / "a.log").write_text("2\n"), "/rewind confirm")

    assert look_at(root).keys() == {".gitignore", "a.log"}
    assert (root / "a.log").read_text() == "2\n"


def test_a_file_that_is_written_all_the_time_can_be_rewound_in_the_end(
    root: Path, sit: Sit
) -> None:
    """PREV-03: moved between two previews of the same rewind, its content is no longer waited for.
    What stands there at that moment is in the undo point."""
    sitting = sit()
    sitting.play(write("log", "0\n"))
    lines = iter(range(1, 100))

    def go_on() -> None:
        with (root / "log").open("a") as log:
            log.write(f"{next(lines)}\n")

    said = sitting.play("/rewind 1", go_on, "/rewind confirm", go_on, "/rewind confirm")

    assert "being written" in said
    assert not (root / "log").exists()
    sitting.play("/redo", "/rewind confirm")
    assert (root / "log").read_text() == "0\n1\n2\n"


def test_both_is_refused_whole_when_snapshots_are_off(root: Path, sit: Sit) -> None:
    """PREV-05: files first, so the history does not go alone."""
    sitting = sit(settings={"snapshots": False, "off_because": "KERYX_REWIND=off"})
    sitting.play(write("f", "turn\n"))
    before = stamps(root)

    said = sitting.play("/rewind 1 both", "/rewind confirm", "/rewind", "/undo")

    assert stamps(root) == before
    assert said.count("rewinding is off (KERYX_REWIND=off)") == 4
    assert "to turn it on" in said
    assert len(sitting.project.window.items()) > 1


def test_both_is_refused_whole_where_the_turn_ran_unsaved(root: Path, sit: Sit) -> None:
    """PREV-05: a turn while snapshots were off can give up its history only, and says why."""
    sitting = sit(settings={"snapshots": False, "off_because": "KERYX_REWIND=off"})
    sitting.play(write("f", "turn\n"))
    sitting.settings = replace(sitting.settings, snapshots=True, off_because="")
    sitting.resume()
    before = stamps(root)

    said = sitting.play("/rewind 1 both", "/rewind confirm", "/rewind 1", "/rewind")

    assert stamps(root) == before
    assert "the files before point 1 cannot be restored (off)" in said
    assert "use /rewind 1 history" in said
    assert "history only: off" in said
    assert "nothing to confirm" in said
    assert "turn went" not in said


def test_a_rewind_of_history_says_that_files_stay_and_how_to_move_them(
    root: Path, sit: Sit
) -> None:
    """PREV-07: and that very way works."""
    sitting = sit()
    sitting.play(write("f", "turn\n"))

    said = sitting.rewind(1, "history")

    assert (root / "f").exists()
    assert "files left as they are; use /rewind 1 files" in said
    sitting.rewind(1, "files")
    assert not (root / "f").exists()


def test_a_rewind_applied_without_a_preview_names_its_paths_and_the_way_back(
    root: Path, sit: Sit
) -> None:
    """PREV-07: /undo and /redo say what they did, path by path."""
    (root / "text").write_text("old\n")
    sitting = sit()
    sitting.play((edit("text", "old", "new"), write("made", "x")))

    undone = sitting.play("/undo")
    redone = sitting.play("/redo")

    assert "  removed       made  +0 -1     turn 1\n" in undone
    assert "  modified      text  +1 -1     turn 1\n" in undone
    assert "undo point 2: /redo takes this back" in undone
    assert "  brought back  made  +1 -0\n" in redone
    assert "  modified      text  +1 -1\n" in redone


def test_what_ran_and_cannot_be_undone_is_named(root: Path, sit: Sit) -> None:
    """PREV-07: commands stay done, and the preview says which."""
    sitting = sit()
    sitting.play(shell("echo hello > f; exit 3"))

    said = sitting.play("/rewind 1")

    assert "cannot be undone" in said
    assert "  turn 1 ran: echo hello > f; exit 3 (exit 3)\n" in said
