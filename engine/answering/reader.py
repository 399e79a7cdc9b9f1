"""Answer with the set of candidates that has the highest expected F1 by the reader's probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Annotated

import numpy as np
import numpy.typing as npt

from ...models import Range
from ...models.reader import (
    ABSENT,
    NAMES,
    READS,
    NamedColumns,
    Reader,
    ReaderScores,
    asks_for_single_answer,
    choose_answer_count,
    compute_confidence_features,
    load_shipped_reader,
)
from ...models.similarity import UNKNOWN_TYPE, PathSimilarity, SimilarityWeights, TopicPaths
from ...models.text import Hop, RelationWords, verbalise_hop
from ...models.text.vectors import TextVectors
from ..data_model import AnswerEntity, Chain, RelationPath, RelationStep
from ..errors import UsageError
from ..evidence import NO_ANSWER, Answer, Evidence, Item, format_entity_names
from ..evidence.conversion import convert_to_chains
from ..parts import TrainedPart, option, part
from ..retrieval import mask_mention, merge_mediator_hops
from . import AbstainingAnswerer, ExtractiveAnswerer
from .candidates import CLOSED_BOOK, LLM, AnswerCandidates, CandidateSource, find_candidates

if TYPE_CHECKING:
    from ..context import Context, Database
    from ..resources import GraphResources

SHOWN = 10
"""Chains that an answer shows, where they were made of triples."""
REASONS = 3
LEAST_GAIN = 0.05
"""In log-odds; what decided by less is not said."""

WORDS: Mapping[str, tuple[str, str]] = {
    "two": ("it is two hops away", "it is not two hops away"),
    "three": ("it is three hops away", "it is not three hops away"),
    "loose": ("a triple alone names it", "a chain leads to it"),
    "chain": ("its chain is likely", "its chain need not be the likeliest"),
    "behind": ("no chain is likelier than its own", "it is not on the likeliest chain"),
    "rank": ("its chain is among the first", "its chain is not among the first"),
    "steady": ("each step of its chain is likely", "no step of its chain stands out"),
    "last": ("the triple that leads to it is likely", "the triple that leads to it is less sure"),
    "last_behind": ("its triple is the best of its relation", "other triples of its relation are better"),
    "way": ("the whole way to it is likely", "a step on the way to it is weak"),
    "on": ("a likely triple leads on from it", "nothing likely leads on from it"),
    "on_first": ("one hop away a likely triple leads on from it", "one hop away nothing likely leads on from it"),
    "stops": ("the evidence ends there", "the evidence leads on from there"),
    "ends": ("its relation leads to many things", "its relation leads to few things"),
    "ways": ("several ways lead to it", "a single way leads to it"),
    "similarity": ("the words of its path fit the question", "its path shares few words with the question"),
    "similarity_behind": ("no path fits the words better", "other paths fit the words better"),
    "kind": ("it is the kind of thing that is asked for", "its kind is not the one that the words name"),
    "kind_behind": ("no other path fits the kind of thing better", "other paths fit the kind of thing better"),
    "plan": ("questions like this one ask for its path", "questions like this one seldom ask for its path"),
    "plan_behind": ("no path is asked for more by such questions", "other paths are asked for more by such questions"),
    "met": ("the topics of the question meet there", "one topic alone leads to it"),
    "one": ("one thing is asked for", "one thing is asked for, and few are there"),
}
"""What is said of a feature that speaks for an answer: where its value is the higher of two, and where the lower."""

NAMED_BY: Mapping[str, str] = {
    LLM: "the language model reads it in the evidence",
    CLOSED_BOOK: "the language model names it without the evidence",
}


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
        vectors = None if self.reader.plan is None else encode_questions(evidence, self.vectors)
        try:
            read = self.reader.read(columns, vectors)
        except LookupError as error:
            raise UsageError(
                f"answerer reader: its checkpoint was trained with another recipe: {error}: train one with "
                "`lodestar train reader --recipe …`, or leave answerer.checkpoint out"
            ) from error
        chains = convert_to_chains(db, evidence)
        return [self._answer(each, chains[place], place, candidates, read) for place, each in enumerate(evidence)]

    def _answer(
        self,
        evidence: Evidence[Item],
        chains: Evidence[Chain],
        question: int,
        candidates: AnswerCandidates,
        read: ReaderScores,
    ) -> Answer:
        rows = np.arange(candidates.starts[question], candidates.starts[question + 1])
        order = rows[np.argsort(-read.logits[rows], kind="stable")]
        if not len(order):
            reason = evidence.note or "no path leads on from its entities"
            return Answer(chains, (), f"{NO_ANSWER}: {reason}", "reader", confidence=0.0)
        sources = [(source.name, source.kind) for source in candidates.sources]
        sure = self.reader.confidence(compute_confidence_features(read, order), sources)
        probabilities = read.probabilities[order]
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
        other = order[len(chosen)] if len(chosen) < len(order) else None
        why = self._explain_choice(int(chosen[0]), None if other is None else int(other), candidates, read)
        return Answer(shown, entities, text, "reader", confidence=sure, unsure=unsure, why=why)

    def _explain_choice(
        self, first: int, other: int | None, candidates: AnswerCandidates, read: ReaderScores
    ) -> tuple[str, ...]:
        found: list[tuple[float, str]] = []
        for source, x, best in zip(candidates.sources, read.features, read.best_way, strict=True):
            if best[first] < 0:
                continue
            there = other is not None and best[other] >= 0
            weights = self.reader.of(source.name, source.kind)
            difference = x[best[first]] - (x[best[other]] if there else np.zeros(len(NAMES)))
            if source.name in NAMED_BY:
                lead = weights.weights @ difference + (0.0 if there else weights.bias - ABSENT)
                found.append((float(weights.share * lead), NAMED_BY[source.name]))
                continue
            name = f"{source.name}: " if len(candidates.sources) > 1 else ""
            found += [
                (float(gain), name + WORDS[feature][0 if change > 0 else 1])
                for feature, gain, change in zip(NAMES, weights.weights * difference, difference, strict=True)
            ]
        best_name = "" if other is None else f"ahead of {candidates.entities[other].label}"
        largest = sorted(found, key=lambda pair: -pair[0])[:REASONS]
        reasons = [f"{text} (+{gain:.1f})" for gain, text in largest if gain > LEAST_GAIN]
        return (*reasons, best_name) if best_name and reasons else tuple(reasons)


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
        fits, kinds = _compute_similarities(source, evidence, hops, similarity)
        path, hop_vectors = _make_paths(source.steps, hops, vectors)
        columns = replace(
            source.columns, similarity=fits, kind=kinds, path=path, hop_vectors=hop_vectors, wants_one=wants_one
        )
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
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return S and the type evidence of each chain; without a chain, S is 0 and the type evidence unknown."""
    fits, kinds = np.zeros(len(source.steps)), np.full(len(source.steps), UNKNOWN_TYPE)
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
    for some, ((fit, kind),) in zip(rows.values(), similarity.score_composed(asked), strict=True):
        fits[some], kinds[some] = fit, kind
    return fits, kinds


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
