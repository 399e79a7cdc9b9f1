"""Load property graphs: files, tables, an existing Neo4j, a dump, a script (`lodestar load neo4j` and others)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from . import echo, print_json, print_report, printable
from .options import FORCE, load_options, options_for, split_names

if TYPE_CHECKING:
    from ...loaders.loading import LoadOptions
    from ...loaders.mapping import Choices
    from ...loaders.property_graph import PropertyGraph
    from ..neo4j.gateway import Gateway
    from ..settings import Settings

FILE = click.Path(dir_okay=False, path_type=Path)
PASSWORD = "LODESTAR_FROM_PASSWORD"  # noqa: S105 - its name
"""The environment variable with the password of the database that is read."""


class _Asked(NamedTuple):
    choices: Choices
    mapping_file: Path | None
    saved_file: Path | None


def _read_asked(
    labels: list[str] | None,
    relationships: list[str] | None,
    names: tuple[str, ...],
    leave_out: tuple[str, ...],
    types: bool | None,
    mapping_file: Path | None,
    saved_file: Path | None,
    force: bool,
) -> dict[str, Any]:
    from ...loaders.mapping import Choices
    from ..whole_file import check_output_file

    if saved_file:
        check_output_file("--save-mapping", saved_file, reads=[str(mapping_file)] if mapping_file else [], force=force)
    return {"asked": _Asked(Choices(labels, relationships, names, leave_out, types), mapping_file, saved_file)}


_asked_options = options_for(
    _read_asked,
    click.option("--labels", metavar="NAMES", callback=split_names, help="Only nodes with one of these: Person,Movie."),
    click.option("--relationships", metavar="NAMES", callback=split_names, help="Only these types: ACTED_IN,DIRECTED."),
    click.option(
        "--name-property",
        "names",
        multiple=True,
        metavar="LABEL=PROPERTY",
        help="What names the nodes of a label, or of all that have it; several as first+last; repeatable.",
    ),
    click.option(
        "--leave-out", multiple=True, metavar="PROPERTY", help="Do not read salary, or Person=salary; repeatable."
    ),
    click.option("--types/--no-types", default=None, help="Keep labels as types: (node, type, label) (default: yes)."),
    click.option("--mapping", "mapping_file", type=FILE, help="TOML file that says what becomes of what."),
    click.option("--save-mapping", "saved_file", type=FILE, help="Write the mapping to this TOML file."),
    FORCE,
)


def _mapping_options(function: Any) -> Any:
    """Add what becomes of a property graph (`asked`), and the options of every load."""
    return _asked_options(load_options(function))


_FILES = {
    "graphml": ("a GraphML file, as NetworkX, Gephi, yEd, igraph or APOC writes it", "graphml karate.graphml"),
    "gexf": ("a GEXF file, as Gephi or NetworkX writes it", "gexf network.gexf"),
    "tables": (
        "tables: a folder of CSV, TSV or parquet, one such file, or a SQLite or DuckDB file. A row is a thing, "
        "a column that refers to another table a relation",
        "tables shop.sqlite --name-property customer=contactName --leave-out phone",
    ),
}
"""Formats of files: what they are, and an example."""


def _file_command(kind: str) -> click.Command:
    what, example = _FILES[kind]

    @click.command(kind, help=f"Load {what}.\n\n\b\nExample:\n  lodestar load {example} --dry-run")
    @click.argument("kg")
    @_mapping_options
    def load_file(kg: str, **given: Any) -> None:
        from ...loaders.formats import find_format

        _load_graph(lambda: find_format(kind)(kg), **given)

    return load_file


@click.command()
@click.argument("kg", metavar="FILE", type=FILE)
@_mapping_options
def dump(kg: Path, settings: Settings, **given: Any) -> None:
    """Load a dump of a Neo4j database (`neo4j-admin database dump`), by a server of its own for the time of the load.

    \b
    Example:
      lodestar load dump movies.dump --dry-run
    """
    from ...loaders.formats.temporary_server import DumpGraph

    _load_graph(lambda: DumpGraph(kg, settings), settings=settings, **given)


@click.command()
@click.argument("kg", metavar="FILE", type=FILE)
@click.option("--run-script", is_flag=True, help="Run the script, which is code, in a server of its own.")
@_mapping_options
def cypher(kg: Path, run_script: bool, settings: Settings, **given: Any) -> None:
    """Load what a Cypher script creates: it runs in an empty server of its own for the time of the load.

    LOAD CSV reads files of the script's folder by their names; nothing is fetched.

    \b
    Example:
      lodestar load cypher movies.cypher --run-script
    """
    from ...loaders.formats.temporary_server import ScriptGraph

    _load_graph(lambda: ScriptGraph(kg, settings, run_script=run_script), settings=settings, **given)


@click.command()
@click.option("--from", "from_uri", required=True, metavar="URI", help="Address of the Neo4j that is read.")
@click.option("--from-user", default="neo4j", show_default=True, help=f"Its user; the password comes from {PASSWORD}.")
@click.option("--from-database", default="neo4j", show_default=True, help="Name of the database that is read.")
@_mapping_options
def neo4j(from_uri: str, from_user: str, from_database: str, settings: Settings, dry_run: bool, **given: Any) -> None:
    """Load a property graph from an existing Neo4j; nothing is written to it.

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
    from ..settings import LOAD_TIMEOUT_S, Connection, check_address

    check_address(from_uri)
    password = os.environ.get(PASSWORD) or ("" if settings.uri else settings.password)
    with Gateway(Connection(from_uri, from_user, password, from_database, LOAD_TIMEOUT_S)) as gateway:
        with _name_options_of_source():
            gateway.version()
            read_database_id(gateway)
        if not dry_run:
            _refuse_itself(gateway, settings)
        _load_graph(lambda: Neo4jGraph(gateway), settings=settings, dry_run=dry_run, **given)


GRAPH_FORMATS = (neo4j, dump, cypher, *map(_file_command, _FILES))


def _load_graph(
    open_graph: Callable[[], PropertyGraph],
    *,
    asked: _Asked,
    settings: Settings,
    options: LoadOptions,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Load a property graph, or only show or save what becomes of what."""
    from ...loaders.loading import load_source
    from ...loaders.mapping import describe_mapping, mapping_as_json
    from ...loaders.property_graph import map_graph
    from ...loaders.reading import use_spool_folder
    from ..progress import progress_bar
    from ..whole_file import write_text_file

    with use_spool_folder(options.staging):
        graph = open_graph()
        with progress_bar(graph.name, "reading") as (progress, _):
            source = map_graph(graph, asked.choices, asked.mapping_file, progress)
        if asked.saved_file:
            write_text_file(asked.saved_file, source.mapping.as_toml())
        if dry_run and as_json:
            print_json(mapping_as_json(source.survey, source.mapping))
        elif dry_run:
            echo("\n".join(map(printable, describe_mapping(source.survey, source.mapping))))
        if dry_run:
            return
        with progress_bar(source.name) as (progress, tell):
            report = load_source(source, settings, options, progress, tell)
    text, left_out = f"{report}\n{printable(report.advice)}", dict(source.left_out)
    if left_out:
        text += "\nleft out: " + ", ".join(f"{num:,} {name}" for name, num in left_out.items())
    print_report(text, asdict(report) | {"left_out": left_out}, as_json)


_OF_SOURCE = {
    "--database": "--from-database",
    "LODESTAR_USER and LODESTAR_PASSWORD": f"--from-user and {PASSWORD}",
    "start one with `lodestar db start` or give --uri": "check --from",
}
"""What an error's advice names, and what leads to the database that is read."""


@contextmanager
def _name_options_of_source() -> Iterator[None]:
    """Raise errors of the database that is read with the options that lead to it."""
    from ..errors import AuthenticationError, DatabaseUnavailableError

    try:
        yield
    except (AuthenticationError, DatabaseUnavailableError) as error:
        message = str(error)
        for ours, theirs in _OF_SOURCE.items():
            message = message.replace(ours, theirs)
        raise type(error)(message) from error


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
