"""Serve questions over HTTP, with a web page, to many clients (`lodestar serve`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import recipe_options

if TYPE_CHECKING:
    from ..recipes import Recipe
    from ..settings import Settings


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address; another needs LODESTAR_TOKEN.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8080, show_default=True, help="Port; 0: any free one.")
@click.option("--allow-host", "hosts", metavar="NAME", multiple=True, help="Another host name to accept; repeatable.")
@recipe_options
def command(
    settings: Settings,
    recipe: Recipe,
    host: str,
    port: int,
    hosts: tuple[str, ...],
) -> None:
    """Serve questions over HTTP, with a page at / and documentation at /docs, until Ctrl-C.

    It listens on this machine alone; with LODESTAR_TOKEN set, requests need that token. MCP is at /mcp where the extra
    mcp is installed. See docs/serving.md.

    \b
    Examples:
      lodestar serve
      lodestar serve --recipe star --checkpoint star
      LODESTAR_TOKEN=… lodestar serve --host 0.0.0.0 --allow-host graph.example.org
    """
    from ..errors import require_extra

    require_extra("serve", "lodestar serve")
    from ..serving.server import ServerOptions, run_server

    run_server(settings, recipe, ServerOptions(host, port, hosts))
