"""What the core is: every module but those of training and of trained parts, which alone may need an extra."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module

import lodestar
from lodestar.engine.errors import find_extra

TOPS = ("cypher", "engine", "loaders", "models")
_TRAINED = re.compile(
    r"models\.(gril|reg|star|training)(\.|$)"
    r"|models\.text\.bert$"
    r"|engine\.serving\."
    r"|engine\.integrations\.(dspy|haystack|llama_index|neo4j_graphrag)$"
    r"|engine\.retrieval\.triples$"
    r"|engine\.supervision\.subgraphs$"
)


def module_names() -> Iterator[str]:
    """All modules of Lodestar."""
    for top in TOPS:
        package = import_module(f"lodestar.{top}")
        yield package.__name__
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=_of_a_trained_one):
            yield module.name


def _of_a_trained_one(name: str) -> None:
    if not _TRAINED.search(f"{name}."):
        raise ImportError(name)


def import_core() -> tuple[int, list[str]]:
    """Import every module where no extra can be imported; return how many could be, and those that needed one.

    Raises `AssertionError` for a module of the core that needs one.
    """
    _ = lodestar.Engine, lodestar.LodestarRetriever  # which import what a user's first line does
    needed = []
    names = sorted(module_names())
    for name in names:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            assert find_extra((error.name or "").partition(".")[0]), f"{name}: {error}"
            assert _TRAINED.search(name), f"{name} is of the core and imports {error.name}"
            needed.append(name)
    return len(names) - len(needed), needed
