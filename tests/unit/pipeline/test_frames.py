"""How far a request climbs: the frames of generators between the driver of the steps and where a request is made."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from lodestar.engine.neo4j.templates import Request
from lodestar.engine.values import Question

from tests.fakes.memory_engine import open_engine
from tests.made.tiny_checkpoint import write_tiny_checkpoint

MAX_FRAMES = 6


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
