"""Load property graphs: a Neo4j that is already there, tables, GraphML, GEXF (`lodestar load neo4j` and others)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from .load_options import add_common_options, pop_load_options, split_names
from .options import FORCE
from .terminal import echo, printable

if TYPE_CHECKING:
    from ...loaders.loads.loading import LoadOptions
    from ...loaders.loads.report import LoadReport
    from ...loaders.mapping import Choices, GraphMapping, Survey
    from ...loaders.property_graph import PropertyGraph
    from ..neo4j.gateway import Gateway
    from ..settings import Connection, Settings

PASSWORD = "LODESTAR_FROM_PASSWORD"  # noqa: S105 - its name
"""The environment variable with the password of the database that is read."""


_F = TypeVar("_F", bound=Callable[..., Any])
_MAPPING = (
    click.option("--labels", metavar="NAMES", help="Read only nodes with one of these labels: Person,Movie."),
    click.option("--relationships", metavar="NAMES", help="Read only relationships of these types: ACTED_IN,DIRECTED."),
    click.option(
        "--name-property",
        "names",
        multiple=True,
        metavar="LABEL=PROPERTY",
        help="Property that names the nodes of a label, or of all that have it; several as first+last. Can be "
        "repeated.",
    ),
    click.option(
        "--leave-out",
        multiple=True,
        metavar="PROPERTY",
        help="Do not read a property, as salary or Person=salary. Can be repeated.",
    ),
    click.option("--types/--no-types", default=None, help="Keep labels as types: (node, type, label) (default: yes)."),
    click.option("--mapping", "mapping_file", metavar="FILE", help="TOML file that says what becomes of what."),
    click.option(
        "--save-mapping", "saved_file", type=click.Path(dir_okay=False), help="Write the mapping to this TOML file."
    ),
)


def _mapping_options(function: _F) -> _F:
    """Add the options that say what becomes of a property graph, and those that every format has."""
    function = add_common_options(function)
    for option in reversed((*_MAPPING, FORCE)):
        function = option(function)
    return function


class _Asked(NamedTuple):
    """What the options of a property graph's load say."""

    choices: Choices
    mapping_file: Path | None
    saved_file: Path | None
    settings: Settings
    options: LoadOptions
    as_json: bool
    dry_run: bool

    def show_or_save(self, found: Survey, mapping: GraphMapping) -> bool:
        """Write the mapping where it is asked for; return whether it was only to be shown."""
        from ..whole_file import write_text_file

        if self.saved_file:
            write_text_file(self.saved_file, mapping.as_toml())
        if self.dry_run:
            _show(found, mapping, as_json=self.as_json)
        return self.dry_run


def _pop_asked(flags: dict[str, Any]) -> _Asked:
    from ...loaders.mapping import Choices
    from ..whole_file import check_output_file

    as_json, dry_run, force = flags.pop("as_json"), flags.pop("dry_run"), flags.pop("force")
    settings = flags.pop("settings")
    options = pop_load_options(flags, settings)
    files = (flags.pop(name) for name in ("mapping_file", "saved_file"))
    mapping_file, saved_file = (Path(path) if path else None for path in files)
    if saved_file:
        reads = [str(mapping_file)] if mapping_file else []
        check_output_file("--save-mapping", saved_file, reads=reads, force=force)
    labels, relationships = (split_names(flags.pop(name)) for name in ("labels", "relationships"))
    names, leave_out, types = (flags.pop(name) for name in ("names", "leave_out", "types"))
    choices = Choices(labels, relationships, names, leave_out, types)
    return _Asked(choices, mapping_file, saved_file, settings, options, as_json, dry_run)


@click.command()
@click.option("--from", "from_uri", required=True, metavar="URI", help="Address of the Neo4j that is read.")
@click.option("--from-user", default="neo4j", show_default=True, help=f"Its user; the password comes from {PASSWORD}.")
@click.option("--from-database", default="neo4j", show_default=True, help="Name of the database that is read.")
@_mapping_options
def neo4j(
    from_uri: str,
    from_user: str,
    from_database: str,
    **flags: Any,
) -> None:
    """Load a property graph from a Neo4j that is already there; nothing is written to it.

    Nodes become entities, their naming property the name, other properties literals, labels types; relationships
    become triples, those with properties unnamed records. --dry-run shows what becomes of what.

    \b
    Example:
      lodestar load neo4j --from neo4j+s://graph.example.org --dry-run
      lodestar load neo4j --from bolt://localhost:7687 --labels Person,Movie --name-property Movie=title
      lodestar load neo4j --from bolt://localhost:7687 --mapping mapping.toml --replace
    """
    from ...loaders.formats.existing_neo4j import Neo4jGraph, read_database_id
    from ..neo4j.gateway import Gateway

    asked = _pop_asked(flags)
    with Gateway(_connection_from(asked.settings, from_uri, from_user, from_database)) as gateway:
        with _name_options_of_source(gateway.connection):
            gateway.version()
            read_database_id(gateway)
        if not asked.dry_run:
            _refuse_itself(gateway, asked.settings)
        _load_graph(lambda: Neo4jGraph(gateway), asked)


def _load_graph(open_graph: Callable[[], PropertyGraph], asked: _Asked) -> None:
    """Load a property graph."""
    from ...loaders.loads.loading import load_source
    from ...loaders.property_graph import map_graph
    from ...loaders.reading.files import use_spool_folder
    from ..progress import progress_bar

    with use_spool_folder(asked.options.staging):
        source = map_graph(open_graph(), asked.choices, asked.mapping_file)
        if asked.show_or_save(source.survey, source.mapping):
            return
        with progress_bar(source.name) as (progress, say):
            source.fetch(progress)
            report = load_source(source, asked.settings, asked.options, progress, say)
    _say(report, source.left_out, asked)


@click.command()
@click.argument("kg")
@_mapping_options
def graphml(kg: str, **flags: Any) -> None:
    """Load a GraphML file, as NetworkX, Gephi, yEd, igraph or APOC writes it; packed or plain; - is standard input.

    \b
    Example:
      lodestar load graphml karate.graphml
    """
    from ...loaders.formats.graphml import XmlGraph

    _load_graph(lambda: XmlGraph(kg), _pop_asked(flags))


@click.command()
@click.argument("kg")
@_mapping_options
def gexf(kg: str, **flags: Any) -> None:
    """Load a GEXF file, as Gephi or NetworkX writes it; packed or plain; - is standard input.

    \b
    Example:
      lodestar load gexf network.gexf
    """
    from ...loaders.formats.graphml import XmlGraph

    _load_graph(lambda: XmlGraph(kg, "gexf"), _pop_asked(flags))


@click.command()
@click.argument("kg", metavar="FOLDER|FILE")
@_mapping_options
def tables(kg: str, **flags: Any) -> None:
    """Load tables: a folder of CSV, TSV or parquet, one such file, or a SQLite or DuckDB file.

    A table is a kind of thing, a row a thing, a column that refers to another table a relation; a table that only joins
    two others is a relation, too. --dry-run shows what was found.

    \b
    Example:
      lodestar load tables northwind/ --dry-run
      lodestar load tables shop.sqlite --name-property customer=contactName --leave-out phone
    """
    from ...loaders.formats.table_graph import open_tables

    _load_graph(lambda: open_tables(kg), _pop_asked(flags))


@click.command()
@click.argument("kg", metavar="FILE")
@_mapping_options
def dump(kg: str, **flags: Any) -> None:
    """Load a dump of a Neo4j database (`neo4j-admin database dump`), by a server of its own for the time of the load.

    \b
    Example:
      lodestar load dump movies.dump --dry-run
    """
    from ...loaders.formats.existing_neo4j import Neo4jGraph
    from ...loaders.formats.server_beside import open_dump

    asked = _pop_asked(flags)
    with open_dump(Path(kg), asked.settings) as gateway:
        _load_graph(lambda: Neo4jGraph(gateway, Path(kg).name), asked)


@click.command()
@click.argument("kg", metavar="FILE")
@click.option("--run-script", is_flag=True, help="Run the script, which is code, in a server of its own.")
@_mapping_options
def cypher(kg: str, run_script: bool, **flags: Any) -> None:
    """Load what a Cypher script creates: it runs in an empty server of its own for the time of the load.

    LOAD CSV reads files of the script's folder by their names; nothing is fetched.

    \b
    Example:
      lodestar load cypher movies.cypher --run-script
    """
    from ...loaders.formats.existing_neo4j import Neo4jGraph
    from ...loaders.formats.server_beside import open_script

    asked = _pop_asked(flags)
    with open_script(Path(kg), asked.settings, run_script=run_script) as gateway:
        _load_graph(lambda: Neo4jGraph(gateway, Path(kg).name), asked)


def _show(found: Survey, mapping: GraphMapping, *, as_json: bool) -> None:
    from ...loaders.mapping import describe_mapping, mapping_as_json

    if as_json:
        echo(json.dumps(mapping_as_json(found, mapping), ensure_ascii=False))
    else:
        for line in describe_mapping(found, mapping):
            echo(printable(line))


def _say(report: LoadReport, left_out: Mapping[str, int], asked: _Asked) -> None:
    echo(str(report), err=True)
    echo(printable(report.advice), err=True)
    if left_out:
        echo("left out: " + ", ".join(f"{num:,} {name}" for name, num in left_out.items()), err=True)
    if asked.as_json:
        echo(json.dumps(report.as_json() | {"left_out": dict(left_out)}))


def _connection_from(settings: Settings, uri: str, user: str, database: str) -> Connection:
    """Return the connection to the database that is read, with the password that the environment has for it."""
    from ..settings import LOAD_TIMEOUT_S, Connection, check_address

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
    from ...loaders.formats.existing_neo4j import read_database_id
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
