"""Settings: flags before environment before file, and every mistake one clear sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from keryx_py.settings import Flags, Settings, SettingsError, load_settings
from keryx_py.tools.base import Risk


def load(tmp_path: Path, text: str = "", flags: Flags | None = None, **environ: str) -> Settings:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    return load_settings({"HOME": str(tmp_path), **environ}, flags or Flags(), file)


def test_without_anything_the_built_in_model_answers_and_snapshots_are_on(tmp_path: Path) -> None:
    settings = load_settings({}, Flags(), tmp_path / "missing.toml")

    assert settings.model == "offline"
    assert settings.snapshots
    assert settings.keep == 50
    assert settings.approve == frozenset()


def test_a_key_alone_chooses_no_model_and_reaches_no_tool(tmp_path: Path) -> None:
    settings = load(tmp_path, OPENAI_API_KEY="sk-secret", ANTHROPIC_API_KEY="ak", PATH="/bin")

    assert settings.model == "offline"
    assert settings.openai_key == "sk-secret"
    assert settings.tool_environment == {"HOME": str(tmp_path), "PATH": "/bin"}
    assert "sk-secret" not in repr(settings)


def test_flags_go_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    file = 'model = "openai/file"\nbase_url = "http://file"\napprove = ["write"]\n'

    from_file = load(tmp_path, file)
    from_environment = load(tmp_path, file, KERYX_MODEL="openai/env", OPENAI_BASE_URL="http://env")
    flags = Flags(model="openai/flag", base_url="http://flag", approve=("shell",))
    from_flags = load(tmp_path, file, flags, KERYX_MODEL="openai/env")

    assert (from_file.model, from_file.base_url) == ("openai/file", "http://file")
    assert (from_environment.model, from_environment.base_url) == ("openai/env", "http://env")
    assert (from_flags.model, from_flags.base_url) == ("openai/flag", "http://flag")
    assert from_flags.approve == {Risk.WRITE, Risk.SHELL}


@pytest.mark.parametrize("value", ["off", "OFF", " Off ", "oFF\t"])
def test_rewind_is_switched_off_in_any_case(tmp_path: Path, value: str) -> None:
    settings = load(tmp_path, KERYX_REWIND=value)

    assert not settings.snapshots
    assert settings.off_because == "KERYX_REWIND=off"
    assert settings.warnings == ()


@pytest.mark.parametrize("value", ["on", "ON", "", "  "])
def test_on_and_empty_leave_snapshots_on_without_a_word(tmp_path: Path, value: str) -> None:
    settings = load(tmp_path, KERYX_REWIND=value)

    assert settings.snapshots
    assert settings.warnings == ()


@pytest.mark.parametrize("value", ["0", "no", "false", "of", "disabled"])
def test_any_other_value_warns_and_leaves_snapshots_on(tmp_path: Path, value: str) -> None:
    settings = load(tmp_path, KERYX_REWIND=value)

    assert settings.snapshots
    assert "KERYX_REWIND" in settings.warnings[0]


def test_the_file_can_switch_snapshots_off(tmp_path: Path) -> None:
    settings = load(tmp_path, "snapshots = false")

    assert not settings.snapshots
    assert "settings.toml" in settings.off_because


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("modle = 'x'", "'model'"),
        ("keep = 0", "keep must be a whole number of at least 1"),
        ("keep = true", "keep must be"),
        ("keep = 2.5", "keep must be"),
        ("approve = 'write'", "approve must be a list"),
        ("approve = ['wirte']", "did you mean write?"),
        ("approve = ['read']", "no risk 'read'"),
        ("exclude = [3]", "exclude must be"),
        ("max_file_mb = -1", "max_file_mb must be"),
        ("max_steps = 'many'", "max_steps must be"),
        ("snapshots = 'off'", "snapshots must be true or false"),
        ("= broken", "not valid TOML"),
        ("max_file_mb = inf", "max_file_mb is too large"),
        ("size_limit_gb = 1" + "0" * 400, "size_limit_gb is too large"),
        ("free_floor_gb = nan", "free_floor_gb must be"),
        ("approve = ['wirte']", "'wirte' to approve (did you mean write?); say one of write, "),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, text)

    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_text_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(b"model = '\xff'")

    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings({}, Flags(), file)


def test_no_file_of_a_project_is_taken_for_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user without a home folder has none; the path of one who has it is absolute."""
    file = Path("~", ".config", "keryx", "settings.toml")
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text("snapshots = false")
    monkeypatch.chdir(tmp_path)

    assert load_settings({"HOME": str(tmp_path)}, Flags(), file).snapshots


def test_the_data_folder_can_be_chosen(tmp_path: Path) -> None:
    settings = load(tmp_path, KERYX_DATA_DIR=str(tmp_path / "data"))

    assert settings.data_dir == tmp_path / "data"


def test_no_color_is_heard_from_flag_and_environment(tmp_path: Path) -> None:
    assert load(tmp_path).color
    assert not load(tmp_path, NO_COLOR="1").color
    assert not load(tmp_path, flags=Flags(no_color=True)).color


def test_a_server_for_openais_protocol_is_not_handed_another_providers_key(
    tmp_path: Path,
) -> None:
    from_environment = load(tmp_path, 'base_url = "http://file"', OPENAI_BASE_URL="http://env")
    from_flag = load(tmp_path, flags=Flags(base_url="http://flag"))

    assert from_environment.anthropic_base_url is None
    assert from_flag.anthropic_base_url == "http://flag"
