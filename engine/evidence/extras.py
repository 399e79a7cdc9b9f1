"""Define what single features add to evidence: a form's result, the nearest names, GRIL's token, snippets of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..neo4j.graph import MENTIONED_WITH, Pair, read_snippets
from ..values import Chain, Entity
from . import Evidence, Item
from .data import entity_data, round_score
from .text import relation_words

if TYPE_CHECKING:
    from ..neo4j.gateway import Gateway


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """An entity or a value that answers; key: the number, or the date as year · 10000 + month · 100 + day, that it was
    ordered or filtered by."""

    entity: Entity
    key: float | None = None


@dataclass(frozen=True, slots=True)
class FormResult:
    """The result of a form, an `EvidenceExtra` of the evidence that it rests on.

    forms: what was recognised, outermost first. rule: in words. parts: the plain questions that were asked, each with
    the relation path it rests on, "" where nothing was found. probability: that all of these paths are right, None
    where nobody knows. counted: the answer is `total`. reason: why there is no answer, where there is none.
    """

    forms: tuple[str, ...]
    rule: str
    parts: tuple[tuple[str, str], ...]
    found: tuple[FormAnswer, ...] = ()
    total: int = 0
    counted: bool = False
    says: str = ""
    """The answer in words where it is neither a number nor names: "yes", "not in the graph"."""
    probability: float | None = None
    reason: str = ""

    @property
    def text(self) -> str:
        """How it was found, on one line, in the graph's words."""
        asked = "; ".join(f"{text} {_say_path(path) or '(nothing)'}" for text, path in self.parts)
        return f"{self.rule}; {asked}"

    def to_dict(self) -> dict[str, Any]:
        data = {
            "forms": list(self.forms),
            "rule": self.rule,
            "parts": [{"asked": asked, "relation_path": path} for asked, path in self.parts],
            "total": self.total,
            "counted": self.counted,
            "says": self.says,
            "found": [{**entity_data(each.entity), "key": round_score(each.key)} for each in self.found],
            "reason": self.reason,
        }
        return {"form": data}


def _say_path(path: str) -> str:
    """Return a relation path, with its topic before it or without, in words."""
    topic, colon, steps = path.rpartition(": ")
    words = (f"{'← ' * step.startswith('^')}{relation_words(step.removeprefix('^'))}" for step in steps.split(" → "))
    return f"{topic}{colon}{' → '.join(words)}" if path else ""


@dataclass(frozen=True, slots=True)
class DidYouMean:
    """The entities with the nearest names where none is known by what was asked about: an `EvidenceExtra` of
    evidence."""

    entities: tuple[Entity, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"did_you_mean": [entity_data(entity) for entity in self.entities]}


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
