"""The archive file: nothing that was said to be there is lost, and nothing half stays."""

from __future__ import annotations

import os
import stat
import subprocess
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from keryx_py.messages import ToolResult
from keryx_py.session.archive import DamagedEntry, Entry, ItemEntry, PrunedEntry, TurnEntry
from keryx_py.session.errors import SessionError
from keryx_py.session.journal import Journal, write_archive
from keryx_py.session.lines import Header, entry_line, header_line

HEADER = Header("20261130-194512-x7k2", "/project", 1, 2, 3.0)
ENTRIES: tuple[Entry, ...] = (
    TurnEntry(1, 1.0, "first\n\x00\udc80“”", None),
    ItemEntry(1, ToolResult("a", "out\r\n" * 3, ok=True)),
    TurnEntry(2, 2.0, "second", 1),
)
Lines = list[bytes]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Give an archive of three entries."""
    path = tmp_path / "archive.jsonl"
    write_archive(path, HEADER, ENTRIES)
    return path


def read(path: Path) -> Journal:
    journal = Journal.open(path)
    journal.close()
    return journal


def entry(number: int) -> Entry:
    return PrunedEntry(0.0, (number,))


def test_what_is_appended_is_read_again(archive: Path) -> None:
    journal = Journal.open(archive)

    position = journal.append(entry(1))

    assert position == 3
    assert journal.entries == (*ENTRIES, entry(1))
    assert read(archive).entries == (*ENTRIES, entry(1))
    assert read(archive).header == HEADER
    assert read(archive).notices == ()
    journal.close()


def test_the_file_is_for_its_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_archive(tmp_path / "open.jsonl", HEADER, ())
        os.umask(0o377)
        write_archive(tmp_path / "shut.jsonl", HEADER, ())
    finally:
        os.umask(before)

    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {0o600}


def test_a_file_torn_at_any_byte_of_its_last_line_is_mended_by_the_next_append(
    archive: Path,
) -> None:
    whole = archive.read_bytes()
    start = whole.rstrip(b"\n").rfind(b"\n") + 1

    for end in range(start, len(whole)):
        archive.write_bytes(whole[:end])
        journal = Journal.open(archive)
        torn = journal.notices
        journal.append(entry(end))
        journal.close()

        again = read(archive)
        assert again.entries == (*ENTRIES[:2], entry(end))
        assert again.notices == ()
        assert bool(torn) == (end > start)
        assert all("torn" in notice for notice in torn)


def test_opening_alone_does_not_change_a_torn_file(archive: Path) -> None:
    torn = archive.read_bytes()[:-5]
    archive.write_bytes(torn)

    read(archive)

    assert archive.read_bytes() == torn


def test_a_flipped_bit_anywhere_in_a_line_is_seen(archive: Path) -> None:
    whole = archive.read_bytes()
    start = whole.index(b"\n") + 1
    end = whole.index(b"\n", start)

    for place in range(start, end):
        flipped = bytearray(whole)
        flipped[place] ^= 0x04
        archive.write_bytes(flipped)

        journal = read(archive)

        assert isinstance(journal.entries[0], DamagedEntry), place
        assert journal.entries[1:] == ENTRIES[1:]
        assert "damaged" in journal.notices[0]
        assert "(line 2)" in journal.notices[0]


def swapped(lines: Lines) -> Lines:
    return [lines[0], lines[2], lines[1], lines[3]]


@pytest.mark.parametrize(
    ("change", "lost", "words"),
    [
        (lambda lines: [lines[0], *lines[2:]], {0}, "1 line is missing"),
        (lambda lines: [lines[0], b"noise", *lines[2:]], {0}, "1 line is damaged"),
        (lambda lines: [*lines[:2], b"noise", *lines[2:]], set(), "1 line is damaged"),
        (lambda lines: [*lines[:3], lines[1], *lines[3:]], set(), "stand twice"),
        (lambda lines: [*lines, lines[3]], set(), "stand twice"),
        (swapped, set(), "out of order"),
        (lambda lines: [*lines[:3], lines[3][:-9]], {2}, "damaged"),
        (lambda lines: [*lines[:1], b"", *lines[1:]], set(), ""),
        (lambda lines: [*lines, entry_line(10**9, entry(7))[:-1]], {3}, "damaged"),
    ],
)
def test_lost_doubled_and_moved_lines_are_known(
    archive: Path, change: Callable[[Lines], Lines], lost: set[int], words: str
) -> None:
    lines = archive.read_bytes().splitlines()
    archive.write_bytes(b"".join(line + b"\n" for line in change(lines)))

    journal = Journal.open(archive)
    position = journal.append(entry(9))
    journal.close()

    found = read(archive).entries
    assert {n for n, item in enumerate(found) if isinstance(item, DamagedEntry)} == lost
    assert all(found[n] == item for n, item in enumerate(ENTRIES) if n not in lost)
    assert found[position] == entry(9)
    assert words in " ".join(journal.notices)


def test_another_line_in_the_place_of_one_is_left_out(archive: Path) -> None:
    with archive.open("ab") as file:
        file.write(entry_line(1, entry(9)))

    journal = read(archive)

    assert journal.entries == ENTRIES
    assert "claims another's place" in journal.notices[0]


def test_a_kind_from_elsewhere_is_left_out_and_named(archive: Path) -> None:
    body = entry_line(3, entry(7)).replace(b'"pruned"', b'"dreamt"')
    other = body.partition(b",{")[2]
    archive.write_bytes(archive.read_bytes() + _line(3, b"{" + other[:-2]))

    journal = read(archive)

    assert isinstance(journal.entries[3], DamagedEntry)
    assert "'dreamt' is unknown" in journal.notices[0]


def _line(position: int, body: bytes) -> bytes:
    check = zlib.crc32(body, zlib.crc32(b"%d" % position))
    return b'[%d,%d,"%08x",%s]\n' % (position, len(body), check, body)


def test_a_newer_format_is_refused_with_a_sentence(archive: Path) -> None:
    archive.write_bytes(b'{"keryx":2,"anything":"else"}\n')

    with pytest.raises(SessionError, match="a newer keryx wrote this session"):
        Journal.open(archive)


def test_a_damaged_first_line_hides_no_entry(archive: Path) -> None:
    data = archive.read_bytes()
    archive.write_bytes(data.replace(b"/project", b"/protect", 1))
    damaged = read(archive)
    archive.write_bytes(data.partition(b"\n")[2])
    without = read(archive)

    assert damaged.header is without.header is None
    assert damaged.entries == without.entries == ENTRIES
    assert "first line" in damaged.notices[0]


def test_an_empty_file_opens_without_a_header(archive: Path) -> None:
    archive.write_bytes(b"")

    assert read(archive).header is None
    assert read(archive).entries == ()


def test_a_header_comes_back_with_every_field(tmp_path: Path) -> None:
    header = Header("x", "/p\udcff\n", 1, 2, 3.5, unattended=True, forked_from="y")

    write_archive(tmp_path / "a", header, ())

    assert read(tmp_path / "a").header == header
    assert header_line(header).startswith(b'{"keryx":1,')


def test_a_link_or_a_pipe_in_the_place_of_the_archive_is_not_opened(archive: Path) -> None:
    link, pipe = archive.with_name("link"), archive.with_name("pipe")
    link.symlink_to(archive)
    os.mkfifo(pipe)

    with pytest.raises(SessionError, match="is a link"):
        Journal.open(link)
    with pytest.raises(SessionError, match="no plain file"):
        Journal.open(pipe)


def test_an_archive_that_another_program_wrote_to_is_not_appended_to(archive: Path) -> None:
    journal = Journal.open(archive)
    with archive.open("ab") as file:
        file.write(b"x")
    before = archive.read_bytes()

    with pytest.raises(SessionError, match="changed by another program"):
        journal.append(entry(1))

    assert archive.read_bytes() == before
    assert journal.entries == ENTRIES
    journal.close()


def test_an_archive_that_was_deleted_is_not_appended_to(archive: Path) -> None:
    journal = Journal.open(archive)
    archive.unlink()

    with pytest.raises(SessionError, match="deleted or replaced"):
        journal.append(entry(1))
    journal.close()


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from keryx_py.session.archive import PrunedEntry
from keryx_py.session.errors import SessionError
from keryx_py.session.journal import Journal

path = Path(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = Journal.open(path)
size, count = path.stat().st_size, len(journal.entries)
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
for room in range(40):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, most))
    try:
        journal.append(PrunedEntry(0.0, tuple(range(50))))
    except SessionError as error:
        assert "nothing was written" in str(error), error
    else:
        raise AssertionError("the disk was full")
    assert path.stat().st_size == size
    assert len(journal.entries) == count
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
assert journal.append(PrunedEntry(0.0, (1,))) == count
assert journal.entries[count:] == (PrunedEntry(0.0, (1,)),)
print("right")
"""


def test_a_full_disk_leaves_no_part_of_a_line(
    archive: Path, child: Callable[..., subprocess.Popen[str]]
) -> None:
    process = child(FULL_DISK, archive)

    out, _ = process.communicate(timeout=20)

    assert out == "right\n"
    assert read(archive).entries == (*ENTRIES, entry(1))
    assert read(archive).notices == ()


INTERRUPTED = """
import signal, sys
from pathlib import Path
from keryx_py.session.archive import PrunedEntry
from keryx_py.session.journal import Journal

def interrupt(*_):
    raise KeyboardInterrupt

journal = Journal.open(Path(sys.argv[1]))
signal.signal(signal.SIGALRM, interrupt)
interrupts = 0
for number in range(400):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.00002 * (number % 40 + 1))
        journal.append(PrunedEntry(0.0, (number,)))
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupts += 1
signal.setitimer(signal.ITIMER_REAL, 0)
again = Journal.open(Path(sys.argv[1]))
assert again.entries == journal.entries
assert again.notices == ()
print(interrupts)
"""


def test_ctrl_c_in_an_append_leaves_file_and_memory_agreed(
    archive: Path, child: Callable[..., subprocess.Popen[str]]
) -> None:
    out, _ = child(INTERRUPTED, archive).communicate(timeout=20)

    assert int(out) > 0


@pytest.mark.soak
def test_a_hundred_megabytes_open_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "archive.jsonl"
    item = ItemEntry(1, ToolResult("a", "line of output “x”\n" * 5_000, ok=True))
    write_archive(path, HEADER, [item] * 900)
    assert path.stat().st_size > 100 * 2**20

    before = time.monotonic()
    journal = read(path)

    assert len(journal.entries) == 900
    assert time.monotonic() - before < 5
