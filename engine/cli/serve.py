"""Serve questions over HTTP with a web page, and tools for agents by MCP (`lodestar serve`, `mcp`)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

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
def serve_command(settings: Settings, recipe: Recipe, **how: Any) -> None:
    """Serve questions over HTTP, with a page at / and documentation at /docs, until Ctrl-C.

    It listens on this machine alone; with LODESTAR_TOKEN set, requests need that token. MCP is at /mcp where the extra
    mcp is installed. See docs/serving.md.

    \b
    Examples:
      lodestar serve
      lodestar serve --recipe star --checkpoint star
      LODESTAR_TOKEN=… lodestar serve --host 0.0.0.0 --allow-host graph.example.org
    """
    from ..serving.server import ServerOptions, run_server

    run_server(settings, recipe, ServerOptions(**how))


@click.command()
@recipe_options
def mcp_command(settings: Settings, recipe: Recipe) -> None:
    """Serve the Model Context Protocol over standard input and output, for an agent that starts this command.

    Six tools, all read-only: ask, retrieve_paths, find_entities, list_relations, get_neighbours, verify_path. See
    docs/serving.md for what to write into a client's configuration.

    \b
    Example:
      lodestar mcp --name demo
    """
    from ..serving import Service
    from ..serving.mcp import McpTools

    asyncio.run(McpTools(Service(settings, recipe)).run_stdio())
