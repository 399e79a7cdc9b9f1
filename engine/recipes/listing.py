"""What there is to make recipes of: every part and recipe with its options, their defaults and their sources."""

from __future__ import annotations

from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import Any

from .part import Part
from .recipe import read_recipe, recipe_names
from .registry import ANSWERERS, LINKERS, PARTS, part_class


def listed_parts() -> list[dict[str, Any]]:
    """Return the parts, as plain data: name, role, what it takes and gives, its options."""
    known = (PARTS, LINKERS, ANSWERERS)
    return [_part_data(name, part_class(name, known=some)) for some in known for name in sorted(some)]


def listed_recipes() -> list[dict[str, Any]]:
    """Return the recipes that come with Lodestar, each resolved."""
    return [read_recipe(name).as_json() for name in recipe_names()]


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
