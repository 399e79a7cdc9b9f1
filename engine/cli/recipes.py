"""`lodestar recipes`: what pipelines are made of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from .options import json_option
from .terminal import echo, printable


@click.command()
@click.argument("names", metavar="[NAME|FILE.toml]...", nargs=-1)
@json_option
def command(names: tuple[str, ...], as_json: bool) -> None:
    """List recipes and parts, with all options, their defaults and where these are from.

    A line of parts is a recipe: a + b gives what a found to b, a | b joins what both find. Of a recipe's file it shows
    what the recipe would load, and loads nothing of it.

    \b
    Examples:
      lodestar recipes
      lodestar recipes star
      lodestar recipes received.toml
      lodestar ask --recipe "similarity + merge" --set merge.bonus=1 "Who directed Alien?"
    """
    from ..errors import UsageError
    from ..recipes.listing import file_contents, listed_parts, listed_recipes

    files = [file_contents(name) for name in names if name.endswith(".toml")]
    names = tuple(name for name in names if not name.endswith(".toml"))
    if files and not names:
        if as_json:
            echo(json.dumps({"files": files}, ensure_ascii=False))
        else:
            echo("\n\n".join("\n".join(_file_lines(each)) for each in files))
        return
    recipes, parts = listed_recipes(), listed_parts()
    if names:
        known = {each["name"] for each in (*recipes, *parts)}
        if unknown := [name for name in names if name not in known]:
            raise UsageError(f"there is no recipe or part {unknown[0]!r}: expected one of {', '.join(sorted(known))}")
        recipes = [each for each in recipes if each["name"] in names]
        parts = [each for each in parts if each["name"] in names]
    if as_json:
        echo(json.dumps({"recipes": recipes, "parts": parts}, ensure_ascii=False))
        return
    if recipes:
        echo("Recipes")
        for recipe in recipes:
            echo(f"  {recipe['name']:<16} {recipe['description']}")
            echo(f"  {'':<16} {' '.join(recipe['resolved'])}; answerer {recipe['answerer']['kind']}")
    for part in parts:
        echo("\n".join(_part_lines(part)))


def _file_lines(said: dict[str, Any]) -> Iterator[str]:
    yield printable(f"Recipe {said['name']}: {said['stages'] or 'no stages'}")
    if said["description"]:
        yield printable(f"  {said['description']}")
    for name, place in said["code"].items():
        yield printable(f"  loads code: {name} is {place} (only with --allow-parts)")
    if not said["code"]:
        yield "  loads no code but Lodestar's and that of installed parts"
    for option, value in said["options"].items():
        yield printable(f"  {option} = {json.dumps(value, ensure_ascii=False, default=str)}")


def _part_lines(part: dict[str, Any]) -> Iterator[str]:
    flow = " → ".join(kind for kind in (part["takes"], part["gives"]) if kind)
    yield f"\n{part['role'].capitalize()} {part['name']}{f' ({flow})' if flow else ''}"
    yield f"  {part['description']}"
    if part["checkpoint_kinds"]:
        yield f"  takes a checkpoint of kind {' or '.join(part['checkpoint_kinds'])}"
    for option in part["options"]:
        default = json.dumps(option["default"], ensure_ascii=False)
        yield f"  {option['name']:<16} {default:<10} {option['help']} [{option['source']}]"
