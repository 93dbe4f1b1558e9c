"""A torn, damaged or huge archive opens, says what is lost, and everything else still works."""

from __future__ import annotations

from pathlib import Path

import pytest

from keryx_py.messages import Message, Role
from keryx_py.session.archive import ItemEntry, live_turns
from keryx_py.session.sessions import SessionError
from tests.cases.conftest import Sit
from tests.cases.sitting import Sitting, shell, write
from tests.cases.watching import look_at

LOST = ("lost", "dropped", "damaged", "torn")


def archive_of(sitting: Sitting) -> Path:
    return sitting.project.session.folder / "archive.jsonl"


def with_archive(sitting: Sitting, content: bytes) -> str:
    """Have the session opened anew with *content* for its archive; return the first lines."""
    sitting.close()
    archive_of(sitting).write_bytes(content)
    return sitting.resume().play()


@pytest.mark.parametrize("last", ["turn", "rewind"])
def test_an_archive_torn_at_any_byte_of_its_last_record_opens(
    root: Path, sit: Sit, last: str
) -> None:
    """SESS-01: the tail is repaired, the loss is said, and the next turn is a point like any."""
    sitting = sit()
    sitting.play(write("f", "1\n"), write("f", "2\n"))
    if last == "rewind":
        sitting.rewind(2, "history")
    whole = archive_of(sitting).read_bytes()
    start = whole.rstrip(b"\n").rfind(b"\n") + 1
    (root / "f").write_text("2\n")

    for size in {*range(start, len(whole), 7), start + 1, len(whole) - 1}:
        said = with_archive(sitting, whole[:size])
        assert any(line.startswith("! ") for line in said.splitlines()) is (size > start), size
        added = sitting.play(write("f", f"{size}\n"), "/rewind")
        assert "bug" not in added
        assert "\n3 " in added
        sitting.play("/rewind 3 both", "/rewind confirm")
        assert (root / "f").read_text() == "2\n"


def test_an_archive_cut_after_any_line_opens_and_goes_on(root: Path, sit: Sit) -> None:
    """SESS-01: as a kill between two lines leaves it; numbers are not given out twice."""
    sitting = sit()
    sitting.play(write("f", "1\n"), write("f", "2\n"))
    sitting.rewind(2, "both")
    sitting.play("/redo", "/rewind confirm", write("f", "3\n"))
    lines = archive_of(sitting).read_bytes().splitlines(keepends=True)
    (root / "f").write_text("mine\n")

    for count in range(1, len(lines)):
        said = with_archive(sitting, b"".join(lines[:count]))
        assert "bug" not in said, count
        before = sitting.project.session.entries
        more = sitting.play(write("f", "new\n"), "/rewind")
        turn = live_turns(sitting.project.session.entries)[-1]
        numbers = [int(row.split()[0]) for row in more.splitlines() if row[:1].isdigit()]
        assert numbers == sorted(set(numbers), reverse=True), count
        assert turn == numbers[0]
        assert len(sitting.project.session.entries) > len(before)
        sitting.rewind(turn, "both")
        assert (root / "f").read_text() == "mine\n", count


@pytest.mark.parametrize("how", ["flipped", "removed", "doubled", "emptied", "not UTF-8", "NULs"])
def test_a_damaged_line_in_the_middle_costs_no_more_than_itself(
    root: Path, sit: Sit, how: str
) -> None:
    """SESS-01: whichever line it is, the rest opens, and no rewind does what is not known."""
    sitting = sit()
    sitting.play(write("f", "1\n"), write("f", "2\n"), write("f", "3\n"))
    lines = archive_of(sitting).read_bytes().splitlines(keepends=True)

    for number in range(1, len(lines), 3):
        damaged = list(lines)
        match how:
            case "flipped":
                middle = len(damaged[number]) // 2
                line = bytearray(damaged[number])
                line[middle] ^= 1
                damaged[number] = bytes(line)
            case "removed":
                del damaged[number]
            case "doubled":
                damaged.insert(number, damaged[number])
            case "emptied":
                damaged[number] = b"\n"
            case "not UTF-8":
                damaged[number] = b"\xff\xfe\n"
            case "NULs":
                damaged[number] = bytes(4096) + b"\n"
        said = with_archive(sitting, b"".join(damaged))
        listed = sitting.play("/rewind", "/rewind 1", "/rewind 2 both", "/status")
        assert any(word in said for word in LOST), (number, said)
        assert "bug" not in said + listed, number
        assert listed.count("in the shadow repository") == 1
        assert (root / "f").read_text() == "3\n"


def test_a_newer_format_is_refused_in_one_sentence(root: Path, sit: Sit) -> None:
    """SESS-01: what is not understood is not touched."""
    sitting = sit()
    sitting.play(write("f", "1\n"))
    sitting.close()
    first, _, rest = archive_of(sitting).read_bytes().partition(b"\n")
    newer = first.replace(b'"keryx":1', b'"keryx":9')
    archive_of(sitting).write_bytes(newer + b"\n" + rest)

    with pytest.raises(SessionError, match="newer"):
        sitting.resume()

    assert newer != first
    assert archive_of(sitting).read_bytes() == newer + b"\n" + rest


def test_much_output_is_capped_and_the_list_stays_small(root: Path, sit: Sit) -> None:
    """SESS-03: a command that prints megabytes leaves head and tail, and the shell goes on."""
    sitting = sit()

    said = sitting.play(
        shell("echo first; head -c 20000000 /dev/zero | tr '\\0' 'x'; echo; echo last"), "/rewind"
    )
    sitting.resume()

    assert archive_of(sitting).stat().st_size < 200_000
    assert len(said) < 200_000
    assert "first" in said
    assert "last" in said
    assert "bug" not in sitting.play("/rewind", "/sessions", "/status")


def _large(sitting: Sitting, megabytes: int) -> None:
    text = "a line of output “x”\n" * 5_000
    for _ in range(megabytes * 10):
        sitting.project.session.append(ItemEntry(1, Message(Role.ASSISTANT, text)))


def test_a_large_archive_opens_and_lists(root: Path, sit: Sit) -> None:
    """SESS-03: scaled down; every command of the beginning still works."""
    sitting = sit()
    sitting.play(write("f", "1\n"))
    _large(sitting, 5)
    sitting.resume()

    said = sitting.play("/rewind", "/sessions", "/undo")

    assert archive_of(sitting).stat().st_size > 5 * 2**20
    assert "bug" not in said
    assert look_at(root) == {}


@pytest.mark.soak
def test_a_hundred_megabytes_of_output_open_and_list(root: Path, sit: Sit) -> None:
    """SESS-03: at full size."""
    sitting = sit()
    sitting.play(write("f", "1\n"))
    _large(sitting, 95)
    sitting.resume()

    said = sitting.play("/rewind", "/sessions")

    assert archive_of(sitting).stat().st_size > 100 * 2**20
    assert "bug" not in said
