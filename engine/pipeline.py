"""Link a batch of questions, join what two retrievers found, and answer. `Engine._retrieve` loops over the stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..models import one_line
from .answering import AbstainingAnswerer, ExtractiveAnswerer, answer_from_plan
from .context import Context
from .data_model import Chain, Entity, LinkedQuestion, Question, Scored, Topic, find_lowest_group_number
from .errors import EntityNotFoundError
from .evidence import Answer, Evidence, Item, NoEvidenceExplanation, PlanAnswer, item_sort_key, make_failed_answer
from .evidence.chains_and_triples import convert_to_chains, convert_to_triples
from .linking import find_nearest_names, look_up_topics
from .parts import JoinedExpression

if TYPE_CHECKING:
    from .recipes import Recipe

RANK_CONSTANT = 60
"""k of reciprocal rank fusion (Cormack et al. 2009)."""


def answer_from_evidence(recipe: Recipe, ctx: Context, evidence: Sequence[Evidence[Any]]) -> list[Answer]:
    """Return an answer to each question; what it took is in its evidence. What a plan gives is its answer, whatever the
    recipe's answerer is."""
    from .plans.unused_words import mark_path_answers_not_understood

    with ctx.trace.stage("answer"):
        answerer: Callable[[Context, Sequence[Evidence[Any]]], list[Answer]] = recipe.answerer
        for part in recipe.parts.values():
            if getattr(part, "answers", False):
                answerer = partial(part.answer, answerer=answerer)
        limits = recipe.answerer if isinstance(recipe.answerer, AbstainingAnswerer) else ExtractiveAnswerer()
        known = [_answer_without_reading(each, limits) for each in evidence]
        others = [each for each, answer in zip(evidence, known, strict=True) if answer is None]
        read = iter(mark_path_answers_not_understood(ctx, answerer(ctx, others)) if others else ())
        answers = [next(read) if answer is None else answer for answer in known]
    return [replace(each, evidence=each.evidence.add_costs(ctx.trace.costs)) for each in answers]


def _answer_without_reading(evidence: Evidence[Any], limits: AbstainingAnswerer) -> Answer | None:
    if evidence.reason == "failed" and evidence.fault:
        return make_failed_answer(evidence, evidence.fault)
    plan = evidence.extra_of(PlanAnswer)
    return None if plan is None else answer_from_plan(evidence, plan, limits)


def link_questions(
    ctx: Context,
    linker: Callable[[Context, Sequence[Question]], list[tuple[Topic, ...]]],
    questions: Sequence[Question],
) -> list[LinkedQuestion]:
    """Return the questions with their topics: those that a question gives, else what the linker finds."""
    free = [question for question in questions if not question.topic_entities]
    with ctx.trace.stage("link"):
        found = iter(linker(ctx, free) if free else [])
    with ctx.trace.stage("topics"):
        return look_up_topics(ctx.db, questions, [() if q.topic_entities else next(found) for q in questions])


def cut_and_explain_evidence(ctx: Context, found: Iterable[Evidence[Any]], top_k: int) -> list[Evidence[Any]]:
    """Return what the stages found, at most `top_k` items each, with what they took; why a question has no topic."""
    kept = [each.cut_to(top_k) for each in found]
    unlinked = [place for place, each in enumerate(kept) if not (each.topics or each.extras)]
    if unlinked:
        asked = [kept[place].question for place in unlinked]
        texts = [" ".join(question.topic_entities) or question.text for question in asked]
        with ctx.trace.stage("nearest names"):
            offered = find_nearest_names(ctx.db, texts)
        for place, nearest in zip(unlinked, offered, strict=True):
            kept[place] = _say_unlinked(kept[place], nearest)
    return [each.add_costs(ctx.trace.costs) for each in kept]


def unite_retrieved_evidence(
    ctx: Context, stages: JoinedExpression, left: Sequence[Evidence[Any]], right: Sequence[Evidence[Any]]
) -> list[Evidence[Any]]:
    """Return what both sides of ``a | b`` found for each question, as items of the left side's kind."""
    chains = iter(
        convert_to_chains(ctx.db, [found for one, found in zip(left, right, strict=True) if one.kind == "chain"])
    )
    return [
        unite_evidence(
            one,
            next(chains) if one.kind == "chain" else convert_to_triples(other),
            (*one.sources_or_self(str(stages.left)), *other.sources_or_self(str(stages.right))),
        )
        for one, other in zip(left, right, strict=True)
    ]


def unite_evidence(
    left: Evidence[Item],
    right: Evidence[Item],
    sources: Sequence[tuple[str, Evidence[Any]]],
) -> Evidence[Item]:
    """Return the union of what two retrievers found for one question, both with items of one kind.

    sources: what each retriever behind them found, by its name, with items of its own kind.
    An item has the sum of 1 / (`RANK_CONSTANT` + rank) over both, and there is no calibration: probabilities of two
    retrievers mean different things. What each of them found stays under its own name (`EvidenceTrace.sources`), where
    a reader weighs both. What each of them makes groups of keeps its better one.
    """
    items: dict[Any, Scored[Item]] = {}
    for side in (left, right):
        for rank, scored in enumerate(side.items, start=1):
            known = items.setdefault(deduplication_key(scored.value), Scored(scored.value, 0.0))
            items[deduplication_key(scored.value)] = Scored(
                known.value,
                known.score + 1 / (RANK_CONSTANT + rank),
                find_lowest_group_number((known.group, scored.group)),
            )
    return replace(
        left,
        items=tuple(sorted(items.values(), key=item_sort_key)),
        calibration=None,
        left_out=tuple(dict.fromkeys((*left.left_out, *right.left_out))),
        absence=left.absence and right.absence,
        trace=replace(left.trace, stages=(*left.trace.stages, *right.trace.stages), sources=_number_names(sources)),
    )


def deduplication_key(item: Item) -> object:
    """Return what items of two retrievers are the same by: a chain's topic and relation path, or the triple."""
    return (item.topic, item.relation_path) if isinstance(item, Chain) else item


def _number_names(sources: Sequence[tuple[str, Evidence[Item]]]) -> tuple[tuple[str, Evidence[Item]], ...]:
    found: dict[str, Evidence[Item]] = {}
    for name, each in sources:
        new, number = name, 2
        while new in found:
            new, number = f"{name}-{number}", number + 1
        found[new] = each
    return tuple(found.items())


def _say_unlinked(evidence: Evidence[Any], offered: tuple[Entity, ...]) -> Evidence[Any]:
    named = ", ".join(map(repr, evidence.question.topic_entities))
    note = f"no entity has the id or name {named}" if named else "no known entity in the question"
    if offered:
        note += f"; did you mean {' or '.join(entity.label for entity in offered)}?"
    hint = "try `lodestar search` with parts of it, or give --topic an id or a name"
    fault = EntityNotFoundError(f"{note}: {one_line(evidence.question.text, 80)!r}; {hint}")
    return replace(evidence, absence=NoEvidenceExplanation(note, "nothing linked", offered, fault))
