"""The settings of one process; with cli the only reader of the environment and of config.

A project's own files are never read here: a cloned repository must not be able to weaken keryx.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias

from keryx_py.errors import KeryxError
from keryx_py.tools.base import Risk


class SettingsError(KeryxError):
    """The settings cannot be used; the text names the key or variable and what to do."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that configures a process, worked out once."""

    data_dir: Path
    home: Path
    model: str = "offline"
    base_url: str | None = None
    """The server that speaks the OpenAI chat protocol; None for OpenAI's own."""
    anthropic_base_url: str | None = None
    """Set by the flag alone: what is meant for OpenAI's protocol must not get another's key."""
    approve: frozenset[Risk] = frozenset()
    snapshots: bool = True
    off_because: str = ""
    """How snapshots were switched off, such as "KERYX_REWIND=off"; empty when they are on."""
    keep: int = 50
    max_file_mb: float = 5
    size_limit_gb: float = 4
    free_floor_gb: float = 1
    exclude: tuple[str, ...] = ()
    context_tokens: int = 100_000
    max_steps: int = 100
    color: bool = True
    pager: str | None = None
    """The person's own pager, as for sh -c; None for the usual one."""
    openai_key: str | None = field(default=None, repr=False)
    anthropic_key: str | None = field(default=None, repr=False)
    tool_environment: dict[str, str] = field(default_factory=dict, repr=False)
    """What tools' processes get: the environment less every key."""
    warnings: tuple[str, ...] = ()
    """What the person should know at the start, such as an odd value of KERYX_REWIND."""


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line says; it goes before the environment, which goes before the file."""

    model: str | None = None
    base_url: str | None = None
    approve: tuple[str, ...] = ()
    no_color: bool = False


NOWHERE = Path("/")
"""In place of the home folder of a user who has none."""

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
"""Variables that no tool's process is given."""

Value: TypeAlias = str | bool | int | float | list[str]


def load_settings(environ: Mapping[str, str], flags: Flags, config_file: Path) -> Settings:
    """Work the settings out from *flags*, *environ* and *config_file*, in that order.

    Raises SettingsError.
    """
    file = _read_file(config_file)
    values: dict[str, Value] = {
        key: _checked(key, value, config_file) for key, value in file.items()
    }
    switch, warnings = _rewind_switch(environ.get("KERYX_REWIND", ""))
    off_because = switch or (
        "snapshots = false in settings.toml" if values.get("snapshots") is False else ""
    )
    asked = [*flags.approve, *_words(values.get("approve", []))]
    return Settings(
        data_dir=_data_dir(environ),
        home=_home(environ) or NOWHERE,
        model=flags.model or environ.get("KERYX_MODEL") or str(values.get("model", "offline")),
        base_url=flags.base_url
        or environ.get("OPENAI_BASE_URL")
        or _text_or_none(values.get("base_url")),
        anthropic_base_url=flags.base_url,
        approve=frozenset(parse_risk(word) for word in asked),
        snapshots=not off_because,
        off_because=off_because,
        keep=_whole(values, "keep", 50),
        max_file_mb=_decimal(values, "max_file_mb", 5),
        size_limit_gb=_decimal(values, "size_limit_gb", 4),
        free_floor_gb=_decimal(values, "free_floor_gb", 1),
        exclude=tuple(_words(values.get("exclude", []))),
        context_tokens=_whole(values, "context_tokens", 100_000),
        max_steps=_whole(values, "max_steps", 100),
        color=not flags.no_color and not environ.get("NO_COLOR"),
        pager=environ.get("PAGER"),
        openai_key=environ.get("OPENAI_API_KEY") or None,
        anthropic_key=environ.get("ANTHROPIC_API_KEY") or None,
        tool_environment={k: v for k, v in environ.items() if k not in KEYS},
        warnings=warnings,
    )


def parse_risk(word: str) -> Risk:
    """Read the name of a risk that can be approved beforehand. Raises SettingsError."""
    names = [risk.value for risk in Risk if risk.mutates]
    if word not in names:
        near = get_close_matches(word, names, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise SettingsError(
            f"there is no risk {word!r} to approve{hint}; say one of {', '.join(names)}"
        )
    return Risk(word)


_TYPES: Mapping[str, tuple[type, str]] = {
    "model": (str, "a text"),
    "base_url": (str, "a text"),
    "approve": (list, "a list of risks"),
    "snapshots": (bool, "true or false"),
    "keep": (int, "a whole number of at least 1"),
    "max_file_mb": (float, "a number above 0"),
    "size_limit_gb": (float, "a number above 0"),
    "free_floor_gb": (float, "a number of at least 0"),
    "exclude": (list, "a list of patterns"),
    "context_tokens": (int, "a whole number of at least 1000"),
    "max_steps": (int, "a whole number of at least 1"),
}
_TOO_MUCH = 10**15
_LEAST: Mapping[str, float] = {
    "keep": 1,
    "max_file_mb": 1e-6,
    "size_limit_gb": 1e-6,
    "free_floor_gb": 0,
    "context_tokens": 1000,
    "max_steps": 1,
}


def _read_file(path: Path) -> Mapping[str, object]:
    if not path.is_absolute():
        # Of a user without a home folder; from here it would be a project's own file.
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read ({error}); mend or remove it") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from error


def _checked(key: str, value: object, path: Path) -> Value:
    if key not in _TYPES:
        near = get_close_matches(key, _TYPES, n=1, cutoff=0.0)
        raise SettingsError(f"{path}: there is no setting {key!r}; the nearest is {near[0]!r}")
    kind, meaning = _TYPES[key]
    fine = isinstance(value, (int, float) if kind is float else kind)
    if kind is not bool and isinstance(value, bool):
        fine = False
    if isinstance(value, list):
        fine = fine and all(isinstance(word, str) for word in value)
    if isinstance(value, int | float) and key in _LEAST:
        fine = fine and value >= _LEAST[key]
        if fine and value >= _TOO_MUCH:
            raise SettingsError(f"{path}: {key} is too large; it must be below 10^15")
    if not fine:
        raise SettingsError(f"{path}: {key} must be {meaning}")
    assert isinstance(value, str | bool | int | float | list)
    return value


def _whole(values: Mapping[str, Value], key: str, default: int) -> int:
    value = values.get(key, default)
    return value if isinstance(value, int) else default


def _decimal(values: Mapping[str, Value], key: str, default: float) -> float:
    value = values.get(key, default)
    return float(value) if isinstance(value, int | float) else default


def _words(value: Value) -> list[str]:
    return value if isinstance(value, list) else []


def _text_or_none(value: Value | None) -> str | None:
    return value if isinstance(value, str) else None


def _rewind_switch(value: str) -> tuple[str, tuple[str, ...]]:
    """Read KERYX_REWIND; return how it switches snapshots off, and what is odd about it."""
    match value.strip().lower():
        case "off":
            return "KERYX_REWIND=off", ()
        case "" | "on":
            return "", ()
        case _:
            return "", (
                f"KERYX_REWIND={value!r} is neither on nor off, so snapshots are on; "
                "set KERYX_REWIND=off to switch them off",
            )


def _home(environ: Mapping[str, str]) -> Path | None:
    """The home folder; None for a user who has none, as some services run."""
    try:
        return Path(environ.get("HOME") or Path.home())
    except RuntimeError:
        return None


def _data_dir(environ: Mapping[str, str]) -> Path:
    chosen = environ.get("KERYX_DATA_DIR")
    if chosen:
        try:
            return Path(chosen).expanduser().resolve()
        except RuntimeError as error:
            raise SettingsError(f"KERYX_DATA_DIR={chosen!r} names no user's home folder") from error
    import platformdirs  # at first use: most tests and --help need no folders

    try:
        folder = platformdirs.user_data_path("keryx", appauthor=False)
    except RuntimeError:
        folder = Path()
    # Where no home folder is known, some versions raise and others name one below this folder.
    if not folder.is_absolute():
        raise SettingsError(
            "no home folder is known to keep sessions in; set KERYX_DATA_DIR to a folder of yours"
        )
    return folder.resolve()
