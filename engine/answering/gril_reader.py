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
from ..evidence.chains_and_triples import convert_to_triples
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

    def open(self, graph: GraphResources) -> tuple[ReaderModel, HopModel, Mapping[str, str]]:
        """Return the reader, the predictor of hops, and the words of each relation, by name."""
        self.check()
        model = graph.shared.model(self.checkpoint, *self.kinds)
        texts = {name: verbalise_hop((DirectedRelation(words),)) for name, words in graph.words.items()}
        return model.reader, model.hops, texts

    def num_read(self, graph: GraphResources) -> int:
        from ...models.gril.network import TRIPLES_PER_HOP  # with PyTorch

        _, hops, _ = self.opened(graph)
        return TRIPLES_PER_HOP * hops.max_hops

    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Item]]) -> list[Answer]:
        return self.answer_batch(evidence, *self.opened(ctx.graph))

    def answer_batch(
        self, evidence: Sequence[Evidence[Item]], reader: ReaderModel, hops: HopModel, relation_texts: Mapping[str, str]
    ) -> list[Answer]:
        """Return an answer to each question from its best triples, five for each predicted hop: entities that the
        reader points at, or names that it writes. Raises `UsageError` for evidence without the graph token it reads.
        """
        from ...models.gril.network import TRIPLES_PER_HOP

        nums = predict_hops(hops, [each.question.text for each in evidence])
        taken = [convert_to_triples(each).cut_to(TRIPLES_PER_HOP * c) for each, c in zip(evidence, nums, strict=True)]
        tokens = [find_graph_token(each) for each in taken]
        if reader.options.token and not all(tokens):
            raise UsageError(
                "answerer gril: expected evidence with a graph token, found none: use it with the recipe gril and the "
                "same checkpoint, or train with --set joint.token=false for evidence of any retriever"
            )
        written = [_write_passage(each, relation_texts) for each in taken]
        found = reader.read([passage for passage, _ in written], tokens)
        return [
            _point(each, some, said) if isinstance(said, np.ndarray) else _quote(each, said)
            for each, (_, some), said in zip(taken, written, found, strict=True)
        ]


def _write_passage(evidence: Evidence[Triple], relation_texts: Mapping[str, str]) -> tuple[ReaderPassage, list[Entity]]:
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
        tuple((place[t.head], relation_texts.get(t.relation, t.relation), place[t.tail]) for t in triples),
        tuple(place[each] for each in candidates),
    )
    return passage, candidates


_READER = "the reader of a checkpoint of kind gril"


def _point(evidence: Evidence[Triple], candidates: Sequence[Entity], scores: npt.NDArray[np.float32]) -> Answer:
    """Return the entities that the reader points at, each with its probability and the triples that name it.

    The answer's confidence is the highest of their probabilities.
    """
    from ...models.gril.readers import choose_predicted_answers

    check_scores_finite(scores, _READER)
    entities = []
    for place in choose_predicted_answers(scores):
        end = candidates[place]
        rests_on = [n for n, item in enumerate(evidence.items) if end in (item.value.head, item.value.tail)]
        entities.append(AnswerEntity(end.label, end.id, float(scores[place]), "graph", tuple(rests_on)))
    if not entities:
        reason = evidence.note or "nothing in it can be pointed at"
        return Answer(evidence, (), f"{NO_ANSWER}: {reason}", "gril", confidence=0.0)
    return Answer(evidence, tuple(entities), format_entity_names(entities), "gril", confidence=entities[0].confidence)


def _quote(evidence: Evidence[Triple], reply: WrittenReply) -> Answer:
    check_scores_finite(np.array(reply.probability), _READER)
    entities = cite_evidence_for_claims(tuple(AnswerClaim(name, reply.probability) for name in reply.names), evidence)
    text = ", ".join(reply.names) or f"{NO_ANSWER}: the language model wrote none"
    return Answer(evidence, entities, text, "gril", confidence=reply.probability if entities else 0.0)
