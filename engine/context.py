"""What a call hands to its stages: the database, the language model, vectors of texts, the graph, and the call's trace.

A stage is called with a `Context` and a batch of questions. It sends requests that may go together by one
``ctx.db.run_all``, prompts by one ``ctx.complete``, and names what it takes: ``with ctx.trace.stage("link")``.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..models.placement import on_call
from .llm import ChatUsage, compute_call_usage

if TYPE_CHECKING:
    from ..models.text.vectors import TextVectors
    from .data_model import LinkedQuestion
    from .llm import Completed, Prompt
    from .neo4j import Request
    from .resources import GraphResources

T = TypeVar("T")

_NO_CHAT = ChatUsage()


@dataclass(frozen=True, slots=True)
class StageCost:
    """What a stage took, without the stages inside it. It belongs to the batch that a question was asked in.

    searches: among vectors (FAISS). batches: that encoders and networks computed on their device.
    """

    stage: str
    seconds: float = 0.0
    round_trips: int = 0
    llm: ChatUsage = _NO_CHAT
    searches: int = 0
    batches: int = 0

    def __add__(self, other: StageCost) -> StageCost:
        llm = self.llm if other.llm is _NO_CHAT else self.llm + other.llm
        return StageCost(
            self.stage,
            self.seconds + other.seconds,
            self.round_trips + other.round_trips,
            llm,
            self.searches + other.searches,
            self.batches + other.batches,
        )


def merge_stage_costs(costs: Iterable[StageCost]) -> tuple[StageCost, ...]:
    """Return one cost for each stage, in the order in which stages first come."""
    by_stage: dict[str, StageCost] = {}
    for cost in costs:
        by_stage[cost.stage] = by_stage[cost.stage] + cost if cost.stage in by_stage else cost
    return tuple(by_stage.values())


class CallCosts:
    """What the stages of one call took (`StageCost`), by stage."""

    def __init__(self) -> None:
        self._costs: dict[str, StageCost] = {}
        self._open: list[str] = []
        self._since_s = 0.0

    @property
    def costs(self) -> tuple[StageCost, ...]:
        """What each stage took so far, in the order in which they began."""
        return tuple(self._costs.values())

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Charge the block to a stage, without the stages inside it."""
        self._charge()
        self._open.append(name)
        self._costs.setdefault(name, StageCost(name))
        token = on_call.set(lambda call: self.count(**dict[str, Any]({call: 1})))
        try:
            yield
        finally:
            on_call.reset(token)
            self._charge()
            self._open.pop()

    def count(self, round_trips: int = 0, llm: ChatUsage | None = None, *, searches: int = 0, batches: int = 0) -> None:
        if self._open:
            self._add(StageCost(self._open[-1], 0.0, round_trips, llm or _NO_CHAT, searches, batches))

    def _charge(self) -> None:
        now = time.perf_counter()
        if self._open:
            self._add(StageCost(self._open[-1], now - self._since_s))
        self._since_s = now

    def _add(self, cost: StageCost) -> None:
        known = self._costs.get(cost.stage)
        self._costs[cost.stage] = cost if known is None else known + cost


class Database(Protocol):
    """What runs requests: a `Gateway`."""

    def run(self, request: Request[T], /) -> T: ...

    def run_all(self, requests: Sequence[Request[Any]], /) -> list[Any]: ...


class Context:
    """What the stages of one call share.

    db: the database. graph: what belongs to the graph, such as its relations and their words. trace: what the stages
    took. linked: the questions with their topics, once they are linked.
    """

    def __init__(self, gateway: Database, graph: GraphResources | None = None) -> None:
        self.trace = CallCosts()
        self.db = gateway
        self.linked: Sequence[LinkedQuestion] = ()
        self._graph = graph

    @property
    def graph(self) -> GraphResources:
        assert self._graph is not None
        return self._graph

    @property
    def text(self) -> TextVectors:
        return self.graph.shared.vectors

    def complete(self, prompts: Sequence[Prompt]) -> list[Completed]:
        """Send prompts to the language model at the same time; return the outcome of each, in order, and count tokens.

        Raises `LLMError` if no language model is configured.
        """
        completed = self.graph.shared.chat.complete(prompts)
        for prompt, outcome in zip(prompts, completed, strict=True):
            self.trace.count(llm=compute_call_usage(prompt, outcome))
        return completed
