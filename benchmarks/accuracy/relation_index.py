"""Recall and time of the relation index over Freebase's relations, and from how many relations a shortlist pays.

    python -m benchmarks.accuracy.relation_index --data FOLDER --work FOLDER

FOLDER has freebase-ontology/fb_roles.gz and freebase-questions/grailqa-dev.jsonl.gz. A question is searched without the
mentions of its topics; what is found is right if it is one of its gold relations. Vectors are kept in the work folder.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import numpy as np
from lodestar.engine.neo4j.catalogue import RelationInfo
from lodestar.engine.relations import SHORTLIST, RelationIndex, collect_relation_words
from lodestar.engine.retrieval.subgraphs import RelationQuery, SimilarityProposer
from lodestar.models.text import split_name
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import SqliteVectorStore, TextVectors
from lodestar.models.word_positions import remove_mention

from ..measuring import percentile_ms, seconds_of

TOP_K = 20
NUM_CANDIDATES = (50, 100, 150, 200, 300, 500, 1_000, 2_000)


def relations_of(path: Path) -> list[RelationInfo]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [line.split()[:3] for line in lines]
    known = {name: (domain, range_) for domain, name, range_ in rows}
    return [
        RelationInfo(number, name, " ".join(split_name(name)[0][-1:]), 1, *known[name])
        for number, name in enumerate(sorted(known), start=1)
    ]


def median_ms(run: Callable[[], object]) -> float:
    return percentile_ms([seconds_of(run) for _ in range(5)], 50)


def recall(index: RelationIndex, questions: Sequence[dict[str, list[str]]], asked: np.ndarray) -> tuple[float, float]:
    """Return the share of gold relations, and of questions with all of theirs, among the first `TOP_K`."""
    names = {relation.name for relation in index.relations}
    shares = []
    for question, found in zip(questions, index.nearest(asked, TOP_K), strict=True):
        if gold := set(question["relations"]) & names:
            shares.append(len(gold & found) / len(gold))
    return float(np.mean(shares)), float(np.mean(np.array(shares) == 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for vectors")
    given = parser.parse_args()
    encoder = SentenceEncoder("all-MiniLM-L6-v2")
    vectors = TextVectors(encoder, store=SqliteVectorStore(given.work / "vectors.sqlite"))
    relations = relations_of(given.data / "freebase-ontology" / "fb_roles.gz")
    with gzip.open(given.data / "freebase-questions" / "grailqa-dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        questions = list(map(json.loads, lines))
    texts = [question["question"] for question in questions]
    for place, question in enumerate(questions):
        for _, name in question["topic_entities"]:
            texts[place] = remove_mention(texts[place], name)
    asked = np.concatenate([vectors.stack(texts[at : at + 5_000], lasting=True) for at in range(0, len(texts), 5_000)])
    exact = RelationIndex(relations, vectors)
    print(f"GrailQA dev, n {len(questions):,}; {len(relations):,} relations\n")
    print("| index | share of gold relations among 20 | all of them | ms a question |\n| --- | --- | --- | --- |")
    for name, index in (("exact", exact), ("in cells", RelationIndex(relations, vectors, approximate_from=0))):
        share, whole = recall(index, questions, asked)
        ms = median_ms(lambda index=index: [index.search(each[None], TOP_K) for each in asked[:50]]) / 50
        print(f"| {name} | {share:.3f} | {whole:.3f} | {ms:.2f} |", flush=True)
    random = Random(0)
    words = {relation.number: collect_relation_words(relation) for relation in relations}
    proposer = SimilarityProposer(words, vectors)
    print(f"\n| relations | ms to score all | to choose {SHORTLIST} and score them |\n| --- | --- | --- |")
    for number in NUM_CANDIDATES:
        batches = [np.array(random.sample(sorted(words), number)) for _ in range(20)]

        def score(shortlisted: bool, batches: Sequence[np.ndarray] = batches) -> None:
            for text, vector, some in zip(texts, asked, batches, strict=False):
                kept = np.array(sorted(exact.shortlist(vector, some.tolist()))) if shortlisted else some
                proposer.score([RelationQuery(text, (), kept)])

        score(False)
        print(
            f"| {number:,} | {median_ms(lambda: score(False)) / 20:.1f} | {median_ms(lambda: score(True)) / 20:.1f} |"
        )


if __name__ == "__main__":
    main()
