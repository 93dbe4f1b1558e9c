"""Several sessions at work on one project: each path's change is told to be whose it was."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from keryx_py.rewind.attribution import Chapter
from keryx_py.rewind.comparing import OneTurn, Since
from keryx_py.rewind.interleave import OtherTurn, Reach, Reading, Span, interleave
from keryx_py.rewind.plan import Author, AuthorKind, RewindPlan
from keryx_py.rewind.recorder import TurnRecorder
from keryx_py.rewind.retention import Keeping, prune_snapshots
from keryx_py.rewind.rewinder import Rewinder
from keryx_py.rewind.timeline import PERSON, UNKNOWN
from keryx_py.session.archive import Mode, RanEntry, RunEntry, TurnEnd
from keryx_py.session.others import list_used_since
from keryx_py.session.sessions import Session
from keryx_py.snapshot.listing import FileChange, FileState, Kind
from keryx_py.snapshot.store import SnapshotStore
from tests.rewind.play import Project, look_at


def nothing() -> None:
    """Let nothing happen."""


class Interrupted:
    """A clock that, read *at* times, lets more happen while the capture that asked is made."""

    def __init__(self, clock: Callable[[], float], at: int, pause: Pause) -> None:
        self._clock = clock
        self._left = at
        self._pause = pause

    def __call__(self) -> float:
        # It is read before the files are, and once more for the record.
        self._left -= 1
        time = self._clock()
        if self._left == 0:
            self._pause.before_reading()
        elif self._left == -1:
            self._pause.after_reading()
            time = self._clock()
        return time


@dataclass(frozen=True)
class Pause:
    """What happens while a capture is made."""

    before_reading: Callable[[], object] = nothing
    after_reading: Callable[[], object] = nothing


class Seat:
    """One of several sessions on a project."""

    def __init__(self, project: Project, session: Session | None = None) -> None:
        self.project = project
        self.session = session or project.sessions.create(project.root)
        self.turn: int | None = None
        """The turn that is running."""
        self.asked: list[float] = []
        """The times after which other sessions were asked for."""
        self._calls = 0

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def store(self) -> SnapshotStore:
        place = self.project
        folder = self.session.folder / "shadow.git"
        return SnapshotStore.open(folder, place.root, home=place.home, data_dir=place.data)

    def begin(self, tool: str = "shell_exec", *writes: str, pause: Pause = Pause()) -> None:
        """Begin a turn with a call of *tool* that is named to write *writes*."""
        recorder = self._recorder(Interrupted(self.project.now, 2, pause))
        self.turn = recorder.begin("do it")
        assert recorder.snapshot(self.turn) is None
        self._calls += 1
        call = f"c{self._calls}"
        self.session.append(
            RunEntry(self.turn, call, tool, "shell", "x", saved=True, writes=writes)
        )
        self.session.append(RanEntry(self.turn, call, ok=True, summary=""))

    def end(self, pause: Pause = Pause()) -> int:
        """End the turn."""
        number, self.turn = self.turn, None
        assert number is not None
        recorder = self._recorder(Interrupted(self.project.now, 1, pause))
        recorder.end(number, TurnEnd.DONE)
        return number

    def work(self, path: str, text: str) -> int:
        """Take a turn that writes one file by a command."""
        self.begin()
        self.project.write(path, text)
        return self.end()

    def prune(self) -> None:
        """Take snapshots until none but the newest is kept, as one that keeps few does."""
        keeping = Keeping(self.session, self.store, 1, self.project.now)
        for _ in range(3):
            self._recorder(self.project.now).checkpoint("")
        prune_snapshots(keeping)

    def rewinder(self) -> Rewinder:
        def used_since(since: float) -> tuple[Path, ...]:
            self.asked.append(since)
            folders = [f for f in self.project.sessions.folders() if f != self.session.folder]
            return list_used_since(folders, self.project.root, since)

        return Rewinder(self.session, self.store, now=self.project.now, others=used_since)

    def plan(self, number: int = 1, mode: Mode = Mode.FILES) -> RewindPlan:
        return self.rewinder().plan(number, mode)

    def whose(self, number: int = 1) -> dict[str, tuple[Author, ...]]:
        files = self.plan(number).files
        assert files is not None
        return {change.path.decode(): change.by for change in files.changes}

    def as_other(self, turn: int | None = 1) -> Author:
        return Author(AuthorKind.SESSION, turn, self.id)

    def _recorder(self, now: Callable[[], float]) -> TurnRecorder:
        return TurnRecorder(self.session, self.store, now=now)


def own(turn: int = 1) -> Author:
    return Author(AuthorKind.TURN, turn)


@pytest.fixture
def seats(project: Project) -> Iterator[tuple[Seat, Seat]]:
    """Two sessions on one project."""
    first, second = Seat(project, project.session), Seat(project)
    yield first, second
    second.session.close()


Seats = tuple[Seat, Seat]
Told = dict[str, tuple[Author, ...]]


@pytest.fixture
def third(project: Project) -> Iterator[Seat]:
    """One session more."""
    seat = Seat(project)
    yield seat
    seat.session.close()


# ---- one after the other


def test_what_another_session_s_turn_did_since_is_that_turn_s(seats: Seats) -> None:
    mine, theirs = seats
    mine.work("m", "1")
    theirs.work("t", "1")
    theirs.work("t2", "1")

    assert mine.whose() == {
        "m": (own(),),
        "t": (theirs.as_other(1),),
        "t2": (theirs.as_other(2),),
    }


def test_what_it_did_before_this_session_s_turn_is_not_touched(seats: Seats) -> None:
    mine, theirs = seats
    theirs.work("t", "1")
    mine.work("m", "1")

    assert mine.whose() == {"m": (own(),)}


def test_a_path_that_all_changed_names_them_in_order_of_time(seats: Seats) -> None:
    mine, theirs = seats
    mine.work("f", "1")
    mine.project.write("f", "2")
    theirs.work("f", "3")
    mine.project.write("f", "4")
    mine.work("f", "5")

    assert mine.whose() == {"f": (own(), PERSON, theirs.as_other(), PERSON, own(2))}


def test_what_the_person_changes_after_it_is_still_the_person_s(seats: Seats) -> None:
    mine, theirs = seats
    mine.work("m", "1")
    theirs.work("t", "1")
    mine.project.write("u", "1")
    mine.project.write("t", "mine")

    assert mine.whose() == {
        "m": (own(),),
        "t": (theirs.as_other(), PERSON),
        "u": (PERSON,),
    }


def test_what_a_rewind_in_another_session_wrote_is_named_so(seats: Seats) -> None:
    mine, theirs = seats
    mine.project.write("f", "old")
    theirs.work("f", "1")
    mine.work("m", "1")
    theirs.rewinder().apply(theirs.rewinder().plan(1, Mode.FILES, [b"f"]))

    assert mine.whose() == {"m": (own(),), "f": (theirs.as_other(None),)}


def test_an_undo_waits_when_another_session_changed_a_path_since(seats: Seats) -> None:
    mine, theirs = seats
    mine.work("m", "1")
    alone = mine.rewinder().may_apply_at_once(mine.rewinder().plan_undo())
    theirs.work("t", "1")

    assert alone
    assert not mine.rewinder().may_apply_at_once(mine.rewinder().plan_undo())


def test_the_list_counts_neither_as_the_person_s_nor_as_the_turn_s(seats: Seats) -> None:
    mine, theirs = seats
    mine.begin("write_file", "m")
    mine.project.write("m", "1")
    theirs.work("t", "1")
    mine.end()
    theirs.work("t2", "1")
    mine.project.write("u", "1")

    (listed,) = mine.rewinder().list_points()

    assert (listed.changed, listed.changed_since) == (1, 1)


# ---- at the same time


def test_the_difference_of_a_turn_holds_nothing_of_another_session_s(seats: Seats) -> None:
    mine, theirs = seats
    mine.begin("write_file", "m")
    mine.project.write("m", "1")
    theirs.work("t", "1")
    number = mine.end()

    shown = [one.path for one in mine.rewinder().compare(OneTurn(number))]
    since = [one.path for one in mine.rewinder().compare(Since(number))]

    assert shown == [b"m"]
    assert since == [b"m", b"t"]


def test_what_another_session_did_during_a_turn_is_not_the_turn_s(seats: Seats) -> None:
    mine, theirs = seats
    mine.begin("write_file", "m")
    mine.project.write("m", "1")
    theirs.work("t", "1")
    mine.project.write("m", "2")
    mine.end()

    assert mine.whose() == {"m": (own(),), "t": (theirs.as_other(),)}


def test_what_both_could_have_written_is_told_to_be_both_s(seats: Seats) -> None:
    mine, theirs = seats
    mine.begin()
    theirs.begin()
    mine.project.write("f", "1")
    theirs.end()
    mine.end()

    assert mine.whose() == {"f": (own(), theirs.as_other())}
    assert not mine.rewinder().may_apply_at_once(mine.rewinder().plan_undo())


def test_file_tools_tell_two_turns_at_once_apart(seats: Seats) -> None:
    mine, theirs = seats
    mine.begin("write_file", "m")
    theirs.begin("write_file", "new/t")
    mine.project.write("m", "1")
    theirs.project.write("new/t", "1")
    theirs.end()
    mine.end()

    assert mine.whose() == {
        "m": (own(),),
        "new": (theirs.as_other(),),
        "new/t": (theirs.as_other(),),
    }


def test_what_was_done_before_the_other_s_snapshot_is_the_turn_s(seats: Seats) -> None:
    mine, theirs = seats
    mine.begin()
    mine.project.write("f", "1")
    theirs.begin()
    theirs.project.write("f", "2")
    theirs.end()
    mine.project.write("f", "3")
    mine.end()

    assert mine.whose() == {"f": (own(), theirs.as_other(), own())}
    assert not mine.rewinder().may_apply_at_once(mine.rewinder().plan_undo())


def test_what_a_turn_writes_while_another_s_snapshot_is_recorded_is_that_turn_s(
    seats: Seats, third: Seat
) -> None:
    mine, theirs = seats
    mine.work("m", "1")

    third.begin(pause=Pause(after_reading=lambda: theirs.work("f", "1")))
    third.end()

    assert mine.whose() == {"m": (own(),), "f": (theirs.as_other(),)}


def test_what_a_turn_writes_while_another_s_end_is_recorded_is_that_turn_s(
    seats: Seats, third: Seat
) -> None:
    mine, theirs = seats
    mine.work("m", "1")
    third.begin()
    third.project.write("f", "1")
    theirs.begin()

    def write_and_end() -> None:
        theirs.project.write("f", "2")
        theirs.end()

    third.end(Pause(after_reading=write_and_end))

    assert mine.whose() == {"m": (own(),), "f": (third.as_other(), theirs.as_other())}


def test_what_a_turn_writes_while_this_session_s_snapshot_is_recorded_is_that_turn_s(
    seats: Seats,
) -> None:
    mine, theirs = seats
    mine.begin("write_file", "m", pause=Pause(after_reading=lambda: theirs.work("f", "1")))
    mine.project.write("m", "1")
    mine.end()

    assert mine.whose() == {"m": (own(),), "f": (theirs.as_other(),)}


def test_what_a_file_tool_of_a_pruned_turn_wrote_stays_that_session_s(seats: Seats) -> None:
    """Its captures are gone; its archive still tells when it ran and what it wrote."""
    mine, theirs = seats
    mine.begin("write_file", "m")
    theirs.begin("write_file", "t")
    mine.project.write("m", "1")
    theirs.project.write("t", "1")
    theirs.end()
    mine.end()
    before = mine.whose()
    theirs.prune()

    assert mine.whose() == before == {"m": (own(),), "t": (theirs.as_other(),)}
    assert not mine.rewinder().may_apply_at_once(mine.rewinder().plan_undo())
    assert [point.changed for point in mine.rewinder().list_points()] == [1]


def test_what_a_command_of_a_pruned_turn_may_have_written_is_told_to_be_both_s(
    seats: Seats,
) -> None:
    mine, theirs = seats
    mine.begin("write_file", "m")
    theirs.work("t", "1")
    mine.project.write("m", "1")
    mine.end()
    theirs.work("t2", "1")
    mine.project.write("u", "1")
    theirs.prune()

    assert mine.whose() == {
        "m": (own(), theirs.as_other()),
        "t": (own(), theirs.as_other()),
        "t2": (PERSON, theirs.as_other(2)),
        "u": (PERSON, theirs.as_other(2)),
    }


def test_what_a_pruned_rewind_of_another_session_wrote_is_named_so(seats: Seats) -> None:
    mine, theirs = seats
    mine.project.write("f", "old")
    theirs.work("f", "1")
    mine.work("m", "1")
    theirs.rewinder().apply(theirs.rewinder().plan(1, Mode.FILES, [b"f"]))
    theirs.begin("write_file", "x")  # until a turn's snapshot, the undo point is in use
    theirs.end()
    theirs.prune()

    assert mine.whose() == {"m": (own(),), "f": (PERSON, theirs.as_other(None))}


def test_a_turn_of_another_session_that_still_runs_tells_nothing(seats: Seats) -> None:
    mine, theirs = seats
    mine.work("m", "1")
    theirs.begin()
    theirs.project.write("t", "1")

    assert mine.whose() == {"m": (own(),), "t": (PERSON,)}


# ---- what cannot be read


def test_a_session_that_was_not_used_since_is_not_looked_into(seats: Seats) -> None:
    mine, theirs = seats
    mine.work("m", "1")
    theirs.work("t", "1")
    long_ago = (1_600_000_000, 1_600_000_000)
    os.utime(theirs.session.folder / "archive.jsonl", long_ago)

    found = mine.whose()

    assert mine.asked
    assert found == {"m": (own(),), "t": (PERSON,)}


def remove_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def remove_store(folder: Path) -> None:
    shutil.rmtree(folder / "shadow.git")


def link_store(folder: Path) -> None:
    (folder / "shadow.git").rename(folder / "elsewhere")
    (folder / "shadow.git").symlink_to(folder / "elsewhere")


def remove_packs(folder: Path) -> None:
    for file in (folder / "shadow.git" / "objects" / "pack").iterdir():
        file.unlink()


def spoil_packs(folder: Path) -> None:
    for file in (folder / "shadow.git" / "objects" / "pack").iterdir():
        file.chmod(0o600)
        file.write_bytes(file.read_bytes()[:40])


def spoil_refs(folder: Path) -> None:
    for file in (folder / "shadow.git" / "refs" / "keryx").rglob("*/*"):
        file.write_bytes(b"nothing")


def empty_archive(folder: Path) -> None:
    (folder / "archive.jsonl").write_bytes(b"")


def spoil_archive(folder: Path) -> None:
    archive = folder / "archive.jsonl"
    archive.write_bytes(archive.read_bytes().replace(b"taken", b"shaken"))


def newer_archive(folder: Path) -> None:
    archive = folder / "archive.jsonl"
    archive.write_bytes(archive.read_bytes().replace(b'{"keryx":1', b'{"keryx":9', 1))


def pipe_for_archive(folder: Path) -> None:
    (folder / "archive.jsonl").unlink()
    os.mkfifo(folder / "archive.jsonl")


@pytest.mark.damaged_store
@pytest.mark.parametrize(
    "harm",
    [
        remove_folder,
        remove_store,
        link_store,
        remove_packs,
        spoil_packs,
        spoil_refs,
        empty_archive,
        spoil_archive,
        newer_archive,
        pipe_for_archive,
    ],
)
def test_a_session_that_cannot_be_read_tells_nothing(
    seats: Seats, harm: Callable[[Path], None]
) -> None:
    mine, theirs = seats
    mine.work("m", "1")
    theirs.work("t", "1")
    harm(theirs.session.folder)

    assert mine.whose() == {"m": (own(),), "t": (PERSON,)}
    assert mine.rewinder().list_points()[0].changed_since == 1


def test_a_session_that_goes_while_it_is_read_tells_nothing(seats: Seats) -> None:
    mine, theirs = seats
    mine.work("m", "1")
    theirs.work("t", "1")

    def gone(_: float) -> tuple[Path, ...]:
        remove_folder(theirs.session.folder)
        return (theirs.session.folder,)

    rewinder = Rewinder(mine.session, mine.store, now=mine.project.now, others=gone)
    files = rewinder.plan(1, Mode.FILES).files

    assert files is not None
    assert [change.by for change in files.changes] == [(own(),), (PERSON,)]


def test_looking_at_another_session_leaves_it_as_it_is(seats: Seats) -> None:
    mine, theirs = seats
    mine.work("m", "1")
    theirs.work("t", "1")
    shadow = theirs.session.folder / "shadow.git"
    # What a capture that is just being taken there needs.
    (shadow / "HEAD.lock").write_text("")
    (shadow / "objects" / "pack" / "tmp_pack_1").write_bytes(b"half")
    before = look_at(theirs.session.folder)

    mine.whose()

    assert look_at(theirs.session.folder) == before


def test_a_session_of_another_root_is_not_asked(project: Project, seats: Seats) -> None:
    mine, theirs = seats
    mine.work("m", "1")
    theirs.work("t", "1")
    other_root = project.base / "Q"
    other_root.mkdir()
    theirs.session.set_root(other_root)

    assert mine.whose() == {"m": (own(),), "t": (PERSON,)}


def test_what_it_captured_under_another_root_speaks_of_other_files(
    project: Project, seats: Seats
) -> None:
    mine, theirs = seats
    other_root = project.base / "Q"
    other_root.mkdir()
    mine.work("m", "1")
    theirs.session.set_root(other_root)
    theirs.work("t", "1")
    theirs.session.set_root(project.root)
    theirs.work("t2", "1")

    assert mine.whose() == {"m": (own(),), "t": (PERSON,), "t2": (theirs.as_other(2),)}


# ---- forks


def test_a_fork_s_past_is_this_session_s_own(seats: Seats) -> None:
    mine, theirs = seats
    mine.work("m", "1")
    fork = Seat(mine.project, mine.project.sessions.fork(mine.id))
    fork.work("f", "1")
    theirs.work("t", "1")
    again = Seat(mine.project, mine.project.sessions.fork(theirs.id))

    assert mine.whose() == {"m": (own(),), "f": (fork.as_other(2),), "t": (theirs.as_other(),)}
    assert fork.whose() == {"m": (own(),), "f": (own(2),), "t": (theirs.as_other(),)}
    assert again.whose() == {"t": (own(),)}
    fork.session.close()
    again.session.close()


# ---- many at once, against a model


class World:
    """What was written when and by whom, as a model that knows it all."""

    def __init__(self) -> None:
        self.written: list[tuple[str, Seat | None, int | None]] = []
        self.begun: dict[tuple[str, int], int] = {}

    def note(self, path: str, seat: Seat | None) -> None:
        self.written.append((path, seat, seat.turn if seat else None))

    def whose(self, seat: Seat, number: int) -> dict[str, tuple[Author, ...]]:
        """Say whose each change since a turn of *seat* began is."""
        start = self.begun[seat.id, number]
        told: dict[str, tuple[Author, ...]] = {}
        for path, writer, turn in self.written[start:]:
            if writer is None:
                author = PERSON
            elif writer is seat:
                author = Author(AuthorKind.TURN, turn)
            else:
                author = writer.as_other(turn)
            by = told.get(path, ())
            told[path] = by if by[-1:] == (author,) else (*by, author)
        return told


class Crowd:
    """Sessions that work at random, and a person among them; it keeps the model."""

    def __init__(
        self, project: Project, seed: int, seats: int, before: float = 0, after: float = 0
    ) -> None:
        """*before* and *after* is how likely more happens before the files are read for a capture,
        and after that, before it is recorded."""
        self.project = project
        self.dice = random.Random(seed)
        self.seats = [Seat(project) for _ in range(seats)]
        self.world = World()
        self.due: dict[str, list[str]] = {}
        self.before = before
        self.after = after
        self.capturing: list[Seat] = []

    def step(self) -> None:
        """Let somebody begin, write or end."""
        free = [seat for seat in self.seats if seat not in self.capturing]
        running = [seat for seat in free if seat.turn is not None]
        idle = [seat for seat in free if seat.turn is None]
        choice = self.dice.random()
        if choice < 0.25 and not running and not self.capturing:
            self.write(self.dice.choice("abcd"), None)
        elif choice < 0.6 and idle:
            self.begin(self.dice.choice(idle))
        elif running:
            self.go_on(self.dice.choice(running))

    def begin(self, seat: Seat) -> None:
        taken = {path for paths in self.due.values() for path in paths}
        free = [path for path in "abcd" if path not in taken]
        paths = self.dice.sample(free, k=min(len(free), self.dice.randint(0, 2)))
        self.due[seat.id] = paths
        begun = 0

        def read() -> None:
            nonlocal begun
            self.go_on_beside(self.before)
            begun = len(self.world.written)

        self.capturing.append(seat)
        pause = Pause(read, lambda: self.go_on_beside(self.after))
        seat.begin("write_file", *(paths or ["none"]), pause=pause)
        self.capturing.remove(seat)
        assert seat.turn is not None
        self.world.begun[seat.id, seat.turn] = begun

    def go_on(self, seat: Seat) -> None:
        unwritten = self.due[seat.id]
        if unwritten and self.dice.random() < 0.7:
            path = self.dice.choice(unwritten)
            self.write(path, seat)
        else:
            del self.due[seat.id]
            self.end(seat)

    def end(self, seat: Seat) -> None:
        self.capturing.append(seat)
        seat.end(
            Pause(lambda: self.go_on_beside(self.before), lambda: self.go_on_beside(self.after))
        )
        self.capturing.remove(seat)

    def go_on_beside(self, chance: float) -> None:
        """Let others go on while the captures of some are made."""
        while self.dice.random() < chance:
            self.step()

    def write(self, path: str, seat: Seat | None) -> None:
        text = f"{len(self.world.written)}\n"
        self.project.write(path, text)
        self.world.note(path, seat)

    def settle(self) -> None:
        for seat in self.seats:
            if seat.turn is not None:
                del self.due[seat.id]
                seat.end()


def play_crowd(
    project: Project, seed: int, *, before: float = 0, after: float = 0
) -> Iterator[tuple[Told, Told]]:
    """Let a crowd work; give what some of it are told of whose each change is, and what is true."""
    crowd = Crowd(project, seed, 3, before, after)
    for _ in range(60):
        crowd.step()
    crowd.settle()
    for seat in crowd.seats:
        numbers = [number for owner, number in crowd.world.begun if owner == seat.id]
        for number in {*numbers[:1], *crowd.dice.sample(numbers, k=min(3, len(numbers)))}:
            yield seat.whose(number), crowd.world.whose(seat, number)
        seat.session.close()


@pytest.mark.parametrize("after", [0, 0.6])
@pytest.mark.parametrize("seed", range(6))
def test_many_turns_at_once_are_told_as_they_were(
    project: Project, seed: int, after: float
) -> None:
    for told_so, true in play_crowd(project, seed, after=after):
        assert told_so == true


@pytest.mark.parametrize("seed", range(6))
def test_whenever_captures_read_the_files_the_person_is_never_left_out(
    project: Project, seed: int
) -> None:
    """Which of two captures at once came first cannot always be told."""
    for told_so, true in play_crowd(project, seed, before=0.4, after=0.4):
        assert told_so.keys() == true.keys()
        assert all(PERSON in told_so[path] for path, by in true.items() if PERSON in by)


# ---- the cutting itself


def state(content: str) -> FileState:
    return FileState(Kind.FILE, 0o644, content.encode() * 20)


def change(before: str, after: str) -> FileChange:
    return FileChange(b"f", state(before), state(after))


def at(time: float) -> Reading:
    return Reading(time, time)


def other(begun: float, ended: float, before: str, after: str, name: str = "s") -> OtherTurn:
    who = Author(AuthorKind.SESSION, 1, name)
    return OtherTurn(who, Span(at(begun), at(ended)), {b"f": change(before, after)})


def slow(
    begun: tuple[float, float], ended: tuple[float, float], before: str, after: str
) -> OtherTurn:
    """A turn of a session whose captures take their time, and which wrote a file beside."""
    who = Author(AuthorKind.SESSION, 1, "slow")
    return OtherTurn(who, Span(Reading(*begun), Reading(*ended)), {b"f": change(before, after)})


def told(author: Author | None, turns: list[OtherTurn], *states: str) -> list[tuple[str, ...]]:
    chapter = Chapter(author, (change(states[0], states[-1]),))
    pieces = interleave(chapter, Span(at(10), at(20)), turns)
    return [
        (one.author.session or one.author.kind.value if one.author else "nobody", *_ends(piece))
        for one in pieces
        for piece in one.changes
    ]


def _ends(piece: FileChange) -> tuple[str, str]:
    assert piece.before is not None
    assert piece.after is not None
    return piece.before.oid[:1].decode(), piece.after.oid[:1].decode()


S1, S2 = ("s", "1", "2"), ("person", "1", "2")


@pytest.mark.parametrize(
    ("turns", "pieces"),
    [
        pytest.param([], [S2], id="nobody else"),
        pytest.param([other(1, 9, "1", "2")], [S2], id="before"),
        pytest.param([other(21, 22, "1", "2")], [S2], id="after"),
        pytest.param([other(11, 12, "1", "2")], [S1], id="within"),
        pytest.param([other(5, 12, "0", "2")], [S1], id="begun before"),
        pytest.param([other(11, 25, "1", "2")], [S1], id="ended after"),
        pytest.param([other(5, 25, "0", "3")], [S1], id="all the time"),
        pytest.param(
            [other(11, 12, "1", "5")], [("s", "1", "5"), ("person", "5", "2")], id="then the person"
        ),
        pytest.param(
            [other(11, 12, "5", "2")],
            [("person", "1", "5"), ("s", "5", "2")],
            id="first the person",
        ),
        pytest.param(
            [other(11, 14, "1", "2"), other(12, 13, "1", "2", "z")],
            [("s", "1", "2"), ("z", "1", "2")],
            id="two at once",
        ),
        pytest.param(
            [other(11, 14, "1", "2"), other(13, 15, "5", "2", "z")],
            [("s", "1", "5"), ("s", "5", "2"), ("z", "5", "2")],
            id="two that overlap",
        ),
    ],
)
def test_a_stretch_of_the_person_is_cut_by_what_others_saw(
    turns: list[OtherTurn], pieces: list[tuple[str, ...]]
) -> None:
    assert told(PERSON, turns, "1", "2") == pieces


@pytest.mark.parametrize(
    ("turns", "pieces"),
    [
        pytest.param(
            [other(11, 13, "1", "2"), slow((12, 14), (15, 16), "1", "2")],
            [("s", "1", "2")],
            id="a snapshot was read before the other's last write",
        ),
        pytest.param(
            [other(11, 14, "1", "2"), slow((10, 11), (13, 15), "1", "1")],
            [("s", "1", "2")],
            id="an end was read before the other's last write",
        ),
        pytest.param(
            [other(11, 13, "1", "5"), slow((12, 14), (15, 16), "2", "2")],
            [("s", "1", "5"), ("person", "5", "2")],
            id="a snapshot was read after the person came between",
        ),
    ],
)
def test_of_captures_at_once_that_comes_first_which_changes_less(
    turns: list[OtherTurn], pieces: list[tuple[str, ...]]
) -> None:
    assert told(PERSON, turns, "1", "2") == pieces


def test_what_this_session_s_snapshot_holds_already_is_not_told_again() -> None:
    chapter = Chapter(PERSON, (change("2", "3"),))
    span = Span(Reading(10, 14), at(20))

    pieces = interleave(chapter, span, [other(11, 15, "1", "2")])

    assert pieces == (chapter,)


def test_a_clock_that_was_set_back_turns_no_stretch_round() -> None:
    chapter = Chapter(PERSON, (change("1", "2"),))
    span = Span(Reading(10, 20), Reading(15, 22))

    pieces = interleave(chapter, span, [other(1, 10, "0", "2"), other(22, 23, "1", "3")])

    assert pieces == (chapter,)


@pytest.mark.parametrize("author", [UNKNOWN, None])
def test_what_is_unknown_or_nobody_s_stays_so(author: Author | None) -> None:
    chapter = Chapter(author, (change("1", "2"),))

    assert interleave(chapter, Span(at(10), at(20)), [other(11, 12, "1", "2")]) == (chapter,)


def test_a_turn_that_could_not_have_written_a_path_has_no_part_in_it() -> None:
    chapter = Chapter(own(), (change("1", "2"),))
    turn = other(11, 12, "1", "2")
    elsewhere = Reach(anything=False, named=frozenset({b"g"}))

    theirs = interleave(chapter, Span(at(10), at(20), elsewhere), [turn])
    mine = interleave(
        chapter, Span(at(10), at(20)), [replace(turn, span=replace(turn.span, reach=elsewhere))]
    )

    assert [one.author for one in theirs] == [turn.author]
    assert [one.author for one in mine] == [own()]
