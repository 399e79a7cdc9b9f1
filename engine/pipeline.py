"""Combine stages, and run a pipeline of them: link, retrieve, reorganise and answer a batch of questions.

``ReorganisedRetriever(retriever, reorganiser, …)`` is ``a + b`` of a recipe, ``UnionRetriever(retriever, retriever)``
is ``a | b``. All are retrievers themselves, and so can be combined again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .evidence.bridges import convert_item_kind
from .evidence.chain import Chain
from .evidence.evidence import Answer, Evidence, Item, Kind, item_sort_key
from .evidence.extras import DidYouMean
from .linking.topics import find_nearest_names, look_up_topics
from .stages import Answerer, Linker, Reorganiser, RerankingLinker, Retriever
from .steps import Steps, gather_steps, measure_costs, run_stage
from .values import Entity, LinkedQuestion, Question, Scored

RANK_CONSTANT = 60
"""k of reciprocal rank fusion (Cormack et al. 2009)."""

MAX_KEPT = 1_000


class ReorganisedRetriever:
    """A retriever followed by reorganisers, with a bridge wherever kinds differ; a `Retriever`."""

    def __init__(self, retriever: Retriever, *reorganisers: Reorganiser) -> None:
        self._retriever = retriever
        self._reorganisers = reorganisers
        self.gives: Kind = retriever.gives
        for reorganiser in reorganisers:
            self.gives = reorganiser.gives or self.gives

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int) -> Steps[list[Evidence[Any]]]:
        """Return what the last reorganiser makes of what the retriever found."""
        found = yield from self._retriever.retrieve(questions, top_k)
        for reorganiser in self._reorganisers:
            kind = reorganiser.takes
            taken = (
                found
                if kind is None
                else [each if each.kind == kind else convert_item_kind(each, kind) for each in found]
            )
            found = yield from reorganiser.reorganise(taken)
        return found


class UnionRetriever:
    """What two retrievers find, together; a `Retriever` of the first one's kind.

    The second one's evidence is bridged where it is of the other kind. An item has the sum of 1 / (`RANK_CONSTANT` +
    rank) over both, and there is no calibration: probabilities of two retrievers mean different things. What each of
    them found stays beside it under its own name (`Evidence.sources`), where a reader weighs both. Both search at the
    same time. What each of them makes groups of keeps its better one.
    """

    def __init__(self, left: Retriever, right: Retriever, names: tuple[str, str] = ("left", "right")) -> None:
        self._sides = (left, right)
        self._names = names
        self.gives: Kind = left.gives

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int) -> Steps[list[Evidence[Any]]]:
        left, right = yield from gather_steps(*(side.retrieve(questions, top_k) for side in self._sides))
        found = []
        for one, two in zip(left, right, strict=True):
            sources = (*one.sources_or_self(self._names[0]), *two.sources_or_self(self._names[1]))
            found.append(replace(unite_evidence(one, convert_item_kind(two, one.kind)), sources=_number_names(sources)))
        return found


class TracedRetriever:
    """A retriever whose cost and number of items stand in the evidence under a name; a `Retriever`."""

    def __init__(self, name: str, retriever: Retriever) -> None:
        self._name = name
        self._retriever = retriever
        self.gives: Kind = retriever.gives

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int) -> Steps[list[Evidence[Any]]]:
        found = yield from run_stage(self._name, self._retriever.retrieve(questions, top_k))
        return [each.add_stage(self._name) for each in found]


class TracedReorganiser:
    """A reorganiser whose cost, number of items and change stand in the evidence under a name; a `Reorganiser`."""

    def __init__(self, name: str, reorganiser: Reorganiser) -> None:
        self._name = name
        self._reorganiser = reorganiser
        self.takes: Kind | None = reorganiser.takes
        self.gives: Kind | None = reorganiser.gives

    def reorganise(self, evidence: Sequence[Evidence[Any]]) -> Steps[list[Evidence[Any]]]:
        found = yield from run_stage(self._name, self._reorganiser.reorganise(evidence))
        return [
            replace(after.add_stage(self._name), changes=(*after.changes, (self._name, before, after)))
            for before, after in zip(evidence, found, strict=True)
        ]


def unite_evidence(left: Evidence[Item], right: Evidence[Item]) -> Evidence[Item]:
    """Return the union of two pieces of evidence of one kind for one question. See `UnionRetriever`."""
    scores: dict[Any, float] = {}
    items: dict[Any, Item] = {}
    groups: dict[Any, int] = {}
    for side in (left, right):
        for index, scored in enumerate(side.items):
            key = deduplication_key(scored.value)
            items.setdefault(key, scored.value)
            groups[key] = min(groups.get(key, side.group(index)), side.group(index))
            scores[key] = scores.get(key, 0.0) + 1 / (RANK_CONSTANT + index + 1)
    order = sorted(items, key=lambda key: item_sort_key(Scored(items[key], scores[key])))
    return replace(
        left,
        items=tuple(Scored(items[key], scores[key]) for key in order),
        calibration=None,
        groups=tuple(groups[key] for key in order) if left.groups or right.groups else (),
        left_out=tuple(dict.fromkeys((*left.left_out, *right.left_out))),
        note=left.note and right.note,
        reason=left.reason and right.reason,
        walked=(*left.walked, *right.walked),
        stages=(*left.stages, *right.stages),
        changes=(*left.changes, *right.changes),
    )


def _number_names(sources: Sequence[tuple[str, Evidence[Item]]]) -> tuple[tuple[str, Evidence[Item]], ...]:
    found: dict[str, Evidence[Item]] = {}
    for name, each in sources:
        number = 2
        new = name
        while new in found:
            new, number = f"{name}-{number}", number + 1
        found[new] = each
    return tuple(found.items())


def deduplication_key(item: Item) -> object:
    """Return what items of two retrievers are the same by: a chain's topic and relation path, or the triple."""
    return (item.topic, item.relation_path) if isinstance(item, Chain) else item


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages joined: a linker, a retriever (which may be one that reorganisers follow), an answerer."""

    linker: Linker
    retriever: Retriever
    answerer: Answerer

    @property
    def reads(self) -> int:
        """The most items of a question that the answerer reads, where it was trained with a number; else 0."""
        reads: int = getattr(self.answerer, "reads", 0)
        return reads

    def retrieve(self, questions: Sequence[Question], top_k: int) -> Steps[list[Evidence[Any]]]:
        """Return evidence of at most `top_k` items for each question; one without a known entity has a note."""
        found, costs = yield from measure_costs(self._retrieve(questions, top_k))
        return [each.add_costs(costs) for each in found]

    def answer(self, evidence: Sequence[Evidence[Any]]) -> Steps[list[Answer]]:
        """Return an answer to each question; what it took stands in its evidence."""
        answers, costs = yield from measure_costs(run_stage("answer", self.answerer.answer(evidence), is_whole=True))
        return [replace(answer, evidence=answer.evidence.add_costs(costs)) for answer in answers]

    def ask(self, questions: Sequence[Question], top_k: int) -> Steps[list[Answer]]:
        found = yield from self.retrieve(questions, top_k)
        return (yield from self.answer(found))

    def _retrieve(self, questions: Sequence[Question], top_k: int) -> Steps[list[Evidence[Any]]]:
        linked = yield from self._link(questions)
        unlinked = [each.question for each in linked if not each.topics]
        offered: dict[Question, tuple[Entity, ...]] = {}
        if unlinked:
            texts = [" ".join(question.topic_entities) or question.text for question in unlinked]
            found_names = yield from run_stage("nearest names", find_nearest_names(texts))
            offered = dict(zip(unlinked, found_names, strict=True))
        found = yield from self.retriever.retrieve(linked, top_k)
        return [
            replace(
                each.cut_to(top_k),
                **({} if each.topics else _nothing_linked(each.question, offered.get(each.question, ()))),
            )
            for each in found
        ]

    def _link(self, questions: Sequence[Question]) -> Steps[list[LinkedQuestion]]:
        free = [question for question in questions if not question.topic_entities]
        found = iter((yield from run_stage("link", self.linker.link(free))) if free else [])
        linked = [() if question.topic_entities else next(found) for question in questions]
        linker = self.linker if isinstance(self.linker, RerankingLinker) else None
        return (yield from run_stage("topics", look_up_topics(questions, linked, linker)))


def _nothing_linked(question: Question, offered: tuple[Entity, ...]) -> dict[str, Any]:
    named = ", ".join(map(repr, question.topic_entities))
    reason = f"no entity has the id or name {named}" if named else "no known entity in the question"
    offer = f"; did you mean {' or '.join(entity.label for entity in offered)}?" if offered else ""
    return {"note": reason + offer, "reason": "nothing linked", "extras": (DidYouMean(offered),) if offered else ()}
