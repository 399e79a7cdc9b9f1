"""The context of a call without a graph's resources: what a stage gets in a unit test; an engine over such a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from lodestar.engine.answering import ExtractiveAnswerer
from lodestar.engine.api import Engine
from lodestar.engine.context import Context
from lodestar.engine.llm import Completed, Prompt
from lodestar.engine.neo4j.catalogue import read_graph_edition
from lodestar.engine.parts import Expression
from lodestar.engine.recipes import Recipe
from lodestar.engine.settings import Settings
from lodestar.models.text import RelationWords

from tests.fakes.memory_graph import MemoryGraph


class ScriptedChat:
    """A chat gateway whose replies a function makes."""

    def __init__(self, reply: Callable[[Prompt], Completed]) -> None:
        self._reply = reply

    def complete(self, prompts: Sequence[Prompt]) -> list[Completed]:
        return [self._reply(prompt) for prompt in prompts]


class FakeGraph:
    """Stands for `GraphResources`: what parts opened, by part, and a few facts."""

    def __init__(
        self,
        opened: Mapping[object, Any] | None = None,
        *,
        words: Mapping[str, RelationWords] | None = None,
        llm_model: str = "",
        chat: Any = None,
    ) -> None:
        self._opened = dict(opened or {})
        self.words = dict(words or {})
        self.labels: Mapping[str, str] = {}
        self.catalogue = SimpleNamespace(stored_as={}, relations=())
        self.shared = SimpleNamespace(settings=SimpleNamespace(llm_model=llm_model, llm_prompt=""), chat=chat)

    def get_or_make(self, key: object, make: Callable[[], Any]) -> Any:
        if key not in self._opened:
            self._opened[key] = make()
        return self._opened[key]


def make_context(
    db: Any = None,
    reply: Callable[[Prompt], Completed] | None = None,
    opened: Mapping[object, Any] | None = None,
    **graph: Any,
) -> Context:
    """The context of a call over a graph in memory, with a scripted language model."""
    chat: Any = None if reply is None else ScriptedChat(reply)
    fake: Any = FakeGraph(opened, llm_model="a model" if reply else "", chat=chat, **graph)
    return Context(db or MemoryGraph([]), fake)


def make_engine(db: MemoryGraph, stages: Expression, linker: Any) -> Engine:
    """An engine that runs stages over a graph in memory."""
    recipe = Recipe("made", stages, linker, ExtractiveAnswerer())
    engine = Engine(Settings(uri="bolt://nowhere"), recipe=recipe)
    graph: Any = FakeGraph()
    graph.edition = db.run(read_graph_edition())
    engine._gateway = db  # type: ignore[assignment]
    engine._graph = graph
    return engine
