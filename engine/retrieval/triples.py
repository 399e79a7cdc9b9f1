"""Retrieve triples of a question's subgraph: a trained network scores them (ReG), or grows a part of it (GRIL)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from ...models import Positive
from ...models.text import DirectedRelation, RelationWords, verbalise_hop
from ...models.text.vectors import TextVectors
from ..errors import UsageError
from ..evidence import Absence, Calibration, Evidence, GraphToken, Kind, item_sort_key
from ..linking import select_start_topics
from ..parts import Retriever, Trained, option, part
from ..values import Entity, LinkedQuestion, Scored, Topic, Triple, check_finite
from . import Shortlist
from .subgraph import SubgraphBatch
from .subgraph.walking import SimilarityProposer, SubgraphBounds, SubgraphExtractor, SubgraphQuery

if TYPE_CHECKING:
    from ...models.gril.network import GrilModel
    from ...models.reg import EntityDescription, TripleDescription
    from ...models.reg.triples import TripleColumns
    from ...models.subgraphs import SubgraphOptions
    from ..context import Context, Database
    from ..resources import GraphResources

NOTHING = "no triple was found around the topic entities"
CUT = "triples beyond the bounds of the question's subgraph are left out"


@dataclass(frozen=True, slots=True)
class GraphRelations:
    """The relations of a graph by catalogue number: names, words, and the types under which they are stored; and which
    of many are scored for a question."""

    names: Mapping[int, str]
    words: Mapping[int, RelationWords]
    stored_as: Mapping[str, str]
    shortlist: Shortlist | None = None

    @classmethod
    def of(cls, graph: GraphResources) -> GraphRelations:
        words = {number: graph.words[name] for number, name in graph.relations.items()}
        return cls(graph.relations, words, graph.catalogue.stored_as, graph.shortlist)

    @property
    def texts(self) -> dict[int, str]:
        """What the encoder gets to see of each."""
        return {number: verbalise_hop((DirectedRelation(words),)) for number, words in self.words.items()}


def subgraphs_of(relations: GraphRelations, vectors: TextVectors, options: SubgraphOptions) -> SubgraphExtractor:
    """Return what reads subgraphs for a training and for a question alike."""
    proposer = SimilarityProposer(relations.words, vectors, relations.shortlist)
    return SubgraphExtractor(
        relations.names, proposer=proposer, num_relations=options.num_relations, stored_as=relations.stored_as
    )


def subgraph_query(text: str, topics: Sequence[str], options: SubgraphOptions) -> SubgraphQuery:
    """Return the query for a question's subgraph."""
    bounds = SubgraphBounds(question_triples=options.max_triples)
    return SubgraphQuery(text, tuple(topics), options.num_hops, bounds)


def entity_text(entity: Entity) -> str | None:
    """Return what the encoder gets to see of an entity; None of an unnamed one."""
    return None if entity.is_mediator else entity.label


class TrainedTripleScorer(Protocol):
    """A trained scorer of triples: `TripleModel`, `EntityModel`."""

    @property
    def description(self) -> TripleDescription | EntityDescription:
        """What its checkpoint says."""
        ...

    def score(self, columns: TripleColumns) -> npt.NDArray[np.float32]:
        """Return the logit of each triple, (num_triples,)."""
        ...


class SubgraphReader:
    """Reads the subgraphs of questions, all together, as a trained network gets to see them."""

    def __init__(
        self,
        relations: GraphRelations,
        vectors: TextVectors,
        options: SubgraphOptions,
    ) -> None:
        self.names = relations.names
        self._texts = relations.texts
        self._vectors = vectors
        self._options = options
        self._subgraphs = subgraphs_of(relations, vectors, self._options)

    @property
    def encoding_s(self) -> float:
        """Seconds spent in the encoder so far."""
        return self._vectors.encoding_s

    def topics(self, linked: LinkedQuestion) -> tuple[Topic, ...]:
        return tuple(select_start_topics(linked.topics))

    def extract(self, db: Database, questions: Sequence[LinkedQuestion]) -> SubgraphBatch:
        return self._subgraphs.extract(
            db,
            [
                subgraph_query(each.question.text, [topic.entity.id for topic in self.topics(each)], self._options)
                for each in questions
            ],
        )

    def columns(self, questions: Sequence[LinkedQuestion], batch: SubgraphBatch) -> TripleColumns:
        from ...models.reg.triples import TripleColumns  # with PyTorch

        numbers, relation_of = np.unique(batch.relations, return_inverse=True)
        texts = [entity_text(entity) for entity in batch.table]
        return TripleColumns(
            questions=[each.question.text for each in questions],
            relations=[self._texts[int(number)] for number in numbers],
            names=[texts[place] for place in batch.entities.tolist()],
            is_topic=batch.is_topic,
            heads=batch.heads,
            relation_of=relation_of,
            tails=batch.tails,
            question_of=batch.triple_questions,
        )

    def evidence(
        self,
        linked: LinkedQuestion,
        batch: SubgraphBatch,
        number: int,
        rows: npt.NDArray[np.int64],
        scores: npt.NDArray[np.float32],
        calibration: tuple[float, float],
    ) -> Evidence[Triple]:
        """Return some triples of a batch, `rows`, as the evidence of its question `number`, best first."""
        items = [
            Scored(
                Triple(
                    batch.table[int(batch.entities[batch.heads[row]])],
                    self.names[int(batch.relations[row])],
                    batch.table[int(batch.entities[batch.tails[row]])],
                ),
                float(scores[row]),
            )
            for row in rows
        ]
        return Evidence(
            linked.question,
            self.topics(linked),
            "triple",
            tuple(sorted(items, key=item_sort_key)),
            Calibration("logit", *calibration, of="triple"),
            left_out=(CUT,) if batch.is_cut[number] else (),
            absence=None if items else Absence(NOTHING),
        )


class SubgraphScorer(SubgraphReader):
    """Scores the triples of questions' subgraphs with a trained network, all questions together."""

    def __init__(self, relations: GraphRelations, vectors: TextVectors, model: TrainedTripleScorer) -> None:
        super().__init__(relations, vectors, model.description.subgraph)
        self.model = model

    def score(self, questions: Sequence[LinkedQuestion], batch: SubgraphBatch) -> npt.NDArray[np.float32]:
        """Return the logit of each triple of a batch, (num_triples,)."""
        scores = self.model.score(self.columns(questions, batch))
        check_finite(scores, f"a checkpoint of kind {self.model.description.kind}")
        return scores


@dataclass(frozen=True)
class SubgraphRetriever(Trained, Retriever):
    """Options of retrievers that score the triples of the subgraphs around topic entities, and score them so."""

    gives: ClassVar[Kind] = "triple"
    merge_parallel: ClassVar[bool] = False
    """Triples between the same two entities count as one of the `keep`, though they stay triples of their own."""

    keep: Positive = option(100, "triples kept")

    def open(self, graph: GraphResources) -> Any:
        model = graph.model(self.checkpoint, *self.kinds, any_graph=self.any_graph)
        return SubgraphScorer(GraphRelations.of(graph), graph.shared.vectors_for(model.description), model)

    def __call__(self, ctx: Context, questions: Sequence[LinkedQuestion], top_k: int) -> list[Evidence[Triple]]:
        """Return the triples, best first: at least `top_k` where there are as many."""
        check_unfiltered(questions)
        scorer: SubgraphScorer = self.opened(ctx.graph)
        encoding_s = scorer.encoding_s
        batch = scorer.extract(ctx.db, questions)
        scores = scorer.score(questions, batch)
        ctx.trace.move(scorer.encoding_s - encoding_s, to="encode")
        keep = max(self.keep, top_k)
        found: list[Evidence[Triple]] = []
        for number, question in enumerate(questions):
            rows = np.arange(batch.triple_starts[number], batch.triple_starts[number + 1])
            ranked = rows[np.argsort(-scores[rows], kind="stable")]
            best = ranked[mark_first_pairs(batch, ranked, keep)] if self.merge_parallel else ranked[:keep]
            found.append(scorer.evidence(question, batch, number, best, scores, scorer.model.description.calibration))
        return found


def check_unfiltered(questions: Sequence[LinkedQuestion]) -> None:
    """Raise `UsageError` for a filter, which triples have no ends for."""
    if any(each.question.filter for each in questions):
        raise UsageError("filter: expected a recipe that searches paths, such as similarity or star, found triples")


def mark_first_pairs(batch: SubgraphBatch, rows: npt.NDArray[np.int64], keep: int) -> npt.NDArray[np.bool_]:
    """Return which rows are of the first `keep` pairs of entities, in whichever direction."""
    ends = np.sort(np.stack([batch.heads[rows], batch.tails[rows]], axis=1), axis=1)
    _, first, pair = np.unique(ends, axis=0, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))
    kept: npt.NDArray[np.bool_] = place[pair.reshape(-1)] < keep
    return kept


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

    def open(self, graph: GraphResources) -> tuple[SubgraphReader, GrilModel]:
        model: GrilModel = graph.model(self.checkpoint, *self.kinds, any_graph=self.any_graph).retriever
        vectors = graph.shared.vectors_for(model.description)
        return SubgraphReader(GraphRelations.of(graph), vectors, model.description.subgraph), model

    def __call__(self, ctx: Context, questions: Sequence[LinkedQuestion], top_k: int) -> list[Evidence[Triple]]:
        """Return the triples that grew and were not pruned, best first: at least `top_k` where as many were kept."""
        check_unfiltered(questions)
        reader, model = self.opened(ctx.graph)
        encoding_s = reader.encoding_s
        batch = reader.extract(ctx.db, questions)
        columns = reader.columns(questions, batch)
        grown = model.grow(columns, batch.is_literal, batch.node_questions)
        check_finite(grown.logits, "a checkpoint of kind gril")
        ctx.trace.move(reader.encoding_s - encoding_s, to="encode")
        keep = max(self.keep, top_k)
        found: list[Evidence[Triple]] = []
        for number, question in enumerate(questions):
            rows = np.arange(batch.triple_starts[number], batch.triple_starts[number + 1])
            kept = rows[grown.is_kept[rows]]
            best = kept[np.argsort(-grown.logits[kept], kind="stable")[:keep]]
            one = reader.evidence(question, batch, number, best, grown.logits, model.description.calibration)
            found.append(replace(one, extras=(GraphToken(tuple(grown.tokens[number])),)))
        return found
