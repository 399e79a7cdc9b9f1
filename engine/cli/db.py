"""Start, stop or reset an embedded Neo4j, look after the graph of any, delete loads (`lodestar db`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from ..errors import GraphError
from ..progress import print_to_stderr, show_progress_bar
from . import print_report, require_yes, show
from .options import database_options, gateway_options, json_option, open_gateway, server_option

if TYPE_CHECKING:
    from ..neo4j.embedded import EmbeddedServer
    from ..neo4j.gateway import Gateway
    from ..settings import Settings

SHOWN_KINDS = 10


@click.group()
def db_command() -> None:
    """Run a Neo4j of your own, and look after its graph.

    Neo4j Community 5.26 with Browser runs in its own process and listens on this machine only. The first start
    downloads it (140 MB). Servers with different names run side by side, each with its own graph.

    \b
    Example:
      lodestar db start
      lodestar db status
    """


@db_command.command()
@click.option("--bolt-port", type=click.IntRange(1, 65_535), help="Port for drivers (default: 7687 or a free one).")
@click.option("--http-port", type=click.IntRange(1, 65_535), help="Port of Browser (default: 7474 or a free one).")
@click.option("--heap-mb", type=click.IntRange(256), help="Java heap (default: a sixth of the memory).")
@click.option("--pagecache-mb", type=click.IntRange(16), help="Page cache (default: a sixth; up to a third).")
@server_option
@json_option
def start(server: EmbeddedServer, **ports_and_memory: Any) -> None:
    """Start the server, unless it is already running; download Neo4j if needed.

    \b
    Example:
      lodestar db start --name films --heap-mb 2048
    """
    server.start(**ports_and_memory)
    data = _describe(server)
    show(data, _server_lines(data))


@db_command.command()
@server_option
@json_option
def stop(server: EmbeddedServer) -> None:
    """Stop the server; its graph stays. Does nothing if it is not running."""
    was_running = server.stop()
    done = "stopped" if was_running else "was not running"
    print_report(f"{server.name}: {done}", {"name": server.name, "was_running": was_running})


@db_command.command()
@json_option
@database_options
def status(settings: Settings) -> None:
    """Show whether the server runs, where it answers, where its files are, what its graph holds, and other servers.

    \b
    Example:
      lodestar db status --name films
    """
    from ..neo4j.catalogue import read_graph_figures
    from ..neo4j.embedded import EmbeddedServer

    server = None if settings.uri else EmbeddedServer.of(settings)
    data = _describe(server) if server else {}
    graph = read_graph_figures(open_gateway(settings)) if server is None or data["running"] else None
    lines = chain(_server_lines(data) if data else (), _graph_lines(graph) if graph else ())
    show(data | {"graph": graph}, lines)


@db_command.command()
@json_option
@gateway_options
def check(gateway: Gateway) -> None:
    """Count the graph again and compare it with its catalogue, its signatures and the manifests of its loads.

    It reads every triple and compares those of each load by a checksum. Exits with 5 if there is a fault.
    """
    from ...loaders.maintaining import verify

    with show_progress_bar("the graph", "checking") as (progress, _):
        found = verify(gateway, progress)
    show(asdict(found), found.faults)
    if found.faults:
        raise GraphError(f"faults: {len(found.faults):,}; if Cypher changed the graph, run `lodestar db refresh`")
    print_to_stderr(f"{found.num_triples:,} triples of {found.num_loads:,} loads: equal to the manifests")


@db_command.command()
@json_option
@gateway_options
def refresh(gateway: Gateway) -> None:
    """Bring names, relation signatures, counts, catalogue and manifests in line with what other programs changed.

    Use it after Cypher has changed triples or names. Relationship types between entities become relations.
    """
    from ...loaders import maintaining

    with show_progress_bar("the graph", "refreshing") as (progress, _):
        found = maintaining.refresh_derived_data(gateway, progress=progress)
    print_report(f"{found.num_triples:,} triples: {'; '.join(found.faults) or 'all was right'}", asdict(found))


@db_command.command()
@click.argument("which", metavar="NUMBER|SOURCE|SHA256")
@click.option("--yes", is_flag=True, help="Do it: without it nothing is deleted.")
@json_option
@gateway_options
def unload(gateway: Gateway, which: str, yes: bool) -> None:
    """Delete one load (`lodestar db status` lists them), except what other loads also state.

    \b
    Example:
      lodestar db unload more.tsv --yes
    """
    from ...loaders import maintaining

    require_yes(f"the load {which}", yes=yes)
    with show_progress_bar(f"the load {which}", "deleting") as (progress, _):
        report = maintaining.unload(gateway, which, progress=progress)
    print_report(str(report), asdict(report))


@db_command.command()
@json_option
@database_options
def index(settings: Settings) -> None:
    """Build the entity index: vectors of names, for words that no name matches ("peruvian" for Peru).

    Only what changed since the last time is encoded; after an interruption the same command continues.
    """
    from ..linking.entity_index import get_entity_index_folder, index_entities
    from ..resources import EngineResources

    gateway = open_gateway(settings)
    with show_progress_bar("the entities of the graph", "indexing") as (progress, _):
        folder = get_entity_index_folder(settings, gateway.connection)
        vectors = EngineResources(settings, gateway.connection).vectors
        report = index_entities(gateway, folder, vectors, progress=progress)
    print_report(f"{report.num_entities:,} entities, {report.num_encoded:,} encoded now", asdict(report))


@db_command.command()
@click.option("--yes", is_flag=True, help="Do it: without it nothing is deleted.")
@server_option
@json_option
def reset(server: EmbeddedServer, yes: bool) -> None:
    """Stop the server and delete its graph, settings and password. Downloads stay.

    \b
    Example:
      lodestar db reset --name films --yes
    """
    folder = server.home.folder
    if is_there := folder.exists() or server.incoming().home.folder.exists():
        require_yes(f"the graph {server.name!r} in {folder}", yes=yes)
        server.reset()
    done = "deleted" if is_there else "there is no such server, nothing deleted"
    print_report(f"{server.name}: {done}", {"name": server.name, "deleted": str(folder) if is_there else None})


def _describe(server: EmbeddedServer) -> dict[str, Any]:
    """Return what is known of a server as JSON data."""
    status = server.status()
    return asdict(status) | {
        "running": status.running,
        "bolt_uri": status.bolt_uri if status.bolt_port else None,
        "browser_url": status.browser_url if status.http_port else None,
        "store_mb": server.store_mb,
        "others": [each.name for each in server.others()],
    }


def _server_lines(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{data['name']}: Neo4j {data['version']} {data['phase']}" + (f", pid {data['pid']}" if data["pid"] else "")
    if data["bolt_uri"]:
        memory = f"heap {data['heap_mb']:,} MB, page cache {data['pagecache_mb']:,} MB"
        yield f"  bolt      {data['bolt_uri']}"
        yield f"  browser   {data['browser_url']}  (user neo4j, password in {data['password_file']})"
        yield f"  memory    {memory} for a store of {data['store_mb']:,} MB"
    yield f"  home      {data['home']}"
    if data["others"]:
        yield f"  others    {', '.join(data['others'])}"


def _graph_lines(graph: Mapping[str, Any]) -> Iterator[str]:
    counts = (f"{graph[f'num_{what}']:,} {what}" for what in ("triples", "entities", "literals", "relations"))
    yield f"  graph     {', '.join(counts)}"
    if kinds := [f"{num:,} {name}" for name, num in graph["kinds"].items()]:
        yield f"  kinds     {', '.join(kinds[:SHOWN_KINDS])}{', …' if len(kinds) > SHOWN_KINDS else ''}"
    for load in graph["loads"]:
        counted = f"{load['kind']}  {load['num_triples']:,} triples  {load['state']}"
        yield f"  load      {load['number']:>3}  {load['source']}  {counted}"
