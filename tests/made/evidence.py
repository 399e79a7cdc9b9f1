"""Evidence made by hand, for tests of whatever takes it; and a search, run on a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lodestar.engine.data_model import Chain, ChainStep, Entity, Question, RelationStep, Scored, Topic, Triple
from lodestar.engine.evidence import Calibration, Evidence, Item
from lodestar.engine.linking import look_up_topics

from tests.fakes.call_context import make_context

T = TypeVar("T")

CERTAIN = Calibration("logit", 0.0, 50.0)
"""Every item is right."""


@dataclass(frozen=True)
class Path:
    """Triples joined end to end, with the direction in which each is walked."""

    triples: tuple[Triple, ...]
    inverses: tuple[bool, ...]

    @property
    def links(self) -> tuple[tuple[Entity, Entity], ...]:
        steps = zip(self.triples, self.inverses, strict=True)
        return tuple((t.tail, t.head) if inverse else (t.head, t.tail) for t, inverse in steps)


def chain_of(*instances: Path, targets: tuple[Entity, ...] = (), cut: bool = False) -> Chain:
    """The chain of these entity paths, which all have the relations of the first."""
    first = instances[0]
    steps = []
    for at, (triple, inverse) in enumerate(zip(first.triples, first.inverses, strict=True)):
        links = dict.fromkeys(path.links[at] for path in instances)
        to_mediator = first.links[at][1].is_mediator and at + 1 < len(first.triples)
        steps.append(ChainStep(RelationStep(triple.relation, inverse, to_mediator), tuple(links)))
    ends = tuple(dict.fromkeys(path.links[-1][1] for path in instances))
    return Chain(first.links[0][0], tuple(steps), ends, targets, cut)


def leads(relation: str, *ends: Entity, topic: Entity, via: Entity | None = None, **options: Any) -> Chain:
    """A chain of one step, or of two by way of an entity."""
    if via is None:
        return chain_of(*(Path((Triple(topic, relation, end),), (False,)) for end in ends), **options)
    on = Triple(topic, "on", via)
    return chain_of(*(Path((on, Triple(via, relation, end)), (False, False)) for end in ends), **options)


def evidence_of(
    *items: Scored[Chain], text: str = "?", calibration: Calibration | None = None, **options: Any
) -> Evidence[Chain]:
    """Evidence of chains, about the entities that they start from."""
    topics = tuple(Topic(topic) for topic in dict.fromkeys(item.value.topic for item in items))
    return Evidence(Question(text), options.pop("topics", topics), "chain", items, calibration, **options)


def ranked(*chains: Chain) -> tuple[Scored[Chain], ...]:
    """The chains with falling scores."""
    return tuple(Scored(chain, 1.0 - rank / 10) for rank, chain in enumerate(chains))


def retrieved(graph: Any, retriever: Any, questions: Sequence[Question], top_k: int = 10) -> list[Evidence[Any]]:
    """What a retriever finds on a graph, in memory or not, cut as a pipeline cuts it."""
    ctx = make_context(graph)
    topics = look_up_topics(ctx.db, questions, [() for _ in questions])
    return [each.cut_to(top_k) for each in retriever(ctx, topics, top_k)]


def chains(evidence: Evidence[Item]) -> list[Chain]:
    """The items of evidence, which are chains all of them."""
    found = [each.value for each in evidence.items if isinstance(each.value, Chain)]
    assert len(found) == len(evidence.items)
    return found
