"""Fit the thresholds of GraphRAG-FI's integration on questions with answers, with and without the evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import cast

from ...models.graphrag_fi import FittedThresholds, ThresholdExample, best_thresholds
from ..answering.integrating import ClosedBookAnswerer, key_entities_by_name
from ..answering.reply import normalise_name
from ..api import Engine
from ..errors import UsageError
from ..evidence.evidence import Answer
from ..gold_questions import GoldAnswer, GoldQuestion, look_up_answers, look_up_topic_ids
from ..recipes.recipe import Recipe, read_recipe
from ..recipes.reorganising import FI
from ..settings import Settings
from ..steps import StepRunner

BATCH = 16
NEVER = 2.0
"""A threshold that no confidence reaches."""


def fit_thresholds(
    asked: Sequence[GoldQuestion],
    recipe: Recipe,
    settings: Settings,
    *,
    against: Recipe | None = None,
    link: bool = False,
    done: Callable[[int, int], None] = lambda _done, _total: None,
) -> FittedThresholds:
    """Ask every question with the recipe's evidence and without it, and fit τ_G and τ_L; `NEVER` keeps none.

    against: a recipe whose answers replace the language model's own (default: that of the part). link: also link the
    topics. Raises `UsageError` if the recipe has no part `fi`, or no question has an answer.
    """
    named = next((name for name, part in recipe.parts.items() if isinstance(part, FI)), None)
    if named is None:
        raise UsageError(f"recipe {recipe.name}: expected the part fi, such as {recipe.stages} + fi")
    against = against or cast(FI, recipe.parts[named]).other_recipe()
    graph_side = read_recipe(recipe, options={f"{named}.integrate": False})
    answered: list[ThresholdExample] = []
    with ExitStack() as opened:
        engine = opened.enter_context(Engine(settings, recipe=graph_side))
        other = opened.enter_context(Engine(settings, recipe=against)) if against else None
        known = look_up_answers([each for each in asked if each.answers], engine.gateway()).questions
        questions = look_up_topic_ids(known, engine.gateway())
        if not questions:
            raise UsageError("expected questions with gold answers, found none")
        for start in range(0, len(questions), BATCH):
            batch = questions[start : start + BATCH]
            texts = [each.as_question(() if link else each.topic_ids) for each in batch]
            graph = engine.ask_batch(texts)
            model = other.ask_batch(texts) if other else _answer_closed_book(engine, graph)
            answered += map(judge_claims, batch, graph, model)
            done(len(answered), len(questions))
    best = best_thresholds(answered)
    thresholds = replace(
        best.thresholds, **{side: NEVER for side in ("graph", "model") if math.isinf(getattr(best.thresholds, side))}
    )
    return replace(best, thresholds=thresholds)


def _answer_closed_book(engine: Engine, answers: Sequence[Answer]) -> list[Answer]:
    runner = StepRunner(engine.gateway(), lambda: engine.resources.chat)
    return runner.run(ClosedBookAnswerer().answer([answer.evidence for answer in answers]))


def judge_claims(question: GoldQuestion, graph: Answer, model: Answer) -> ThresholdExample:
    """Return what both sides claim, and which claims are right: for each gold answer the first that is it."""
    sides = key_entities_by_name(graph), key_entities_by_name(model)
    keyed = [
        (claim.key, entity)
        for claims, answer in zip(sides, (graph, model), strict=True)
        for claim, entity in zip(claims, answer.entities, strict=True)
    ]
    found = (next((key for key, e in keyed if _matches(gold, e.id, e.name)), None) for gold in question.answers)
    right = frozenset(key for key in found if key is not None)
    return ThresholdExample(tuple(sides[0]), tuple(sides[1]), right, len(question.answers))


def _matches(gold: GoldAnswer, id_: str | None, name: str) -> bool:
    if gold.id and id_:
        return gold.id == id_
    return normalise_name(name) in {normalise_name(each) for each in gold.names}
