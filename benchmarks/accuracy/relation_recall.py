"""Among many relations, how often are those that a question asks for among the nearest: by words, and with phrases.

``python -m benchmarks.accuracy.relation_recall --data FOLDER --questions webqsp grailqa-dev --sample 500`` ranks the
relations of a schema (``freebase-ontology/fb_roles.gz`` of the folder: domain, relation, range) for each question by
the relation index: by their words and the shipped lexicon's, and with phrases that a language model writes for a sample
of relations. The graph that the settings name must hold triples of them, from which the model takes its examples;
``LODESTAR_LLM_BASE_URL`` and ``LODESTAR_LLM_MODEL`` name the model, whose replies are kept. Without ``--sample`` the
first is measured. *Described* are questions that ask for a relation of the sample. A question's recall is the share of
its relations. Intervals: 95 %, bootstrap over questions.
"""

from __future__ import annotations

import argparse
import gzip
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from lodestar.engine.api import Engine
from lodestar.engine.evaluation.statistics import bootstrap_interval
from lodestar.engine.indexes.relation_index import RelationIndex
from lodestar.engine.neo4j.catalogue import Catalogue, Phrase, RelationInfo, read_catalogue
from lodestar.engine.progress import progress_bar
from lodestar.engine.relations.by_llm import phrases_by_llm
from lodestar.engine.settings import resolve
from lodestar.loaders.questions.question_sets import read_questions
from lodestar.models.similarity import mask_topic
from lodestar.models.text.encoders import SentenceEncoder
from lodestar.models.text.vectors import TextVectors

SEED = 13
TOP_K = 20


def read_schema(path: Path) -> list[RelationInfo]:
    """Return the relations of a schema, numbered in its order, with the types of their ends."""
    found: dict[str, RelationInfo] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            domain, name, range_ = line.split()[:3]
            label = name.rpartition(".")[2].replace("_", " ")
            found.setdefault(name, RelationInfo(len(found) + 1, name, label, 0, domain, range_))
    return list(found.values())


def read_asked(path: Path, known: frozenset[str]) -> list[tuple[str, frozenset[str]]]:
    """Return the questions of a set, without their topics' names, with the relations of the schema that they ask for:
    those of its gold paths, else of its triples."""
    asked = []
    for question in read_questions(str(path)).questions:
        named = {relation for gold in question.paths for relation in gold.relations}
        relations = frozenset(named or {relation for _, relation, _ in question.triples}) & known
        text = question.text
        for name in question.topic_names:
            text = mask_topic(text, name)
        if relations and text.strip():
            asked.append((" ".join(text.split()), relations))
    return asked


def describe(relations: Sequence[RelationInfo], sample: int, limit: int | None) -> dict[str, tuple[Phrase, ...]]:
    """Return the phrases that a language model writes for a sample of the relations that the graph has, by name."""
    settings = resolve({} if limit is None else {"llm_max_calls": limit})
    names = {relation.name for relation in relations}
    with Engine(settings) as engine, progress_bar("relations", "describing") as (progress, say):
        here = [each for each in engine.gateway().fetch(read_catalogue()).relations if each.name in names]
        chosen = random.Random(SEED).sample(here, min(sample, len(here)))
        catalogue = Catalogue(tuple(chosen))
        words, left_out = phrases_by_llm(
            engine.gateway(), catalogue, settings, engine.resources.vectors, progress=progress, say=say
        )
        say(", ".join(f"{number:,} {why}" for why, number in left_out.items()))
    return {name: said.phrases for name, said in words.items()}


def open_in_memory(
    relations: Sequence[RelationInfo], phrases: Mapping[str, tuple[Phrase, ...]], encoder: SentenceEncoder
) -> RelationIndex:
    """Return the index of the relations with these phrases; nothing of it is kept."""
    described = [replace(each, phrases=phrases.get(each.name, ())) for each in relations]
    return RelationIndex(described, TextVectors(encoder))


def recall(asked: Sequence[tuple[str, frozenset[str]]], found: Sequence[frozenset[str]]) -> npt.NDArray[np.float64]:
    """Return the share of each question's relations that are among those found."""
    return np.array([len(gold & near) / len(gold) for (_, gold), near in zip(asked, found, strict=True)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with freebase-ontology/ and freebase-questions/"
    )
    parser.add_argument("--questions", nargs="+", default=["webqsp", "grailqa-dev"], help="sets of freebase-questions/")
    parser.add_argument("--limit", type=int, default=1000, help="questions of a set, drawn by seed")
    parser.add_argument("--sample", type=int, default=0, help="relations that a language model describes")
    parser.add_argument("--max-calls", type=int, help="of the language model")
    arguments = parser.parse_args()
    relations = read_schema(arguments.data / "freebase-ontology" / "fb_roles.gz")
    said = describe(relations, arguments.sample, arguments.max_calls) if arguments.sample else {}
    described = frozenset(name for name, phrases in said.items() if phrases)
    encoder = SentenceEncoder(resolve().encoder)
    ways: dict[str, Mapping[str, tuple[Phrase, ...]]] = {"words and lexicon": {}}
    if described:
        ways[f"… and a language model's for {len(described)}"] = said
    indexes = {way: open_in_memory(relations, phrases, encoder) for way, phrases in ways.items()}
    known = frozenset(each.name for each in relations)
    print(f"{len(relations):,} relations, recall@{TOP_K}, seed {SEED}\n")
    print("| questions | relations asked for | n | read by | recall | 95 % |\n|---|---|---|---|---|---|")
    for name in arguments.questions:
        asked = read_asked(arguments.data / "freebase-questions" / f"{name}.jsonl.gz", known)
        asked = random.Random(SEED).sample(asked, min(arguments.limit, len(asked)))
        vectors = encoder.encode([text for text, _ in asked])
        shares = {way: recall(asked, index.nearest(vectors, TOP_K)) for way, index in indexes.items()}
        is_described = np.array([bool(gold & described) for _, gold in asked])
        groups = {"all": is_described | True, "described": is_described, "others": ~is_described}
        for group, rows in groups.items() if described else [("all", groups["all"])]:
            for way, of_questions in shares.items() if rows.any() else ():
                values = of_questions[rows]
                interval = bootstrap_interval(values.tolist())
                print(
                    f"| {name} | {group} | {len(values)} | {way} | {values.mean():.3f} "
                    f"| {interval.low:.3f} to {interval.high:.3f} |"
                )


if __name__ == "__main__":
    main()
