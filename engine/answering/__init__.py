"""Answer with the ends of the best chain, without a language model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...models import Share
from ...models.wording import fold_name
from ..data_model import AnswerEntity, Chain, Topic
from ..evidence import LEAST_PROBABILITY, NO_ANSWER, Answer, Evidence, Item, PlanAnswer, format_entity_names
from ..evidence.chains_and_triples import convert_to_chains
from ..parts import Answerer, option, part

if TYPE_CHECKING:
    from ..context import Context

UNCALIBRATED_TEMPERATURE = 0.1
NAMESAKE = 0.5
"""The least share of a topic's link score with which another entity of its name is answered for. Our own choice."""

MAX_TOLD = 3
"""Answers that are named for each of several entities of one name."""


@dataclass(frozen=True)
class AbstainingAnswerer(Answerer):
    """Options of an answerer that knows how likely its answer is right."""

    min_probability: Share = option(LEAST_PROBABILITY, "below this probability of the best answer there is none")
    sure_from: Share = option(0.5, "below this probability of the best answer it is unsure")


@part("extractive")
@dataclass(frozen=True)
class ExtractiveAnswerer(AbstainingAnswerer):
    """Answers with the ends of the best chain, without a language model; where it meets a chain from another topic,
    only with the ends that they share.

    The confidence of the answer is the probability that the best chain is right. Without a calibration there is no
    confidence: the answer is never unsure, and it never abstains. Below `min_probability` it gives no answer; below
    `sure_from` it marks the answer as unsure. An entity's confidence is the answer's times the share of the chains that
    lead to the entity, with chains weighted by softmax(score / temperature); this order is our own. Triples are read
    as the chains that they form. Where the question's words name other entities just as well, what the same path leads
    to from them belongs to the answer, which says so.
    """

    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Item]]) -> list[Answer]:
        return [self.answer_of(each) for each in convert_to_chains(ctx.db, evidence)]

    def answer_of(self, chains: Evidence[Chain]) -> Answer:
        """Return the answer to one question from its chains."""
        items = chains.items
        right = chains.confidence if items else 0.0
        if not items or (right is not None and right < self.min_probability):
            less = (
                f"the best path is right with a probability of {right or 0.0:.2f}, less than {self.min_probability:.2f}"
            )
            reason = chains.note or (less if items else "no path to an answer was found")
            return Answer(chains, (), f"{NO_ANSWER}: {reason}", "extractive", confidence=right)
        temperature = chains.calibration.temperature if chains.calibration else UNCALIBRATED_TEMPERATURE
        highest = max(item.score for item in items)  # not the first one's, where a filter put others before it
        weights = [math.exp((item.score - highest) / temperature) for item in items]
        namesakes = find_namesakes(chains)
        answers = tuple(dict.fromkeys(end for chain in namesakes for end in chain.answers))
        rests_on: dict[str, list[int]] = {end.id: [] for end in answers}
        for index, item in enumerate(items):
            for end in item.value.ends:
                if end.id in rests_on:
                    rests_on[end.id].append(index)
        shares = {id_: sum(weights[i] for i in rests) / sum(weights) for id_, rests in rests_on.items()}
        answers = tuple(sorted(answers, key=lambda end: (-shares[end.id], end.label, end.id)))
        entities = [
            AnswerEntity(
                name=end.label,
                id=end.id,
                confidence=None if right is None else right * shares[end.id],
                origin="graph",
                evidence=tuple(rests_on[end.id]),
            )
            for end in answers
        ]
        unsure = right is not None and right < self.sure_from
        text = f"{'unsure: perhaps ' if unsure else ''}{format_entity_names(entities, unsure=unsure)}"
        why = () if all(set(chain.answers) == set(answers) for chain in namesakes) else (_tell_apart(namesakes),)
        return Answer(chains, tuple(entities), text, "extractive", confidence=right, unsure=unsure, why=why)


def find_namesakes(chains: Evidence[Chain]) -> list[Chain]:
    """Return the best chain, and those with its path from the other entities that the same words of the question name
    about as likely; of a chain that meets another topic's, those that meet one, too."""
    best = chains.items[0].value
    named = {topic.entity.id: topic for topic in chains.topics if topic.span}
    topic = named.get(best.topic.id)
    same = {id_ for id_, each in named.items() if topic is not None and _is_namesake(each, topic)}
    others = (item.value for item in chains.items[1:] if item.value.relation_path == best.relation_path)
    return [best, *(each for each in others if each.topic.id in same and (each.targets or not best.targets))]


def _is_namesake(topic: Topic, of: Topic) -> bool:
    is_same_name = topic.span == of.span and fold_name(topic.matched_name) == fold_name(of.matched_name)
    return is_same_name and topic.score >= NAMESAKE * of.score


def _tell_apart(chains: Sequence[Chain]) -> str:
    told = [f"{each.topic.id} ({', '.join(end.label for end in each.answers[:MAX_TOLD])})" for each in chains]
    return f"answered for {len(chains)} entities of one name, {chains[0].topic.label}: {', '.join(told)}"


def answer_from_plan(evidence: Evidence[Item], plan: PlanAnswer, limits: AbstainingAnswerer) -> Answer:
    """Return what a plan gives, and how it was found; the items of its evidence are the triples that it rests on."""
    right, why = plan.probability, (plan.text,)
    if plan.reason or (right is not None and right < limits.min_probability):
        reason = plan.reason or "no plan fits the question"
        sure = None if plan.reason else right  # that the plan is right is not that there is an answer
        return Answer(evidence, (), f"{NO_ANSWER}: {reason}", "extractive", confidence=sure, why=why)
    rests_on = tuple(range(len(evidence.items)))
    found = plan.found if plan.yes is None and plan.number is None else ()
    entities = tuple(AnswerEntity(entity.label, entity.id, right, "graph", rests_on) for entity, _ in found)
    unsure = plan.unsure or (right is not None and right < limits.sure_from)
    said = plan.says or format_entity_names(entities, plan.total, unsure=unsure)
    return Answer(
        evidence,
        entities,
        f"{'unsure: perhaps ' if unsure else ''}{said}",
        "extractive",
        confidence=right,
        unsure=unsure,
        why=why,
        number=plan.number,
        yes=plan.yes,
    )
