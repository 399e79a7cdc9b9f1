"""List recipes and parts with their options (`lodestar recipes`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from .options import json_option
from .terminal import echo, print_json, printable

SECTION = "Ask"


@click.command()
@click.argument("names", metavar="[NAME|FILE.toml]...", nargs=-1)
@json_option
def command(names: tuple[str, ...], as_json: bool) -> None:
    """List recipes and parts with all options, their defaults and sources.

    A recipe can be an expression of parts: a + b passes the results of a to b, a | b joins both results. For a recipe
    file it shows what the recipe would load, without loading it.

    \b
    Examples:
      lodestar recipes
      lodestar recipes star
      lodestar recipes received.toml
      lodestar ask --recipe "similarity + merge" --set merge.bonus=1 "Who directed Alien?"
    """
    from ..errors import UsageError
    from ..recipes import list_parts, list_recipes, read_recipe_file

    files = [read_recipe_file(name) for name in names if name.endswith(".toml")]
    if files and len(files) == len(names):
        print_json({"files": files}) if as_json else echo("\n\n".join("\n".join(_file_lines(each)) for each in files))
        return
    recipes, parts = list_recipes(), list_parts()
    known = {each["name"] for each in (*recipes, *parts)}
    wanted = {name for name in names if not name.endswith(".toml")}
    if unknown := sorted(wanted - known):
        raise UsageError(f"there is no recipe or part {unknown[0]!r}: expected one of {', '.join(sorted(known))}")
    recipes, parts = ([each for each in some if not wanted or each["name"] in wanted] for some in (recipes, parts))
    if as_json:
        print_json({"recipes": recipes, "parts": parts})
        return
    if recipes:
        echo("Recipes")
    for recipe in recipes:
        echo(f"  {recipe['name']:<16} {recipe['description']}")
        echo(f"  {'':<16} {' '.join(recipe['resolved'])}; answerer {recipe['answerer']['kind']}")
    for part in parts:
        echo("\n".join(_part_lines(part)))


def _file_lines(content: dict[str, Any]) -> Iterator[str]:
    yield printable(f"Recipe {content['name']}: {content['stages'] or 'no stages'}")
    if content["description"]:
        yield printable(f"  {content['description']}")
    for name, place in content["code"].items():
        yield printable(f"  loads code: {name} is {place} (only with --allow-parts)")
    if not content["code"]:
        yield "  loads only the code of Lodestar and of installed parts"
    for option, value in content["options"].items():
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
