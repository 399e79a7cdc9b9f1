"""The answerer that reads the evidence with a small trained reader, which points at answers in it (GRIL)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...models.gril.hops import TRIPLES_PER_HOP, HopModel
from ...models.gril.reading.model import ReaderModel
from ...models.gril.reading.passages import Passage
from ..errors import UsageError
from ..evidence.answer import NO_ANSWER, Answer
from ..evidence.bridges import to_triples
from ..evidence.evidence import Evidence, Item
from ..steps import Steps
from ..values import AnswerEntity, Entity, Triple

MAX_NAMED = 10


class PointingAnswerer:
    """Answers with the entities that the reader points at, each with the triples that name it.

    It reads as many of the best triples as it was trained with: five for each hop that the question seems to take, or a
    fixed number. relation_texts: the words of each relation, by name. An entity's confidence is the reader's
    probability; that of the answer the best one's.
    """

    def __init__(self, reader: ReaderModel, hops: HopModel, relation_texts: Mapping[str, str]) -> None:
        self._reader = reader
        self._hops = hops
        self._relation_texts = relation_texts

    def answer(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Answer]]:
        """Return an answer to each question; raises `UsageError` for evidence without the graph token it reads."""
        yield from ()
        taken = self._taken(evidence)
        if self._reader.description.token and not all(each.graph_token for each in taken):
            raise UsageError(
                "answerer gril: expected evidence with a graph token, found none: use it with the recipe gril and the "
                "same checkpoint, or train with --set joint.token=false for evidence of any retriever"
            )
        passages = [self._passage(each) for each in taken]
        tokens = [each.graph_token for each in taken]
        found: list[Answer] = []
        for each, (passage, candidates), (scores, said) in zip(
            taken, passages, self._reader.read([passage for passage, _ in passages], tokens), strict=True
        ):
            del passage
            named = [(float(scores[place]), candidates[place]) for place in said.nonzero()[0].tolist()]
            found.append(self._answer(each, sorted(named, key=lambda pair: (-pair[0], pair[1].id))))
        return found

    def _taken(self, evidence: Sequence[Evidence[Item]]) -> list[Evidence[Triple]]:
        number = self._reader.description.num_triples
        hops = [] if number else self._hops.hops([each.question.text for each in evidence])
        numbers = [number] * len(evidence) if number else [TRIPLES_PER_HOP * c for c in hops]
        return [to_triples(each).cut_to(number) for each, number in zip(evidence, numbers, strict=True)]

    def _passage(self, evidence: Evidence[Triple]) -> tuple[Passage, list[Entity]]:
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

    def _answer(self, evidence: Evidence[Triple], named: Sequence[tuple[float, Entity]]) -> Answer:
        entities = tuple(
            AnswerEntity(
                entity.label,
                entity.id,
                probability,
                "graph",
                tuple(n for n, item in enumerate(evidence.items) if entity in (item.value.head, item.value.tail)),
            )
            for probability, entity in named
        )
        if not entities:
            reason = evidence.note or "nothing in it can be pointed at"
            return Answer(evidence, (), f"{NO_ANSWER}: {reason}", "gril", confidence=0.0)
        text = ", ".join(entity.name for entity in entities[:MAX_NAMED])
        more = len(entities) - MAX_NAMED
        text += f" and {more:,} more" if more > 0 else ""
        return Answer(evidence, entities, text, "gril", confidence=entities[0].confidence)
