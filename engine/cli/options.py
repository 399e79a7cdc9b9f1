"""Options that several verbs share, and the way they become settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..settings import Settings, resolve

if TYPE_CHECKING:
    from ..api import SearchOptions

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

_QUESTIONS = (
    click.argument("texts", metavar="[QUESTION]...", nargs=-1),
    click.option("--file", "-f", help="File of questions, one a line, or JSON lines (- is standard input)."),
    click.option("--topic", "topics", multiple=True, help="Id of an entity the question is about; can be repeated."),
)
_TOP_K = (click.option("--top-k", type=int, help="Paths per question (default: 10)."),)
RETURN_TO_TOPIC = click.option(
    "--return-to-topic", is_flag=True, help="What the question is about may be its answer (default: it is not)."
)

_WALKING = (
    click.option("--beam-width", type=int, help="Paths carried on at each hop (default: 10)."),
    click.option("--max-hop", type=int, help="Longest path in hops between named entities (default: 2)."),
    RETURN_TO_TOPIC,
    click.option("--checkpoint", metavar="FOLDER", help="Trained scorer to rank by (default: similarity, untrained)."),
    click.option("--any-graph", is_flag=True, help="Use the checkpoint on a graph that it was not trained on."),
)


def question_options(function: F) -> F:
    """Add the questions, --file and --topic."""
    return _add(function, _QUESTIONS)


def search_options(function: F) -> F:
    """Add --top-k, and what `walking_options` adds."""
    return _add(function, _TOP_K + _WALKING)


def walking_options(function: F) -> F:
    """Add --beam-width, --max-hop, --return-to-topic, --checkpoint and --any-graph."""
    return _add(function, _WALKING)


def search_options_from(flags: dict[str, Any]) -> SearchOptions:
    """Take the search options out of `flags` and return them; what was not given has its default."""
    from ..api import SearchOptions

    names = ("top_k", "beam_width", "max_hop", "return_to_topic", "checkpoint", "any_graph")
    given = {name: flags.pop(name) for name in names if name in flags}
    return SearchOptions(**{name: value for name, value in given.items() if value is not None})


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
