"""Retrieve triples of a question's subgraph: a trained network scores them (ReG), or grows a part of it (GRIL)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...models.gril.network import GrilModel
from ...models.reg import EntityDescription, TripleDescription
from ...models.reg.triples import TripleColumns
from ...models.subgraphs import SubgraphOptions
from ...models.text.vectors import TextVectors
from ...models.text.verbalise import DirectedRelation, RelationWords, verbalise_hop
from ..evidence.calibration import Calibration
from ..evidence.evidence import Evidence, Kind, item_sort_key
from ..evidence.extras import GraphToken
from ..linking.topics import select_start_topics
from ..steps import Steps, attribute_costs
from ..values import Entity, LinkedQuestion, Scored, Topic, Triple, check_finite
from .subgraph.batch import SubgraphBatch
from .subgraph.walking import SimilarityProposer, SubgraphBounds, SubgraphExtractor, SubgraphQuery

NOTHING = "no triple was found around the topic entities"
CUT = "triples beyond the bounds of the question's subgraph are left out"


@dataclass(frozen=True, slots=True)
class GraphRelations:
    """The relations of a graph by catalogue number: names, words, and the types under which they are stored."""

    names: Mapping[int, str]
    words: Mapping[int, RelationWords]
    stored_as: Mapping[str, str]

    def texts(self, num_phrases: int) -> dict[int, str]:
        """Return what the encoder gets to see of each; num_phrases: see `verbalise_hop`."""
        return {number: verbalise_hop((DirectedRelation(words),), num_phrases) for number, words in self.words.items()}


def subgraphs_of(relations: GraphRelations, vectors: TextVectors, options: SubgraphOptions) -> SubgraphExtractor:
    """Return what reads subgraphs for a training and for a question alike."""
    proposer = SimilarityProposer(relations.words, vectors)
    return SubgraphExtractor(
        relations.names, proposer=proposer, num_relations=options.num_relations, stored_as=relations.stored_as
    )


def subgraph_query(
    text: str, topics: Sequence[str], options: SubgraphOptions, excluded_relations: frozenset[str] = frozenset()
) -> SubgraphQuery:
    """Return the query for a question's subgraph, which has no triple of the `excluded_relations`."""
    bounds = SubgraphBounds(question_triples=options.max_triples)
    return SubgraphQuery(text, tuple(topics), options.num_hops, bounds, excluded_relations)


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
        self._texts = relations.texts(options.phrases)
        self._vectors = vectors
        self._options = options
        self._subgraphs = subgraphs_of(relations, vectors, self._options)

    @property
    def encoding_s(self) -> float:
        """Seconds spent in the encoder so far."""
        return self._vectors.encoding_s

    def topics(self, linked: LinkedQuestion) -> tuple[Topic, ...]:
        """Return the topics that a subgraph is read around."""
        return tuple(select_start_topics(linked.topics))

    def extract(self, questions: Sequence[LinkedQuestion]) -> Steps[SubgraphBatch]:
        """Return the subgraphs."""
        return self._subgraphs.extract(
            [
                subgraph_query(
                    each.question.text,
                    [topic.entity.id for topic in self.topics(each)],
                    self._options,
                    each.question.excluded_relations,
                )
                for each in questions
            ]
        )

    def columns(self, questions: Sequence[LinkedQuestion], batch: SubgraphBatch) -> TripleColumns:
        """Return what a network gets to see of a batch."""
        numbers, relation_of = np.unique(batch.relations, return_inverse=True)
        texts = [entity_text(batch.table[place]) for place in range(len(batch.table.ids))]
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
            left_out=(CUT,) if batch[number].is_cut else (),
            note="" if items else NOTHING,
        )


class SubgraphScorer(SubgraphReader):
    """Scores the triples of questions' subgraphs with a trained network, all questions together."""

    def __init__(
        self,
        relations: GraphRelations,
        vectors: TextVectors,
        model: TrainedTripleScorer,
    ) -> None:
        super().__init__(relations, vectors, model.description.subgraph)
        self.model = model

    def score(self, questions: Sequence[LinkedQuestion], batch: SubgraphBatch) -> npt.NDArray[np.float32]:
        """Return the logit of each triple of a batch, (num_triples,)."""
        scores = self.model.score(self.columns(questions, batch))
        check_finite(scores, f"a checkpoint of kind {self.model.description.kind}")
        return scores


class TripleRetriever:
    """A `Retriever`: of each question the `keep` best triples of its subgraph.

    merge_parallel: triples between the same two entities count as one of them (ReG, appendix D.3; our reading, for they
    stay triples of their own).
    """

    gives: Kind = "triple"

    def __init__(self, scorer: SubgraphScorer, *, keep: int, merge_parallel: bool = False) -> None:
        self._scorer = scorer
        self._keep = keep
        self._merge_parallel = merge_parallel

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int) -> Steps[list[Evidence[Triple]]]:
        """Return the triples, best first: at least `top_k` where there are as many."""
        encoding_s = self._scorer.encoding_s
        batch = yield from self._scorer.extract(questions)
        scores = self._scorer.score(questions, batch)
        yield from attribute_costs("encode", self._scorer.encoding_s - encoding_s)
        keep = max(self._keep, top_k)
        calibration = self._scorer.model.description.calibration
        found: list[Evidence[Triple]] = []
        for number, question in enumerate(questions):
            rows = np.arange(batch.triple_starts[number], batch.triple_starts[number + 1])
            ranked = rows[np.argsort(-scores[rows], kind="stable")]
            best = ranked[mark_first_pairs(batch, ranked, keep)] if self._merge_parallel else ranked[:keep]
            found.append(self._scorer.evidence(question, batch, number, best, scores, calibration))
        return found


def mark_first_pairs(batch: SubgraphBatch, rows: npt.NDArray[np.int64], keep: int) -> npt.NDArray[np.bool_]:
    """Return which rows are of the first `keep` pairs of entities, in whichever direction."""
    ends = np.sort(np.stack([batch.heads[rows], batch.tails[rows]], axis=1), axis=1)
    _, first, pair = np.unique(ends, axis=0, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))
    kept: npt.NDArray[np.bool_] = place[pair.reshape(-1)] < keep
    return kept


class GrowingRetriever:
    """A `Retriever`: of each question the `keep` best triples of the subgraph that grew; pruned ones are not in it."""

    gives: Kind = "triple"

    def __init__(
        self,
        relations: GraphRelations,
        vectors: TextVectors,
        model: GrilModel,
        *,
        keep: int,
    ) -> None:
        self._columns = SubgraphReader(relations, vectors, model.description.subgraph)
        self._model = model
        self._keep = keep

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int) -> Steps[list[Evidence[Triple]]]:
        """Return the triples, best first: at least `top_k` where pruning kept as many."""
        encoding_s = self._columns.encoding_s
        batch = yield from self._columns.extract(questions)
        columns = self._columns.columns(questions, batch)
        found = self._model.grow(columns, batch.table.is_literal[batch.entities], batch.node_questions)
        check_finite(found.logits, "a checkpoint of kind gril")
        yield from attribute_costs("encode", self._columns.encoding_s - encoding_s)
        keep = max(self._keep, top_k)
        evidence: list[Evidence[Triple]] = []
        for number, question in enumerate(questions):
            rows = np.arange(batch.triple_starts[number], batch.triple_starts[number + 1])
            kept = rows[found.is_kept[rows]]
            best = kept[np.argsort(-found.logits[kept], kind="stable")[:keep]]
            one = self._columns.evidence(
                question, batch, number, best, found.logits, self._model.description.calibration
            )
            evidence.append(replace(one, extras=(GraphToken(tuple(found.tokens[number])),)))
        return evidence
