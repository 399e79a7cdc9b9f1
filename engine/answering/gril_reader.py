"""Answer with the reader that was trained jointly with GRIL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from ...models.text.verbalise import DirectedRelation, verbalise_hop
from ..errors import UsageError
from ..evidence.bridges import to_triples
from ..evidence.evidence import NO_ANSWER, Answer, Evidence, Item, name_entities
from ..evidence.extras import graph_token
from ..parts import Answerer, option, part
from ..reorganising.filtering import predict_hops
from ..values import AnswerEntity, Entity, Triple, check_finite
from .llm import Claim, cite_claims

if TYPE_CHECKING:
    from ...models.gril.network import HopModel
    from ...models.gril.readers import Passage, ReaderModel
    from ..context import Context
    from ..resources import GraphResources


@part("gril")
@dataclass(frozen=True)
class GrilReader(Answerer):
    """Answers from gril's evidence with the reader that was trained jointly with it (docs/papers.md)."""

    kinds: ClassVar[tuple[str, ...]] = ("gril",)

    checkpoint: str = option(
        "", "folder of a gril that was trained with a reader", source="lodestar train gril --reader"
    )

    def open(self, graph: GraphResources) -> GrilAnswerer:
        """Return what answers by the checkpoint."""
        self.check()
        model = graph.shared.model(self.checkpoint, *self.kinds)
        num_phrases = model.description.subgraph.phrases
        texts = {name: verbalise_hop((DirectedRelation(words),), num_phrases) for name, words in graph.words.items()}
        passages = PassageWriter(model.reader, model.hops, texts)
        return (PointerAnswerer if model.reader.options.reads == "pointing" else GenerativeAnswerer)(passages)

    def num_read(self, graph: GraphResources) -> int:
        """Return the most triples of a question that are read."""
        opened: GrilAnswerer = self.opened(graph)
        return opened.reads

    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Item]]) -> list[Answer]:
        """Return an answer to each question; raises `UsageError` for evidence without the graph token it reads."""
        opened: GrilAnswerer = self.opened(ctx.graph)
        return opened.answer(evidence)


class PassageWriter:
    """Writes passages from the best triples of each question. The reader's training sets their number: five for each
    predicted hop of the question, or a fixed number. relation_texts: the words of each relation, by name."""

    def __init__(self, reader: ReaderModel, hops: HopModel, relation_texts: Mapping[str, str]) -> None:
        self.reader = reader
        self._hops = hops
        self._relation_texts = relation_texts

    @property
    def most(self) -> int:
        from ...models.gril.network import TRIPLES_PER_HOP  # with PyTorch

        return self.reader.options.num_triples or TRIPLES_PER_HOP * self._hops.max_hops

    def select_triples(self, evidence: Sequence[Evidence[Item]]) -> list[Evidence[Triple]]:
        """Return the triples to read; raise `UsageError` if the evidence lacks the graph token."""
        from ...models.gril.network import TRIPLES_PER_HOP

        said = self.reader.options
        hops = [] if said.num_triples else predict_hops(self._hops, [each.question.text for each in evidence])
        numbers = [said.num_triples] * len(evidence) if said.num_triples else [TRIPLES_PER_HOP * c for c in hops]
        found = [to_triples(each).cut_to(number) for each, number in zip(evidence, numbers, strict=True)]
        if said.token and not all(graph_token(each) for each in found):
            raise UsageError(
                "answerer gril: expected evidence with a graph token, found none: use it with the recipe gril and the "
                "same checkpoint, or train with --set joint.token=false for evidence of any retriever"
            )
        return found

    def write_passage(self, evidence: Evidence[Triple]) -> tuple[Passage, list[Entity]]:
        """Return the passage of a question, and the entities in it that may be answers: named, and no topics."""
        from ...models.gril.readers import Passage

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
            evidence.question.options,
        )
        return passage, candidates


class GrilAnswerer(ABC):
    """Answers with the reader from the triples that it reads."""

    def __init__(self, passages: PassageWriter) -> None:
        self._passages = passages
        self._reader = passages.reader

    @property
    def reads(self) -> int:
        return self._passages.most

    def answer(self, evidence: Sequence[Evidence[Item]]) -> list[Answer]:
        """Return an answer to each question."""
        taken = self._passages.select_triples(evidence)
        passages, candidates = zip(*map(self._passages.write_passage, taken), strict=True) if taken else ((), ())
        return self._answer(taken, passages, candidates)

    @abstractmethod
    def _answer(
        self,
        evidence: Sequence[Evidence[Triple]],
        passages: Sequence[Passage],
        candidates: Sequence[Sequence[Entity]],
        /,
    ) -> list[Answer]:
        """Return an answer to each question; candidates: the entities of a passage that may be answers."""


def _check_scores(scores: npt.ArrayLike) -> None:
    check_finite(np.asarray(scores), "the reader of a checkpoint of kind gril")


class PointerAnswerer(GrilAnswerer):
    """Answers with the entities that the reader points at, each with the triples that name it.

    An entity's confidence is the reader's probability; the answer's is the highest of them.
    """

    def _answer(
        self,
        evidence: Sequence[Evidence[Triple]],
        passages: Sequence[Passage],
        candidates: Sequence[Sequence[Entity]],
    ) -> list[Answer]:
        said = self._reader.read(passages, [graph_token(each) for each in evidence])
        found: list[Answer] = []
        for each, some, (scores, is_answer) in zip(evidence, candidates, said, strict=True):
            _check_scores(scores)
            named = [(float(scores[place]), some[place]) for place in is_answer.nonzero()[0].tolist()]
            found.append(_point(each, sorted(named, key=lambda pair: (-pair[0], pair[1].id))))
        return found


def _point(evidence: Evidence[Triple], named: Sequence[tuple[float, Entity]]) -> Answer:
    """Return the answer that names these entities, each with its probability."""
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
    return Answer(evidence, entities, name_entities(entities), "gril", confidence=entities[0].confidence)


class GenerativeAnswerer(GrilAnswerer):
    """Answers with the names that the model writes, or with an option, and cites the triples that contain them.

    Their confidence is the geometric mean of the token probabilities, or the probability of the option.
    """

    def _answer(
        self, evidence: Sequence[Evidence[Triple]], passages: Sequence[Passage], _: Sequence[Sequence[Entity]], /
    ) -> list[Answer]:
        found = []
        replies = self._reader.write(passages, [graph_token(each) for each in evidence])
        for each, reply in zip(evidence, replies, strict=True):
            _check_scores(reply.probability)
            entities = cite_claims(tuple(Claim(name, reply.probability) for name in reply.names), each)
            text = ", ".join(reply.names) or f"{NO_ANSWER}: the language model wrote none"
            found.append(Answer(each, entities, text, "gril", confidence=reply.probability if entities else 0.0))
        return found
