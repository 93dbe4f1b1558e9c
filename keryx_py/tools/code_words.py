"""Code that a command hands to a program, in any language: whether its words remove.

Only ever raises a risk: what the words do not say is not known, and what they say may be a comment.
"""

from __future__ import annotations

import posixpath
import re

_TAKERS = re.compile(
    r"python[0-9.]*|pypy[0-9.]*|perl[0-9.]*|ruby[0-9.]*|node|nodejs|deno|bun|php[0-9.]*|lua[0-9.]*"
    r"|rscript|osascript|pwsh|powershell|tclsh|expect|[gmn]?awk|g?sed|ed|ex|n?vim?|view|emacs|gdb"
    r"|lldb|sqlite3|psql|mysql"
)
_RUNS = re.compile(
    r"system|popen|subprocess|exec|spawn|\bqx\b|`|\bshell\b|(?:^|\s|\\)!|(?:^|[0-9;{}$/])e\s"
    r"|/[gpIm0-9]*e[gpIm0-9]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""What runs a command from within another language."""
_BY_COMMAND = re.compile(
    r"\brm\b['\", ]+(?:[^\n;|&]*?['\", ])?-{1,2}[A-Za-z]*[rRf]"
    r"|\bgit\b['\", ]+(?:reset\b['\", ]+--hard|clean\b['\", ]+-[a-z]*f)"
)
_BY_ITSELF = re.compile(
    r"\brmtree\b|\bremove_tree\b|\brm_rf?\b|\bremove_entry(?:_secure)?\b|\bremove_dir_all\b"
    r"|\bremovedirs\b|\brimraf\b|\brm(?:dir)?(?:Sync)?\([^)]*\brecursive\b|\bunlink\b\W+glob\b"
    r"|\bRemove-Item\b"
)


def takes_code(name: str) -> bool:
    """Say whether the program *name* may be given code among its words, or on standard input."""
    return bool(_TAKERS.fullmatch(posixpath.basename(name).lower()))


def speaks_of_removal(code: str) -> bool:
    """Say whether *code* holds the words of a removal that is recursive or by force."""
    return bool(_BY_ITSELF.search(code) or (_RUNS.search(code) and _BY_COMMAND.search(code)))
