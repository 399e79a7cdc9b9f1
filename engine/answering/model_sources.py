"""Make what a language model answers sources of the evidence, which a reader weighs beside what was found (our own).

A reader that is trained with them learns how much a name in the model's reply is worth, read from the evidence and
known without it. Only ends of the evidence count, so that no answer is invented.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..evidence.calibration import Calibration
from ..evidence.chain import Chain
from ..evidence.evidence import Answer, Evidence, Item
from ..evidence.extras import FormResult
from ..stages import Answerer
from ..steps import Steps, gather_steps
from ..values import Entity, Scored
from .candidates import list_ends
from .reply import normalise_name

LLM, CLOSED_BOOK = "llm", "closed-book"
"""Names of the sources: what the model reads in the evidence, and what it knows itself."""
UNKNOWN = 0.5
"""Stands for the confidence of an answer where the endpoint gives none."""


class LanguageModelSources:
    """A `Reorganiser`: the items stay as they are, and each answerer's answers are a source under its name.

    A source has a chain without steps for each name, whose ends are the entities of that name. reads: items of a
    question that answerers are given. Questions that a form has answered are not asked. Where the model fails for a
    question, the evidence says so and lacks that source.
    """

    takes = None
    gives = None

    def __init__(self, answerers: Mapping[str, Answerer], *, reads: int) -> None:
        self._answerers = answerers
        self._reads = reads

    def reorganise(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Evidence[Item]]]:
        """Return the evidence with the sources."""
        found = list(evidence)
        asked = [place for place, each in enumerate(found) if each.extra_of(FormResult) is None]
        shown = [found[place].cut_to(self._reads) for place in asked]
        replies = yield from gather_steps(*(each.answer(shown) for each in self._answerers.values()))
        for name, answers in zip(self._answerers, replies, strict=True):
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
    return replace(evidence, sources=(*evidence.sources_or_self(evidence.kind), (name, source)))
