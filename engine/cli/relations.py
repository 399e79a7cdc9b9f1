"""Find the relations nearest to a text (`lodestar relations`)."""

from __future__ import annotations

import json
from typing import Any

import click

from .options import database_options, json_option, settings_from
from .terminal import echo


@click.command()
@click.argument("text")
@click.option("--top-k", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many to show.")
@json_option
@database_options
def command(text: str, top_k: int, as_json: bool, **flags: Any) -> None:
    """Find the relations nearest to a text.

    \b
    Example:
      lodestar relations "where was someone born"
    """
    from ..api import Engine
    from .terminal import printable

    with Engine(settings_from(**flags)) as engine:
        nearest = engine.relations(text, top_k=top_k)
    if as_json:
        rows = [
            {"relation": s.value.name, "score": round(s.score, 4), "count": s.value.count, "number": s.value.number}
            for s in nearest
        ]
        echo(json.dumps(rows, ensure_ascii=False))
        return
    for scored in nearest:
        echo(printable(f"{scored.score:6.3f}  {scored.value.name}  ({scored.value.count:,} triples)"))
