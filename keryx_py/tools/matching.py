"""Search files line by line for a pattern; run as a process of its own.

A regular expression can take for ever, and only a process can be stopped then. So this file
needs nothing but the standard library. It reads one line of JSON, [root, pattern], and the
paths, each ended by a NUL; it writes lines of JSON: ["plain", why] when the pattern is taken
as plain text, ["match", path's index, line, text], ["large", path's index], ["full"].
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator

MOST_MATCHES = 200
MOST_BYTES = 5 * 2**20
# A line longer than this is searched in its first part only.
MOST_IN_A_LINE = 10_000
SHOWN_IN_A_LINE = 300
_FOLDER = os.O_RDONLY | os.O_DIRECTORY


def compile_pattern(pattern: str) -> tuple[Callable[[str], re.Match[str] | None], str]:
    """Compile *pattern*; when it is no regular expression, as plain text, and say why."""
    try:
        return re.compile(pattern).search, ""
    except (re.error, RecursionError, OverflowError) as error:
        return re.compile(re.escape(pattern)).search, str(error) or type(error).__name__


def open_inside(root: bytes, path: bytes) -> int:
    """Open *path* below *root* step by step: since it was listed a link may have come there."""
    *above, name = path.split(b"/")
    folder = os.open(root, _FOLDER)
    try:
        for part in above:
            below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)


def read_text(root: bytes, path: bytes) -> str | None:
    """Read a text file; "" for one that is binary or gone, None for one that is too large."""
    try:
        descriptor = open_inside(root, path)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return ""
        if found.st_size > MOST_BYTES:
            return None
        data = file.read(MOST_BYTES)
    return "" if b"\0" in data[:8_192] else data.decode("utf-8-sig", "replace")


def search(root: bytes, pattern: str, paths: list[bytes]) -> Iterator[list[str | int]]:
    """Yield what to tell, path by path and line by line."""
    match, why = compile_pattern(pattern)
    if why:
        yield ["plain", why]
    left = MOST_MATCHES
    for index, path in enumerate(paths):
        text = read_text(root, path)
        if text is None:
            yield ["large", index]
            continue
        for number, line in enumerate(text.split("\n") if text else (), start=1):
            hit = match(line[:MOST_IN_A_LINE].removesuffix("\r"))
            if hit is None:
                continue
            if left == 0:
                yield ["full"]
                return
            left -= 1
            yield ["match", index, number, _around(line.removesuffix("\r"), hit.start())]


def _around(line: str, start: int) -> str:
    if len(line) <= SHOWN_IN_A_LINE:
        return line
    first = max(0, start - SHOWN_IN_A_LINE // 3)
    part = line[first : first + SHOWN_IN_A_LINE]
    return f"{'…' if first else ''}{part}{'…' if first + len(part) < len(line) else ''}"


def main() -> None:
    """Answer standard input on standard output."""
    head, _, rest = sys.stdin.buffer.read().partition(b"\n")
    root, pattern = json.loads(head)
    for line in search(os.fsencode(root), pattern, rest.split(b"\0")[:-1]):
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
