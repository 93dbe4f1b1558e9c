"""Names of models, and what each opens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from keryx_py.models.base import ModelError
from keryx_py.models.catalog import open_model, preload

LOCAL = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("name", "base_url", "opened"),
    [
        ("offline", None, "offline"),
        (" offline ", LOCAL, "offline"),
        ("openai/gpt", None, "openai/gpt"),
        ("openai/org/model:7b", LOCAL, "openai/org/model:7b"),
        ("anthropic/claude", None, "anthropic/claude"),
        ("qwen3:8b", LOCAL, "openai/qwen3:8b"),
        ("org/model", LOCAL, "openai/org/model"),
    ],
)
def test_a_name_opens_its_model(name: str, base_url: str | None, opened: str) -> None:
    model = open_model(name, base_url=base_url, openai_key="k", anthropic_key="k")

    assert model.name == opened


def test_a_script_is_opened_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "a b.toml"
    path.write_text('[[reply]]\ntext = "x"\n', encoding="utf-8")

    assert open_model(f"script:{path}").name == f"script:{path}"


def test_the_window_is_passed_on() -> None:
    assert open_model("openai/m", base_url=LOCAL, context_tokens=9).context_tokens == 9


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("ofline", "offline"),
        ("", "offline"),
        ("opnai/gpt", "openai/gpt"),
        ("antropic/", "anthropic/NAME"),
        ("openai", "openai/NAME"),
        ("openai/", "openai/NAME"),
        ("gpt-5", "openai/gpt-5"),
        ("claude-x", "anthropic/claude-x"),
        ("script:", "script:FILE"),
        ("demo.toml", "script:demo.toml"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(ModelError) as caught:
        open_model(name, openai_key="k", anthropic_key="k")

    assert f'did you mean "{nearest}"?' in str(caught.value)
    assert "script:FILE" in str(caught.value)


def test_preloading_imports_what_the_model_needs_and_nothing_else() -> None:
    program = (
        "import sys; from keryx_py.models.catalog import preload;"
        "preload('offline'); preload('script:x'); before = 'openai' in sys.modules;"
        "preload('qwen', 'http://x'); print(before, 'openai' in sys.modules, "
        "'anthropic' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["False", "True", "False"]


def test_preloading_an_unknown_name_does_nothing() -> None:
    preload("no/such")
