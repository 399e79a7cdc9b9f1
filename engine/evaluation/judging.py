"""Compare an answer and its evidence with the gold answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property

from ..evidence.bridges import to_chains
from ..evidence.chain import Chain
from ..evidence.evidence import Answer
from ..gold_questions import GoldAnswer, GoldQuestion
from ..values import Entity, Scored
from .metrics.answers import (
    ALL_WRONG,
    AnswerScores,
    Prediction,
    answer_counts,
    match_predictions,
    normalise_answer,
    rog_scores,
    strict_scores,
)
from .metrics.paths import (
    RetrievedPath,
    answer_ranking,
    answer_recall_at_k,
    first_path_right,
    gold_path_hit_at_k,
    hits_any_at_k,
    hits_at_1_any,
    hits_at_1_expected,
    ndcg_at_k,
    path_recall_at_k,
    reciprocal_rank,
    triple_recall_at_k,
)
from .record import AnswerRecord, PathRecord, Record
from .whole_graph import WholeGraph


class GoldIdResolver:
    """Find the ids of gold answers in the whole graph."""

    def __init__(self, graph: WholeGraph) -> None:
        self.graph = graph
        self._named = graph.read_ids_by_name()

    def find_by_name(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of the entities and literals with one of the names.

        If no name matches exactly, match as for answers: without case, punctuation and articles.
        """
        if exactly := tuple(dict.fromkeys(id_ for name in names for id_ in self._named.get(name, ()))):
            return exactly
        folded = dict.fromkeys(map(normalise_answer, names))
        return tuple(dict.fromkeys(id_ for name in folded for id_ in self._normalised.get(name, ())))

    @cached_property
    def _normalised(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, ids in self._named.items():
            found.setdefault(normalise_answer(name), []).extend(ids)
        return found

    def answers(self, question: GoldQuestion) -> tuple[str, ...]:
        """Return the ids of the gold answers that are in the graph."""
        found = [
            id_
            for answer in question.answers
            for id_ in ((answer.id,) if answer.id else self.find_by_name(answer.names))
            if id_ in self.graph.numbers
        ]
        return tuple(dict.fromkeys(found))


CUTS = (1, 2, 3, 5, 10)
"""The k of all metrics at k."""
NUM_PATHS = (3, 5, 7)
"""The numbers of paths in STAR's table."""
MAX_ENDS = 20
DIGITS = 6
"""Of scores and confidences; further digits depend on which texts are encoded together."""


def judge_answer(question: GoldQuestion, answer: Answer) -> Record:
    """Return the record of a question that was answered or abstained from."""
    evidence = answer.evidence
    chains = to_chains(evidence).items
    predictions = [Prediction(each.name, each.id) for each in answer.answers]
    paths = [_path_of_chain(each.value) for each in chains]
    rog = rog_scores(predictions, question.answers)
    total = answer_counts(predictions, question.answers)
    return Record(
        id=question.id,
        question=question.text,
        topics=tuple(topic.entity.id for topic in evidence.topics),
        paths=tuple(_record(each, question.answers) for each in chains),
        answers=tuple(AnswerRecord(e.name, e.id, _round_confidence(e.confidence), e.origin) for e in answer.answers),
        text=answer.text,
        confidence=_round_confidence(answer.confidence),
        excluded_relations=tuple(sorted(question.excluded_relations)),
        scores={
            **_prefix_scores("strict", strict_scores(predictions, question.answers)),
            **_prefix_scores("rog", rog.scores),
            **_ranking(predictions, question),
            **_paths(paths, question),
        },
        counted=(total.num_right, total.num_predicted, total.num_gold),
        rog_exceeded=rog.exceeded,
        seconds={cost.stage: cost.seconds for cost in evidence.trace},
        round_trips={cost.stage: cost.round_trips for cost in evidence.trace if cost.round_trips},
        num_prompt_tokens=answer.usage.prompt if answer.usage else None,
        num_completion_tokens=answer.usage.completion if answer.usage else None,
    )


def record_failure(question: GoldQuestion, failure: str) -> Record:
    """Return the record of a question that failed with an error: every metric is 0, none is left out."""
    total = answer_counts([], question.answers)
    figures = {**_ranking([], question), **_paths([], question)}
    return Record(
        id=question.id,
        question=question.text,
        topics=(),
        failure=failure,
        excluded_relations=tuple(sorted(question.excluded_relations)),
        scores={
            **_prefix_scores("strict", ALL_WRONG),
            **_prefix_scores("rog", ALL_WRONG),
            **dict.fromkeys(figures, 0.0),
        },
        counted=(total.num_right, total.num_predicted, total.num_gold),
    )


def _prefix_scores(way: str, scores: AnswerScores) -> dict[str, float]:
    return {f"{way}/{name}": value for name, value in asdict(scores).items()}


def _ranking(predictions: list[Prediction], question: GoldQuestion) -> dict[str, float]:
    ranking = answer_ranking(predictions, question.answers)
    return {"mrr": reciprocal_rank(ranking), "ndcg@10": ndcg_at_k(ranking, 10)}


def _paths(paths: list[RetrievedPath], question: GoldQuestion) -> dict[str, float]:
    figures = {
        "path/hits_at_1_any": hits_at_1_any(paths, question.answers),
        "path/hits_at_1_expected": hits_at_1_expected(paths, question.answers),
        **{f"path/hits_any@{k}": hits_any_at_k(paths, question.answers, k) for k in NUM_PATHS},
        **{f"path/answer_recall@{k}": answer_recall_at_k(paths, question.answers, k) for k in CUTS},
    }
    if question.paths:
        figures["path/first_path_right"] = first_path_right(paths, question.answers, question.paths)
        figures |= {f"path/path_recall@{k}": path_recall_at_k(paths, question.paths, k) for k in CUTS}
        figures |= {f"path/gold_path_hit@{k}": gold_path_hit_at_k(paths, question.paths, k) for k in CUTS}
    if question.triples:
        figures |= {f"path/triple_recall@{k}": triple_recall_at_k(paths, question.triples, k) for k in CUTS}
    return figures


def _path_of_chain(chain: Chain) -> RetrievedPath:
    return RetrievedPath(
        tuple(step.step.relation for step in chain.steps),
        tuple(_prediction(end) for end in chain.ends),
        tuple(
            (_prediction(triple.head), triple.relation, _prediction(triple.tail))
            for step in chain.triples()
            for triple in step
        ),
    )


def _record(scored: Scored[Chain], gold: tuple[GoldAnswer, ...]) -> PathRecord:
    chain = scored.value
    right = match_predictions([_prediction(end) for end in chain.ends], gold)
    first = next((end for end, is_right in zip(chain.ends, right, strict=True) if is_right), None)
    instances = chain.instances()
    instance = next((i for i in instances if i.end == first), next(iter(instances), None))
    return PathRecord(
        score=round(scored.score, DIGITS),
        topic=chain.topic.id,
        relations=tuple(str(step.step) for step in chain.steps),
        num_hops=chain.relation_path.num_hops,
        ends=tuple(end.id for end in chain.ends[:MAX_ENDS]),
        num_ends=len(chain.ends),
        num_right=sum(right),
        text=str(instance) if instance else "",
    )


def _prediction(entity: Entity) -> Prediction:
    return Prediction(entity.label, entity.id)


def _round_confidence(confidence: float | None) -> float | None:
    return None if confidence is None else round(confidence, DIGITS)
