"""Keep notes in a text file, one a line."""

import sys
from pathlib import Path

FILE = Path("notes.txt")


def add(note: str) -> None:
    with FILE.open("a", encoding="utf-8") as file:
        file.write(note + "\n")


def listed() -> list[str]:
    return FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []


if __name__ == "__main__":
    if sys.argv[1:2] == ["add"]:
        add(" ".join(sys.argv[2:]))
    else:
        sys.stdout.write("\n".join(listed()) + "\n")
