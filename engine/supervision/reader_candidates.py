"""Read what the reader of answers learns from: the candidates that the evidence of a recipe names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...models.reader.fitting import ReaderTrainingSet
from ...models.text.vectors import TextVectors
from ...models.wording import casefold_nfkc
from ..answering.candidates import find_candidates
from ..answering.reader import encode_questions, make_reader_input
from ..api import Engine
from ..errors import UsageError
from ..evidence import Evidence
from ..gold_questions import GoldQuestion, QuestionSet, look_up_gold_answers, look_up_topic_ids
from ..neo4j.catalogue import read_catalogue
from ..progress import Progress, show_progress_bar
from ..recipes import Recipe, read_recipe
from ..relations import make_words_by_relation

if TYPE_CHECKING:
    from ...models.training import TrainingFolder
    from ..training import Sets, TrainingRequest

BATCH = 16


def read_candidate_sets(
    request: TrainingRequest,
    config: Any,
    out: TrainingFolder,
    *,
    recipe: str | None = None,
    checkpoint: Sequence[str] = (),
) -> Sets:
    """Return the candidates of question sets. checkpoint: of the recipe's first part that takes one, for all sets; or
    one for each set, so that none reads what it learned from. Raises `UsageError` for another number.
    """
    if len(checkpoint) not in {0, 1, len(request.files)}:
        raise UsageError(
            f"--checkpoint: expected one for all sets, or {len(request.files)}: one for each --dataset, then --dev; "
            f"found {len(checkpoint)}"
        )
    vectors = out.vectors_of(config.encoder)
    sets = list(map(request.questions, request.files))
    base = read_recipe(recipe or request.settings.recipe)
    given = [{"checkpoint": each} for each in checkpoint] or [{}]
    given *= len(sets) // len(given)
    recipes = [read_recipe(base, options=each) for each in given]
    with (
        Engine(request.settings, recipe=recipes[0]) as engine,
        show_progress_bar("the questions", "reading") as (progress, tell),
    ):
        for each, used in zip(sets, recipes, strict=True):
            for warning in _list_known_questions(each, used, engine):
                tell(warning)
        found = []
        for each, own in zip(sets, given, strict=True):
            asked, evidence = _retrieve_for_reader(each, engine, {"top_k": config.reads, **own}, progress)
            found.append(_build_reader_training_set(each, asked, evidence, engine, vectors))
    return request.split(found)


def _retrieve_for_reader(
    questions: QuestionSet, engine: Engine, options: dict[str, Any], progress: Progress
) -> tuple[list[GoldQuestion], list[Evidence[Any]]]:
    """Return the questions that have an answer in the graph, and the evidence of each."""
    gateway = engine.gateway()
    known = look_up_gold_answers([each for each in questions.questions if each.answers], gateway).questions
    asked = look_up_topic_ids(known, gateway)
    if not asked:
        raise UsageError(f"{questions.name}: expected questions with right answers, found none")
    found: list[Evidence[Any]] = []
    progress(questions.name, 0, len(asked))
    for start in range(0, len(asked), BATCH):
        batch = asked[start : start + BATCH]
        found += engine.retrieve_batch([each.as_question(each.topic_ids) for each in batch], **options)
        progress(questions.name, len(found), len(asked))
    return list(asked), [replace(each, trace=replace(each.trace, costs=())) for each in found]


def _build_reader_training_set(
    questions: QuestionSet,
    asked: Sequence[GoldQuestion],
    found: Sequence[Evidence[Any]],
    engine: Engine,
    vectors: TextVectors,
) -> ReaderTrainingSet:
    catalogue = engine.gateway().run(read_catalogue())
    words = make_words_by_relation(catalogue.relations)
    candidates = find_candidates(engine.gateway(), found)
    columns = make_reader_input(candidates, found, words, vectors)
    ids = [{each.id for each in question.answers if each.id} for question in asked]
    names = [
        {casefold_nfkc(name) for each in question.answers if not each.id for name in each.names} for question in asked
    ]
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
                entity.id in ids[question] or casefold_nfkc(entity.label) in names[question]
                for question, entity in zip(candidates.question.tolist(), candidates.entities, strict=True)
            ],
            dtype=np.bool_,
        ),
        np.array([len(each.answers) for each in asked], dtype=np.int64),
        tuple(columns),
    )


def _list_known_questions(questions: QuestionSet, recipe: Recipe, engine: Engine) -> list[str]:
    """Return in words which checkpoints of a recipe were trained on a question set, by its name or hash."""
    found = []
    for name, part in recipe.parts.items():
        if folder := getattr(part, "checkpoint", ""):
            _, description = engine.resources.describe(folder, *part.kinds)
            known = {key for each in description.train for key in (each.questions, each.questions_sha256)}
            if {questions.name, questions.sha256} & known:
                found.append(
                    f"{questions.name}: {name} ({folder}) learned from these questions, so the reader will trust it "
                    "too much: give others, or a checkpoint for each set, and another --out (docs/how-it-works.md)"
                )
    return found
