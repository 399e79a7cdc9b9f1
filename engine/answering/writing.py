"""The answerer that has a language model which learned with the retriever write the answers (GRIL, section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..evidence.answer import NO_ANSWER, Answer
from ..evidence.evidence import Evidence, Item
from ..evidence.extras import token_of
from ..steps import Steps
from ..values import check_finite
from .reading import Passages
from .reply import Claim, cited


class WritingAnswerer:
    """Answers with the names that the model writes, held against the triples as any language model's are.

    The confidence of all of them is the geometric mean of the tokens' probabilities.
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
        passages = [self._passages.passage(each)[0] for each in taken]
        found = []
        for each, reply in zip(
            taken, self._passages.reader.write(passages, [token_of(each) for each in taken]), strict=True
        ):
            check_finite(np.array([reply.probability]), "the reader of a checkpoint of kind gril")
            entities = cited(tuple(Claim(name, reply.probability) for name in reply.names), each)
            text = ", ".join(reply.names) or f"{NO_ANSWER}: the language model wrote none"
            found.append(Answer(each, entities, text, "gril", confidence=reply.probability if entities else 0.0))
        return found
