"""Define what single features add to evidence: a plan's result, GRIL's token, snippets of a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..neo4j.graph import MENTIONED_WITH, Pair, read_snippets
from ..values import Chain, Entity
from . import Evidence, Item
from .data import entity_data, round_score

if TYPE_CHECKING:
    from ..neo4j.gateway import Gateway


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """What a plan gives, an `EvidenceExtra` of the triples that it rests on.

    plan: as JSON has it; how: in words. found: the first entities or values, each with the value that orders it;
    total: how many there are; missing: how many lack a value. number, yes, says: the answer where it is one, and in
    words. probability: that the plan is what was asked, None where nobody knows; unsure: whether it is too low to state
    the answer. reason: why there is none.
    """

    plan: Mapping[str, Any]
    how: str
    found: tuple[tuple[Entity, float | None], ...] = ()
    total: int = 0
    probability: float | None = None
    unsure: bool = False
    missing: int = 0
    number: float | None = None
    yes: bool | None = None
    says: str = ""
    reason: str = ""

    @property
    def text(self) -> str:
        """How it was found, on one line, in the graph's words."""
        return f"{self.how}; {self.missing:,} without a value" if self.missing else self.how

    def to_dict(self) -> dict[str, Any]:
        """Return the plan, what it says and what it gives, as plain data."""
        found = [{**entity_data(entity), "key": round_score(key)} for entity, key in self.found]
        names = ("plan", "how", "total", "missing", "number", "yes", "says", "reason")
        return {"plan": {**{name: getattr(self, name) for name in names}, "found": found}}


@dataclass(frozen=True, slots=True)
class GraphToken:
    """What GRIL has to tell a reader that learned with it beside the triples, (dimension,): an `EvidenceExtra` of
    evidence."""

    values: tuple[float, ...] = field(compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return nothing: only a reader can use it."""
        return {}


def graph_token(evidence: Evidence[Item]) -> tuple[float, ...]:
    token = evidence.extra_of(GraphToken)
    return () if token is None else token.values


Quotes = tuple[tuple[str, ...], ...]
"""The snippets of each item, best item first."""


def collect_snippets(db: Gateway, evidence: Sequence[Evidence[Item]], max_items: int) -> list[Quotes]:
    """Return the snippets of the first items of each evidence, a step's after the other, each snippet once.

    Of a chain they are those of the entity path that stands for it. One round trip for all, none where no item is of
    concepts that are mentioned together.
    """
    pairs = [[_pairs(item.value) for item in each.items[:max_items]] for each in evidence]
    asked = list(dict.fromkeys(pair for items in pairs for item in items for pair in item))
    found = dict(zip(asked, db.run(read_snippets(asked)), strict=True)) if asked else {}
    return [
        tuple(tuple(dict.fromkeys(text for pair in item for text in found[pair])) for item in items) for items in pairs
    ]


def _pairs(item: Item) -> list[Pair]:
    triples = item.instances(1)[0].triples if isinstance(item, Chain) else (item,)
    return [(triple.head.id, triple.tail.id) for triple in triples if triple.relation == MENTIONED_WITH]
