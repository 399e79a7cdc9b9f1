"""The parts that there are, by name; each is imported when it is asked for."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Mapping
from importlib.metadata import entry_points

from ...models.one_line import one_line
from ..errors import UsageError
from .part import Part

PARTS = {
    "similarity": "lodestar.engine.recipes.searching:Similarity",
    "star": "lodestar.engine.recipes.searching:Star",
    "merge": "lodestar.engine.recipes.searching:Merge",
    "reg-triple": "lodestar.engine.recipes.triples:RegTriple",
    "reg-entity": "lodestar.engine.recipes.triples:RegEntity",
    "reg-path": "lodestar.engine.recipes.paths:RegPath",
    "choose-ends": "lodestar.engine.recipes.triples:ChooseEnds",
    "gril": "lodestar.engine.recipes.growing:Gril",
    "reorganise": "lodestar.engine.recipes.reorganising:Reorganise",
    "adaptive-k": "lodestar.engine.recipes.growing:AdaptiveK",
    "path-pooling": "lodestar.engine.recipes.pooling:PathPooling",
    "fi": "lodestar.engine.recipes.filtering:FI",
    "filter": "lodestar.engine.recipes.filtering:Filter",
    "noise": "lodestar.engine.evaluation.baselines.parts:Noise",
    "oracle": "lodestar.engine.evaluation.baselines.parts:Oracle",
    "pagerank": "lodestar.engine.evaluation.baselines.parts:PageRank",
    "random": "lodestar.engine.evaluation.baselines.parts:Random",
    "shortest": "lodestar.engine.evaluation.baselines.parts:Shortest",
}
"""Retrievers and reorganisers, which stand in the line of a recipe."""

LINKERS = {
    "full-text": "lodestar.engine.recipes.linking:FullText",
    "trained": "lodestar.engine.recipes.linking:Trained",
}

ANSWERERS = {
    "extractive": "lodestar.engine.recipes.answering:Extractive",
    "best-chain": "lodestar.engine.recipes.answering:Extractive",
    "reader": "lodestar.engine.recipes.answering:ReaderPart",
    "llm": "lodestar.engine.recipes.answering:LanguageModel",
    "gril": "lodestar.engine.recipes.growing:GrilReader",
}

ENTRY_POINTS = "lodestar.parts"
"""Parts of other installed packages, which a recipe may name as it names Lodestar's."""

_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def installed_parts() -> dict[str, str]:
    """Return the places of the parts of installed packages by name."""
    return {entry.name: entry.value for entry in entry_points(group=ENTRY_POINTS) if entry.name not in PARTS}


def foreign_code(own: Mapping[str, str]) -> dict[str, str]:
    """Return those of a recipe's own parts that are code which is neither Lodestar's nor of an installed part."""
    trusted = {*PARTS, *PARTS.values(), *installed_parts().values()}
    return {name: place for name, place in own.items() if place not in trusted and _PLACE.fullmatch(place)}


def part_class(name: str, own: Mapping[str, str] | None = None, known: Mapping[str, str] = PARTS) -> type[Part]:
    """Return the class of a part.

    own: parts of a recipe's own, ``module:Class`` by name, or the name of another part for a second one with options
    of its own. Raises `UsageError` for a name that there is not, or a class that is no part.
    """
    own = own or {}
    place = own.get(name) or known.get(name) or (installed_parts().get(name) if known is PARTS else None)
    if place is None:
        raise UsageError(f"there is no part {name!r}: expected one of {', '.join(sorted({*known, *own}))}")
    if place in known:
        place = known[place]
    if not _PLACE.fullmatch(place):
        raise UsageError(f"part {name}: expected module:Class or the name of a part, found {place!r}")
    module, _, class_name = place.partition(":")
    try:
        found = getattr(importlib.import_module(module), class_name)
    except Exception as error:
        raise UsageError(f"part {name}: {place} cannot be imported: {one_line(error)}") from error
    if not (isinstance(found, type) and issubclass(found, Part)):
        raise UsageError(f"part {name}: expected a class derived from a Part, found {place}")
    if inspect.isabstract(found) or found in (Part, *Part.__subclasses__()):
        raise UsageError(f"part {name}: expected a class that can be made, found {place}, which others derive from")
    return found
