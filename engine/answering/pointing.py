"""The answerer that reads the evidence with a small trained reader, which points at answers in it (GRIL)."""

from __future__ import annotations

from collections.abc import Sequence

from ..evidence.answer import NO_ANSWER, Answer
from ..evidence.evidence import Evidence, Item
from ..evidence.extras import token_of
from ..steps import Steps
from ..values import AnswerEntity, Entity, Triple, check_finite
from .reading import Passages

MAX_NAMED = 10


class PointingAnswerer:
    """Answers with the entities that the reader points at, each with the triples that name it.

    An entity's confidence is the reader's probability; that of the answer the best one's.
    """

    def __init__(self, passages: Passages) -> None:
        self._passages = passages

    @property
    def reads(self) -> int:
        """The most triples of a question that it reads."""
        return self._passages.most

    def answer(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Answer]]:
        """Return an answer to each question; raises `UsageError` for evidence without the graph token it reads."""
        yield from ()
        taken = self._passages.taken(evidence)
        made = [self._passages.passage(each) for each in taken]
        said = self._passages.reader.read([passage for passage, _ in made], [token_of(each) for each in taken])
        found: list[Answer] = []
        for each, (_, candidates), (scores, is_answer) in zip(taken, made, said, strict=True):
            check_finite(scores, "the reader of a checkpoint of kind gril")
            named = [(float(scores[place]), candidates[place]) for place in is_answer.nonzero()[0].tolist()]
            found.append(self._answer(each, sorted(named, key=lambda pair: (-pair[0], pair[1].id))))
        return found

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
