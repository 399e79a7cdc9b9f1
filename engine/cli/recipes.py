"""List recipes and parts with their options (`lodestar recipes`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

import click

from . import show
from .options import json_option


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@json_option
def recipes_command(names: tuple[str, ...]) -> None:
    """List recipes and parts with all options, their defaults and sources.

    A recipe can be an expression of parts: a + b passes the results of a to b, a | b joins both results.

    \b
    Example:
      lodestar recipes star
    """
    from ..errors import UsageError
    from ..recipes import list_parts, list_recipes

    recipes, parts = list_recipes(), list_parts()
    known = {each["name"] for each in (*recipes, *parts)}
    if unknown := sorted({*names} - known):
        raise UsageError(f"there is no recipe or part {unknown[0]!r}: expected one of {', '.join(sorted(known))}")
    recipes, parts = ([each for each in some if not names or each["name"] in names] for some in (recipes, parts))
    lines = chain.from_iterable((*map(_recipe_lines, recipes), *map(_part_lines, parts)))
    show({"recipes": recipes, "parts": parts}, lines)


def _recipe_lines(recipe: dict[str, Any]) -> Iterator[str]:
    yield f"Recipe {recipe['name']}: {' '.join(recipe['resolved'])}; answerer {recipe['answerer']['kind']}"
    yield f"  {recipe['description']}"


def _part_lines(part: dict[str, Any]) -> Iterator[str]:
    flow = " → ".join(kind for kind in (part["takes"], part["gives"]) if kind)
    yield ""
    yield f"{part['role'].capitalize()} {part['name']}{f' ({flow})' if flow else ''}"
    yield f"  {part['description']}"
    if part["checkpoint_kinds"]:
        yield f"  takes a checkpoint of kind {' or '.join(part['checkpoint_kinds'])}"
    for option in part["options"]:
        default = json.dumps(option["default"], ensure_ascii=False)
        yield f"  {option['name']:<16} {default:<10} {option['help']} [{option['source']}]"
