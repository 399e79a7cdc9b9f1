"""Which topics of a question set are found by its words, and by the relations at what they name.

``lodestar load tsv FOLDER/kg.tsv.gz --names FOLDER/names.tsv.gz``, then ``python -m benchmarks.accuracy.linking
--questions FOLDER/questions-dev.jsonl.gz``. Recall@k: the mean over questions of the share of the topics that are
among the first k (of at most k topics); all: the share of questions of which all topics are among those started from.
A topic that the set gives by name is found where any entity of this name is; one that the graph does not have does not
count. ``--fit`` prints the weights of `engine/linking/mentions.py` and `reranking.py`, fitted on the first file that
it is given: training questions only. ``--sample N`` takes so many questions, by ``--seed``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

import numpy as np
import numpy.typing as npt
from lodestar.engine.gold_questions import GoldQuestion
from lodestar.engine.linking import add_topic_signatures, reranking
from lodestar.engine.linking.full_text import (
    CONSIDERED,
    FullText,
    FullTextLinker,
    make_topic_candidate,
)
from lodestar.engine.linking.mentions import (
    MENTION_FEATURES,
    MENTION_WEIGHTS,
    Mention,
    QuestionWords,
    compute_mention_features,
    compute_mention_probabilities,
)
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.graph_requests import find_entities_by_name, read_signatures
from lodestar.engine.resources import EngineResources, GraphResources
from lodestar.engine.settings import make_connection, resolve_settings
from lodestar.engine.values import Topic
from lodestar.loaders.question_sets import read_questions

BATCH = 32
RANKS = (1, 3, 5, 10)
MAX_STARTED, MIN_LINK = 3, 0.1
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Linked:
    """What is known of a question's linking. topics: each as the ids it may be. features: (num_mentions, …) of words.
    considered: rows of the mentions that are weighed again, best first, and relations: their features."""

    question: GoldQuestion
    topics: tuple[frozenset[str], ...]
    mentions: Sequence[Mention]
    features: Floats
    considered: npt.NDArray[np.int64]
    relations: Floats

    @property
    def ids(self) -> list[str]:
        return [each.named.entity.id for each in self.mentions]

    @property
    def right(self) -> Floats:
        """1 of each mention of a topic, else 0."""
        topics = frozenset().union(*self.topics)
        return np.array([id_ in topics for id_ in self.ids], dtype=float)


Logits = Callable[[Linked], tuple[list[str], Floats]]
"""Gives a question's candidates, best first, with their log-odds."""


def topics_of(questions: Sequence[GoldQuestion], gateway: Gateway) -> list[tuple[frozenset[str], ...]]:
    """Return the topics of each question that the graph has, each as the ids that it may be."""
    names = dict.fromkeys(name for q in questions if not q.topic_ids for name in q.topic_names)
    named = gateway.run(find_entities_by_name(list(names))) if names else {}
    ids = list(dict.fromkeys(id_ for q in questions for id_ in q.topic_ids))
    there = gateway.run(read_signatures(ids))
    found = []
    for q in questions:
        given = [frozenset([id_]) for id_ in q.topic_ids if id_ in there]
        found.append(tuple(given or [frozenset(named[name]) for name in q.topic_names if name in named]))
    return found


def read(questions: Sequence[GoldQuestion], gateway: Gateway, linker: FullTextLinker) -> list[Linked]:
    """Return the linking of every question that has a topic in the graph, in order."""
    found = []
    for start in range(0, len(questions), BATCH):
        batch = questions[start : start + BATCH]
        known = [(q, of_q) for q, of_q in zip(batch, topics_of(batch, gateway), strict=True) if of_q]
        batch = [q for q, _ in known]
        linked = []
        found_here = linker.find_mentions(gateway, [q.text for q in batch])
        for (question, of_question), (words, some) in zip(known, found_here, strict=True):
            x = compute_mention_features(words, some, linker.type_words)
            order = _order(compute_mention_probabilities(x), [m.named.entity.id for m in some])[:CONSIDERED]
            linked.append(Linked(question, of_question, some, x, order, np.zeros((0, 0))))
        ids = {each.ids[row] for each in linked for row in each.considered}
        signatures = gateway.run(read_signatures(sorted(ids)))
        candidates = [
            add_topic_signatures([_candidate(each, row) for row in each.considered], signatures) for each in linked
        ]
        assert linker.evidence is not None
        relations = linker.evidence.features([each.question.text for each in linked], candidates)
        found += [replace(each, relations=x) for each, x in zip(linked, relations, strict=True)]
    return found


def _candidate(linked: Linked, row: int) -> Topic:
    return make_topic_candidate(QuestionWords(linked.question.text), linked.mentions[row])


def _order(scores: Floats, ids: Sequence[str]) -> npt.NDArray[np.int64]:
    return np.array(sorted(range(len(ids)), key=lambda i: (-scores[i], ids[i])), dtype=np.int64)


def by_words(weights: Floats) -> Logits:

    def logits(linked: Linked) -> tuple[list[str], Floats]:
        scores = linked.features @ weights
        order = _order(scores, linked.ids)
        return [linked.ids[row] for row in order], scores[order]

    return logits


def decided(words: Floats, weights: Floats) -> Logits:

    def logits(linked: Linked) -> tuple[list[str], Floats]:
        ids = [linked.ids[row] for row in linked.considered]
        scores = (
            reranking.compute_candidate_features(_scored(linked, words), linked.relations) @ weights
            if ids
            else np.zeros(0)
        )
        order = _order(scores, ids)
        return [ids[at] for at in order], scores[order]

    return logits


def _scored(linked: Linked, words: Floats) -> list[Topic]:
    p = compute_mention_probabilities(linked.features, words)
    return [replace(_candidate(linked, row), score=float(p[row])) for row in linked.considered]


def fitted(x: Floats, y: Floats, ridge: float = 1.0, rounds: int = 50) -> Floats:
    """Return the weights of greatest likelihood less ridge · |w|² / 2, by Newton's method."""
    weights = np.zeros(x.shape[1])
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-(x @ weights)))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + ridge * np.eye(len(weights))
        step = np.linalg.solve(hessian, x.T @ (y - p) - ridge * weights)
        weights += step
        if np.abs(step).max() < 1e-6:
            break
    return weights


def fit(questions: Sequence[Linked]) -> tuple[Floats, Floats]:
    words = fitted(np.concatenate([q.features for q in questions]), np.concatenate([q.right for q in questions]))
    some = [q for q in questions if len(q.considered)]
    both = fitted(
        np.concatenate([reranking.compute_candidate_features(_scored(q, words), q.relations) for q in some]),
        np.concatenate([q.right[q.considered] for q in some]),
    )
    return words, both


def print_figures(title: str, questions: Sequence[Linked], logits: Logits) -> None:
    ranked = [logits(each) for each in questions]
    print(f"\n{title}: {len(questions)} questions, {sum(len(each.topics) for each in questions)} topics")
    print("| first | recall | none |\n|---|---|---|")
    for k in RANKS:
        hits = [_hits(q, ids[:k]) / min(k, len(q.topics)) for q, (ids, _) in zip(questions, ranked, strict=True)]
        print(f"| {k} | {mean(hits):.3f} | {mean(hit == 0 for hit in hits):.3f} |")
    started = [_started(*each) for each in ranked]
    hits = [_hits(q, ids) for q, ids in zip(questions, started, strict=True)]
    whole = mean(hit == len(q.topics) for q, hit in zip(questions, hits, strict=True))
    any_ = mean(hit > 0 for hit in hits)
    print(f"started from ({mean(map(len, started)):.2f} entities): all topics {whole:.3f}, any {any_:.3f}")


def _hits(question: Linked, ids: Sequence[str]) -> int:
    return sum(bool(topic & set(ids)) for topic in question.topics)


def _started(ids: Sequence[str], logits: Floats) -> list[str]:
    p = 1 / (1 + np.exp(-logits))
    return [id_ for id_, each in zip(ids, p, strict=True) if each >= MIN_LINK * p[0]][:MAX_STARTED]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=Path, required=True, metavar="FILE", action="append")
    parser.add_argument("--fit", action="store_true", help="fit the weights to the first file and print them")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    settings = resolve_settings()
    connection = make_connection(settings)
    words, both = np.array(MENTION_WEIGHTS), np.array(reranking.WEIGHTS)
    with Gateway(connection) as gateway:
        graph = GraphResources(EngineResources(settings, connection), gateway.run(read_catalogue()))
        linker = FullText().open(graph)
        for number, file in enumerate(args.questions):
            every = read_questions(str(file))
            asked = every.sample(args.sample, args.seed)
            print(f"\n{file.name} ({every.sha256[:12]}), {len(asked)} questions")
            questions = read(asked, gateway, linker)
            if args.fit and number == 0:
                words, both = fit(questions)
                for names, weights in ((MENTION_FEATURES, words), (reranking.FEATURES, both)):
                    print("\n".join(f"{w:8.2f}  {name}" for w, name in zip(weights, names, strict=True)))
            print_figures("by words", questions, by_words(words))
            print_figures("by words and relations", questions, decided(words, both))


if __name__ == "__main__":
    main()
