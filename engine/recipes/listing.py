"""What there is to make recipes of: every part and recipe with its options, their defaults and their sources."""

from __future__ import annotations

from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import Any

from .part import Part
from .recipe import read_plain, read_recipe, recipe_names
from .registry import ANSWERERS, LINKERS, PARTS, foreign_code, part_class


def listed_parts() -> list[dict[str, Any]]:
    """Return the parts, as plain data: name, role, what it takes and gives, its options."""
    known = (PARTS, LINKERS, ANSWERERS)
    return [_part_data(name, part_class(name, known=some)) for some in known for name in sorted(some)]


def listed_recipes() -> list[dict[str, Any]]:
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
