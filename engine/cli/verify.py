"""Check the graph against the manifests of its loads (`lodestar verify`)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from ..errors import GraphError
from .options import database_options, json_option, settings_from
from .terminal import echo


@click.command()
@json_option
@database_options
def command(as_json: bool, **flags: Any) -> None:
    """Count the graph again and compare it with its catalogue, its signatures and the manifests of its loads.

    It reads every triple and compares those of each load by a checksum. Exits with 5 if there is a fault.

    \b
    Example:
      lodestar verify
      lodestar verify --json
    """
    from ...loaders.loads.report import number_of
    from ...loaders.loads.verifying import verify
    from ..neo4j.gateway import Gateway
    from ..neo4j.instance import loading_connection
    from ..progress import progress_bar

    with Gateway(loading_connection(settings_from(**flags))) as gateway:
        gateway.version()
        with progress_bar("the graph", "verifying") as (progress, _):
            found = verify(gateway, progress)
    if as_json:
        echo(json.dumps(asdict(found)))
    for fault in () if as_json else found.faults:
        echo(fault)
    counts = (
        number_of(found.num_triples, "triple", "triples"),
        number_of(found.num_entities, "entity", "entities"),
        number_of(found.num_loads, "load", "loads"),
    )
    checked = ", ".join(counts)
    if found.faults:
        faults = number_of(len(found.faults), "fault", "faults")
        raise GraphError(
            f"{checked}: {faults}, the first: {found.faults[0]}; if Cypher changed it, run `lodestar refresh`"
        )
    echo(f"{checked}: equal to the manifests", err=True)
