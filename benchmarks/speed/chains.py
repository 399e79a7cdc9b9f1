"""Chains that retrieved triples make, by the number of triples: the curve of ReG's figure 2b, and the time it takes.

    python -m benchmarks.speed.chains --data FOLDER [--repeats 5]

FOLDER has `questions.jsonl.gz`, question subgraphs as RoG has them. Their triples are ranked by the similarity of their
relation's words and the question, and the best are reorganised. The exponent is of the fit chains ~ triples^b over the
rows: below 1 the curve is sub-linear. Straight chains are the paper's; the others may turn.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

import numpy as np
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.recipes.reorganising import Reorganise
from lodestar.engine.relations.words import split_relation_name
from lodestar.engine.reorganising.chaining import ChainExpander, ExpansionBounds, chain_triples, columns_of
from lodestar.engine.steps import run_steps
from lodestar.engine.values import Entity, Question, Scored, Topic, Triple
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.verbalise import DirectedRelation, verbalise_hop

SIZES = (10, 25, 50, 100, 200, 500)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A question's triples, best first."""

    question: Question
    topics: tuple[Topic, ...]
    items: tuple[Scored[Triple], ...]

    def best(self, size: int) -> Evidence[Triple]:
        """Return the best as evidence."""
        return Evidence(self.question, self.topics, "triple", self.items[:size])


def entity(name: str) -> Entity:
    """Return an entity of a subgraph of names; Freebase's ids are of unnamed nodes."""
    return Entity(name, None if name.startswith(("m.", "g.")) else name)


def ranked_questions(path: Path) -> list[Ranked]:
    """Return the questions of the file with their triples."""
    encoder = SentenceEncoder("all-MiniLM-L6-v2")
    found = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            relations = sorted({relation for _, relation, _ in row["graph"]})
            texts = [verbalise_hop((DirectedRelation(split_relation_name(name)),)) for name in relations]
            cosines = encoder.encode(texts) @ encoder.encode([row["question"]])[0]
            score = dict(zip(relations, cosines.tolist(), strict=True))
            triples = dict.fromkeys((h, r, t) for h, r, t in row["graph"])
            items = [Scored(Triple(entity(h), r, entity(t)), score[r]) for h, r, t in triples]
            items.sort(key=lambda item: -item.score)
            topics = tuple(Topic(entity(name)) for name in row["q_entity"])
            found.append(Ranked(Question(row["question"]), topics, tuple(items)))
    return found


def row(questions: list[Ranked], size: int, bounds: ExpansionBounds, repeats: int) -> tuple[str, float]:
    """Return a row of the table, and the mean number of chains."""
    evidence = [question.best(size) for question in questions]
    stage = ChainExpander(bounds)
    before = [
        sum(len(level) for levels in chain_triples(_columns(each), bounds) for level in levels) for each in evidence
    ]
    times: list[float] = []
    chained: list[Evidence[Chain]] = []
    for _ in range(repeats):
        started = time.process_time()
        chained = run_steps(stage.reorganise(evidence), lambda _: [])
        times.append(1_000 * (time.process_time() - started) / len(evidence))
    after = mean(len(each.items) for each in chained)
    cut = mean(bool(each.left_out) for each in chained)
    way = "turning" if bounds.turning else "straight"
    cells = [way, str(size), f"{mean(before):,.1f}", f"{after:,.1f}", f"{cut:.2f}", f"{median(times):.2f}"]
    return f"| {' | '.join(cells)} |", after


def _columns(evidence: Evidence[Triple]):  # type: ignore[no-untyped-def]
    return columns_of([item.value for item in evidence.items], [topic.entity for topic in evidence.topics])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of questions.jsonl.gz")
    parser.add_argument("--max-length", type=int, default=Reorganise().max_length, help="triples of a chain")
    parser.add_argument("--repeats", type=int, default=5, help="times that each is measured (default: 5)")
    given = parser.parse_args()
    questions = ranked_questions(given.data / "questions.jsonl.gz")
    print(f"n = {len(questions)} questions, chains of at most {given.max_length} triples")
    print("| chains | triples | chains before merging | after | questions with a cut | ms a question |")
    print("| --- | --- | --- | --- | --- | --- |")
    for turning in (False, True):
        bounds = ExpansionBounds(given.max_length, turning=turning)
        found = [row(questions, size, bounds, given.repeats) for size in SIZES]
        for line, _ in found:
            print(line, flush=True)
        slope = np.polyfit(np.log(SIZES), np.log([max(chains, 1e-9) for _, chains in found]), 1)[0]
        print(f"exponent: {slope:.2f}", flush=True)


if __name__ == "__main__":
    main()
