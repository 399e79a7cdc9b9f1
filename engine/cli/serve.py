"""Serve questions over HTTP, with a web page, to many clients (`lodestar serve`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from . import say
from .options import recipe_options, settings_from

if TYPE_CHECKING:
    from ..recipes import Recipe
    from ..settings import Settings

SECTION = "Ask"


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address; another needs LODESTAR_TOKEN.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8080, show_default=True, help="Port; 0: any free one.")
@click.option("--also", metavar="RECIPE", multiple=True, help="Another recipe that requests may name; repeatable.")
@click.option("--allow-host", "hosts", metavar="NAME", multiple=True, help="Another host name to accept; repeatable.")
@click.option(
    "--allow-origin", "origins", metavar="ORIGIN", multiple=True, help="A site whose pages may send requests."
)
@click.option("--demo", is_flag=True, help="Start a separate Neo4j with a small world first.")
@recipe_options
def command(
    settings: Settings,
    recipe: Recipe,
    host: str,
    port: int,
    also: tuple[str, ...],
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    demo: bool,
) -> None:
    """Serve questions over HTTP, with a page at / and documentation at /docs, until Ctrl-C.

    It listens on this machine alone; with LODESTAR_TOKEN set, requests need that token. MCP is at /mcp where the extra
    mcp is installed. See docs/serving.md.

    \b
    Examples:
      lodestar serve --demo
      lodestar serve --recipe star --checkpoint star --also similarity
      LODESTAR_TOKEN=… lodestar serve --host 0.0.0.0 --allow-host graph.example.org
    """
    from ..errors import require_extra

    require_extra("serve", "lodestar serve")
    from ..recipes import read_recipe
    from ..serving.server import ServerOptions, run_server

    recipes = {each.name: each for each in (recipe, *map(read_recipe, also))}
    options = ServerOptions(host=host, port=port, hosts=hosts, origins=origins)
    options.check()
    if demo:
        from ..neo4j.embedded import EmbeddedServer
        from .demo import DEMO_NAME, load_world

        named = settings_from(name=click.get_current_context().params["name"]).name  # not the one that happens to run
        settings = replace(settings, uri="", name=DEMO_NAME if named == "default" else named)
        EmbeddedServer.of(settings).start()
        say(str(load_world(settings)))
    run_server(settings, recipes, options, say=say)
