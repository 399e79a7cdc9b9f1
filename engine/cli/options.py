"""Options that several verbs share, and the way they become settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ..settings import Settings, resolve

F = TypeVar("F", bound=Callable[..., Any])

_SERVER = (
    click.option("--name", help="The embedded server to use (default: default)."),
    click.option("--home", help="Folder of embedded servers and indexes (default: the user's data folder)."),
)
_DATABASE = (
    click.option("--uri", help="Address of a Neo4j: neo4j://, neo4j+s://, bolt:// … (default: the embedded server)."),
    click.option("--user", help="Neo4j user; the password comes from LODESTAR_PASSWORD."),
    click.option("--database", help="Name of the database inside the server."),
)


def server_options(function: F) -> F:
    """Add --name and --home."""
    return _add(function, _SERVER)


def database_options(function: F) -> F:
    """Add --uri, --user, --database, --name and --home."""
    return _add(function, _DATABASE + _SERVER)


def json_option(function: F) -> F:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(function)


def settings_from(**flags: Any) -> Settings:
    """Return the settings for these flags (None: not given)."""
    return resolve(flags)


def _add(function: F, options: tuple[Callable[[F], F], ...]) -> F:
    for option in reversed(options):
        function = option(function)
    return function
