"""Serve the graph as tools to an agent over standard input and output (`lodestar mcp`)."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from .options import database_options, recipe_options, settings_and_recipe


@click.command()
@recipe_options
@database_options
def command(**flags: Any) -> None:
    """Serve the Model Context Protocol over standard input and output, for an agent that starts this command.

    Six tools, all read-only: ask, retrieve_paths, find_entities, list_relations, get_neighbours, verify_path. See
    docs/serving.md for what to write into a client's configuration.

    \b
    Example:
      lodestar mcp --name demo
    """
    from ..extras import require_extra

    require_extra("mcp", "lodestar mcp")
    from ..serving.mcp import McpTools
    from ..serving.service import Service

    settings, recipe = settings_and_recipe(flags)

    async def serve() -> None:
        await McpTools().run_stdio(Service(settings, {recipe.name: recipe}))

    asyncio.run(serve())
