from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.errors import InputError, UsageError
from lodestar.engine.settings import Settings, resolve


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's settings file, in a configuration folder of the test's own."""
    monkeypatch.setattr("lodestar.engine.settings.platformdirs.user_config_dir", lambda _: str(tmp_path))
    return tmp_path / "lodestar.toml"


def test_a_file_in_the_working_folder_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    Path("lodestar.toml").write_text('llm_base_url = "https://attacker.example"\n')
    assert resolve({}, {}).llm_base_url == ""


def test_flags_over_environment_over_file_over_defaults(config: Path) -> None:
    config.write_text('user = "file"\nname = "file"\nencoder = "file"\n')
    found = resolve({"user": "flag", "name": None}, {"LODESTAR_USER": "env", "LODESTAR_NAME": "env"})
    assert (found.user, found.name, found.encoder, found.database) == ("flag", "env", "file", "neo4j")


def test_secrets_come_from_the_environment_and_show_nowhere() -> None:
    found = resolve({}, {"NEO4J_PASSWORD": "hush", "OPENAI_API_KEY": "sk-hush"})
    assert (found.password, found.llm_api_key) == ("hush", "sk-hush")
    assert "hush" not in repr(found)


def test_a_secret_in_the_file_is_refused(config: Path) -> None:
    config.write_text('password = "x"\n')
    with pytest.raises(InputError, match="password is a secret: set LODESTAR_PASSWORD"):
        resolve({}, {})


@pytest.mark.parametrize(
    ("content", "message"), [("uri = ", "expected TOML"), ('colour = "red"', "unknown setting 'colour'")]
)
def test_a_bad_file_is_named(config: Path, content: str, message: str) -> None:
    config.write_text(content)
    with pytest.raises(InputError, match=message):
        resolve({}, {})


def test_a_missing_named_file_is_an_error() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        resolve({}, {"LODESTAR_CONFIG": "nowhere.toml"})


@pytest.mark.parametrize("uri", ["localhost:7687", "http://localhost:7474", "postgres://x"])
def test_an_address_of_another_kind_is_refused(uri: str) -> None:
    with pytest.raises(UsageError, match="expected one of bolt://"):
        resolve({"uri": uri}, {})


@pytest.mark.parametrize("value", ["soon", "-1", "0", "inf", "nan"])
def test_a_timeout_is_a_positive_number(value: str) -> None:
    with pytest.raises(UsageError, match="query_timeout_s"):
        resolve({}, {"LODESTAR_QUERY_TIMEOUT_S": value})


def test_a_budget_is_a_whole_number(config: Path) -> None:
    config.write_text("llm_max_calls = 100\n")
    found = resolve({}, {"LODESTAR_LLM_MAX_TOKENS": "2000"})
    assert (found.llm_max_calls, found.llm_max_tokens) == (100, 2000)


@pytest.mark.parametrize("value", ["many", "-1", "1.5", "1e3", "٣", "9" * 5_000])
def test_any_other_budget_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="llm_max_calls: expected a whole number, 0 for no bound"):
        resolve({}, {"LODESTAR_LLM_MAX_CALLS": value})


@pytest.mark.parametrize("value", ["true", "1.5", "[1]"])
def test_a_budget_of_another_kind_in_the_file_is_refused(config: Path, value: str) -> None:
    config.write_text(f"llm_max_tokens = {value}\n")
    with pytest.raises(UsageError, match="llm_max_tokens"):
        resolve({}, {})


def test_home_moves_data_and_cache() -> None:
    found = Settings(home="somewhere")
    assert found.home_dir == Path("somewhere")
