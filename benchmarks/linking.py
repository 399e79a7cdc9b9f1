"""Which topics of a question set are found by its words alone, and where the others are lost.

``lodestar load tsv FOLDER/kg.tsv.gz --names FOLDER/names.tsv.gz``, then ``python -m benchmarks.linking --questions
FOLDER/questions-dev.jsonl.gz``. Recall@k: the mean over questions of the share of the topics that are among the first k
(of at most k topics); "none": questions with no topic among them. ``--fit`` prints the weights of
`engine/linking/likelihood.py`, fitted on the questions that it is given: training questions only.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np
import numpy.typing as npt
from lodestar.engine.database.catalogue import read_catalogue
from lodestar.engine.database.gateway import Gateway
from lodestar.engine.database.graph import NamedEntity, find_entity_candidates
from lodestar.engine.linking.full_text import full_text_query
from lodestar.engine.linking.likelihood import FEATURES, WEIGHTS, features
from lodestar.engine.linking.mentions import Mention, Words, mention
from lodestar.engine.resources import Resources
from lodestar.engine.server.connecting import connection_of
from lodestar.engine.settings import resolve

from .question_sets import GoldQuestion, gold_questions

BATCH = 64
POOL = 100
MIN_SIMILARITY = 0.8
RANKS = (1, 3, 5, 10)
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Linked:
    """What is known of a question's linking: the entities read, the mentions among them and their features."""

    topics: frozenset[str]
    pool: Sequence[NamedEntity]
    mentions: Sequence[Mention]
    features: Floats

    @property
    def right(self) -> Floats:
        """1 of each mention of a topic, else 0."""
        return np.array([each.named.entity.id in self.topics for each in self.mentions], dtype=float)

    def ranked(self, weights: Floats) -> list[str]:
        """Return the ids of the mentioned entities, likeliest first, equal ones by id."""
        scores = self.features @ weights
        ids = [each.named.entity.id for each in self.mentions]
        return [ids[i] for i in sorted(range(len(ids)), key=lambda i: (-scores[i], ids[i]))]


def read(golds: Sequence[GoldQuestion]) -> list[Linked]:
    """Return the linking of every question, in order."""
    settings = resolve()
    connection = connection_of(settings)
    found = []
    with Gateway(connection) as gateway:
        graph = Resources(settings, connection).of_graph(gateway.fetch(read_catalogue()))
        for start in range(0, len(golds), BATCH):
            batch = [gold.question for gold in golds[start : start + BATCH]]
            pools = gateway.fetch(find_entity_candidates([full_text_query(q.text) for q in batch], POOL))
            for question, pool in zip(batch, pools, strict=True):
                words = Words(question.text)
                some = [m for named in pool if (m := mention(words, named, MIN_SIMILARITY, graph.type_words))]
                x = features(words, some, graph.type_words) if some else np.zeros((0, len(FEATURES)))
                found.append(Linked(frozenset(question.topic_entities), pool, some, x))
    return found


def fitted(questions: Sequence[Linked], ridge: float = 1.0, rounds: int = 50) -> Floats:
    """Return the weights of greatest likelihood less ridge · |w|² / 2, by Newton's method."""
    x = np.concatenate([each.features for each in questions])
    y = np.concatenate([each.right for each in questions])
    weights = np.zeros(len(FEATURES))
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-(x @ weights)))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + ridge * np.eye(len(weights))
        step = np.linalg.solve(hessian, x.T @ (y - p) - ridge * weights)
        weights += step
        if np.abs(step).max() < 1e-6:
            break
    return weights


def print_figures(questions: Sequence[Linked], weights: Floats) -> None:
    """Print recall and questions without a topic at each rank, what is lost where, and the calibration."""
    ranked = [each.ranked(weights) for each in questions]
    print(f"{len(questions)} questions, {sum(len(each.topics) for each in questions)} topics")
    print("| first | recall | none |\n|---|---|---|")
    for k in RANKS:
        hits = [len(q.topics & set(ids[:k])) / min(k, len(q.topics)) for q, ids in zip(questions, ranked, strict=True)]
        print(f"| {k} | {mean(hits):.3f} | {mean(hit == 0 for hit in hits):.3f} |")
    lost = Counter(
        where for q, ids in zip(questions, ranked, strict=True) for topic in q.topics if (where := _lost(q, ids, topic))
    )
    for where, number in lost.most_common():
        print(f"{number:>6} topics {where}")
    p = np.concatenate([1 / (1 + np.exp(-(each.features @ weights))) for each in questions])
    right = np.concatenate([each.right for each in questions])
    for low in np.arange(0, 1, 0.2):
        if (within := (p >= low) & (p < low + 0.2)).any():
            print(f"probability {p[within].mean():.2f}: right {right[within].mean():.2f} of {within.sum():,}")


def _lost(question: Linked, ranked: Sequence[str], topic: str) -> str:
    if topic in ranked[:3]:
        return ""
    if topic in ranked:
        return "mentioned, not among the first 3"
    if any(named.entity.id == topic for named in question.pool):
        return "read, no form of a name agrees"
    return f"not among the {POOL} entities read"


def main() -> None:
    """Print the figures of a question set, or fit the weights to it first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=Path, required=True, metavar="FILE")
    parser.add_argument("--fit", action="store_true", help="fit the weights to these questions and print them")
    args = parser.parse_args()
    golds, sha256 = gold_questions(args.questions)
    print(f"{args.questions.name} ({sha256})")
    questions = read(golds)
    weights = fitted(questions) if args.fit else np.array(WEIGHTS)
    if args.fit:
        print("\n".join(f"{w:8.2f}  {name}" for w, name in zip(weights, FEATURES, strict=True)))
    print_figures(questions, weights)


if __name__ == "__main__":
    main()
