"""Retrieve triples of a question's subgraph: a trained network scores them (ReG), or grows a part of it (GRIL)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...models import Positive
from ...models.text import DirectedRelation, RelationWords, verbalise_hop
from ...models.text.vectors import TextVectors
from ..data_model import Entity, LinkedQuestion, Scored, Triple, check_scores_finite
from ..errors import UsageError
from ..evidence import (
    Calibration,
    ChainLengthShares,
    Evidence,
    EvidenceExtra,
    GraphToken,
    Kind,
    NoEvidenceExplanation,
    item_sort_key,
)
from ..linking import select_start_topics
from ..parts import Retriever, TrainedPart, option, part
from . import Shortlist
from .subgraphs import SimilarityProposer, SubgraphBatch, SubgraphBounds, SubgraphExtractor, SubgraphQuery

if TYPE_CHECKING:
    from ...models.gril.network import GrilModel
    from ...models.gril.training import GrilCheckpoint
    from ...models.subgraphs import QuestionGraphs, SubgraphOptions
    from ..context import Context, Database
    from ..resources import GraphResources

Floats = npt.NDArray[np.float32]

NOTHING = "no triple was found around the topic entities"
CUT = "triples beyond the bounds of the question's subgraph are left out"


@dataclass(frozen=True, slots=True)
class RelationsByNumber:
    """The relations of a graph by catalogue number: names, words, and the types under which they are stored; and which
    of many are scored for a question."""

    names: Mapping[int, str]
    words: Mapping[int, RelationWords]
    stored_as: Mapping[str, str]
    shortlist: Shortlist | None = None

    @classmethod
    def of(cls, graph: GraphResources) -> RelationsByNumber:
        words = {number: graph.words[name] for number, name in graph.relations.items()}
        return cls(graph.relations, words, graph.catalogue.stored_as, graph.shortlist)

    @property
    def texts(self) -> dict[int, str]:
        """What the encoder gets to see of each."""
        return {number: verbalise_hop((DirectedRelation(words),)) for number, words in self.words.items()}


def make_subgraph_extractor(
    relations: RelationsByNumber, vectors: TextVectors, options: SubgraphOptions
) -> SubgraphExtractor:
    """Return what reads subgraphs for a training and for a question alike."""
    proposer = SimilarityProposer(relations.words, vectors, relations.shortlist)
    return SubgraphExtractor(
        relations.names, proposer=proposer, num_relations=options.num_relations, stored_as=relations.stored_as
    )


def make_subgraph_query(text: str, topics: Sequence[str], options: SubgraphOptions) -> SubgraphQuery:
    """Return the query for a question's subgraph."""
    bounds = SubgraphBounds(question_triples=options.max_triples)
    return SubgraphQuery(text, tuple(topics), options.num_hops, bounds)


def _entity_text(entity: Entity) -> str | None:
    """Return what the encoder gets to see of an entity; None of an unnamed one."""
    return None if entity.is_mediator else entity.label


def convert_to_question_graphs(
    batch: SubgraphBatch, questions: Sequence[str], relations: RelationsByNumber
) -> QuestionGraphs:
    """Return the subgraphs of questions as networks read them, without labels."""
    from ...models.subgraphs import UNNAMED, GraphTexts, QuestionGraphs

    numbers, relation_of = np.unique(batch.relations, return_inverse=True)
    texts = [_entity_text(batch.table[place]) for place in batch.entities.tolist()]
    names = {text: place for place, text in enumerate(dict.fromkeys(text for text in texts if text is not None))}
    said, named = (tuple(table[number] for number in numbers.tolist()) for table in (relations.texts, relations.names))
    return QuestionGraphs(
        GraphTexts("", "", "", {}, (), tuple(questions), tuple(names), said, named, (), (), ()),
        heads=batch.heads,
        relation_of=relation_of,
        tails=batch.tails,
        is_positive=np.zeros(len(batch.heads), dtype=np.bool_),
        text_of=np.array([UNNAMED if text is None else names[text] for text in texts], dtype=np.int64),
        is_topic=batch.is_topic,
        is_literal=batch.is_literal,
        is_answer=np.zeros(len(texts), dtype=np.bool_),
        node_starts=batch.node_starts,
        triple_starts=batch.triple_starts,
    )


class TrainedSubgraphScorer:
    """Reads the subgraphs of questions, all together, and has a trained network score their triples.

    model: has `description`, with its bounds in ``config.subgraph``, and `score`, as a `SubgraphModel`.
    """

    def __init__(self, relations: RelationsByNumber, vectors: TextVectors, model: Any) -> None:
        self.relations = relations
        self.model = model
        self._vectors = vectors
        self._options: SubgraphOptions = model.description.config.subgraph
        self._subgraphs = make_subgraph_extractor(relations, vectors, self._options)

    def extract(self, db: Database, questions: Sequence[LinkedQuestion]) -> SubgraphBatch:
        topics = [[topic.entity.id for topic in select_start_topics(each.topics)] for each in questions]
        texts = [each.question.text for each in questions]
        queries = [make_subgraph_query(*each, self._options) for each in zip(texts, topics, strict=True)]
        return self._subgraphs.extract(db, queries)

    def evidence(
        self, linked: LinkedQuestion, batch: SubgraphBatch, rows: npt.NDArray[np.int64], scores: Floats, number: int
    ) -> Evidence[Triple]:
        """Return some triples of a batch, `rows`, as the evidence of its question `number`, best first."""

        def entity(node: Any) -> Entity:
            return batch.table[int(batch.entities[node])]

        items = [
            Scored(
                Triple(
                    entity(batch.heads[row]), self.relations.names[int(batch.relations[row])], entity(batch.tails[row])
                ),
                float(scores[row]),
            )
            for row in rows
        ]
        return Evidence(
            linked.question,
            tuple(select_start_topics(linked.topics)),
            "triple",
            tuple(sorted(items, key=item_sort_key)),
            Calibration("logit", *self.model.description.calibration, of="triple"),
            left_out=(CUT,) if batch.is_cut[number] else (),
            absence=None if items else NoEvidenceExplanation(NOTHING),
        )


@dataclass(frozen=True)
class SubgraphRetriever(TrainedPart, Retriever):
    """Options of retrievers that score the triples of the subgraphs around topic entities, and score them so."""

    gives: ClassVar[Kind] = "triple"
    merge_parallel: ClassVar[bool] = False
    """Triples between the same two entities count as one of the `keep`, though they stay triples of their own."""
    tells: ClassVar[Callable[[tuple[float, ...]], EvidenceExtra]] = ChainLengthShares
    """What a model says of each question beside the scores."""

    keep: Positive = option(100, "triples kept")

    def open(self, graph: GraphResources) -> Any:
        model = self.model(graph.model(self.checkpoint, *self.kinds, any_graph=self.any_graph))
        return TrainedSubgraphScorer(RelationsByNumber.of(graph), graph.shared.vectors_for(model.description), model)

    def model(self, checkpoint: Any) -> Any:
        """Return what scores triples, of an open checkpoint."""
        return checkpoint

    def __call__(self, ctx: Context, questions: Sequence[LinkedQuestion], top_k: int) -> list[Evidence[Triple]]:
        """Return the triples, best first: at least `top_k` where there are as many."""
        _check_unfiltered(questions)
        scorer: TrainedSubgraphScorer = self.opened(ctx.graph)
        batch = scorer.extract(ctx.db, questions)
        graphs = convert_to_question_graphs(batch, [each.question.text for each in questions], scorer.relations)
        scores, may_keep, told = scorer.model.score(graphs)
        check_scores_finite(scores, f"a checkpoint of kind {scorer.model.description.kind}")
        keep = max(self.keep, top_k)
        found: list[Evidence[Triple]] = []
        for number, question in enumerate(questions):
            rows = np.arange(batch.triple_starts[number], batch.triple_starts[number + 1])
            rows = rows if may_keep is None else rows[may_keep[rows]]
            ranked = rows[np.argsort(-scores[rows], kind="stable")]
            best = ranked[_mark_first_pairs(batch, ranked, keep)] if self.merge_parallel else ranked[:keep]
            one = scorer.evidence(question, batch, best, scores, number)
            found.append(replace(one, extras=(self.tells(told[number]),)) if told else one)
        return found


def _check_unfiltered(questions: Sequence[LinkedQuestion]) -> None:
    """Raise `UsageError` for a filter, which triples have no ends for."""
    if any(each.question.filter for each in questions):
        raise UsageError("filter: expected a recipe that searches paths, such as similarity or star, found triples")


def _mark_first_pairs(batch: SubgraphBatch, rows: npt.NDArray[np.int64], keep: int) -> npt.NDArray[np.bool_]:
    """Return which rows are of the first `keep` pairs of entities, in whichever direction."""
    ends = np.sort(np.stack([batch.heads[rows], batch.tails[rows]], axis=1), axis=1)
    _, first, pair = np.unique(ends, axis=0, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))
    return place[pair.reshape(-1)] < keep


@part("reg-triple")
@dataclass(frozen=True)
class RegTriple(SubgraphRetriever):
    """The triples around the topics, scored by a trained network (ReG@Triple, docs/papers.md)."""

    kinds: ClassVar[tuple[str, ...]] = ("reg-triple",)


@part("reg-entity")
@dataclass(frozen=True)
class RegEntity(SubgraphRetriever):
    """The triples around the topics, scored by a graph neural network over their entities (ReG@Entity); of those that
    it keeps, triples between the same two entities count as one (ReG, appendix D.3)."""

    kinds: ClassVar[tuple[str, ...]] = ("reg-entity",)
    merge_parallel: ClassVar[bool] = True

    keep: Positive = option(300, "pairs of entities whose triples are kept", source="ReG, appendices D.3 and E")


@part("gril")
@dataclass(frozen=True)
class Gril(SubgraphRetriever):
    """The triples with the most attention as a trained network grows and prunes a subgraph (GRIL, docs/papers.md)."""

    kinds: ClassVar[tuple[str, ...]] = ("gril",)
    tells: ClassVar[Callable[[tuple[float, ...]], EvidenceExtra]] = GraphToken

    def model(self, checkpoint: GrilCheckpoint) -> GrilModel:
        return checkpoint.retriever
