"""List the loads of a graph, or delete one (`lodestar loads`)."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import click

from ..errors import UsageError
from .options import database_options, json_option, settings_from
from .terminal import echo, printable


@click.group()
def command() -> None:
    """List the loads of the graph, or delete one.

    \b
    Example:
      lodestar loads list
      lodestar loads delete 2 --yes
    """


@command.command("list")
@json_option
@database_options
def list_(as_json: bool, **flags: Any) -> None:
    """List the loads of the graph by number, from their manifests.

    \b
    Example:
      lodestar loads list --json
    """
    from ..neo4j.catalogue import check_load_running, read_loads
    from ..neo4j.gateway import Gateway
    from ..neo4j.instance import make_connection

    with Gateway(make_connection(settings_from(**flags))) as gateway:
        loads = gateway.fetch(read_loads())
        under_way = any(not load.finished for load in loads) and gateway.fetch(check_load_running())
    if as_json:
        echo(json.dumps([asdict(load) for load in loads]))
        return
    for load in loads:
        half_there = "under way" if under_way else "did not finish"
        state = f"deletion {half_there}" if load.deleting else load.finished or half_there
        echo(
            f"{load.number:>3}  {printable(load.source)}  {printable(load.kind)}  {load.num_triples:,} triples  {state}"
        )


@command.command()
@click.argument("load", metavar="NUMBER|SOURCE|SHA256")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@database_options
@click.pass_context
def delete(ctx: click.Context, /, load: str, yes: bool, as_json: bool, **flags: Any) -> None:
    """Delete a load: its triples, names, relations and entities, except those that other loads also contain.

    You can run it again after an interruption.

    \b
    Example:
      lodestar loads delete 2
      lodestar loads delete more.tsv --yes
    """
    from ...loaders.loads.report import number_of
    from ...loaders.loads.unloading import find_load, unload
    from ..neo4j.catalogue import read_loads
    from ..neo4j.gateway import Gateway
    from ..neo4j.instance import loading_connection
    from ..progress import progress_bar

    with Gateway(loading_connection(settings_from(**flags))) as gateway:
        gateway.version()
        loads = gateway.fetch(read_loads())
        manifest = find_load(loads, load)
        if not yes:
            if not sys.stdin.isatty():
                raise UsageError(
                    f"this deletes load {manifest.number} ({manifest.source}): give --yes to skip the question"
                )
            if not click.confirm(f"Delete load {manifest.number} ({manifest.source})?", err=True):
                echo("nothing deleted", err=True)
                ctx.exit(1)
        with progress_bar(f"load {manifest.number} ({manifest.source})", "deleting") as (progress, _):
            report = unload(gateway, str(manifest.number), progress=progress)
    echo(
        f"{report.source}: {number_of(report.num_triples_deleted, 'triple', 'triples')} deleted, "
        f"{number_of(report.num_triples, 'triple', 'triples')} of "
        f"{number_of(report.num_entities, 'entity', 'entities')} left",
        err=True,
    )
    if as_json:
        echo(json.dumps(asdict(report)))
