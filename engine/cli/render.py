"""Format an answer, or evidence alone, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ...models.wording import fold_name
from ..context import StageCost, merge_stage_costs
from ..data_model import Chain, Topic
from ..evidence import Answer, Evidence, Item
from ..evidence.chains_and_triples import Quotes
from ..evidence.text import format_item
from ..progress import format_count, make_printable

if TYPE_CHECKING:
    from ..explaining import ItemReasons

MAX_ENDS = 5
"""Ends of a path that are named."""
CLOSE = 0.3
"""Share of a topic's score from which another entity of the same words is named."""


def result_lines(
    found: Answer | Evidence[Item],
    max_items: int,
    *,
    num_asked: int = 1,
    quotes: Quotes = (),
    reasons: Sequence[ItemReasons] = (),
) -> Iterator[str]:
    """Yield the question, the answer if there is one, the ranked items, the topics, and the cost of the batch.

    num_asked: questions of the batch; 0 leaves out its cost. quotes: the snippets of the first items, in a graph made
    from text. reasons: what is known of the first items.
    """
    evidence = found.evidence if isinstance(found, Answer) else found
    yield click.style(make_printable(evidence.question.text), bold=True)
    if isinstance(found, Answer):
        yield from _answer_lines(found)
    for rank, item in enumerate(evidence.items[:max_items], start=1):
        group = "" if item.group is None else f"[{item.group + 1}] "
        line, _, more = format_item(item.value, evidence.labels, max_names=MAX_ENDS).partition("\n")
        yield f"  {rank:>2}. {item.score:6.3f}  {group}{make_printable(line)}{'; …' if more else ''}"
        for snippet in quotes[rank - 1] if rank <= len(quotes) else ():
            yield _dim(f"      “{snippet}”")
        for line in reasons[rank - 1].lines() if rank <= len(reasons) else ():
            yield _dim(f"      {line}")
    if cut := len(evidence.cut_paths):
        yield _dim(f"  bounds cut {cut} of the paths: not all their ends were read")
    yield from (_dim(f"  {text}") for text in evidence.left_out)
    topics, close = _describe_topics(evidence)
    cost = f"{evidence.seconds * 1000:.0f} ms, {format_count(evidence.round_trips, 'round trip')} to the database"
    every = f" for all {num_asked:,} questions" if num_asked > 1 else ""
    if last := "; ".join([f"about {topics}"] * bool(topics) + [cost + every] * bool(num_asked)):
        yield _dim(f"  {last}")
    if close:
        yield _dim(f"  or did you mean {close}? --topic ID to choose")


def trace_lines(costs: Sequence[StageCost]) -> Iterator[str]:
    """Yield a table of what the stages of a batch took, with the sum."""
    yield f"  {'stage':<24}{'ms':>7}{'Cypher':>8}{'FAISS':>7}{'device':>8}{'model':>7}"
    for cost in (*costs, *merge_stage_costs(replace(each, stage="all") for each in costs)):
        calls = f"{cost.round_trips:>8}{cost.searches:>7}{cost.batches:>8}{cost.llm.calls:>7}"
        yield f"  {make_printable(cost.stage):<24}{cost.seconds * 1000:>7.0f}{calls}"


def _dim(text: str) -> str:
    return click.style(make_printable(text), dim=True)


def _answer_lines(answer: Answer) -> Iterator[str]:
    """Yield the answer, what it rests on and how sure it is, and why."""
    yield f"  {click.style(make_printable(answer.text), fg='green' if answer.found else 'yellow')}"
    own = [entity.name for entity in answer.entities if entity.origin == "model"]
    if own:
        yield f"  the model's own, not in the evidence: {make_printable(', '.join(own))}"
    if answer.found and (first := answer.answers[0]).origin != "model":
        ranks = ", ".join(str(index + 1) for index in first.evidence)
        kind = "path" if answer.evidence.kind == "chain" else "triple"
        confidence = first.confidence if answer.confidence is None else answer.confidence
        how_sure = "no calibrated confidence" if confidence is None else f"confidence {confidence:.2f}"
        yield _dim(f"  {how_sure}{f', resting on {kind} {ranks}' if ranks else ''}")
    if answer.why:
        yield _dim(f"  because: {'; '.join(answer.why)}")


def _describe_topics(evidence: Evidence[Item]) -> tuple[str, str]:
    """Return the topics that the items start from, with the mention where that differs; and what else it may mean."""
    starts = {each.value.topic.id for each in evidence.items if isinstance(each.value, Chain)}
    used = [each for each in evidence.topics if each.entity.id in starts or evidence.kind == "triple"]
    scores = {topic.span: topic.score for topic in used}
    others = (each for each in evidence.topics if each.span and each not in used)
    close = (each for each in others if each.score >= CLOSE * scores.get(each.span, float("inf")))
    about = ", ".join(dict.fromkeys(map(_name_topic, used)))
    return about, ", ".join(f"{_name_topic(each)}, {each.entity.id}" for each in close)


def _name_topic(topic: Topic) -> str:
    kind = f" ({topic.kind})" if topic.kind else ""
    differs = topic.mention and fold_name(topic.mention) != fold_name(topic.entity.label)
    return f"{topic.entity.label}{kind}{f', “{topic.mention}”' if differs else ''}"
