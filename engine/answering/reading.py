"""What the trained readers of GRIL have in common: the triples that one is given, and the passage they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...models.gril.hops import TRIPLES_PER_HOP, HopModel
from ...models.gril.reading.model import ReaderModel
from ...models.gril.reading.passages import Passage
from ..errors import UsageError
from ..evidence.bridges import to_triples
from ..evidence.evidence import Evidence, Item
from ..evidence.extras import token_of
from ..reorganising.adaptive import predict_hops
from ..values import Entity, Triple


class Passages:
    """Makes passages of evidence, as many of the best triples of each question as the reader was trained with: five for
    each hop that the question seems to take, or a fixed number. relation_texts: the words of each relation, by name."""

    def __init__(self, reader: ReaderModel, hops: HopModel, relation_texts: Mapping[str, str]) -> None:
        self.reader = reader
        self._hops = hops
        self._relation_texts = relation_texts

    @property
    def most(self) -> int:
        """The most triples of a question that are read."""
        return self.reader.description.num_triples or TRIPLES_PER_HOP * self._hops.max_hops

    def taken(self, evidence: Sequence[Evidence[Item]]) -> list[Evidence[Triple]]:
        """Return the triples that are read; raise `UsageError` for evidence without the graph token it reads."""
        said = self.reader.description
        hops = [] if said.num_triples else predict_hops(self._hops, [each.question.text for each in evidence])
        numbers = [said.num_triples] * len(evidence) if said.num_triples else [TRIPLES_PER_HOP * c for c in hops]
        found = [to_triples(each).cut_to(number) for each, number in zip(evidence, numbers, strict=True)]
        if said.token and not all(token_of(each) for each in found):
            raise UsageError(
                "answerer gril: expected evidence with a graph token, found none: use it with the recipe gril and the "
                "same checkpoint, or train with --set joint.token=false for evidence of any retriever"
            )
        return found

    def passage(self, evidence: Evidence[Triple]) -> tuple[Passage, list[Entity]]:
        """Return the passage of a question, and what may be pointed at in it: named entities that are no topics."""
        triples = [item.value for item in evidence.items]
        place: dict[Entity, int] = {}
        for triple in triples:
            place.setdefault(triple.head, len(place))
            place.setdefault(triple.tail, len(place))
        topics = {topic.entity.id for topic in evidence.topics}
        candidates = [each for each in place if not each.is_mediator and each.id not in topics]
        passage = Passage(
            evidence.question.text,
            tuple(None if each.is_mediator else each.label for each in place),
            tuple((place[t.head], self._relation_texts.get(t.relation, t.relation), place[t.tail]) for t in triples),
            tuple(place[each] for each in candidates),
        )
        return passage, candidates


def rests_on(evidence: Evidence[Triple], name: str) -> tuple[int, ...]:
    """Return the triples that have an entity of this name, case aside."""
    name = name.casefold()
    return tuple(
        place
        for place, item in enumerate(evidence.items)
        if name in (item.value.head.label.casefold(), item.value.tail.label.casefold())
    )
