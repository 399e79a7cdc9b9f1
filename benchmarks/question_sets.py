"""Question sets on disk, as the benchmarks read them: FB15k-237 questions with topic entities and answers."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from lodestar.engine.values import Question


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question with its gold answers (ids) and the fewest hops from a topic entity to one of them."""

    question: Question
    answers: frozenset[str]
    min_hops: int


def read_questions(path: Path) -> list[GoldQuestion]:
    """Return the questions of a ``.jsonl.gz`` file, in file order."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        records = [json.loads(line) for line in stream]
    return [
        GoldQuestion(
            Question(r["question"], tuple(dict.fromkeys(r["topic_entities"])), r["id"]),
            frozenset(r["answers"]),
            int(r["min_hops"]),
        )
        for r in records
    ]


def read_metaqa(path: Path) -> list[GoldQuestion]:
    """Return the questions of a MetaQA file: the topic in brackets, answers parted by |; ids are names there."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    num_hops = int(path.name[0])
    golds = []
    for number, (text, answers) in enumerate(rows):
        topic = text[text.index("[") + 1 : text.index("]")]
        question = Question(text.replace("[", "").replace("]", ""), (topic,), f"{path.name}:{number + 1}")
        golds.append(GoldQuestion(question, frozenset(answers.split("|")), num_hops))
    return golds


def file_sha256(path: Path) -> str:
    """Return the first 12 digits of the file's SHA-256, to name the data a figure belongs to."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
