"""Load a Neo4j that is already there (`lodestar load neo4j`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .load_options import add_common_options, load_source, pop_load_options, split_names
from .terminal import echo, printable

if TYPE_CHECKING:
    from ...loaders.formats.property_graph.mapping import Choices, GraphMapping
    from ...loaders.formats.property_graph.survey import Survey
    from ..neo4j.connection import Connection
    from ..neo4j.gateway import Gateway
    from ..settings import Settings

PASSWORD = "LODESTAR_FROM_PASSWORD"  # noqa: S105 - its name
"""The environment variable with the password of the database that is read."""


@click.command()
@click.option("--from", "from_uri", required=True, metavar="URI", help="Address of the Neo4j that is read.")
@click.option("--from-user", default="neo4j", show_default=True, help=f"Its user; the password comes from {PASSWORD}.")
@click.option("--from-database", default="neo4j", show_default=True, help="Name of the database that is read.")
@click.option("--labels", metavar="NAMES", help="Read only nodes with one of these labels: Person,Movie.")
@click.option("--relationships", metavar="NAMES", help="Read only relationships of these types: ACTED_IN,DIRECTED.")
@click.option("--where", metavar="CYPHER", help="Read only nodes n that meet a condition: 'n.born > 1950'.")
@click.option(
    "--where-relationship",
    metavar="CYPHER",
    help="Read only relationships r, from s to t, that meet a condition: 'r.rating > 50'.",
)
@click.option(
    "--name-property",
    "names",
    multiple=True,
    metavar="LABEL=PROPERTY",
    help="Property that names the nodes of a label, or of all that have it; several as first+last. Can be repeated.",
)
@click.option(
    "--leave-out",
    multiple=True,
    metavar="PROPERTY",
    help="Do not read a property, as salary or Person=salary. Can be repeated.",
)
@click.option("--types/--no-types", default=None, help="Keep labels as types: (node, type, label) (default: yes).")
@click.option("--mapping", "mapping_file", metavar="FILE", help="TOML file that says what becomes of what.")
@click.option(
    "--save-mapping", "saved_file", type=click.Path(dir_okay=False), help="Write the mapping to this TOML file."
)
@add_common_options
def neo4j(
    from_uri: str,
    from_user: str,
    from_database: str,
    mapping_file: str | None,
    saved_file: str | None,
    labels: str | None,
    relationships: str | None,
    where: str | None,
    where_relationship: str | None,
    names: tuple[str, ...],
    leave_out: tuple[str, ...],
    types: bool | None,
    **flags: Any,
) -> None:
    """Load a property graph from a Neo4j that is already there; nothing is written to it.

    Nodes become entities, their naming property the name, other properties literals, labels types; relationships
    become triples, those with properties unnamed records. --dry-run shows what becomes of what.

    \b
    Example:
      lodestar load neo4j --from neo4j+s://graph.example.org --dry-run
      lodestar load neo4j --from bolt://localhost:7687 --labels Person,Movie --name-property Movie=title
      lodestar load neo4j --from bolt://localhost:7687 --where 'n.born IS NULL OR n.born > 1950'
      lodestar load neo4j --from bolt://localhost:7687 --mapping mapping.toml --replace
    """
    from ...loaders.formats.property_graph.mapping import Choices
    from ...loaders.formats.property_graph.survey import ElementFilter
    from ..neo4j.gateway import Gateway
    from ..whole_file import check_output_file, write_text_file

    as_json, dry_run, force = flags.pop("as_json"), flags.pop("dry_run"), flags["force"]
    settings = flags.pop("settings")
    options = pop_load_options(flags, settings)
    if saved_file:
        check_output_file("--save-mapping", Path(saved_file), reads=[mapping_file] if mapping_file else [], force=force)
    conditions = ElementFilter(where or "", where_relationship or "")
    choices = Choices(split_names(labels), split_names(relationships), names, leave_out, types, conditions)
    with Gateway(_connection_from(settings, from_uri, from_user, from_database)) as gateway:
        with _name_options_of_source(gateway.connection):
            gateway.version()
            found, mapping = _map(gateway, mapping_file, choices)
        if saved_file:
            write_text_file(Path(saved_file), mapping.as_toml())
        if dry_run:
            _show(found, mapping, as_json=as_json)
        else:
            _refuse_itself(gateway, settings)
            _load(gateway, found, mapping, settings, options, as_json=as_json)


def _map(gateway: Gateway, mapping_file: str | None, choices: Choices) -> tuple[Survey, GraphMapping]:
    from ...loaders.formats.property_graph.mapping import check_mapping, choose, guess_mapping, read_mapping
    from ...loaders.formats.property_graph.survey import check_where, survey

    read = read_mapping(Path(mapping_file)) if mapping_file else None
    check_where(gateway, choices.where)
    if read:
        check_where(gateway, read.where, str(mapping_file))
    found = survey(gateway, choices.where.over(read.where) if read else choices.where)
    if read:
        check_mapping(read, found, str(mapping_file))
    mapping = choose(read or guess_mapping(found), found, choices)
    check_mapping(mapping, found)
    return found, mapping


def _show(found: Survey, mapping: GraphMapping, *, as_json: bool) -> None:
    from ...loaders.formats.property_graph.mapping import describe_mapping, mapping_as_json

    if as_json:
        echo(json.dumps(mapping_as_json(found, mapping), ensure_ascii=False))
    else:
        for line in describe_mapping(found, mapping):
            echo(printable(line))


def _load(
    gateway: Gateway, found: Survey, mapping: GraphMapping, settings: Settings, options: Any, *, as_json: bool
) -> None:
    from ...loaders.formats.property_graph.source import Neo4jSource
    from ...loaders.loads.loading import make_staging
    from ..errors import UsageError
    from ..progress import progress_bar
    from ..whole_file import lock_file

    source = Neo4jSource(gateway, found, mapping, options.staging)
    make_staging(options.staging)
    with (
        lock_file(source.folder.with_suffix(".lock"), f"another load of {source.name} is under way"),
        progress_bar(source.name) as (progress, say),
    ):
        if source.goes_on:
            say(f"going on with what was read of {source.name} before")
        source.fetch(progress)
        try:
            report = load_source(source, settings, options, progress, say)
        except UsageError:
            source.delete()  # the user decides something, and the database may change until then
            raise
        left_out = source.left_out
        source.delete()
    echo(str(report), err=True)
    if left_out:
        echo("left out: " + ", ".join(f"{num:,} {name}" for name, num in left_out.items()), err=True)
    if as_json:
        echo(json.dumps(report.as_json() | {"left_out": left_out}))


def _connection_from(settings: Settings, uri: str, user: str, database: str) -> Connection:
    """Return the connection to the database that is read, with the password that the environment has for it."""
    from ..neo4j.connection import LOAD_TIMEOUT_S, Connection
    from ..settings import check_address

    check_address(uri)
    password = os.environ.get(PASSWORD) or ("" if settings.uri else settings.password)
    return Connection(uri, user, password, database, LOAD_TIMEOUT_S)


@contextmanager
def _name_options_of_source(connection: Connection) -> Iterator[None]:
    """Raise errors of the database that is read with the options that lead to it."""
    from ..errors import AuthenticationError, DatabaseUnavailableError

    try:
        yield
    except AuthenticationError as error:
        if "too often" in str(error):
            raise
        raise AuthenticationError(
            f"{connection.where} refused user {connection.user!r}: check --from-user and {PASSWORD}"
        ) from error
    except DatabaseUnavailableError as error:
        if "has no database" in str(error):
            raise DatabaseUnavailableError(
                f"{connection.where} has no database {connection.database!r}: check --from-database"
            ) from error
        if "no Neo4j answers" not in str(error):
            raise
        raise DatabaseUnavailableError(f"no Neo4j answers at {connection.where}: check --from") from error


def _refuse_itself(gateway: Gateway, settings: Settings) -> None:
    """Raise `UsageError` if the database that is read is the one that is loaded into."""
    from ...loaders.formats.property_graph.survey import read_database_id
    from ..errors import DatabaseUnavailableError, UsageError
    from ..neo4j.connection import make_connection
    from ..neo4j.gateway import Gateway

    try:
        with Gateway(make_connection(settings)) as other:
            is_itself = other.run(read_database_id()) == gateway.run(read_database_id())
    except DatabaseUnavailableError:
        return  # an embedded server that does not run yet is another one
    if is_itself:
        raise UsageError(
            "--from names the database that is loaded into: nothing is written to a database that is read; leave out "
            "--uri to load into an embedded server, or name another one with --name"
        )
