"""Format answers, topics and paths as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ...models.wording import fold_name
from ..context import StageCost, merge_stage_costs
from ..data_model import Chain, Topic
from ..evidence import Answer, Evidence, Item
from ..evidence.conversion import Quotes
from ..evidence.text import format_item
from ..progress import make_printable

if TYPE_CHECKING:
    from ..explaining import ItemReasons

CLOSE = 0.3
"""Share of a topic's probability from which another entity with the same words is named beside it."""
MAX_CLOSE = 2
MAX_ENDS = 5


def topic_lines(evidence: Evidence[Item]) -> tuple[str, str]:
    """Return the topics that the items start from, with the mention where it differs, and what else they may mean."""
    known = {topic.entity.id: topic for topic in evidence.topics}
    starts = dict.fromkeys(each.value.topic for each in evidence.items if isinstance(each.value, Chain))
    topics = [known.get(entity.id, Topic(entity)) for entity in starts]
    if evidence.kind == "triple":
        topics = list(known.values())
    names = [
        _name_topic(topic)
        + (
            f", “{topic.mention}”"
            if topic.mention and fold_name(topic.mention) != fold_name(topic.entity.label)
            else ""
        )
        for topic in topics
    ]
    ids = {topic.entity.id for topic in topics}
    others = [topic for topic in evidence.topics if topic.entity.id not in ids]
    close = [other for other in others if any(_is_close(other, topic) for topic in topics)][:MAX_CLOSE]
    return ", ".join(dict.fromkeys(names)), " or ".join(f"{_name_topic(other)}, {other.entity.id}" for other in close)


def _name_topic(topic: Topic) -> str:
    return topic.entity.label + (f" ({topic.kind})" if topic.kind else "")


def _is_close(other: Topic, topic: Topic) -> bool:
    if other.span is None or topic.span is None:
        return False
    overlap = other.span[0] < topic.span[1] and topic.span[0] < other.span[1]
    return overlap and other.score >= CLOSE * topic.score


def answer_lines(
    answer: Answer, max_items: int, num_asked: int = 1, quotes: Quotes = (), reasons: Sequence[ItemReasons] = ()
) -> Iterator[str]:
    """Yield the question, the answer, its evidence, and the cost of its batch of `num_asked` questions (0: not that).

    quotes: the snippets of the first items, in a graph made from text. reasons: what is known of the first items.
    """
    evidence = answer.evidence
    yield click.style(make_printable(evidence.question.text), bold=True)
    yield f"  {click.style(make_printable(answer.text), fg='green' if answer.found else 'yellow')}"
    own = [entity for entity in answer.entities if entity.origin == "model"]
    if own:
        yield f"  the model's own, not in the evidence: {make_printable(', '.join(entity.name for entity in own))}"
    if answer.found and (first := answer.answers[0]).origin != "model":
        ranks = ", ".join(str(index + 1) for index in first.evidence)
        kind = f", resting on {'path' if evidence.kind == 'chain' else 'triple'} " if ranks else ""
        confidence = first.confidence if answer.confidence is None else answer.confidence
        how_sure = (
            "no confidence (these scores have no calibration, so there is no abstention)"
            if confidence is None
            else f"confidence {confidence:.2f}"
        )
        yield click.style(f"  {how_sure}{kind}{ranks}", dim=True)
    if answer.why:
        yield click.style(f"  because: {make_printable('; '.join(answer.why))}", dim=True)
    yield from evidence_lines(evidence, max_items, num_asked, quotes, reasons)


def trace_lines(costs: Sequence[StageCost]) -> Iterator[str]:
    """Yield a table of what the stages of a batch took, with the sum."""
    yield f"  {'stage':<24}{'ms':>7}{'Cypher':>8}{'FAISS':>7}{'device':>8}{'model':>7}"
    for cost in (*costs, *merge_stage_costs(replace(each, stage="all") for each in costs)):
        calls = f"{cost.round_trips:>8}{cost.searches:>7}{cost.batches:>8}{cost.llm.calls:>7}"
        yield f"  {make_printable(cost.stage):<24}{cost.seconds * 1000:>7.0f}{calls}"


def evidence_lines(
    evidence: Evidence[Item],
    max_items: int,
    num_asked: int = 1,
    quotes: Quotes = (),
    reasons: Sequence[ItemReasons] = (),
) -> Iterator[str]:
    """Yield the ranked items with their snippets and reasons, the linked entities, and the cost of the batch."""
    for rank, item in enumerate(evidence.items[:max_items], start=1):
        group = "" if item.group is None else f"[{item.group + 1}] "
        line, _, more = format_item(item.value, evidence.labels, max_names=MAX_ENDS).partition("\n")
        yield f"  {rank:>2}. {item.score:6.3f}  {group}{make_printable(line)}{'; …' if more else ''}"
        for snippet in quotes[rank - 1] if rank <= len(quotes) else ():
            yield click.style(f"      “{make_printable(snippet)}”", dim=True)
        for line in reasons[rank - 1].lines() if rank <= len(reasons) else ():
            yield click.style(f"      {make_printable(line)}", dim=True)
    if cut := len(evidence.cut_paths):
        yield click.style(f"  bounds cut {cut} of the paths: not all their ends were read", dim=True)
    for text in evidence.left_out:
        yield click.style(f"  {make_printable(text)}", dim=True)
    trips = evidence.round_trips
    topics, others = map(make_printable, topic_lines(evidence))
    cost = f"{evidence.seconds * 1000:.0f} ms, {trips} round trip{'' if trips == 1 else 's'} to the database"
    every = f" for all {num_asked:,} questions" if num_asked > 1 else ""
    if last := "; ".join([f"about {topics}"] * bool(topics) + [cost + every] * bool(num_asked)):
        yield click.style(f"  {last}", dim=True)
    if others:
        yield click.style(f"  not {others}: --topic to choose", dim=True)
