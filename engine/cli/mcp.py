"""Serve tools to an agent over the Model Context Protocol (`lodestar mcp`)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from .options import recipe_options

if TYPE_CHECKING:
    from ..recipes import Recipe
    from ..settings import Settings


@click.command()
@recipe_options
def command(settings: Settings, recipe: Recipe) -> None:
    """Serve the Model Context Protocol over standard input and output, for an agent that starts this command.

    Six tools, all read-only: ask, retrieve_paths, find_entities, list_relations, get_neighbours, verify_path. See
    docs/serving.md for what to write into a client's configuration.

    \b
    Example:
      lodestar mcp --name demo
    """
    from ..errors import require_extra

    require_extra("mcp", "lodestar mcp")
    from ..serving import Service
    from ..serving.mcp import McpTools

    async def serve() -> None:
        await McpTools().run_stdio(Service(settings, recipe))

    asyncio.run(serve())
