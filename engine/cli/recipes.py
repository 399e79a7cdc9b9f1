"""`lodestar recipes`: list recipes and parts with their options."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import Any

import click

from ..recipes.part import Part
from ..recipes.recipe import read_plain, read_recipe, recipe_names
from ..recipes.registry import ANSWERERS, LINKERS, PARTS, foreign_code, part_class
from .options import json_option
from .terminal import echo, printable


def list_parts() -> list[dict[str, Any]]:
    """Return the parts, as plain data: name, role, what it takes and gives, its options."""
    known = (PARTS, LINKERS, ANSWERERS)
    return [_part_data(name, part_class(name, known=some)) for some in known for name in sorted(some)]


def list_recipes() -> list[dict[str, Any]]:
    """Return the recipes that come with Lodestar, each resolved."""
    return [read_recipe(name).as_json() for name in recipe_names()]


def file_contents(path: str) -> dict[str, Any]:
    """Return what a recipe's file says and what it would load, as plain data; nothing of it is loaded.

    code: the parts of its own, as ``module:Class``, that need consent. options: what it changes, a checkpoint's folder
    or a prompt's file among them.
    Raises `InputError` for a file that is no TOML.
    """
    said = read_plain(path)
    tables = {name: table for name, table in said.items() if isinstance(table, dict) and name != "parts"}
    own = said.get("parts")
    own = {str(name): str(place) for name, place in own.items()} if isinstance(own, dict) else {}
    return {
        "name": said["name"],
        "description": str(said.get("description", "")),
        "stages": str(said.get("stages", "")),
        "code": foreign_code(own),
        "options": {f"{name}.{option}": value for name, table in tables.items() for option, value in table.items()},
    }


def _part_data(name: str, kind: type[Part]) -> dict[str, Any]:
    said = (kind.__doc__ or "").strip().split("\n\n")[0]
    return {
        "name": name,
        "role": kind.role,
        "takes": getattr(kind, "takes", None),
        "gives": getattr(kind, "gives", None),
        "description": " ".join(said.split()),
        "checkpoint_kinds": [each if isinstance(each, str) else each.name for each in kind.kinds],
        "options": [
            {
                "name": each.name,
                "default": _default(each),
                "help": each.metadata.get("help", ""),
                "source": each.metadata.get("source", ""),
            }
            for each in fields(kind)
        ],
    }


def _default(option: Any) -> Any:
    value = option.default
    if value is MISSING:
        value = option.default_factory() if option.default_factory is not MISSING else None
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


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

    files = [file_contents(name) for name in names if name.endswith(".toml")]
    names = tuple(name for name in names if not name.endswith(".toml"))
    if files and not names:
        if as_json:
            echo(json.dumps({"files": files}, ensure_ascii=False))
        else:
            echo("\n\n".join("\n".join(_file_lines(each)) for each in files))
        return
    recipes, parts = list_recipes(), list_parts()
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
