"""How far a request climbs: the frames of generators between the driver of the steps and where a request is made."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from lodestar import Engine
from lodestar.engine.database.gateway import Connection
from lodestar.engine.database.requests import Request, Row
from lodestar.engine.resources import Resources
from lodestar.engine.settings import Settings
from lodestar.engine.values import Question

from tests.memory_graph import MemoryGraph
from tests.tiny_checkpoint import write_tiny_checkpoint

MAX_FRAMES = 6
TRIPLES = (
    ("Peru", "capital", "Lima"),
    ("Peru", "official language", "Quechua"),
    ("Peru", "official language", "Spanish"),
    ("Lima", "mayor", "Ana"),
    ("Bolivia", "borders", "Peru"),
)


class WholeGraph(MemoryGraph):
    """A graph in memory that an engine can be opened over."""

    def _read_edition(self, _params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        return [(1, "then", "now", len(self.relations))]

    def _read_graph_state(self, _params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        num_nodes = len(self.names) + len(self.relations) + 1
        loads = [("memory", True, False, 1)]
        return [(["entity_id", "entity_names"], len(self.names), 0, [1] * len(self.relations), loads, num_nodes, 0)]

    def _read_catalogue(self, _params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        return [(number, name, name, 1) for name, number in self.relations.items()]

    def close(self) -> None:
        """It has no connections."""


def open_engine(tmp_path: Path, recipe: str, options: Mapping[str, Any]) -> Engine:
    settings = Settings(home=str(tmp_path), uri="bolt://127.0.0.1:1")
    connection = Connection("bolt://127.0.0.1:1")
    resources = Resources(settings, connection)
    engine = Engine(settings, recipe=recipe, options=options, connection=connection, resources=resources)
    engine._gateway = WholeGraph(TRIPLES)  # type: ignore[assignment]
    return engine


def generators_up(frame: FrameType | None) -> int:
    found = 0
    while frame is not None:
        found += bool(frame.f_code.co_flags & inspect.CO_GENERATOR)
        frame = frame.f_back
    return found


@pytest.fixture
def depths(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The most frames that a request of each template was made under, which it climbs when it is yielded."""
    found: dict[str, int] = {}
    make: Callable[..., None] = Request.__init__

    def noting(self: Request[Any], template: Any, *rest: Any, **named: Any) -> None:
        found[template.name] = max(found.get(template.name, 0), generators_up(sys._getframe(1)))
        make(self, template, *rest, **named)

    monkeypatch.setattr(Request, "__init__", noting)
    return found


@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        ("similarity", {}),
        ("similarity + forms", {}),
        ("star + path-pooling + fi", {"star.any_graph": True}),
        ("(similarity | star) + merge + fi", {"star.any_graph": True}),
    ],
)
def test_a_request_climbs_few_frames(
    tmp_path: Path, depths: dict[str, int], recipe: str, options: dict[str, Any]
) -> None:
    if "star" in recipe:
        options = {**options, "star.checkpoint": str(write_tiny_checkpoint(tmp_path))}
    asked: Sequence[str | Question] = ["What is the capital of Peru?", Question("Who is it?", ("Lima",)), "How many?"]
    with open_engine(tmp_path, recipe, options) as engine:
        answers = engine.ask_batch(asked)
    assert answers[0].evidence.items
    assert {"find_entity_candidates", "read_signatures", "expand_steps", "read_catalogue"} <= set(depths)
    assert max(depths.values()) <= MAX_FRAMES, depths
