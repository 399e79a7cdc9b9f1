"""Find the entities that a text mentions (`lodestar entities`)."""

from __future__ import annotations

import json
from typing import Any

import click

from .options import database_options, json_option, settings_from
from .terminal import echo


@click.command()
@click.argument("text")
@json_option
@database_options
def command(text: str, as_json: bool, **flags: Any) -> None:
    """Find the entities that a text mentions, best first, with their scores.

    \b
    Example:
      lodestar entities "Which countries border Swizerland?"
    """
    from ..api import Engine
    from ..evidence.evidence import topic_data
    from .render import candidate_line

    with Engine(settings_from(**flags)) as engine:
        candidates = engine.link(text)
    if as_json:
        echo(json.dumps([topic_data(c) for c in candidates], ensure_ascii=False))
        return
    for candidate in candidates:
        echo(candidate_line(candidate))
    if not candidates:
        echo("no known entity in the text", err=True)
