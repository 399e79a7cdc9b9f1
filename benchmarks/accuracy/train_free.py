"""Hits@1 and F1 of the train-free retriever, beside one hop only and plain cosine.

FB15k-237: ``lodestar load tsv FOLDER/kg.tsv.gz --names FOLDER/names.tsv.gz``, then ``python -m
benchmarks.accuracy.train_free --data FOLDER``. MetaQA: ``zcat kb.txt.gz | tr '|' '\\t' | lodestar load tsv -`` into a
server of its own (``LODESTAR_NAME``), then ``--metaqa 2-hop-dev.txt.gz --limit 500``. Topic entities are the gold
ones, so that linking is not measured. Denominator: every question.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from lodestar.engine.api import Engine
from lodestar.engine.evidence.bridges import to_chains
from lodestar.engine.evidence.evidence import Evidence, Item
from lodestar.engine.recipes.retrieving import Similarity
from lodestar.engine.settings import resolve
from lodestar.models.similarity import SimilarityWeights

from ..question_sets import GoldQuestion, gold_questions

BATCH = 64
COSINE_ONLY = SimilarityWeights(support=0, type=0, hop=0)


@dataclass(frozen=True, slots=True)
class Result:
    """One question's figures, each in [0, 1]."""

    any_hit: float
    """A gold answer is among the ends of the best path."""
    expected_hit: float
    """Share of gold answers among the ends of the best path."""
    f1: float
    """F1 of the ends of the best path against the gold answers."""


def retrieved(engine: Engine, golds: Sequence[GoldQuestion]) -> list[Evidence[Item]]:
    """Return the evidence of every question, in order, by batches."""
    found: list[Evidence[Item]] = []
    for start in range(0, len(golds), BATCH):
        found += engine.retrieve_batch([gold.question for gold in golds[start : start + BATCH]])
    return found


def judged(gold: GoldQuestion, evidence: Evidence[Item]) -> Result:
    """Return the figures of the best path; all zero where there is none."""
    chains = to_chains(evidence).items
    if not chains:
        return Result(0.0, 0.0, 0.0)
    ends = {end.id for end in chains[0].value.ends}
    hits = len(ends & gold.answers)
    return Result(float(hits > 0), hits / len(ends), 2 * hits / (len(ends) + len(gold.answers)))


def by_topic(golds: Sequence[GoldQuestion], values: Sequence[float]) -> float:
    """Return the mean over topics of the mean over a topic's questions (first topic entity)."""
    groups: dict[str, list[float]] = {}
    for gold, value in zip(golds, values, strict=True):
        groups.setdefault(gold.question.topic_entities[0], []).append(value)
    return mean(map(mean, groups.values()))


def print_table(golds: Sequence[GoldQuestion], searches: Sequence[tuple[str, Similarity]]) -> None:
    """Retrieve with each of the searches and print a row for all questions and, where they differ, for each length."""
    print("| retriever | questions | n | Hits@1 any | Hits@1 expected | F1 | Hits@1 any, by topic |")
    print("|---|---|---|---|---|---|---|")
    lengths = sorted({gold.min_hops for gold in golds})
    slices: list[tuple[str, set[int]]] = [("all", set(lengths))]
    if len(lengths) > 1:
        slices += [(f"{length} hop{'s' if length > 1 else ''}", {length}) for length in lengths]
    for label, search in searches:
        with Engine(resolve(), recipe=search) as engine:
            results = [judged(g, r) for g, r in zip(golds, retrieved(engine, golds), strict=True)]
        for name, wanted in slices:
            pairs = [(g, r) for g, r in zip(golds, results, strict=True) if g.min_hops in wanted]
            picked = [r for _, r in pairs]
            topical = by_topic([g for g, _ in pairs], [r.any_hit for r in picked])
            print(
                f"| {label} | {name} | {len(pairs)} | {mean(r.any_hit for r in picked):.3f} "
                f"| {mean(r.expected_hit for r in picked):.3f} | {mean(r.f1 for r in picked):.3f} | {topical:.3f} |",
                flush=True,
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="FB15k-237: folder with questions-<split>.jsonl.gz")
    source.add_argument("--metaqa", type=Path, help="MetaQA: a file <N>-hop-<split>.txt.gz")
    parser.add_argument("--split", default="dev", choices=("train", "dev", "test"))
    parser.add_argument("--limit", type=int, help="the first so many questions only")
    arguments = parser.parse_args()
    path = arguments.metaqa or arguments.data / f"questions-{arguments.split}.jsonl.gz"
    golds, sha256 = gold_questions(path)
    golds = golds[: arguments.limit]
    num_topics = len({g.question.topic_entities[0] for g in golds})
    print(f"{path.name} (sha256 {sha256}…): n = {len(golds)} questions, {num_topics} topics\n")
    longest = max(2, *(gold.min_hops for gold in golds))
    usual = Similarity(max_hop=longest)
    plain = replace(usual, weights=COSINE_ONLY, meeting_bonus=0.0)
    print_table(
        golds,
        [
            ("cosine, one hop only", replace(plain, max_hop=1)),
            (f"cosine, up to {longest} hops", plain),
            ("Lodestar, one hop only", replace(usual, max_hop=1)),
            (f"Lodestar, up to {longest} hops", usual),
        ],
    )


if __name__ == "__main__":
    main()
