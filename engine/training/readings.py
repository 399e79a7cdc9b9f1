"""Collect the training data of a reader: the candidates of questions, retrieved with a recipe, and which are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...models.reader.fitting import ReaderTrainingSet
from ...models.reader.model import READS
from ...models.text.vectors import TextVectors
from ...models.words import fold_spelling
from ..answering.candidates import find_candidates
from ..answering.reader import encode_questions, make_reader_columns
from ..api import Engine
from ..errors import UsageError
from ..evidence.evidence import Evidence
from ..gold_questions import GoldQuestion, QuestionSet, look_up_answers, look_up_topic_ids
from ..neo4j.catalogue import read_catalogue
from ..progress import Progress, ignore_progress
from ..relations.words import words_of_relations
from ..values import Entity

BATCH = 16


def collect_reader_training_set(
    questions: QuestionSet,
    engine: Engine,
    vectors: TextVectors,
    *,
    reads: int = READS,
    progress: Progress = ignore_progress,
) -> ReaderTrainingSet:
    """Ask the engine's recipe for evidence of every question with answers, topics as the set gives them, and return the
    candidates among the first `reads` items; raise `UsageError` where no question has a right answer in the graph."""
    asked, found = retrieve_for_reader(questions, engine, reads=reads, progress=progress)
    return build_reader_training_set(questions, asked, found, engine, vectors)


def retrieve_for_reader(
    questions: QuestionSet, engine: Engine, *, reads: int = READS, progress: Progress = ignore_progress
) -> tuple[list[GoldQuestion], list[Evidence[Any]]]:
    """Return the questions that have an answer in the graph, and the evidence of each: the first `reads` items."""
    gateway = engine.gateway()
    known = look_up_answers([each for each in questions.questions if each.answers], gateway).questions
    asked = look_up_topic_ids(known, gateway)
    if not asked:
        raise UsageError(f"{questions.name}: expected questions with right answers, found none")
    found: list[Evidence[Any]] = []
    progress("reading", 0, len(asked))
    for start in range(0, len(asked), BATCH):
        batch = asked[start : start + BATCH]
        found += engine.retrieve_batch([each.as_question(each.topic_ids) for each in batch], top_k=reads)
        progress("reading", len(found), len(asked))
    return list(asked), [replace(each, trace=()) for each in found]


def build_reader_training_set(
    questions: QuestionSet,
    asked: Sequence[GoldQuestion],
    found: Sequence[Evidence[Any]],
    engine: Engine,
    vectors: TextVectors,
) -> ReaderTrainingSet:
    """Return the candidates of evidence, and which are right."""
    catalogue = engine.gateway().fetch(read_catalogue())
    words = words_of_relations(catalogue.relations)
    candidates = find_candidates(found)
    columns = make_reader_columns(candidates, found, words, vectors)
    right = [_Right.of(each) for each in asked]
    return ReaderTrainingSet(
        questions.name,
        questions.sha256,
        catalogue.vocabulary,
        tuple(each.text for each in asked),
        tuple(frozenset(each.topic_ids) for each in asked),
        encode_questions(found, vectors),
        candidates.starts,
        np.array(
            [
                right[question].has(entity)
                for question, entity in zip(candidates.question.tolist(), candidates.entities, strict=True)
            ],
            dtype=np.bool_,
        ),
        np.array([len(each.answers) for each in asked], dtype=np.int64),
        tuple(columns),
    )


@dataclass(frozen=True, slots=True)
class _Right:
    """The right answers of a question: ids, and names of those that have no id, as literals."""

    ids: frozenset[str]
    names: frozenset[str]

    @classmethod
    def of(cls, question: GoldQuestion) -> _Right:
        ids = frozenset(each.id for each in question.answers if each.id)
        return cls(
            ids, frozenset(fold_spelling(name) for each in question.answers if not each.id for name in each.names)
        )

    def has(self, entity: Entity) -> bool:
        """Return whether an entity is a right answer."""
        return entity.id in self.ids or fold_spelling(entity.label) in self.names
