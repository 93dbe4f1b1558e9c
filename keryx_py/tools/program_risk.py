"""Which programs destroy with which arguments, by SPEC's list. Nothing here parses."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from keryx_py.tools.git_risk import has_option, why_git_destroys
from keryx_py.tools.shell_words import HOLE, Word

AS_ANOTHER_USER = frozenset(
    {
        "chroot",
        "doas",
        "gosu",
        "machinectl",
        "pkexec",
        "run0",
        "runuser",
        "setpriv",
        "sg",
        "su",
        "su-exec",
        "sudo",
        "sudoedit",
    }
)
_DEVICE_TOOLS = re.compile(
    r"mkfs(\..*)?|mke2fs|mkswap|newfs(_.*)?|wipefs|[sc]?fdisk|s?gdisk|parted|blkdiscard|badblocks"
    r"|diskutil|nvme|hdparm|cryptsetup|lvremove|vgremove|pvremove|zpool|zfs|flashrom|fwupdmgr"
)
_SHUTS_DOWN = frozenset({"shutdown", "reboot", "halt", "poweroff"})
_SHREDS = frozenset({"shred", "srm", "wipe", "rimraf"})
_SYSTEMCTL_DOWN = frozenset(
    {"poweroff", "reboot", "halt", "kexec", "soft-reboot", "suspend", "hibernate", "hybrid-sleep"}
    | {"rescue", "emergency", "exit"}
)
_COPIERS = frozenset({"cp", "mv", "install", "tee", "dd", "truncate", "sponge", "rsync", "ln"})
_HARMLESS_DEVICES = re.compile(
    rf"/dev/(null|zero|full|tty|ptmx|u?random|std(in|out|err)|fd/[0-9{HOLE}]+|pts/[0-9]+|shm/.+)|/proc/self/fd/[0-9]+"
)
_DEVICE_PLACE = re.compile(r"(/|(\.\./)+)(dev|proc|sys)(/.*)?")

NAMES = (
    AS_ANOTHER_USER
    | _SHUTS_DOWN
    | _SHREDS
    | {"rm", "git", "chmod", "chown", "chgrp", "setfacl", "dd", "kill", "rsync", "systemctl"}
    | {"unlink"}
)
"""Programs that are looked for also among the words of a program that is not known."""


TAKE_TEXT = frozenset(
    {"echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "ack", "cat", "tac", "head", "tail"}
    | {"less", "more", "ls", "wc", "sort", "uniq", "cut", "tr", "sed", "awk", "gawk", "man", "info"}
    | {"help", "which", "type", "whereis", "whatis", "apropos", "test", "[", "true", "false", ":"}
    | {"touch", "mkdir", "rmdir", "cp", "mv", "ln", "diff", "cmp", "stat", "file", "basename"}
    | {"dirname", "realpath", "readlink", "seq", "date", "cd", "pushd", "popd", "export", "set"}
    | {"unset", "shift", "return", "exit", "wait", "pwd", "read", "local", "tree", "du", "df", "jq"}
    | {"apt", "apt-get", "dnf", "yum", "brew", "pip", "pip3", "pacman", "apk", "dpkg", "rpm"}
    | {"snap", "git", "find", "rm", "chmod", "chown", "chgrp", "vim", "vi", "nano", "command"}
)
"""Programs whose words are text, names or places, never another command."""


def why_program_destroys(name: str, args: Sequence[Word]) -> str:
    """Say why the program *name* with *args* destroys; empty when it is not known to."""
    if name in AS_ANOTHER_USER:
        return f"{name} runs a command as another user"
    if name in _SHUTS_DOWN or _goes_down(name, args):
        return f"{name} shuts the machine down"
    if name in _SHREDS or _DEVICE_TOOLS.fullmatch(name):
        return f"{name} destroys what is stored"
    if name in _COPIERS:
        for word in args:
            # A value may be joined to its option, as in of=/dev/sda.
            value = Word(word.text.partition("=")[2])
            if writes_device(word, strict=False) or writes_device(value, strict=False):
                return f"{name} writes to a device"
    match name:
        case "rm" if has_option(args, "rRf", ("recursive", "force")):
            return "rm removes recursively or by force"
        case "git":
            return why_git_destroys(args)
        case "chmod" | "chown" | "chgrp" | "setfacl" if has_option(args, "R", ("recursive",)):
            return f"{name} changes modes or owners recursively"
        case "rsync" if has_option(args, "", ("delete", "del", "remove-source-files")) or any(
            word.text.startswith("--delete") for word in args
        ):
            return "rsync removes files"
        case "kill" if _kills_all(args):
            return "kill ends every process"
        case "dd" if any(word.text.startswith((f"of={HOLE}", HOLE)) for word in args):
            return "dd writes to a place that is only known when it runs"
        case "hash" if has_option(args, "p", ()):
            return "hash -p makes a name stand for another program"
        case _:
            return ""


def writes_device(target: Word, strict: bool = True) -> bool:
    """Say whether *target* is a device, or with *strict* may turn out to be one.

    Files of the kernel count as devices.
    """
    if target.text.startswith(HOLE):
        # No device has a dot in its name.
        return strict and (target.splits or "." not in target.text)
    place = posixpath.normpath(re.sub("^/+", "/", target.text))
    return bool(_DEVICE_PLACE.fullmatch(place)) and not _HARMLESS_DEVICES.fullmatch(place)


def _goes_down(name: str, args: Sequence[Word]) -> bool:
    texts = {word.text for word in args}
    if name in ("init", "telinit"):
        return bool(texts & {"0", "6"}) or any(not word.exact for word in args)
    if name != "systemctl":
        return False
    return bool(texts & _SYSTEMCTL_DOWN) or any(not word.exact for word in args)


def _kills_all(args: Sequence[Word]) -> bool:
    if not args:
        return False
    first, *rest = args
    # The first option is the signal: kill -1 7 sends signal 1 to process 7.
    operands = rest if first.text.startswith("-") and first.text != "--" else args
    return any(word.text == "-1" for word in operands)
