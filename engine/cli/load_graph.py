"""Open a property graph to be loaded: files, tables, an existing Neo4j, a dump, a script."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import show

if TYPE_CHECKING:
    from ...loaders.property_graph import PropertyGraph, PropertyGraphSource
    from ..neo4j.gateway import Gateway
    from ..settings import Settings

PASSWORD = "LODESTAR_FROM_PASSWORD"  # noqa: S105 - its name
"""The environment variable with the password of the database that is read."""
_OF_SOURCE = {
    "--database": "--from-database",
    "LODESTAR_USER and LODESTAR_PASSWORD": f"--from-user and {PASSWORD}",
    "start one with `lodestar db start` or give --uri": "check --from",
}
"""What an error's advice names, and what leads to the database that is read."""


CHOICES = ("labels", "relationships", "names", "leave_out", "types")
"""The options that say what becomes of a graph, by the arguments of `loaders.mapping.Choices`."""


@contextmanager
def open_mapped(
    kind: str,
    settings: Settings,
    *,
    dry_run: bool,
    mapping_file: Path | None,
    saved_file: Path | None,
    force: bool,
    **given: Any,
) -> Iterator[PropertyGraphSource]:
    """Yield the source of a property graph; write down what becomes of what, if asked to. given: of the format."""
    from ...loaders.formats import find_format
    from ...loaders.mapping import Choices
    from ...loaders.property_graph import map_graph
    from ..progress import progress_bar
    from ..whole_file import check_output_file, write_text_file

    if saved_file:
        check_output_file("--save-mapping", saved_file, reads=[mapping_file] if mapping_file else [], force=force)
    choices = Choices(**{name: given.pop(name) for name in CHOICES})
    if kind in ("dump", "cypher"):
        given["settings"] = settings
    is_database = kind == "neo4j"
    opened = _open_neo4j(settings, dry_run=dry_run, **given) if is_database else nullcontext(find_format(kind)(**given))
    with opened as graph:
        with progress_bar(graph.name, "reading") as (progress, _):
            source = map_graph(graph, choices, mapping_file, progress)
        if saved_file:
            write_text_file(saved_file, source.mapping.as_toml())
        yield source


def print_mapping(source: PropertyGraphSource, *, as_json: bool) -> None:
    """Print what becomes of what."""
    from ...loaders.mapping import describe_mapping, mapping_as_json

    survey, mapping = source.survey, source.mapping
    show(mapping_as_json(survey, mapping), describe_mapping(survey, mapping), as_json=as_json)


@contextmanager
def _open_neo4j(
    settings: Settings, *, dry_run: bool, from_uri: str, from_user: str, from_database: str
) -> Iterator[PropertyGraph]:
    """Yield the graph of another database; raise its errors with the options that lead to it."""
    from ...loaders.formats.neo4j_graphs import Neo4jGraph, read_database_id
    from ..errors import AuthenticationError, DatabaseUnavailableError
    from ..neo4j.gateway import Gateway
    from ..settings import LOAD_TIMEOUT_S, Connection, check_address

    check_address(from_uri)
    password = os.environ.get(PASSWORD) or ("" if settings.uri else settings.password)
    with Gateway(Connection(from_uri, from_user, password, from_database, LOAD_TIMEOUT_S)) as gateway:
        try:
            gateway.version()
            read_database_id(gateway)
        except (AuthenticationError, DatabaseUnavailableError) as error:
            message = str(error)
            for ours, theirs in _OF_SOURCE.items():
                message = message.replace(ours, theirs)
            raise type(error)(message) from error
        if not dry_run:
            _refuse_itself(gateway, settings)
        yield Neo4jGraph(gateway)


def _refuse_itself(gateway: Gateway, settings: Settings) -> None:
    """Raise `UsageError` if the database that is read is the one that is loaded into."""
    from ...loaders.formats.neo4j_graphs import read_database_id
    from ..errors import DatabaseUnavailableError, UsageError
    from ..neo4j.gateway import Gateway
    from ..settings import make_connection

    try:
        with Gateway(make_connection(settings)) as other:
            is_itself = read_database_id(other) == read_database_id(gateway)
    except DatabaseUnavailableError:
        return  # an embedded server that does not run yet is another one
    if is_itself:
        raise UsageError(
            "--from names the database that is loaded into: nothing is written to a database that is read; leave out "
            "--uri to load into an embedded server, or name another one with --name"
        )
