"""From a model's name to the model."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from keryx_py.models.base import Model, ModelError
from keryx_py.models.offline import OfflineModel
from keryx_py.models.scripted import ScriptedModel

NAMES = ("offline", "script:FILE", "openai/NAME", "anthropic/NAME")
"""Every form of name; what stands in capitals is the person's to fill in."""

_LIBRARIES: Mapping[str, str] = MappingProxyType({"openai": "openai", "anthropic": "anthropic"})


@dataclass(frozen=True, slots=True)
class Access:
    """How a server is reached; keys are never shown."""

    base_url: str | None = None
    """None for the provider's own server."""
    openai_key: str | None = field(default=None, repr=False)
    anthropic_key: str | None = field(default=None, repr=False)
    context_tokens: int | None = None


def open_model(
    name: str,
    *,
    base_url: str | None = None,
    openai_key: str | None = None,
    anthropic_key: str | None = None,
    context_tokens: int | None = None,
) -> Model:
    """Open the model called *name*; a name of no known form goes to the server at *base_url*.

    Nothing is sent yet. Raises ModelError when the name, the key or the script cannot be used.
    """
    access = Access(base_url, openai_key, anthropic_key, context_tokens)
    name = name.strip()
    if name == "offline":
        return OfflineModel()
    if name.startswith("script:") and name != "script:":
        return ScriptedModel.from_file(Path(name.removeprefix("script:")).expanduser())
    provider, slash, model = name.partition("/")
    if slash and model and provider in _PROVIDERS:
        return _PROVIDERS[provider](model, access)
    if base_url and name and not name.startswith("script:") and not name.endswith("/"):
        return _openai(name, access)
    raise ModelError(_unknown(name))


def preload(name: str, base_url: str | None = None) -> None:
    """Import the library that model *name* needs, so that its first turn need not wait for it."""
    provider = name.strip().partition("/")[0]
    library = _LIBRARIES.get(provider)
    if library is None and base_url and provider != "offline":
        library = "openai"
    if library is not None:
        try:
            importlib.import_module(library)
        except ImportError:
            # Nobody waits for this; the first turn says it.
            return


def _openai(model: str, access: Access) -> Model:
    # Imported here: nobody who stays offline waits for it.
    from keryx_py.models.openai_chat import OpenAIModel

    return OpenAIModel(
        model,
        base_url=access.base_url,
        key=access.openai_key,
        context_tokens=access.context_tokens,
    )


def _anthropic(model: str, access: Access) -> Model:
    from keryx_py.models.anthropic_messages import AnthropicModel

    return AnthropicModel(
        model,
        base_url=access.base_url,
        key=access.anthropic_key,
        context_tokens=access.context_tokens,
    )


_PROVIDERS: Mapping[str, Callable[[str, Access], Model]] = MappingProxyType(
    {"openai": _openai, "anthropic": _anthropic}
)


def _unknown(name: str) -> str:
    forms = "offline, script:FILE, openai/NAME or anthropic/NAME"
    return f'There is no model "{name}"; did you mean "{_nearest(name)}"? A name is {forms}.'


def _nearest(name: str) -> str:
    provider, slash, model = name.partition("/")
    if slash:
        near = difflib.get_close_matches(provider.lower(), _PROVIDERS, 1, 0)
        return f"{near[0]}/{model or 'NAME'}"
    if name.startswith("script") or name.endswith(".toml"):
        return f"script:{name.removeprefix('script').lstrip(':') or 'FILE'}"
    if name in _PROVIDERS:
        return f"{name}/NAME"
    if not name or difflib.get_close_matches(name.lower(), ["offline"]):
        return "offline"
    return f"anthropic/{name}" if "claude" in name.lower() else f"openai/{name}"
