"""Lodestar: reasoning paths from a knowledge graph in Neo4j, ranked and explained.

The front door: public names only, imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .engine.api import Engine
    from .engine.data_model import Chain, Entity, Question, RelationPath, Scored, Triple
    from .engine.errors import LodestarError
    from .engine.evidence import Answer, Evidence
    from .engine.integrations.langchain import LodestarRetriever
    from .engine.settings import Settings
    from .engine.writing.changing import LiteralValue

_HOMES = {
    "Answer": ".engine.evidence",
    "Chain": ".engine.data_model",
    "Engine": ".engine.api",
    "Entity": ".engine.data_model",
    "Evidence": ".engine.evidence",
    "LiteralValue": ".engine.writing.changing",
    "LodestarError": ".engine.errors",
    "LodestarRetriever": ".engine.integrations.langchain",
    "Question": ".engine.data_model",
    "RelationPath": ".engine.data_model",
    "Scored": ".engine.data_model",
    "Settings": ".engine.settings",
    "Triple": ".engine.data_model",
}

__all__ = [
    "Answer",
    "Chain",
    "Engine",
    "Entity",
    "Evidence",
    "LiteralValue",
    "LodestarError",
    "LodestarRetriever",
    "Question",
    "RelationPath",
    "Scored",
    "Settings",
    "Triple",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return __all__
