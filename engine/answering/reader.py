"""Answer with the set of candidates that has the highest expected F1 by the reader's probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Annotated

import numpy as np
import numpy.typing as npt

from ...models import Range
from ...models.calibration import sigmoid
from ...models.reader import (
    READS,
    NamedColumns,
    Reader,
    add_plan,
    asks_for_single_answer,
    choose_answer_count,
    load_shipped_reader,
)
from ...models.similarity import PathSimilarity, SimilarityWeights, TopicPaths
from ...models.text import Hop, RelationWords, verbalise_hop
from ...models.text.vectors import TextVectors
from ..data_model import AnswerEntity, Chain, RelationPath, RelationStep
from ..errors import UsageError
from ..evidence import NO_ANSWER, Answer, Evidence, Item, format_entity_names
from ..evidence.conversion import convert_to_chains
from ..parts import TrainedPart, option, part
from ..retrieval import mask_mention, merge_mediator_hops
from . import AbstainingAnswerer, ExtractiveAnswerer
from .candidates import AnswerCandidates, CandidateSource, find_candidates

if TYPE_CHECKING:
    from ..context import Context, Database
    from ..resources import GraphResources

SHOWN = 10
"""Chains that an answer shows, where they were made of triples."""


@part("reader")
@dataclass(frozen=True)
class ReaderPart(TrainedPart, AbstainingAnswerer):
    """Scores every candidate of the evidence by features, and chooses the set, without a language model
    (docs/how-it-works.md).
    """

    reads: Annotated[int, Range(0, 1_000)] = option(
        0, "items of a question that it reads; 0 for as many as the checkpoint learned from, or 100"
    )

    def open(self, graph: GraphResources) -> ReaderAnswerer:
        """Return what answers by the checkpoint, or by the weights that come with Lodestar."""
        shared = graph.shared
        plain = ExtractiveAnswerer(self.min_probability, self.sure_from)
        if not self.checkpoint:
            reader = shared.get_or_make("reader", load_shipped_reader)
            return ReaderAnswerer(reader, graph.words, shared.vectors, plain, self.reads or READS)
        description, reader = graph.model(self.checkpoint, "reader", any_graph=self.any_graph)
        vectors = shared.vectors_for(description)
        return ReaderAnswerer(reader, graph.words, vectors, plain, self.reads or description.reads)

    def num_read(self, graph: GraphResources) -> int:
        opened: ReaderAnswerer = self.opened(graph)
        return opened.reads

    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Item]]) -> list[Answer]:
        opened: ReaderAnswerer = self.opened(ctx.graph)
        return opened.answer_batch(ctx.db, evidence)


@dataclass(frozen=True)
class ReaderAnswerer:
    """Answers with a reader. The answer's confidence is the calibrated probability that its first entity is right.

    words: the words of each relation, by name. plain: what answers questions with a form, and has the bounds of the
    probability. reads: items of a question that are read.
    """

    reader: Reader
    words: Mapping[str, RelationWords]
    vectors: TextVectors
    plain: ExtractiveAnswerer
    reads: int = READS

    def answer_batch(self, db: Database, evidence: Sequence[Evidence[Item]]) -> list[Answer]:
        candidates = find_candidates(db, evidence)
        columns = make_reader_input(candidates, evidence, self.words, self.vectors)
        if self.reader.plan is not None:
            columns = add_plan(columns, self.reader.plan, encode_questions(evidence, self.vectors))
        try:
            logits = self.reader.read(columns)
        except LookupError as error:
            raise UsageError(
                f"answerer reader: its checkpoint was trained with another recipe: {error}: train one with "
                "`lodestar train reader --recipe …`, or leave answerer.checkpoint out"
            ) from error
        chains = convert_to_chains(db, evidence)
        return [self._answer(each, chains[place], place, candidates, logits) for place, each in enumerate(evidence)]

    def _answer(
        self,
        evidence: Evidence[Item],
        chains: Evidence[Chain],
        question: int,
        candidates: AnswerCandidates,
        logits: npt.NDArray[np.float64],
    ) -> Answer:
        rows = np.arange(candidates.starts[question], candidates.starts[question + 1])
        order = rows[np.argsort(-logits[rows], kind="stable")]
        if not len(order):
            reason = evidence.note or "no path leads on from its entities"
            return Answer(chains, (), f"{NO_ANSWER}: {reason}", "reader", confidence=0.0)
        sure = self.reader.confidence(float(logits[order[0]]))
        probabilities = sigmoid(logits[order])
        chosen = order[: choose_answer_count(probabilities, one=asks_for_single_answer(evidence.question.text))]
        if sure < self.plain.min_probability:
            shown, _ = _select_shown_chains(evidence, chains, order[:1], candidates)
            reason = evidence.note or "no path fits the question"
            return Answer(shown, (), f"{NO_ANSWER}: {reason}", "reader", confidence=sure)
        shown, rests_on = _select_shown_chains(evidence, chains, chosen, candidates)
        entities = tuple(
            AnswerEntity(candidates.entities[row].label, candidates.entities[row].id, float(p), "graph", rests_on[row])
            for row, p in zip(chosen.tolist(), probabilities.tolist(), strict=False)
        )
        unsure = sure < self.plain.sure_from
        text = f"{'unsure: perhaps ' if unsure else ''}{format_entity_names(entities, unsure=unsure)}"
        return Answer(shown, entities, text, "reader", confidence=sure, unsure=unsure)


def make_reader_input(
    candidates: AnswerCandidates,
    evidence: Sequence[Evidence[Item]],
    words: Mapping[str, RelationWords],
    vectors: TextVectors,
) -> list[NamedColumns]:
    """Return the reader's input for each source, without a plan: name, kind and columns."""
    wants_one = np.array([asks_for_single_answer(each.question.text) for each in evidence])
    similarity = PathSimilarity(vectors, SimilarityWeights(hop=0.0))
    found = []
    for source in candidates.sources:
        hops = {path: merge_mediator_hops(RelationPath(path), words) for path in dict.fromkeys(source.steps)}
        fits = _compute_similarities(source, evidence, hops, similarity)
        path, hop_vectors = _make_paths(source.steps, hops, vectors)
        columns = replace(source.columns, similarity=fits, path=path, hop_vectors=hop_vectors, wants_one=wants_one)
        found.append((source.name, source.kind, columns))
    return found


def encode_questions(evidence: Sequence[Evidence[Item]], vectors: TextVectors) -> npt.NDArray[np.float32]:
    """Return the vector of each question without its topics, (num_questions, dimension)."""
    return vectors.stack([reduce(mask_mention, each.topics, each.question.text) for each in evidence])


def _make_paths(
    chains: Sequence[tuple[RelationStep, ...]],
    hops: Mapping[tuple[RelationStep, ...], tuple[Hop, ...]],
    vectors: TextVectors,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    numbers: dict[tuple[str, bool], int] = {}
    rows = {
        path: [numbers.setdefault((verbalise_hop(hop), hop[0].inverse), len(numbers)) for hop in some]
        for path, some in hops.items()
    }
    path = np.full((len(chains), max([1, *map(len, rows.values())])), -1)
    for place, steps in enumerate(chains):
        path[place, : len(rows[steps])] = rows[steps]
    found = vectors.stack([text for text, _ in numbers])
    signs = np.array([-1.0 if inverse else 1.0 for _, inverse in numbers], dtype=np.float32)
    return path, np.pad(np.hstack([found, found * signs[:, None]]), ((0, 1), (0, 0)))


def _compute_similarities(
    source: CandidateSource,
    evidence: Sequence[Evidence[Item]],
    hops: Mapping[tuple[RelationStep, ...], tuple[Hop, ...]],
    similarity: PathSimilarity,
) -> npt.NDArray[np.float64]:
    """Return S of each chain; 0 where there is none."""
    fits = np.zeros(len(source.steps))
    rows: dict[tuple[int, int], list[int]] = {}
    for row, key in enumerate(zip(source.columns.question.tolist(), source.columns.topic.tolist(), strict=True)):
        if source.steps[row] and evidence[key[0]].topics:
            rows.setdefault(key, []).append(row)
    asked = [
        [
            TopicPaths(
                mask_mention(evidence[question].question.text, evidence[question].topics[topic]),
                [hops[source.steps[row]] for row in some],
                [0.0] * len(some),
            )
        ]
        for (question, topic), some in rows.items()
    ]
    for some, ((fit, _),) in zip(rows.values(), similarity.score_composed(asked), strict=True):
        fits[some] = fit
    return fits


def _select_shown_chains(
    evidence: Evidence[Item], chains: Evidence[Chain], chosen: npt.NDArray[np.int64], candidates: AnswerCandidates
) -> tuple[Evidence[Item], dict[int, tuple[int, ...]]]:
    """Return the evidence as chains, and the chains that support each chosen candidate.

    Chains stay as they are; of triples the best chain to each chosen candidate is shown.
    """
    ends: dict[str, list[int]] = {}
    for index, each in enumerate(chains.items):
        for end in each.value.ends:
            ends.setdefault(end.id, []).append(index)
    rests = {row: tuple(ends.get(candidates.entities[row].id, ())) for row in chosen.tolist()}
    if evidence.kind == "chain":
        return evidence, rests
    shown = list(dict.fromkeys(some[0] for some in rests.values() if some))[:SHOWN]
    place = {index: number for number, index in enumerate(shown)}
    best = {row: (place[some[0]],) if some and some[0] in place else () for row, some in rests.items()}
    return replace(chains, items=tuple(chains.items[index] for index in shown)), best
