"""Make the questions of a set unanswerable by excluding the relations that lead to their gold answers.

The graph stays unchanged: the search behaves as if it had no triple of these relations (`values.Question`). Excluded
are the relations of the question's gold paths, and those of every relation path within reach whose ends have an F1 of
at least one half against the gold answers, or the best F1 of all. Other paths may still reach a gold answer, among many
other ends. The linking of entities uses the unchanged numbers of triples. Our own construction, after the idea of SQuAD
2.0 (Rajpurkar et al. 2018) that a system should abstain if the graph lacks the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..errors import UsageError
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Item
from ..gold_questions import GoldQuestion
from .diagnosis import find_reachable_paths
from .judging import GoldIdResolver

ENOUGH_F1 = 0.5
"""From this F1 of its ends on, a path counts as right."""

MARK = " without its relations"
"""Suffix of the id of such a question."""


def exclude_relations(
    questions: Sequence[GoldQuestion], gold: GoldIdResolver, max_hop: int, *, return_to_topic: bool = False
) -> tuple[GoldQuestion, ...]:
    """Return the questions with their relations excluded, in order.

    Questions without a gold answer, or with none within reach of the set's topics, are left out, because they cannot be
    answered anyway. Raises `UsageError` if none is left.
    """
    found = tuple(_ask_without_answers(questions, gold, max_hop, return_to_topic=return_to_topic))
    if not found:
        raise UsageError(
            f"--unanswerable: expected questions with a gold answer within {max_hop} hops of the set's topics, "
            f"found none of {len(questions):,}"
        )
    return found


def _ask_without_answers(
    questions: Sequence[GoldQuestion], gold: GoldIdResolver, max_hop: int, *, return_to_topic: bool
) -> Iterator[GoldQuestion]:
    graph = gold.graph
    for question in questions:
        topics = [graph.numbers[id_] for id_ in dict.fromkeys(question.topic_ids) if id_ in graph.numbers]
        answers = np.array([graph.numbers[id_] for id_ in gold.answers(question)], dtype=np.int64)
        reached = find_reachable_paths(graph, topics, answers, max_hop, return_to_topic=return_to_topic)
        if not reached:
            continue
        least = min(ENOUGH_F1, reached[0].f1)
        right = {step.relation for path in reached if path.f1 >= least for step in path.relation_path.steps}
        annotated = {relation for path in question.paths for relation in path.relations}
        yield replace(
            question,
            id=f"{question.id}{MARK}",
            answers=(),
            paths=(),
            triples=(),
            excluded_relations=frozenset(right | annotated),
        )


def check_excluded(question: GoldQuestion, evidence: Evidence[Item]) -> None:
    """Raise `UsageError` if evidence has a relation that was excluded for its question."""
    for item in evidence.items:
        value = item.value
        used = {step.step.relation for step in value.steps} if isinstance(value, Chain) else {value.relation}
        if used & question.excluded_relations:
            found = min(used & question.excluded_relations)
            raise UsageError(
                f"--unanswerable: {question.id}: the recipe found the excluded {found!r}: "
                "expected a recipe whose search can exclude relations, such as similarity, star or reg-triple"
            )
