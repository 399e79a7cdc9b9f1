"""Map the names of parts to their classes, which are imported on use."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Mapping
from importlib.metadata import entry_points

from ...models.message_text import one_line
from ..errors import UsageError
from .part import Part

PARTS = {
    "similarity": "lodestar.engine.recipes.retrieving:Similarity",
    "star": "lodestar.engine.recipes.retrieving:Star",
    "merge": "lodestar.engine.recipes.retrieving:Merge",
    "reg-triple": "lodestar.engine.recipes.retrieving:RegTriple",
    "reg-entity": "lodestar.engine.recipes.retrieving:RegEntity",
    "reg-path": "lodestar.engine.recipes.retrieving:RegPath",
    "choose-ends": "lodestar.engine.recipes.retrieving:ChooseEnds",
    "gril": "lodestar.engine.recipes.retrieving:Gril",
    "reorganise": "lodestar.engine.recipes.reorganising:Reorganise",
    "adaptive-k": "lodestar.engine.recipes.retrieving:AdaptiveK",
    "path-pooling": "lodestar.engine.recipes.reorganising:PathPooling",
    "fi": "lodestar.engine.recipes.reorganising:FI",
    "forms": "lodestar.engine.recipes.reorganising:Forms",
    "filter": "lodestar.engine.recipes.reorganising:Filter",
    "noise": "lodestar.engine.evaluation.baselines:Noise",
    "oracle": "lodestar.engine.evaluation.baselines:Oracle",
    "pagerank": "lodestar.engine.evaluation.baselines:PageRank",
    "random": "lodestar.engine.evaluation.baselines:Random",
    "shortest": "lodestar.engine.evaluation.baselines:Shortest",
}
"""Retrievers and reorganisers, which stand in a recipe's expression."""

LINKERS = {
    "full-text": "lodestar.engine.recipes.linking:FullText",
    "trained": "lodestar.engine.recipes.linking:TrainedLinker",
}

ANSWERERS = {
    "extractive": "lodestar.engine.recipes.answering:Extractive",
    "best-chain": "lodestar.engine.recipes.answering:Extractive",
    "reader": "lodestar.engine.recipes.answering:ReaderPart",
    "llm": "lodestar.engine.recipes.answering:LanguageModel",
    "gril": "lodestar.engine.recipes.retrieving:GrilReader",
}

ENTRY_POINTS = "lodestar.parts"
"""Entry point group for the parts of other installed packages, which a recipe may name like Lodestar's."""

_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def list_installed_parts() -> dict[str, str]:
    """Return the places of the parts of installed packages, by name."""
    return {entry.name: entry.value for entry in entry_points(group=ENTRY_POINTS) if entry.name not in PARTS}


def foreign_code(own: Mapping[str, str]) -> dict[str, str]:
    """Return a recipe's own parts whose code is neither Lodestar's nor that of an installed part."""
    trusted = {*PARTS, *PARTS.values(), *list_installed_parts().values()}
    return {name: place for name, place in own.items() if place not in trusted and _PLACE.fullmatch(place)}


def part_class(name: str, own: Mapping[str, str] | None = None, known: Mapping[str, str] = PARTS) -> type[Part]:
    """Return the class of a part.

    own: the recipe's own parts, ``module:Class`` by name, or the name of another part to use it twice with different
    options. Raises `UsageError` for an unknown name, or a class that is no part.
    """
    own = own or {}
    place = own.get(name) or known.get(name) or (list_installed_parts().get(name) if known is PARTS else None)
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
        raise UsageError(f"part {name}: expected a concrete class, found the abstract {place}")
    return found
