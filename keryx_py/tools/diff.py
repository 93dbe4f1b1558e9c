"""What a write changes, as a unified diff that is bounded in time and size. Nothing here acts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice

from keryx_py.tools.base import Shown, ShownAs

MOST_LINES = 800
MOST_IN_A_LINE = 500
# Above these, lines count as replaced as a whole: matching them could take minutes.
_MOST_COMPARED = 4_000
_MOST_PAIRS = 60_000

_Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Difference:
    """What a write does to one file."""

    summary: str
    """The counts of lines, such as "+3 -1"."""
    shown: Shown


def compare(name: str, old: bytes | None, new: bytes | None) -> Difference:
    """Compare the file *name* before and after; None where there is no file."""
    before, after = old or b"", new or b""
    if b"\0" in before or b"\0" in after:
        text = f"{name}: binary, {len(before):,} bytes become {len(after):,}"
        return Difference("binary", Shown(ShownAs.TEXT, text))
    old_lines, new_lines = _lines(before), _lines(after)
    opcodes = _opcodes(old_lines, new_lines)
    added = sum(code[4] - code[3] for code in opcodes if code[0] != "equal")
    removed = sum(code[2] - code[1] for code in opcodes if code[0] != "equal")
    lines = [
        f"--- {'/dev/null' if old is None else 'a/' + name}",
        f"+++ {'/dev/null' if new is None else 'b/' + name}",
        *islice(_hunks(old_lines, new_lines, opcodes), MOST_LINES + 1),
    ]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"[cut after {MOST_LINES} lines; +{added} -{removed} in all]"]
    return Difference(f"+{added} -{removed}", Shown(ShownAs.DIFF, "\n".join(lines) + "\n"))


class _Compared(SequenceMatcher[bytes]):
    """A comparison that is known already, for its grouping into hunks."""

    def __init__(self, opcodes: list[_Opcode]) -> None:
        super().__init__(None, (), ())
        self._known = opcodes

    def get_opcodes(self) -> list[_Opcode]:  # type: ignore[override]
        return self._known


def _lines(data: bytes) -> list[bytes]:
    # Not splitlines(): a file's lines end in \n alone, whatever else is in them.
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _opcodes(old: list[bytes], new: list[bytes]) -> list[_Opcode]:
    start = _same_at_start(old, new)
    end = _same_at_start(old[start:][::-1], new[start:][::-1])
    old_end, new_end = len(old) - end, len(new) - end
    codes: list[_Opcode] = [("equal", 0, start, 0, start)]
    codes.extend(
        (tag, i + start, i_end + start, j + start, j_end + start)
        for tag, i, i_end, j, j_end in _middle(old[start:old_end], new[start:new_end])
    )
    codes.append(("equal", old_end, len(old), new_end, len(new)))
    return [code for code in codes if code[1] != code[2] or code[3] != code[4]]


def _same_at_start(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    same = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        same += 1
    return same


def _middle(old: list[bytes], new: list[bytes]) -> list[_Opcode]:
    times = Counter(new)
    # The time of a comparison hangs on the pairs of equal lines; difflib drops common ones.
    popular = len(new) // 100 + 1 if len(new) >= 200 else len(new)
    pairs = sum(times[line] for line in old if times[line] <= popular)
    if max(len(old), len(new)) > _MOST_COMPARED or pairs > _MOST_PAIRS:
        return [("replace", 0, len(old), 0, len(new))]
    return list(SequenceMatcher(None, old, new).get_opcodes())


def _hunks(old: list[bytes], new: list[bytes], opcodes: list[_Opcode]) -> Iterator[str]:
    crlf = all(line.endswith(b"\r\n") for line in (*old, *new) if line.endswith(b"\n"))
    for group in _Compared(opcodes).get_grouped_opcodes():
        first, last = group[0], group[-1]
        yield f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@"
        for tag, i, i_end, j, j_end in group:
            if tag == "equal":
                yield from _marked(" ", old[i:i_end], crlf)
            else:
                yield from _marked("-", old[i:i_end], crlf)
                yield from _marked("+", new[j:j_end], crlf)


def _span(start: int, end: int) -> str:
    count = end - start
    return f"{start + (count > 0)}" if count == 1 else f"{start + (count > 0)},{count}"


def _marked(mark: str, lines: list[bytes], crlf: bool) -> Iterator[str]:
    for line in lines:
        text = line[: 4 * MOST_IN_A_LINE].decode("utf-8", "replace").removesuffix("\n")
        # On a file of CRLF lines the sign would stand at the end of every line.
        text = text.removesuffix("\r") if crlf else text
        cut = len(line) > 4 * MOST_IN_A_LINE or len(text) > MOST_IN_A_LINE
        yield mark + (f"{text[:MOST_IN_A_LINE]} […]" if cut else text)
        if not line.endswith(b"\n"):
            yield "\\ No newline at end of file"
