"""An engine over a graph in memory, with the encoder that comes with Lodestar: no server, no network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from lodestar import Engine
from lodestar.engine.neo4j import Row
from lodestar.engine.neo4j.catalogue import GRAPH_VERSION
from lodestar.engine.settings import Settings

from tests.fakes.memory_graph import MemoryGraph

TRIPLES = (
    ("Peru", "capital", "Lima"),
    ("Peru", "official language", "Quechua"),
    ("Peru", "official language", "Spanish"),
    ("Lima", "mayor", "Ana"),
    ("Bolivia", "borders", "Peru"),
)


class WholeGraph(MemoryGraph):
    """A graph in memory that an engine can be opened over, and that stands in for a `Gateway`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """It has no connections."""

    def _read_edition(self, _params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        return [(1, "then", "now", len(self.relations), None, 0)]

    def _read_graph_state(self, _params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        num_nodes = len(self.names) + len(self.relations) + 1
        loads = [("memory", True, False, GRAPH_VERSION)]
        return [(["entity_id", "entity_names"], len(self.names), 0, [1] * len(self.relations), loads, num_nodes, 0)]

    def _read_catalogue(self, _params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        unknown = [None, None, None]
        words: tuple[Any, ...] = (None, None, [], [], unknown, unknown)
        return [(number, name, name, 1, None, None, None, None, *words) for name, number in self.relations.items()]

    def close(self) -> None:
        """It has no connections."""


def open_engine(tmp_path: Path, recipe: str) -> Engine:
    settings = Settings(home=str(tmp_path), uri="bolt://127.0.0.1:1")
    engine = Engine(settings, recipe=recipe)
    engine._gateway = WholeGraph(TRIPLES)  # type: ignore[assignment]
    return engine
