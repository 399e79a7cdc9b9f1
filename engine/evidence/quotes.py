"""The snippets that evidence rests on, where the graph was made of text: of each item those of its triples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..neo4j.graph import MENTIONED_WITH, Pair, read_snippets
from ..steps import Steps, one
from ..values import Triple
from .chain import Chain
from .evidence import Evidence, Item

Quotes = tuple[tuple[str, ...], ...]
"""The snippets of each item, best item first."""


def quoted(evidence: Sequence[Evidence[Item]], max_items: int) -> Steps[list[Quotes]]:
    """Return the snippets of the first items of each evidence, a step's after the other, each snippet once.

    Of a chain they are those of the entity path that stands for it. One round trip for all, none where no item is of
    concepts that are mentioned together.
    """
    pairs = [
        [[_pair(triple) for triple in _triples(item.value)] for item in each.items[:max_items]] for each in evidence
    ]
    asked = list(dict.fromkeys(pair for items in pairs for item in items for pair in item))
    found = dict(zip(asked, (yield from one(read_snippets(asked))), strict=True)) if asked else {}
    return [
        tuple(tuple(dict.fromkeys(text for pair in item for text in found[pair])) for item in items) for items in pairs
    ]


def _triples(item: Item) -> Iterator[Triple]:
    triples = item.instances(1)[0].triples if isinstance(item, Chain) else (item,)
    return (triple for triple in triples if triple.relation == MENTIONED_WITH)


def _pair(triple: Triple) -> Pair:
    return triple.head.id, triple.tail.id
