from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.errors import DatabaseUnavailableError, InputError, UsageError
from lodestar.engine.neo4j.gateway import translate_errors
from lodestar.engine.settings import Settings, is_address_of_openai, make_connection, resolve_settings
from neo4j.exceptions import ConfigurationError


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's settings file, in a configuration folder of the test's own."""
    monkeypatch.setattr("lodestar.engine.settings.platformdirs.user_config_dir", lambda _: str(tmp_path))
    return tmp_path / "lodestar.toml"


def test_a_file_in_the_working_folder_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    Path("lodestar.toml").write_text('llm_base_url = "https://attacker.example"\n')
    assert resolve_settings({}, {}).llm_base_url == ""


def test_flags_over_environment_over_file_over_defaults(config: Path) -> None:
    config.write_text('user = "file"\nname = "file"\nencoder = "file"\n')
    found = resolve_settings({"user": "flag", "name": None}, {"LODESTAR_USER": "env", "LODESTAR_NAME": "env"})
    assert (found.user, found.name, found.encoder, found.database) == ("flag", "env", "file", "neo4j")


def test_secrets_come_from_the_environment_and_show_nowhere() -> None:
    found = resolve_settings({}, {"NEO4J_PASSWORD": "hush", "OPENAI_API_KEY": "sk-hush"})
    assert (found.password, found.llm_api_key) == ("hush", "sk-hush")
    assert "hush" not in repr(found)


@pytest.mark.parametrize(
    ("base_url", "is_sent"),
    [
        ("", True),
        ("https://api.openai.com/v1", True),
        ("https://eu.api.openai.com/v1", True),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
        ("https://evilopenai.com/v1", False),
        ("https://user@evil.example/api.openai.com", False),
        ("https://openai.com:443@evil.example/v1", False),
        ("https://models.example/v1", False),
        ("http://127.0.0.1:8000/v1", False),
        ("https://[", False),
    ],
)
def test_openai_s_environment_goes_to_openai_alone(base_url: str, is_sent: bool) -> None:
    environ = {"OPENAI_API_KEY": "sk-hush", "LODESTAR_LLM_BASE_URL": base_url}
    settings = resolve_settings({}, environ)
    assert (settings.llm_api_key, is_address_of_openai(base_url)) == ("sk-hush" if is_sent else "", is_sent)
    assert resolve_settings({}, {**environ, "LODESTAR_LLM_API_KEY": "own"}).llm_api_key == "own"


def test_openai_s_own_address_may_be_named_as_openai_names_it() -> None:
    environ = {"OPENAI_API_KEY": "sk-hush", "OPENAI_BASE_URL": "https://stranger.example/v1"}
    assert resolve_settings({}, environ).llm_api_key == ""


@pytest.mark.parametrize(
    "uri",
    [
        "bolt://neo4j:hush@localhost:7687",
        "neo4j+s://hush@h",
        "postgres://neo4j:hush@h",
        "neo4j:hush@h:7687",
        "neo4j:hush",
        "bolt://neo4j:hush",
        "bolt://neo4j:hush%40localhost:7687",
        "bolt://localhost:7687#hush",
        "bolt://localhost:7687/hush",
        "bolt://localhost:7687?password=hush",
    ],
)
def test_a_password_in_the_address_is_refused_and_not_shown(uri: str) -> None:
    for call in (lambda: resolve_settings({}, {"LODESTAR_URI": uri}), lambda: make_connection(Settings(uri=uri))):
        with pytest.raises(UsageError) as caught:
            call()
        assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("uri", "where"),
    [
        ("bolt://localhost", "bolt://localhost"),
        ("bolt://[::1]:7687/", "bolt://[::1]:7687/"),
        ("neo4j+s://example.databases.neo4j.io", "neo4j+s://example.databases.neo4j.io"),
        ("neo4j://h:7687?password=hush", "neo4j://h:7687"),
    ],
)
def test_an_address_is_shown_without_its_routing_context(uri: str, where: str) -> None:
    connection = make_connection(resolve_settings({}, {"LODESTAR_URI": uri}))
    assert (connection.uri, connection.where) == (uri, where)
    with pytest.raises(DatabaseUnavailableError) as caught, translate_errors(connection):
        raise ConfigurationError(f"no such routing context. Given URI: {uri}")
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("uri = ", "expected TOML"),
        ('password = "x"', "unknown setting 'password': .*secrets come from the environment"),
    ],
)
def test_a_bad_file_or_a_secret_in_it_is_refused(config: Path, content: str, message: str) -> None:
    config.write_text(content)
    with pytest.raises(InputError, match=message):
        resolve_settings({}, {})


@pytest.mark.parametrize("uri", ["localhost:7687", "http://localhost:7474", "postgres://x"])
def test_an_address_of_another_kind_is_refused(uri: str) -> None:
    with pytest.raises(UsageError, match="expected one of bolt://"):
        resolve_settings({"uri": uri}, {})


@pytest.mark.parametrize("value", ["soon", "-1", "0", "inf", "nan"])
def test_a_timeout_is_a_positive_number(value: str) -> None:
    with pytest.raises(UsageError, match="query_timeout_s"):
        resolve_settings({}, {"LODESTAR_QUERY_TIMEOUT_S": value})


def test_a_budget_is_a_whole_number(config: Path) -> None:
    config.write_text("llm_max_calls = 100\n")
    found = resolve_settings({}, {"LODESTAR_LLM_MAX_TOKENS": "2000"})
    assert (found.llm_max_calls, found.llm_max_tokens) == (100, 2000)
