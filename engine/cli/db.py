"""Start, stop, show or reset an embedded Neo4j (`lodestar db`), without Docker or a system Java."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import UsageError
from .options import embedded_server_options, json_option, settings_from
from .terminal import echo

if TYPE_CHECKING:
    from ..neo4j.embedded import EmbeddedServer
    from ..neo4j.instance import ServerPair


@click.group()
def command() -> None:
    """Start, stop, show or reset a Neo4j of your own.

    Neo4j Community 5.26 with Browser runs in its own process and listens on this machine only. The first start
    downloads it (140 MB). Servers with different names run side by side, each with its own graph.

    \b
    Example:
      lodestar db start
      lodestar db status
    """


@command.command()
@click.option("--bolt-port", type=click.IntRange(1, 65_535), help="Port for drivers (default: 7687 or a free one).")
@click.option("--http-port", type=click.IntRange(1, 65_535), help="Port of Browser (default: 7474 or a free one).")
@click.option("--heap-mb", type=click.IntRange(256), help="Java heap in MB (default: a sixth of the memory).")
@click.option(
    "--pagecache-mb",
    type=click.IntRange(16),
    help="Page cache in MB (default: a sixth of the memory; up to a third for a larger graph).",
)
@embedded_server_options
@json_option
def start(
    name: str | None,
    home: str | None,
    as_json: bool,
    bolt_port: int | None,
    http_port: int | None,
    heap_mb: int | None,
    pagecache_mb: int | None,
) -> None:
    """Start the server, unless it is already running; download Neo4j if needed.

    \b
    Example:
      lodestar db start
      lodestar db start --name films --heap-mb 2048
    """
    instance = _instance(name, home)
    instance.start(bolt_port=bolt_port, http_port=http_port, heap_mb=heap_mb, pagecache_mb=pagecache_mb)
    _show(instance, as_json)


@command.command()
@embedded_server_options
@json_option
def stop(name: str | None, home: str | None, as_json: bool) -> None:
    """Stop the server; its graph stays. Does nothing if it is not running.

    \b
    Example:
      lodestar db stop
    """
    instance = _instance(name, home)
    was_running = instance.stop()
    echo(f"{instance.name}: {'stopped' if was_running else 'was not running'}", err=True)
    if as_json:
        echo(json.dumps({"name": instance.name, "was_running": was_running}))


@command.command()
@click.option("--all", "with_others", is_flag=True, help="Show every server under the same home.")
@embedded_server_options
@json_option
def status(name: str | None, home: str | None, as_json: bool, with_others: bool) -> None:
    """Show whether the server runs, where it answers, and where its files are.

    \b
    Example:
      lodestar db status
      lodestar db status --all --json
    """
    instance = _instance(name, home)
    if with_others:
        _show_all([instance, *instance.others()], as_json)
    else:
        _show(instance, as_json)


@command.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@embedded_server_options
@json_option
@click.pass_context
def reset(ctx: click.Context, name: str | None, home: str | None, as_json: bool, yes: bool) -> None:
    """Stop the server and delete its graph, settings and password. Downloads stay.

    \b
    Example:
      lodestar db reset --name films --yes
    """
    instance = _instance(name, home)
    if not instance.home.folder.exists() and not instance.incoming().home.folder.exists():
        echo(f"{instance.name}: there is no such server, nothing deleted", err=True)
        if as_json:
            echo(json.dumps({"name": instance.name, "deleted": None}))
        return
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"reset deletes {instance.home.folder}: give --yes to skip the question")
        if not click.confirm(f"Delete the graph {instance.name!r} in {instance.home.folder}?", err=True):
            echo("nothing deleted", err=True)
            ctx.exit(1)
    instance.reset()
    echo(f"{instance.name}: deleted", err=True)
    if as_json:
        echo(json.dumps({"name": instance.name, "deleted": str(instance.home.folder)}))


def _instance(name: str | None, home: str | None) -> ServerPair:
    from ..neo4j.instance import ServerPair

    return ServerPair.of(settings_from(name=name, home=home))


def _show(server: EmbeddedServer, as_json: bool) -> None:
    if as_json:
        echo(json.dumps(_as_json(server)))
        return
    status = server.status()
    echo(f"{status.name}: Neo4j {status.version} {status.phase}" + (f", pid {status.pid}" if status.pid else ""))
    if status.bolt_port:
        echo(f"  bolt      {status.bolt_uri}")
        echo(f"  browser   {status.browser_url}  (user neo4j, password in {status.password_file})")
        shown = f"heap {status.heap_mb:,} MB, page cache {status.pagecache_mb:,} MB"
        echo(f"  memory    {shown} for a store of {server.store_mb:,} MB")
    echo(f"  home      {status.home}")


def _show_all(servers: Sequence[EmbeddedServer], as_json: bool) -> None:
    if as_json:
        echo(json.dumps([_as_json(server) for server in servers]))
    else:
        for server in servers:
            _show(server, as_json=False)


def _as_json(server: EmbeddedServer) -> dict[str, Any]:
    status = server.status()
    return {
        "name": status.name,
        "running": status.running,
        "phase": status.phase,
        "pid": status.pid,
        "version": status.version,
        "bolt_uri": status.bolt_uri if status.bolt_port else None,
        "browser_url": status.browser_url if status.http_port else None,
        "heap_mb": status.heap_mb,
        "pagecache_mb": status.pagecache_mb,
        "store_mb": server.store_mb,
        "home": str(status.home),
        "log": str(status.log),
        "password_file": str(status.password_file),
    }
