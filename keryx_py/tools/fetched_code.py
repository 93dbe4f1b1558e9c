"""Which programs bring code from elsewhere, and which run code that they are given."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from keryx_py.tools.shell_runners import SHELLS
from keryx_py.tools.shell_words import HOLE, Word

_FETCHERS = frozenset(
    {"curl", "wget", "fetch", "aria2c", "lynx", "http", "https", "xh", "nc", "ncat", "netcat"}
    | {"socat", "ssh", "scp", "ftp", "base64", "base32", "basenc", "xxd", "uudecode", "openssl"}
    | {"gunzip", "zcat", "bzcat", "xzcat", "zstdcat", "gpg"}
)
_INTERPRETERS = re.compile(
    r"python[0-9.]*|pypy[0-9.]*|perl[0-9.]*|ruby[0-9.]*|node|nodejs|deno|bun|php[0-9.]*|lua[0-9.]*"
    r"|Rscript|osascript|pwsh|tclsh"
)


def is_fetcher(word: Word) -> bool:
    """Say whether *word* names a program that downloads or decodes."""
    return posixpath.basename(word.text).lower() in _FETCHERS


def is_interpreter(word: Word) -> bool:
    """Say whether *word* names a program that runs code in a language of its own."""
    return bool(_INTERPRETERS.fullmatch(posixpath.basename(word.text)))


def reads_code(args: Sequence[Word]) -> bool:
    """Say whether an interpreter takes its code from standard input."""
    operands = [word.text for word in args if not word.text.startswith("-")]
    return not operands or operands[0] in ("/dev/stdin", "/dev/fd/0")


def script_file(words: Sequence[Word]) -> str:
    """Name the file that a command runs as a script, without its folder; empty for none."""
    if not words:
        return ""
    name = posixpath.basename(words[0].text)
    if name in SHELLS or name in (".", "source") or is_interpreter(words[0]):
        operands = [word.text for word in words[1:] if not word.text.startswith("-")]
        return posixpath.basename(operands[0]) if operands else ""
    return name if "/" in words[0].text and HOLE not in words[0].text else ""
