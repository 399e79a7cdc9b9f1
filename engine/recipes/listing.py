"""List recipes and parts with their options, as plain data."""

from __future__ import annotations

from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import Any

from .part import Part
from .recipe import read_plain, read_recipe, recipe_names
from .registry import ANSWERERS, LINKERS, PARTS, foreign_code, part_class


def list_parts() -> list[dict[str, Any]]:
    """Return name, role, input, output and options of each part, as plain data."""
    known = (PARTS, LINKERS, ANSWERERS)
    return [_part_data(name, part_class(name, known=some)) for some in known for name in sorted(some)]


def list_recipes() -> list[dict[str, Any]]:
    """Return the recipes that come with Lodestar, resolved, as plain data."""
    return [read_recipe(name).as_json() for name in recipe_names()]


def file_contents(path: str) -> dict[str, Any]:
    """Return the content of a recipe file as plain data, without loading any code or model.

    code: the file's own parts as ``module:Class``, which need consent. options: the options that it sets, such as a
    checkpoint's folder or a prompt's file. Raises `InputError` if the file is not TOML.
    """
    content = read_plain(path)
    tables = {name: table for name, table in content.items() if isinstance(table, dict) and name != "parts"}
    own = content.get("parts")
    own = {str(name): str(place) for name, place in own.items()} if isinstance(own, dict) else {}
    return {
        "name": content["name"],
        "description": str(content.get("description", "")),
        "stages": str(content.get("stages", "")),
        "code": foreign_code(own),
        "options": {f"{name}.{option}": value for name, table in tables.items() for option, value in table.items()},
    }


def _part_data(name: str, kind: type[Part]) -> dict[str, Any]:
    content = (kind.__doc__ or "").strip().split("\n\n")[0]
    return {
        "name": name,
        "role": kind.role,
        "takes": getattr(kind, "takes", None),
        "gives": getattr(kind, "gives", None),
        "description": " ".join(content.split()),
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
