"""The answerer that chooses one of a question's options, with a small trained reader (GRIL, section 5.4)."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError
from ..evidence.answer import Answer
from ..evidence.evidence import Evidence, Item
from ..evidence.extras import token_of
from ..steps import Steps
from ..values import AnswerEntity, check_finite
from .reading import Passages, rests_on


class ChoosingAnswerer:
    """Answers with the option that the reader finds most likely; where it is an entity of the triples, with these."""

    def __init__(self, passages: Passages) -> None:
        self._passages = passages

    @property
    def reads(self) -> int:
        """The most triples of a question that it reads."""
        return self._passages.most

    def answer(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Answer]]:
        """Return an answer to each question; raises `UsageError` for one without options, or without the graph token
        that the reader takes."""
        yield from ()
        for each in evidence:
            if not each.question.options:
                raise UsageError(
                    "answerer gril: expected a question with options, found none: the reader was trained to choose"
                )
        taken = self._passages.taken(evidence)
        passages = [self._passages.passage(each)[0] for each in taken]
        options = [each.question.options for each in taken]
        said = self._passages.reader.choose(passages, options, [token_of(each) for each in taken])
        found = []
        for each, some, scores in zip(taken, options, said, strict=True):
            check_finite(scores, "the reader of a checkpoint of kind gril")
            best, probability = some[int(scores.argmax())], float(scores.max())
            items = rests_on(each, best)
            entity = AnswerEntity(best, None, probability, "graph" if items else "model", items)
            found.append(Answer(each, (entity,), best, "gril", confidence=probability))
        return found
