"""Answer a question that asks for yes or no by the paths between its two entities."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...models.forms.plan import FormPlan
from ...models.similarity import list_content_words
from ..evidence import NOT_THERE, Evidence
from ..evidence.extras import FormAnswer, FormResult
from ..retrieval import mask_mention
from ..values import Chain, LinkedQuestion, Scored, Topic

JOINED = 10.0
"""How much higher the odds are that a path of one hop is meant which joins both entities of a yes-or-no question."""
JOINED_FAR = 2.0
"""The same of longer paths, of which more join two entities by chance. Our own choices."""


def raise_odds(probability: float, times: float) -> float:
    """Return the probability whose odds are so many times as high."""
    return times * probability / (1 - probability + times * probability)


def split_sides(linked: LinkedQuestion) -> list[LinkedQuestion]:
    """Return a yes-or-no question once from each of its two entities, without the name of the other, which no path's
    words can cover; nothing if it has only one."""
    both = _find_two_topics(linked)
    text = linked.question.text
    return [
        replace(
            linked,
            question=replace(linked.question, text=mask_mention(text, other), topic_entities=(topic.entity.id,)),
            topics=(topic,),
        )
        for topic, other in ((both, both[::-1]) if both else ())
    ]


def _find_two_topics(linked: LinkedQuestion) -> tuple[Topic, Topic] | None:
    """Return the best entities of two different mentions."""
    first = linked.topics[0]
    others = [topic for topic in linked.topics[1:] if are_distinct(first, topic)]
    return (first, others[0]) if others else None


def answer_yes_or_no(
    linked: LinkedQuestion, plan: FormPlan, found: Sequence[Evidence[Chain]]
) -> tuple[FormResult, Evidence[Chain] | None, Scored[Chain] | None]:
    """Answer yes if the best of all paths, from either entity, leads to the other one. If the question says nothing but
    the two names ("Is Peru in Chile?"), any path of one hop between the two will do.

    found: the evidence of each of `split_sides`. Returns the result, the evidence that decided, and its path.
    """
    both = _find_two_topics(linked)
    formed = FormResult(plan.forms, plan.rule, ())
    if both is None:
        return replace(formed, reason="it needs two entities of the graph, but only one was found"), None, None
    sides = [
        (side, evidence, item, both[1 - side].entity.id in {end.id for end in item.value.ends})
        for side, evidence in enumerate(found)
        for item in evidence.items
    ]
    if not sides:
        return replace(formed, reason="no path leads on from its entities"), None, None
    says_more = bool(list_content_words(mask_mention(mask_mention(linked.question.text, both[0]), both[1])))
    short = [each for each in sides if each[3] and each[2].value.relation_path.num_hops == 1]
    best, evidence, item, is_there = max(
        sides if says_more else short or sides,
        key=lambda each: (_compute_joined_probability(*each[1:]) or 0.0, each[2].score),
    )
    path = f"{both[best].entity.label}: {item.value.relation_path}"
    answered = replace(
        formed,
        parts=((f"from {both[best].entity.label} to {both[1 - best].entity.label}?", path),),
        found=(FormAnswer(both[1 - best].entity),) if is_there else (),
        total=int(is_there),
        says="yes" if is_there else NOT_THERE,
        probability=_compute_joined_probability(evidence, item, is_there) if says_more else None,
    )
    return answered, evidence, item


def _compute_joined_probability(evidence: Evidence[Chain], item: Scored[Chain], is_there: bool) -> float | None:
    """Return the probability that the path is meant; the odds of one that joins both entities are `JOINED` times as
    high, because few paths do. is_there: whether it does."""
    likely = evidence.probability_of(item)
    if likely is None or not is_there:
        return likely
    return raise_odds(likely, JOINED if item.value.relation_path.num_hops == 1 else JOINED_FAR)


def are_distinct(one: Topic, two: Topic) -> bool:
    """Whether two topics are mentioned by different words of the question."""
    words = [set(re.findall(r"\w+", topic.mention.lower())) for topic in (one, two)]
    return one.is_given or two.is_given or not words[0] & words[1]
