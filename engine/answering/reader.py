"""Answer with the set of candidates that has the highest expected F1 by the reader's probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...models.calibration import sigmoid
from ...models.path_similarity import PathSimilarity, SimilarityWeights, TopicPaths
from ...models.reader import (
    READS,
    NamedColumns,
    Reader,
    choose_answer_count,
    load_shipped_reader,
)
from ...models.text import Hop, RelationWords, verbalise_hop
from ...models.text.vectors import TextVectors
from ..data_model import AnswerEntity, Chain, Entity, RelationPath, RelationStep
from ..errors import UsageError
from ..evidence import NO_ANSWER, Answer, Evidence, Item, format_entity_names
from ..evidence.chains_and_triples import convert_to_chains
from ..parts import TrainedPart, part
from ..retrieval import merge_mediator_hops, remove_topic_mention
from . import AbstainingAnswerer
from .candidates import AnswerCandidates, CandidateSource, find_candidates

if TYPE_CHECKING:
    from ..context import Context, Database
    from ..resources import GraphResources


@part("reader")
@dataclass(frozen=True)
class ReaderPart(TrainedPart, AbstainingAnswerer):
    """Scores every candidate of the evidence by features, and chooses the set, without a language model
    (docs/how-it-works.md).
    """

    def open(self, graph: GraphResources) -> tuple[Reader, TextVectors, int]:
        """Return the reader of the checkpoint, or the one that comes with Lodestar, with its vectors, and how many
        items of a question it reads.
        """
        shared = graph.shared
        if not self.checkpoint:
            return shared.get_or_make("reader", load_shipped_reader), shared.vectors, READS
        description, reader = graph.model(self.checkpoint, "reader", any_graph=self.any_graph)
        return reader, shared.vectors_for(description), description.config.reads

    def num_read(self, graph: GraphResources) -> int:
        _, _, num_read = self.opened(graph)
        return num_read

    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Item]]) -> list[Answer]:
        reader, vectors, _ = self.opened(ctx.graph)
        return self.answer_batch(ctx.db, evidence, reader, ctx.graph.words, vectors)

    def answer_batch(
        self,
        db: Database,
        evidence: Sequence[Evidence[Item]],
        reader: Reader,
        words: Mapping[str, RelationWords],
        vectors: TextVectors,
    ) -> list[Answer]:
        """Return an answer to each question, with the probability that its first entity is right.

        words: of each relation, by name. Raises `UsageError` for a reader of another recipe.
        """
        candidates = find_candidates(db, evidence)
        columns = make_reader_input(candidates, evidence, words, vectors)
        try:
            logits = reader.read(columns, encode_questions(evidence, vectors))
        except LookupError as error:
            raise UsageError(
                f"answerer reader: its checkpoint was trained with another recipe: {error}: train one with "
                "`lodestar train reader --recipe …`, or leave answerer.checkpoint out"
            ) from error
        answers = []
        slope, intercept = reader.calibration
        for place, chains in enumerate(convert_to_chains(db, evidence)):
            rows = np.arange(candidates.starts[place], candidates.starts[place + 1])
            order = rows[np.argsort(-logits[rows], kind="stable")]
            sure = float(sigmoid(slope * logits[order[0]] + intercept)) if len(order) else 0.0
            ordered = [candidates.entities[row] for row in order]
            answers.append(self._answer(chains, ordered, sigmoid(logits[order]), sure))
        return answers

    def _answer(
        self, chains: Evidence[Chain], candidates: Sequence[Entity], probabilities: npt.NDArray[np.float64], sure: float
    ) -> Answer:
        """Return the answer from candidates, the likeliest first; an entity rests on all chains that end in it."""
        if not candidates or sure < self.min_probability:
            reason = chains.note or "no path fits the question"
            return Answer(chains, (), f"{NO_ANSWER}: {reason}", "reader", confidence=sure)
        ends: dict[str, list[int]] = {}
        for index, item in enumerate(chains.items):
            for end in item.value.ends:
                ends.setdefault(end.id, []).append(index)
        entities = tuple(
            AnswerEntity(entity.label, entity.id, float(p), "graph", tuple(ends.get(entity.id, ())))
            for entity, p in zip(candidates[: choose_answer_count(probabilities)], probabilities, strict=False)
        )
        unsure = sure < self.sure_from
        text = f"{'unsure: perhaps ' if unsure else ''}{format_entity_names(entities, unsure=unsure)}"
        return Answer(chains, entities, text, "reader", confidence=sure, unsure=unsure)


def make_reader_input(
    candidates: AnswerCandidates,
    evidence: Sequence[Evidence[Item]],
    words: Mapping[str, RelationWords],
    vectors: TextVectors,
) -> list[NamedColumns]:
    """Return the reader's input for each source, without a plan: name, kind and columns."""
    similarity = PathSimilarity(vectors, SimilarityWeights(hop=0.0))
    found = []
    for source in candidates.sources:
        hops = {path: merge_mediator_hops(RelationPath(path), words) for path in dict.fromkeys(source.steps)}
        fits = _compute_similarities(source, evidence, hops, similarity)
        path, hop_vectors = _make_paths(source.steps, hops, vectors)
        columns = replace(source.columns, similarity=fits, path=path, hop_vectors=hop_vectors)
        found.append((source.name, source.kind, columns))
    return found


def encode_questions(evidence: Sequence[Evidence[Item]], vectors: TextVectors) -> npt.NDArray[np.float32]:
    """Return the vector of each question without its topics, (num_questions, dimension)."""
    return vectors.stack([reduce(remove_topic_mention, each.topics, each.question.text) for each in evidence])


HopsByPath = Mapping[tuple[RelationStep, ...], tuple[Hop, ...]]


def _make_paths(
    chains: Sequence[tuple[RelationStep, ...]], hops: HopsByPath, vectors: TextVectors
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
    source: CandidateSource, evidence: Sequence[Evidence[Item]], hops: HopsByPath, similarity: PathSimilarity
) -> npt.NDArray[np.float64]:
    """Return S of each chain; 0 where there is none."""
    fits = np.zeros(len(source.steps))
    rows: dict[tuple[int, int], list[int]] = {}
    for row, key in enumerate(zip(source.columns.question.tolist(), source.columns.topic.tolist(), strict=True)):
        if source.steps[row] and evidence[key[0]].topics:
            rows.setdefault(key, []).append(row)
    asked = []
    for (question, topic), some in rows.items():
        masked = remove_topic_mention(evidence[question].question.text, evidence[question].topics[topic])
        asked.append([TopicPaths(masked, [hops[source.steps[row]] for row in some], [0.0] * len(some))])
    for some, ((fit, _),) in zip(rows.values(), similarity.score_composed(asked), strict=True):
        fits[some] = fit
    return fits
