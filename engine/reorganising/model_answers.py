"""Add what a language model answers as a source of evidence, for a reader to weigh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..answering.candidates import CLOSED_BOOK, LLM, list_ends
from ..answering.integrating import ClosedBook
from ..answering.llm import LanguageModel, normalise_name
from ..evidence import Answer, Calibration, Evidence, Item
from ..evidence.extras import PlanAnswer
from ..parts import Reorganiser, option, part
from ..values import Chain, Entity, Scored

if TYPE_CHECKING:
    from ..context import Context
    from ..resources import GraphResources

READS = 10
"""Items of a question that the model is given."""
UNKNOWN = 0.5
"""Stands for the confidence of an answer where the endpoint gives none."""


@part("model-answers")
@dataclass(frozen=True)
class ModelAnswers(Reorganiser):
    """Adds what a language model answers, for a reader that was trained with it to weigh (docs/how-it-works.md).

    The items stay as they are, and its answers are sources under their names (our own). A source has a chain without
    steps for each name, whose ends are the entities of that name among the ends of the evidence, so that no answer is
    invented. Questions that a plan has answered are not asked. Where the model fails for a question, the evidence says
    so and lacks that source.
    """

    evidence: bool = option(True, "ask it with the evidence, too")

    def open(self, graph: GraphResources) -> None:
        """Raise `LLMError` if no model is configured."""
        _ = graph.shared.chat

    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Item]]) -> list[Evidence[Item]]:
        found = list(evidence)
        asked = [place for place, each in enumerate(found) if each.extra_of(PlanAnswer) is None]
        shown = [found[place].cut_to(READS) for place in asked]
        with ClosedBook().asking(ctx, shown) as wait:
            replies = {LLM: LanguageModel(complete=False)(ctx, shown)} if self.evidence else {}
            replies[CLOSED_BOOK] = wait()
        for name, answers in replies.items():
            for place, answer in zip(asked, answers, strict=True):
                found[place] = _add_source(found[place], name, answer)
        return found


def _add_source(evidence: Evidence[Item], name: str, answer: Answer) -> Evidence[Item]:
    if answer.failure is not None:
        return replace(evidence, left_out=(*evidence.left_out, f"{name}: {answer.failure}"))
    entities: dict[str, list[Entity]] = {}
    for end in list_ends(evidence):
        entities.setdefault(normalise_name(end.label), []).append(end)
    items = []
    for each in answer.entities:
        if ends := entities.pop(normalise_name(each.name), None):
            topic = evidence.topics[0].entity if evidence.topics else ends[0]
            confidence = UNKNOWN if each.confidence is None else each.confidence
            items.append(Scored(Chain(topic, (), tuple(ends)), confidence))
    items.sort(key=lambda item: -item.score)
    source: Evidence[Item] = Evidence(
        evidence.question, evidence.topics, "chain", tuple(items), Calibration("probability")
    )
    sources = (*evidence.sources_or_self(evidence.kind), (name, source))
    return replace(evidence, trace=replace(evidence.trace, sources=sources))
