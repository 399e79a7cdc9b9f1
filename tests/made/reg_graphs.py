"""Small question subgraphs for trainings of ReG: the right triple is the one whose relation the question names."""

from __future__ import annotations

import numpy as np
from lodestar.models.subgraphs import UNNAMED, GraphTexts, QuestionGraphs

RELATIONS = ("capital", "currency", "language")
ANSWERS = ("town", "coin", "tongue")


def question_graphs(first: int, after: int) -> QuestionGraphs:
    """Questions of these numbers: a topic with a triple of each relation, each to a node of its own, and one beyond it."""
    numbers = range(first, after)
    heads, tails, relation_of, positive, text_of, topics, answers = [], [], [], [], [], [], []
    for place, number in enumerate(numbers):
        topic = place * 5
        heads += [topic, topic, topic, topic + 1]
        tails += [topic + 1, topic + 2, topic + 3, topic + 4]
        relation_of += [0, 1, 2, (number + 1) % 3]
        positive += [relation == number % 3 for relation in range(3)] + [False]
        text_of += [place * 4, place * 4 + 1, place * 4 + 2, place * 4 + 3, UNNAMED]
        topics += [True, False, False, False, False]
        answers += [False, *(relation == number % 3 for relation in range(3)), False]
    texts = GraphTexts(
        "questions",
        "1" * 64,
        "2" * 64,
        {"num_hops": 2},
        tuple(f"q{number}" for number in numbers),
        tuple(f"which {RELATIONS[number % 3]} has land {number}" for number in numbers),
        tuple(f"{kind} {number}" for number in numbers for kind in ("land", "town", "coin", "tongue")),
        RELATIONS,
        RELATIONS,
        tuple({f"land {number}": 0} for number in numbers),
        tuple({f"{ANSWERS[number % 3]} {number}": number % 3 + 1} for number in numbers),
        ((),) * len(numbers),
    )
    return QuestionGraphs(
        texts,
        heads=np.array(heads, dtype=np.int64),
        relation_of=np.array(relation_of, dtype=np.int64),
        tails=np.array(tails, dtype=np.int64),
        is_positive=np.array(positive, dtype=np.bool_),
        text_of=np.array(text_of, dtype=np.int64),
        is_topic=np.array(topics, dtype=np.bool_),
        is_literal=np.zeros(len(topics), dtype=np.bool_),
        is_answer=np.array(answers, dtype=np.bool_),
        node_starts=np.arange(len(numbers) + 1) * 5,
        triple_starts=np.arange(len(numbers) + 1) * 4,
    )
