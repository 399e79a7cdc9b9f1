"""Update the indexes of a graph without loading it again (`lodestar index`)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from .options import database_options, json_option, settings_from
from .terminal import echo


@click.group()
def command() -> None:
    """Update the indexes of a graph without loading it again.

    \b
    Example:
      lodestar index names
    """


@command.command()
@json_option
@database_options
def names(as_json: bool, **flags: Any) -> None:
    """Rebuild the search names of all entities: names, aliases and initials. Loads do this by themselves.

    Use it for a graph that an earlier version loaded, or that lost its name index. Questions are answered in the
    meantime. You can run it again after an interruption.

    \b
    Example:
      lodestar index names
    """
    from ...loaders.loads.indexing_names import index_names
    from ..neo4j.gateway import Gateway
    from ..neo4j.instance import loading_connection
    from ..progress import progress_bar

    with Gateway(loading_connection(settings_from(**flags))) as gateway:
        gateway.version()
        with progress_bar("the names of the graph", "indexing") as (progress, _):
            report = index_names(gateway, progress=progress)
    echo(f"{report.num_named:,} entities have names, {report.num_written:,} were written", err=True)
    if as_json:
        echo(json.dumps(asdict(report)))


@command.command()
@click.option(
    "--max-entities", type=click.IntRange(1), default=1_000_000, show_default=True, help="Refuse a larger graph."
)
@json_option
@database_options
def entities(max_entities: int, as_json: bool, **flags: Any) -> None:
    """Build the entity index: vectors of names, for words that no name matches ("peruvian" for Peru).

    Questions then use it when their words alone find nothing good. Only what changed since the last time is encoded;
    after an interruption the same command continues. docs/linking.md gives time and size.

    \b
    Example:
      lodestar index entities
    """
    from ...models.text.encoders import SentenceEncoder
    from ..indexes.entity_index import index_entities, index_folder
    from ..neo4j.gateway import Gateway
    from ..neo4j.instance import make_connection
    from ..progress import progress_bar

    settings = settings_from(**flags)
    with Gateway(make_connection(settings)) as gateway:
        gateway.version()
        folder = index_folder(settings, gateway.connection)
        with progress_bar("the entities of the graph", "indexing") as (progress, _):
            encoder = SentenceEncoder(settings.encoder)
            report = index_entities(gateway, folder, encoder, max_entities=max_entities, progress=progress)
    size = f"{report.num_bytes / 1e6:,.1f} MB"
    echo(f"{report.num_entities:,} entities, {report.num_encoded:,} of them encoded now, {size}", err=True)
    if as_json:
        echo(json.dumps(asdict(report)))
