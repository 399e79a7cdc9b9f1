"""Resolve settings from flags, environment, file and defaults, in that order, into one frozen record.

The file is ``lodestar.toml`` in the user's configuration folder, or the one that ``LODESTAR_CONFIG`` names. The working
folder is ignored: whoever wrote it could send the user's password or key to their own address. Secrets come from the
environment only, so you can show the file to anyone.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import platformdirs

from ..models.placement import Placement, PlacementError
from .errors import InputError, UsageError
from .file_access import read_text_file

APPLICATION = "lodestar"
SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a command or an `Engine`. Raises `UsageError` for an address or a device that is none.

    Every field but the secrets can be set in ``lodestar.toml`` under its own name, and in the environment as
    ``LODESTAR_<NAME>``. An empty ``uri`` means the embedded server called ``name``.
    """

    uri: str = ""
    user: str = "neo4j"
    database: str = "neo4j"
    name: str = "default"
    home: str = ""
    cache: str = ""
    encoder: str = "all-MiniLM-L6-v2"
    encoders: str = ""
    recipe: str = "similarity"
    device: str = "auto"
    precision: str = "auto"
    llm_base_url: str = ""
    llm_model: str = ""
    llm_prompt: str = ""
    llm_timeout_s: float = 60.0
    llm_cache: str = ""
    llm_max_calls: int = 0
    llm_max_tokens: int = 0
    llm_concurrency: int = 8
    llm_seed: int = 0
    query_timeout_s: float = 30.0
    password: str = field(default="", repr=False)
    llm_api_key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.uri:
            check_address(self.uri)
        try:
            Placement(self.device, self.precision)
        except PlacementError as error:
            raise UsageError(f"settings: {error}") from error

    @property
    def home_dir(self) -> Path:
        """The folder of embedded servers, indexes and all other stored data."""
        return Path(self.home) if self.home else Path(platformdirs.user_data_dir(APPLICATION))

    @property
    def cache_dir(self) -> Path:
        """The folder of downloads, which can be fetched again."""
        if self.cache:
            return Path(self.cache)
        return Path(self.home) / "cache" if self.home else Path(platformdirs.user_cache_dir(APPLICATION))


_EXPECTED = {str: "text", int: "a whole number, 0 for no bound", float: "a number of seconds"}
_LEAST = {int: 0, float: 0.001}
_FIELDS = {setting.name: setting for setting in fields(Settings)}
SECRETS = ("password", "llm_api_key")
_PLACE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/?#%@\[\]\\]+)(:\d{1,5})?/?(\?[^#]*)?")
"""Host, port and the routing context of a database address."""
_OPENAI = re.compile(r"https://([\w-]+\.)*openai\.com(:\d+)?(/|$)", re.ASCII)
_LOOPBACK = re.compile(r"localhost|127(\.\d+){3}|::1")
_ALIASES = {
    "uri": "NEO4J_URI",
    "user": "NEO4J_USERNAME",
    "password": "NEO4J_PASSWORD",
    "database": "NEO4J_DATABASE",
    "llm_base_url": "OPENAI_BASE_URL",
}


def resolve_settings(flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings: flags override the environment, which overrides the file, which overrides the defaults.

    Flags that are ``None`` count as not given. The name of an embedded server as a flag sets aside an address that the
    environment or the file has. Raises `InputError` for a file that is not TOML or has an unknown
    setting, `UsageError` for a value of the wrong type.
    """
    if unknown := [name for name in flags or {} if name not in _FIELDS]:
        raise UsageError(f"there is no setting {unknown[0]!r}: expected some of {', '.join(_FIELDS)}")
    env = os.environ if environ is None else environ
    chosen: dict[str, Any] = _from_file(env)
    for name in _FIELDS:
        if found := env.get(f"LODESTAR_{name.upper()}") or env.get(_ALIASES.get(name, "")):
            chosen[name] = found
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    if "name" in given:
        chosen.pop("uri", None)  # an embedded server is asked for by name, whatever database the environment names
    chosen |= given
    settings = Settings(**{name: _read_value(_FIELDS[name], value) for name, value in chosen.items()})
    if not settings.llm_api_key and is_address_of_openai(settings.llm_base_url):
        settings = replace(settings, llm_api_key=env.get("OPENAI_API_KEY", ""))
    return settings


def is_address_of_openai(url: str) -> bool:
    """Return whether a language model's address is OpenAI's own, over HTTPS, so that no network in between can read
    what the environment has for OpenAI alone: key, organisation, headers."""
    return not url or bool(_OPENAI.match(url))


def is_loopback(host: str) -> bool:
    """Return whether data sent to this host stays on this machine."""
    return bool(_LOOPBACK.fullmatch(host))


def check_address(uri: str) -> None:
    """Raise `UsageError` for a malformed database address, or one that contains a user or a password.

    No message shows the address, because the wrong part may be a password.
    """
    scheme, slashes, place = uri.partition("://")
    if scheme not in SCHEMES or not slashes:
        expected = ", ".join(f"{each}://" for each in SCHEMES)
        raise UsageError(f"database address: expected one of {expected}, found another scheme")
    if not _PLACE.fullmatch(place) or ("?" in place and not scheme.startswith("neo4j")):
        raise UsageError(
            f"database address: expected {scheme}://HOST or {scheme}://HOST:PORT, found more or something else: the "
            "user and the password are LODESTAR_USER and LODESTAR_PASSWORD"
        )


def _read_value(setting: Field[Any], value: Any) -> Any:
    kind: Any = type(setting.default)
    read: Any = None
    with suppress(ValueError):
        read = value if kind is str else kind(str(value))
    if not isinstance(read, kind) or (kind is not str and not _LEAST[kind] <= read < 10**18):
        shown = type(value).__name__ if setting.name in SECRETS else repr(value)
        raise UsageError(f"setting {setting.name}: expected {_EXPECTED[kind]}, found {shown}")
    return read


def _from_file(environ: Mapping[str, str]) -> dict[str, Any]:
    named = environ.get("LODESTAR_CONFIG")
    path = Path(named or Path(platformdirs.user_config_dir(APPLICATION)) / "lodestar.toml")
    if not named and not path.is_file():
        return {}
    try:
        content = tomllib.loads(read_text_file(path, "the settings file"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: expected TOML: {error}") from error
    for name in content:
        if name in SECRETS or name not in _FIELDS:
            known = ", ".join(sorted({*_FIELDS} - {*SECRETS}))
            raise InputError(f"{path}: unknown setting {name!r}: known are {known}; secrets come from the environment")
    return content


def parse_assignment(text: str, example: str) -> tuple[str, Any]:
    """Return key and value of ``KEY=VALUE``. VALUE is read as TOML, else as text. A `UsageError` shows `example`."""
    key, equals, value = text.partition("=")
    if not equals or not all(key.split(".")) or key.count(".") > 2:  # options are at most two tables deep
        raise UsageError(f"--set: expected KEY=VALUE, as {example}, found {text!r}")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        return key, value


def set_nested_value(data: dict[str, Any], key: str, value: Any, where: str) -> None:
    """Put a value into plain data under a key whose dots lead into tables."""
    *tables, last = key.split(".")
    for table in tables:
        data = data.setdefault(table, {})
        if not isinstance(data, dict):
            raise UsageError(f"{where}: {table} has no options of its own")
    data[last] = value


GRACE_S = 3.0
"""What the database has beyond a query's timeout to say that it was ended; then it is taken to be stalled."""
LOAD_TIMEOUT_S = 3_600.0


@dataclass(frozen=True, slots=True)
class Connection:
    """An address with what is needed to speak to it. The password is in no representation."""

    uri: str
    user: str = "neo4j"
    password: str = field(default="", repr=False)
    database: str = "neo4j"
    timeout_s: float = 30.0

    @property
    def where(self) -> str:
        """The address as it may be shown: without a routing context, which may hold anything."""
        return self.uri.partition("?")[0]

    @property
    def is_encrypted(self) -> bool:
        """Whether the address asks for TLS (``+s``, ``+ssc``)."""
        return "+s" in self.uri.partition("://")[0]

    @property
    def driver_options(self) -> dict[str, Any]:
        return {
            "auth": (self.user, self.password) if self.password else None,
            "connection_timeout": min(10.0, self.timeout_s),
            "max_transaction_retry_time": min(10.0, self.timeout_s),
            "connection_acquisition_timeout": min(30.0, self.timeout_s + GRACE_S),
            "notifications_min_severity": "OFF",
            "user_agent": "lodestar",
        }


def make_connection(settings: Settings, timeout_s: float | None = None) -> Connection:
    """Return the connection of the settings. timeout_s: of a query, where it is not theirs: loads have large ones.

    Raises `DatabaseUnavailableError` if it is to the embedded server and that is not running.
    """
    timeout_s = timeout_s or settings.query_timeout_s
    if settings.uri:
        return Connection(settings.uri, settings.user, settings.password, settings.database, timeout_s)
    from .neo4j.embedded import EmbeddedServer

    return EmbeddedServer.of(settings).connection(timeout_s)
