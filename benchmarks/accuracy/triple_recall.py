"""What a recipe retrieves of a question's right triples, answers and paths, and what is answered from it.

    python -m benchmarks.accuracy.triple_recall --questions FILE --recipe reg-triple --set reg-triple.checkpoint=FOLDER
    python -m benchmarks.accuracy.triple_recall --paired one.json other.json

Right triples are those on the shortest paths, of up to four triples whichever way they point, from a question's topics
to each of its answers (20 at most); right paths are the relations of these. `triple@k` and `answer@k` are the shares of
them among the first k triples, as their heads or tails for answers; `path@k` is the share of right paths among the
first k chains. A chain's triples stand in its order, each where it first is. Retrieved is what the recipe retrieves
(`keep` holds), uncut. Chains are read, and answered with, within the same number of triples for every recipe: the first
chains that have `--within` (100) together; of a retriever of triples those that its first 100 make. F1, Hit and Hits@1
are strict, of the extractive answers to the first `top_k` of these chains, which abstain from nothing that was found.
Topics are given; questions without a topic or an answer in the graph count as 0 for these three, and not for recall.
One question is asked at a time; `p50` is its retrieval and answer. `--out` keeps each question's figures, and
`--paired` gives the mean differences of two such files with 95 % intervals and p of a paired test.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lodestar.engine.answering.extractive import ExtractiveAnswerer
from lodestar.engine.api import Engine
from lodestar.engine.evaluation.diagnosis import GoldIdResolver, WholeGraph
from lodestar.engine.evaluation.metrics import Prediction, strict_scores
from lodestar.engine.evaluation.statistics import bootstrap_interval, compare_pairs
from lodestar.engine.evidence.bridges import to_chains, triples_of
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.gold_questions import GoldQuestion, look_up_topic_ids
from lodestar.engine.linking.topics import look_up_topics
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.pipeline import Pipeline
from lodestar.engine.recipes.recipe import read_recipe
from lodestar.engine.settings import resolve
from lodestar.engine.steps import Steps
from lodestar.engine.values import Question, Triple
from lodestar.loaders.questions.question_sets import read_questions

Key = tuple[str, str, str]

CUTS = (10, 20, 50, 100, 500)
PATH_CUTS = (10, 100)
MAX_STEPS = 4
MAX_ANSWERS = 20
WITHIN = 100
SEED = 0
RECALL = (*(f"triple@{k}" for k in CUTS), *(f"answer@{k}" for k in CUTS), *(f"path@{k}" for k in PATH_CUTS))
ANSWERED = ("F1", "Hit", "Hits@1")
NAMES = (*RECALL, *ANSWERED)


class Right:
    """The right triples and paths of questions, over the whole graph."""

    def __init__(self, graph: WholeGraph) -> None:
        self._graph = graph
        self._answers = GoldIdResolver(graph)
        self._may_pass = ~graph.is_literal

    def of(self, question: GoldQuestion) -> tuple[set[Key], set[tuple[str, ...]], set[str]]:
        """Return right triples, right relation paths, and the ids of right answers; all empty where there is none."""
        topics = [topic for topic in question.topic_ids if topic in self._graph.numbers]
        answers = [answer for answer in self._answers.answers(question) if answer not in topics]
        triples: set[Key] = set()
        paths: set[tuple[str, ...]] = set()
        for answer in answers[:MAX_ANSWERS]:
            to_answer = self._distances(answer)
            for topic in topics:
                for found, path in self._walks(topic, to_answer):
                    triples |= found
                    paths.add(path)
        return triples, paths, set(answers)

    def _distances(self, answer: str) -> Any:
        """Return how many steps each node is from an answer, MAX_STEPS + 1 where it is farther."""
        graph, number = self._graph, self._graph.numbers[answer]
        distance = np.full(len(graph.entities), MAX_STEPS + 1)
        distance[number] = 0
        frontier = np.array([number])
        for steps in range(1, MAX_STEPS + 1):
            _, _, targets = graph.steps_from(frontier)
            frontier = np.unique(targets[(distance[targets] > steps) & self._may_pass[targets]])
            distance[frontier] = steps
        return distance

    def _walks(self, topic: str, to_answer: Any) -> Iterator[tuple[set[Key], tuple[str, ...]]]:
        """Yield, of each relation path that is a shortest one, its triples and its steps."""
        graph = self._graph
        start = graph.numbers[topic]
        stack: list[tuple[Any, tuple[str, ...], set[Key]]] = [(np.array([start]), (), set())]
        if to_answer[start] > MAX_STEPS:
            return
        while stack:
            nodes, path, triples = stack.pop()
            left = int(to_answer[nodes[0]])
            if left == 0:
                yield triples, path
                continue
            sources, steps, targets = graph.steps_from(nodes)
            nearer = to_answer[targets] == left - 1
            for step in np.unique(steps[nearer]).tolist():
                here = nearer & (steps == step)
                name = graph.relations[abs(step)]
                ends = zip(sources[here].tolist(), targets[here].tolist(), strict=True)
                keys = {self._key(source, name, target, inverse=step < 0) for source, target in ends}
                walked = (*path, f"^{name}" if step < 0 else name)
                stack.append((np.unique(targets[here]), walked, triples | keys))

    def _key(self, source: int, relation: str, target: int, *, inverse: bool) -> Key:
        first, last = (target, source) if inverse else (source, target)
        return self._graph.entities[first].id, relation, self._graph.entities[last].id


def found_triples(evidence: Evidence[Any]) -> list[Key]:
    """Return the triples in the order of the evidence, each once."""
    triples = (triple for item in evidence.items for triple in triples_of(item.value))
    return list(dict.fromkeys((each.head.id, each.relation, each.tail.id) for each in triples))


def chains_within(evidence: Evidence[Any], num_triples: int) -> Evidence[Chain]:
    """Return the chains that are read: the first that have so many triples together, or those that so many make."""
    if evidence.kind == "triple":
        return to_chains(evidence.cut_to(num_triples))
    seen: set[Triple] = set()
    for place, item in enumerate(evidence.items):
        seen.update(triples_of(item.value))
        if len(seen) > num_triples:
            return to_chains(evidence.cut_to(place))
    return to_chains(evidence)


def retrieved(pipeline: Pipeline, question: Question, top_k: int) -> Steps[Evidence[Any]]:
    """Return what a pipeline retrieves for a question with topics, as `ask` does it, and not cut to `top_k`."""
    linked = yield from look_up_topics([question], [()])
    (evidence,) = yield from pipeline.retriever.retrieve(linked, top_k)
    return evidence


def recall_of(
    evidence: Evidence[Any],
    read: Evidence[Chain],
    triples: set[Key],
    paths: set[tuple[str, ...]],
    answers: set[str],
) -> list[float]:
    """Return the figures of `RECALL`. read: the chains of the evidence that are read."""
    found = found_triples(evidence)
    chains = [tuple(map(str, each.value.relation_path.steps)) for each in read.items]
    ends = [{node for head, _, tail in found[:k] for node in (head, tail)} for k in CUTS]
    return [
        *(len(triples & set(found[:k])) / len(triples) for k in CUTS),
        *(len(answers & each) / len(answers) for each in ends),
        *(len(paths & set(chains[:k])) / len(paths) for k in PATH_CUTS),
    ]


def figures_of(
    asked: Sequence[GoldQuestion], engine: Engine, right: Right, within: int
) -> Iterator[tuple[str, list[float] | None, list[float], float]]:
    """Yield, of each question, its id, its recall, its figures as answered, and its seconds.

    The recall is None where the graph has no right triple.
    """
    answerer = ExtractiveAnswerer(min_probability=0.0)
    gateway, top_k = engine.gateway(), engine.recipe.top_k
    pipeline = engine.recipe.pipeline(engine.resources.of_graph(gateway.run(read_catalogue())))
    for question in asked:
        triples, paths, answers = right.of(question)
        topics = tuple(dict.fromkeys(question.topic_ids))
        if not topics:
            yield question.id, None, [0.0] * len(ANSWERED), 0.0
            continue
        started_s = time.perf_counter()
        evidence = gateway.run_steps(retrieved(pipeline, question.as_question(topics), top_k))
        read = chains_within(evidence, within)
        answer = answerer.answer_of(read.cut_to(top_k))
        seconds = time.perf_counter() - started_s
        scores = strict_scores([Prediction(each.name, each.id) for each in answer.answers], question.answers)
        recall = recall_of(evidence, read, triples, paths, answers) if triples else None
        yield question.id, recall, [scores.f1, scores.hit, scores.hits_at_1], seconds


def print_table(name: str, rows: Sequence[tuple[str, list[float] | None, list[float], float]]) -> None:
    """Print the means of the figures with their intervals."""
    recalls = [recall for _, recall, _, _ in rows if recall is not None]
    seconds = [each for _, _, _, each in rows if each]
    print(f"{name}: n {len(rows)}, for recall {len(recalls)}, p50 {1000 * float(np.median(seconds)):.0f} ms\n")
    print(f"| | {' | '.join(NAMES)} |")
    print("| --- " * (len(NAMES) + 1) + "|")
    columns = [*zip(*recalls, strict=True), *zip(*(answered for _, _, answered, _ in rows), strict=True)]
    print(f"| {name} | " + " | ".join(map(_shown, columns)) + " |")


def print_paired(one: Path, other: Path) -> None:
    """Print the differences of two files that `--out` wrote, over the questions that both have."""
    first, second = ({row[0]: row for row in json.loads(path.read_text("utf-8"))} for path in (one, other))
    for place, name in enumerate(NAMES):
        pairs = [
            (_figure(first[id_], place), _figure(second[id_], place))
            for id_ in first
            if id_ in second and None not in (_figure(first[id_], place), _figure(second[id_], place))
        ]
        found = compare_pairs(*map(list, zip(*pairs, strict=True)))
        interval = f"[{found.interval.low:+.3f}, {found.interval.high:+.3f}]"
        print(f"{name:<12}{found.difference:+.3f} {interval}, p {found.p_value:.3f}, n {len(pairs)}")


def _figure(row: Sequence[Any], place: int) -> Any:
    _, recall, answered, _ = row
    if place >= len(RECALL):
        return answered[place - len(RECALL)]
    return recall[place] if recall is not None else None


def _shown(values: Iterable[float]) -> str:
    found = list(values)
    interval = bootstrap_interval(found)
    return f"{float(np.mean(found)):.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def main() -> None:
    """Print the table of a recipe, or the differences of two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, help="a question set over the graph that is loaded")
    parser.add_argument("--recipe", help="what retrieves")
    parser.add_argument("--set", action="append", default=[], dest="changes", help="KEY=VALUE of the recipe")
    parser.add_argument("--limit", type=int, default=0, help="a sample of so many questions (default: all)")
    parser.add_argument("--within", type=int, default=WITHIN, help="triples whose chains are read (default: 100)")
    parser.add_argument("--name", default="", help="how the recipe is called in the table")
    parser.add_argument("--out", type=Path, help="file for the figures of each question")
    parser.add_argument("--paired", type=Path, nargs=2, help="two such files")
    arguments = parser.parse_args()
    if arguments.paired:
        print_paired(*arguments.paired)
        return
    recipe = read_recipe(arguments.recipe, arguments.changes)
    given = read_questions(str(arguments.questions))
    rows = []
    with Engine(resolve(), recipe=recipe) as engine:
        right = Right(WholeGraph.read(engine.gateway()))
        asked = look_up_topic_ids(given.sample(arguments.limit or None, SEED), engine.gateway())
        for row in figures_of(asked, engine, right, arguments.within):
            rows.append(row)
            if len(rows) % 50 == 0:
                print(f"{len(rows):,} of {len(asked):,} questions", file=sys.stderr, flush=True)
    print_table(arguments.name or arguments.recipe, rows)
    if arguments.out:
        arguments.out.write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
