"""Questions that have no answer: those of a set, asked again without the relations that lead to their right answers.

The graph stays as it is: the search does without these relations, as if it had no triple of them (`values.Question`).
Taken out are the relations of the question's gold paths, and those of every relation path within reach whose ends agree
with the right answers (F1) at least half, or as well as any does. What then still leads to a right answer does so among
many others. The linking of entities sees their number of triples as it is. Our own construction; that a system should
answer less where the graph does not have what is asked for is the question of SQuAD 2.0 (Rajpurkar et al. 2018).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..errors import UsageError
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Item
from ..gold_questions import GoldQuestion
from .diagnosis import reachable
from .judging import GoldIds

ENOUGH_F1 = 0.5
"""Of a path's ends against the right answers: such a path is a right one."""

MARK = " without its relations"
"""Behind the id of a question that is asked so."""


def without_their_relations(
    questions: Sequence[GoldQuestion], gold: GoldIds, max_hop: int, *, return_to_topic: bool = False
) -> tuple[GoldQuestion, ...]:
    """Return the questions asked without their relations, in order.

    One that has no right answer, or none within reach of the topics that the set gives, is left out: it cannot be
    answered as it is. Raises `UsageError` where none is left.
    """
    found = tuple(_ask_without_answers(questions, gold, max_hop, return_to_topic=return_to_topic))
    if not found:
        raise UsageError(
            f"--unanswerable: expected questions with a right answer within {max_hop} hops of the topics that the set "
            f"gives, found none of {len(questions):,}"
        )
    return found


def _ask_without_answers(
    questions: Sequence[GoldQuestion], gold: GoldIds, max_hop: int, *, return_to_topic: bool
) -> Iterator[GoldQuestion]:
    graph = gold.graph
    for question in questions:
        topics = [graph.numbers[id_] for id_ in dict.fromkeys(question.topic_ids) if id_ in graph.numbers]
        answers = np.array([graph.numbers[id_] for id_ in gold.answers(question)], dtype=np.int64)
        reached = reachable(graph, topics, answers, max_hop, return_to_topic=return_to_topic)
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
            without=frozenset(right | annotated),
        )


def check_left_out(question: GoldQuestion, evidence: Evidence[Item]) -> None:
    """Raise `UsageError` where evidence has a relation that its question was asked without."""
    for item in evidence.items:
        value = item.value
        used = {step.step.relation for step in value.steps} if isinstance(value, Chain) else {value.relation}
        if used & question.without:
            raise UsageError(
                f"--unanswerable: {question.id}: the recipe found {min(used & question.without)!r} all the same: "
                "expected one whose search can leave relations out, as similarity, star or reg-triple"
            )
