"""Explain an answer: how its paths are read, and which source ranked an item where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from .data_model import Chain
from .evidence import Answer, Evidence
from .evidence.chains_and_triples import convert_item_kind, convert_to_chains
from .evidence.json_data import AnswerData
from .evidence.text import format_relation
from .neo4j.gateway import Gateway
from .pipeline import deduplication_key
from .progress import format_count
from .resources import GraphResources
from .retrieval.similarity import describe_wanted_kind


@dataclass(frozen=True, slots=True)
class SourceRank:
    """Where a source of a union has an item: its rank, counted from 1, and the source's own score."""

    source: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class ItemReasons:
    """What is known of an item: its place in each source of a union, none for one retriever; and how its path is
    read."""

    rankings: tuple[SourceRank, ...]
    reading: str

    def lines(self) -> Iterator[str]:
        if self.rankings:
            yield "by " + ", ".join(f"{each.source}: rank {each.rank} ({each.score:.3f})" for each in self.rankings)
        if self.reading:
            yield self.reading


@dataclass(frozen=True, slots=True)
class Explanation:
    """An answer with what decided: the reasons of its first items."""

    answer: Answer
    items: tuple[ItemReasons, ...]

    def lines(self) -> Iterator[str]:
        stages = self.answer.evidence.trace.stages
        yield "after each stage: " + ", ".join(f"{name} {format_count(number, kind)}" for name, kind, number in stages)

    def to_dict(self) -> AnswerData:
        """Return the answer as plain data with its `trace`, which has the reasons of `items`, too."""
        data = self.answer.to_dict(trace=True)
        data["trace"] = data.get("trace", {}) | {
            "items": [{"rank": rank, **asdict(item)} for rank, item in enumerate(self.items, start=1)],
        }
        return data


def explain_answer(answer: Answer, graph: GraphResources, db: Gateway, *, top_k: int) -> Explanation:
    """Return an answer of any recipe with the reasons of its first `top_k` items; `db` makes chains of triples."""
    evidence = answer.evidence
    names = [name for name, _ in evidence.trace.sources]
    sources = convert_item_kind(db, [source for _, source in evidence.trace.sources], evidence.kind)
    ranks = {
        name: {deduplication_key(item.value): (rank, item.score) for rank, item in enumerate(source.items, start=1)}
        for name, source in zip(names, sources, strict=True)
    }
    items = []
    shown = evidence.items[:top_k]
    chained = convert_to_chains(db, [replace(evidence, items=(item,)) for item in shown])
    for item, chains in zip(shown, chained, strict=True):
        key = deduplication_key(item.value)
        rankings = tuple(SourceRank(name, *known[key]) for name, known in ranks.items() if key in known)
        items.append(ItemReasons(rankings, _describe_path(chains, graph)))
    return Explanation(answer, tuple(items))


def _describe_path(chains: Evidence[Chain], graph: GraphResources) -> str:
    if not chains.items:
        return ""
    own = ", ".join(format_relation(step.step.relation, graph.labels) for step in chains.items[0].value.steps)
    return describe_wanted_kind(chains, graph) or f"read by its own words: {own}"
