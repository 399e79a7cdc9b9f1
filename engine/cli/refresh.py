"""Put right what other programs changed in the graph (`lodestar refresh`)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from .options import database_options, json_option, settings_from
from .terminal import echo


@click.command()
@json_option
@database_options
def command(as_json: bool, **flags: Any) -> None:
    """Bring names, relation signatures, counts, catalogue and manifests in line with what other programs changed.

    After Cypher has created, changed or deleted triples or names: every triple is read, and open engines see the
    result with their next question. Relationship types between entities become relations. `lodestar verify` says
    beforehand whether there is anything to do.

    \b
    Example:
      lodestar refresh
      lodestar refresh --json
    """
    from ...loaders.loads.refreshing import refresh
    from ..neo4j.gateway import Gateway
    from ..neo4j.instance import loading_connection
    from ..progress import progress_bar

    with Gateway(loading_connection(settings_from(**flags))) as gateway:
        gateway.version()
        with progress_bar("the graph", "refreshing") as (progress, _):
            report = refresh(gateway, progress=progress)
    echo(str(report), err=True)
    if as_json:
        echo(json.dumps(asdict(report)))
