"""`lodestar index`: what a graph is searched by, without loading it again."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from ..options import database_options, json_option, settings_from


@click.group()
def command() -> None:
    """Bring what a graph is searched by up to date, without loading it again.

    \b
    Example:
      lodestar index names
    """


@command.command()
@json_option
@database_options
def names(as_json: bool, **flags: Any) -> None:
    """Write anew what entities are found by: their names, aliases and initials. Loads do this by themselves.

    For a graph that an earlier version loaded, or that lost its name index. Questions are answered meanwhile. Safe to
    run again where it was interrupted.

    \b
    Example:
      lodestar index names
    """
    from ....loaders.loads.indexing_names import index_names
    from ...database.gateway import Gateway
    from ...progress.phases import progress_bar
    from ...server.connecting import loading_connection

    with Gateway(loading_connection(settings_from(**flags))) as gateway:
        gateway.version()
        with progress_bar("the names of the graph", "indexing") as (progress, _):
            report = index_names(gateway, progress=progress)
    click.echo(f"{report.num_named:,} entities have names, {report.num_written:,} were written", err=True)
    if as_json:
        click.echo(json.dumps(asdict(report)))
