"""Answer with the reader that was trained jointly with GRIL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from ...models.text import DirectedRelation, verbalise_hop
from ..data_model import AnswerEntity, Entity, Triple, check_scores_finite
from ..errors import UsageError
from ..evidence import NO_ANSWER, Answer, Evidence, Item, find_graph_token, format_entity_names
from ..evidence.conversion import convert_to_triples
from ..parts import Answerer, option, part
from ..reorganising.filtering import predict_hops
from .llm import AnswerClaim, cite_evidence_for_claims

if TYPE_CHECKING:
    from ...models.gril.network import HopModel
    from ...models.gril.readers import ReaderModel, ReaderPassage, WrittenReply
    from ..context import Context
    from ..resources import GraphResources


@part("gril")
@dataclass(frozen=True)
class GrilReader(Answerer):
    """Answers from gril's evidence with the reader that was trained jointly with it (docs/papers.md)."""

    kinds: ClassVar[tuple[str, ...]] = ("gril",)

    checkpoint: str = option("", "folder of a gril that was trained with a reader", source="lodestar train gril")

    def open(self, graph: GraphResources) -> GrilAnswerer:
        self.check()
        model = graph.shared.model(self.checkpoint, *self.kinds)
        texts = {name: verbalise_hop((DirectedRelation(words),)) for name, words in graph.words.items()}
        return GrilAnswerer(model.reader, model.hops, texts)

    def num_read(self, graph: GraphResources) -> int:
        from ...models.gril.network import TRIPLES_PER_HOP  # with PyTorch

        opened: GrilAnswerer = self.opened(graph)
        return TRIPLES_PER_HOP * opened.hops.max_hops

    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Item]]) -> list[Answer]:
        """Return an answer to each question; raises `UsageError` for evidence without the graph token it reads."""
        opened: GrilAnswerer = self.opened(ctx.graph)
        return opened.answer(evidence)


@dataclass(frozen=True, slots=True)
class GrilAnswerer:
    """Answers with the reader from the best triples of each question, five for each predicted hop. relation_texts: the
    words of each relation, by name.
    """

    reader: ReaderModel
    hops: HopModel
    relation_texts: Mapping[str, str]

    def answer(self, evidence: Sequence[Evidence[Item]]) -> list[Answer]:
        """Return an answer to each question: entities that the reader points at, or names that it writes."""
        from ...models.gril.network import TRIPLES_PER_HOP

        hops = predict_hops(self.hops, [each.question.text for each in evidence])
        taken = [convert_to_triples(each).cut_to(TRIPLES_PER_HOP * c) for each, c in zip(evidence, hops, strict=True)]
        tokens = [find_graph_token(each) for each in taken]
        if self.reader.options.token and not all(tokens):
            raise UsageError(
                "answerer gril: expected evidence with a graph token, found none: use it with the recipe gril and the "
                "same checkpoint, or train with --set joint.token=false for evidence of any retriever"
            )
        written = [self.write_passage(each) for each in taken]
        passages = [passage for passage, _ in written]
        return [
            _point(each, some, *found) if isinstance(found, tuple) else _quote(each, found)
            for each, (_, some), found in zip(taken, written, self.reader.read(passages, tokens), strict=True)
        ]

    def write_passage(self, evidence: Evidence[Triple]) -> tuple[ReaderPassage, list[Entity]]:
        """Return the passage of a question, and the entities in it that may be answers: named, and no topics."""
        from ...models.gril.readers import ReaderPassage

        triples = [item.value for item in evidence.items]
        place: dict[Entity, int] = {}
        for triple in triples:
            place.setdefault(triple.head, len(place))
            place.setdefault(triple.tail, len(place))
        topics = {topic.entity.id for topic in evidence.topics}
        candidates = [each for each in place if not each.is_mediator and each.id not in topics]
        passage = ReaderPassage(
            evidence.question.text,
            tuple(None if each.is_mediator else each.label for each in place),
            tuple((place[t.head], self.relation_texts.get(t.relation, t.relation), place[t.tail]) for t in triples),
            tuple(place[each] for each in candidates),
        )
        return passage, candidates


_READER = "the reader of a checkpoint of kind gril"


def _point(
    evidence: Evidence[Triple],
    candidates: Sequence[Entity],
    scores: npt.NDArray[np.float32],
    is_answer: npt.NDArray[np.bool_],
) -> Answer:
    """Return the entities that the reader points at, each with its probability and the triples that name it.

    The answer's confidence is the highest of their probabilities.
    """
    check_scores_finite(scores, _READER)
    named = [(float(scores[place]), candidates[place]) for place in is_answer.nonzero()[0].tolist()]
    entities = tuple(
        AnswerEntity(
            entity.label,
            entity.id,
            probability,
            "graph",
            tuple(n for n, item in enumerate(evidence.items) if entity in (item.value.head, item.value.tail)),
        )
        for probability, entity in sorted(named, key=lambda pair: (-pair[0], pair[1].id))
    )
    if not entities:
        reason = evidence.note or "nothing in it can be pointed at"
        return Answer(evidence, (), f"{NO_ANSWER}: {reason}", "gril", confidence=0.0)
    return Answer(evidence, entities, format_entity_names(entities), "gril", confidence=entities[0].confidence)


def _quote(evidence: Evidence[Triple], reply: WrittenReply) -> Answer:
    check_scores_finite(np.array(reply.probability), _READER)
    entities = cite_evidence_for_claims(tuple(AnswerClaim(name, reply.probability) for name in reply.names), evidence)
    text = ", ".join(reply.names) or f"{NO_ANSWER}: the language model wrote none"
    return Answer(evidence, entities, text, "gril", confidence=reply.probability if entities else 0.0)
