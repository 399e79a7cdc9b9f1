"""Run the stages of a recipe on a batch of questions: link, retrieve and reorganise, answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .answering import Abstaining, Extractive, answer_of_plan
from .context import Context
from .evidence import Absence, Answer, Evidence, Item, PlanAnswer, item_sort_key
from .evidence.bridges import to_chains, to_triples
from .linking import find_nearest_names, look_up_topics
from .parts import Expression, Link, Named, Wrapper, reorganise
from .values import Chain, Entity, LinkedQuestion, Question, Scored, Topic, first_group

if TYPE_CHECKING:
    from .recipes import Recipe

RANK_CONSTANT = 60
"""k of reciprocal rank fusion (Cormack et al. 2009)."""


def retrieve(recipe: Recipe, ctx: Context, questions: Sequence[Question], top_k: int) -> list[Evidence[Any]]:
    """Return evidence of at most `top_k` items for each question; one without a known entity has a note."""
    link: Link = partial(link_questions, ctx, recipe.linker)
    linked = link(questions)
    for each in linked:
        ctx.trace.notify("topics", each.question, each.topics)
    unlinked = [each.question for each in linked if not each.topics]
    offered: dict[Question, tuple[Entity, ...]] = {}
    if unlinked:
        texts = [" ".join(question.topic_entities) or question.text for question in unlinked]
        with ctx.trace.stage("nearest names"):
            offered = dict(zip(unlinked, find_nearest_names(ctx.db, texts), strict=True))
    found = [each.cut_to(top_k) for each in run_stages(recipe.stages, ctx, linked, top_k, link)]
    found = [
        each if each.topics or each.extras else _say_unlinked(each, offered.get(each.question, ())) for each in found
    ]
    found = [each.add_costs(ctx.trace.costs) for each in found]
    for each in found:
        ctx.trace.notify("evidence", each.question, each)
    return found


def answer(recipe: Recipe, ctx: Context, evidence: Sequence[Evidence[Any]]) -> list[Answer]:
    """Return an answer to each question; what it took is in its evidence. What a plan gives is its answer, whatever the
    recipe's answerer is."""
    from .plans.accounting import withhold_unaccounted

    with ctx.trace.stage("answer"):
        answerer: Callable[[Context, Sequence[Evidence[Any]]], list[Answer]] = recipe.answerer
        for part in recipe.parts.values():
            if getattr(part, "answers", False):
                answerer = partial(_answer_with, part, answerer)
        limits = recipe.answerer if isinstance(recipe.answerer, Abstaining) else Extractive()
        plans = [each.extra_of(PlanAnswer) for each in evidence]
        others = [each for each, plan in zip(evidence, plans, strict=True) if plan is None]
        read = iter(withhold_unaccounted(ctx, answerer(ctx, others)) if others else ())
        answers = [
            next(read) if plan is None else answer_of_plan(each, plan, limits)
            for each, plan in zip(evidence, plans, strict=True)
        ]
    return [replace(each, evidence=each.evidence.add_costs(ctx.trace.costs)) for each in answers]


def _answer_with(part: Any, answerer: Any, ctx: Context, evidence: Sequence[Evidence[Any]]) -> list[Answer]:
    found: list[Answer] = part.answer(ctx, evidence, answerer)
    return found


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


def run_stages(
    stages: Expression, ctx: Context, questions: Sequence[LinkedQuestion], top_k: int, link: Link
) -> list[Evidence[Any]]:
    """Return what an expression finds for each question: ``a`` retrieves, ``a + b`` passes its evidence to b, ``a | b``
    unites both."""
    if isinstance(stages, Named):
        with ctx.trace.stage(stages.name):
            found = stages.part(ctx, questions, top_k)
        return [each.add_stage(stages.name, ctx.graph.labels) for each in found]
    if stages.sign == "|":
        left, right = (run_stages(side, ctx, questions, top_k, link) for side in (stages.left, stages.right))
        return [
            unite(
                one,
                other,
                (*one.sources_or_self(str(stages.left)), *found.sources_or_self(str(stages.right))),
            )
            for one, other, found in zip(left, _align(ctx, left, right), right, strict=True)
        ]
    assert isinstance(stages.right, Named)
    name, part = stages.right.name, stages.right.part
    if isinstance(part, Wrapper):
        with ctx.trace.stage(name):
            found = part(
                ctx, questions, top_k, lambda asked, most: run_stages(stages.left, ctx, asked, most, link), link
            )
        return [each.add_stage(name, ctx.graph.labels) for each in found]
    return reorganise(ctx, name, part, run_stages(stages.left, ctx, questions, top_k, link))


def _align(ctx: Context, left: Sequence[Evidence[Any]], right: Sequence[Evidence[Any]]) -> list[Evidence[Any]]:
    chains = iter(to_chains(ctx.db, [found for one, found in zip(left, right, strict=True) if one.kind == "chain"]))
    return [next(chains) if one.kind == "chain" else to_triples(found) for one, found in zip(left, right, strict=True)]


def unite(
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
                known.value, known.score + 1 / (RANK_CONSTANT + rank), first_group((known.group, scored.group))
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
    return replace(evidence, absence=Absence(note, "nothing linked", offered))
