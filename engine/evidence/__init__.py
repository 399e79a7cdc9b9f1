"""Define evidence (what was found for one question, ranked, with its cost), the probabilities of its scores, and the
answer that rests on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, cast

import numpy as np

from ...models.calibration import sigmoid
from ..context import StageCost, merge_stage_costs
from ..data_model import AnswerEntity, Chain, Entity, Item, Question, Scored, Topic, check_scores_finite
from ..errors import LodestarError
from ..progress import format_count
from .json_data import (
    AnswerData,
    AnswerKind,
    EvidenceData,
    Reason,
    round_score,
    serialise_answer,
    serialise_entity,
    serialise_evidence,
)
from .text import NO_LABELS, Labels, format_item, format_path

if TYPE_CHECKING:
    from ..llm import TokenUsage

ItemT_co = TypeVar("ItemT_co", bound=Item, covariant=True)
Kind = Literal["triple", "chain"]

Unit = Literal["similarity", "logit", "probability"]

_TEMPERATURES: dict[Unit, float] = {"similarity": 0.1, "logit": 1.0, "probability": 1.0}


@dataclass(frozen=True, slots=True)
class Calibration:
    """P = σ(slope · score + intercept), by logistic regression (Platt 1999); of a probability, the score itself."""

    unit: Unit
    slope: float = 1.0
    intercept: float = 0.0
    of: Literal["path", "triple"] = "path"
    """What was right or wrong when it was fitted: probabilities of different things are not compared."""

    def probability(self, score: float) -> float:
        """Return P for a score; raise `ModelError` for one that is no number."""
        check_scores_finite(np.array([score]), "a scorer", log_probabilities=True)
        if self.unit == "probability":
            return min(max(score, 0.0), 1.0)
        return float(sigmoid(self.slope * score + self.intercept))

    @property
    def temperature(self) -> float:
        """What a difference in score is divided by where items are weighed against each other. Our own choice."""
        return _TEMPERATURES[self.unit]

    def from_log_odds(self, difference: float) -> float:
        """Return how much score a difference in log-odds is; of a slope that is not positive, as if similarity."""
        slope = self.slope if self.slope > 0 else SIMILARITY.slope
        return difference / slope


SIMILARITY = Calibration("similarity", 2.36, -3.28)
"""Of `models.path_similarity`, fitted on training questions of FB15k-237 and MetaQA and on the development graphs of
``tests/people``, each of the three with the same weight, about a third of them without their answers
(docs/how-it-works.md)."""

LEAST_PROBABILITY = 0.2
"""Below it a chain is taken to be about something else."""
UNSTATED = 0.49
"""The greatest probability of an answer that leaves out an adjective or a name, or is of another kind than asked for.
Our own choice."""


@dataclass(frozen=True, slots=True)
class AnswerProbabilityFactors:
    """How sure it is that the first answer is right: an `EvidenceExtra` of evidence about one path with one score.

    margin: how far the score is above that of the best path that leads elsewhere. lacking: how far the relation that
    fits best of those that the topic does not have is above the score, or 0. The probability is the calibration's of
    the score, raised and lowered by these (`NoAnswerExplainer`).
    """

    topic: str
    path: str
    score: float
    margin: float
    lacking: float
    probability: float

    def to_dict(self) -> dict[str, Any]:
        """Return the probability and what it was computed from, as plain data."""
        of = ("probability", "score", "margin", "lacking")
        return {"certainty": {name: round(getattr(self, name), 6) for name in of}}


class EvidenceExtra(Protocol):
    """What one feature adds to evidence: the result of a form, the names that are nearest to an unknown one, …."""

    def to_dict(self) -> dict[str, Any]: ...


ExtraT = TypeVar("ExtraT")


@dataclass(frozen=True, slots=True)
class EvidenceTrace:
    """How evidence came about.

    costs: of each stage. stages: the name of each, and the kind and number of items that it left. sources: of a union
    the evidence of each retriever by its name, as it was before they were joined; a reader weighs them side by side.
    retrieved: the chains that triples were taken from, best first, each as its topic's id and its relation path.
    """

    costs: tuple[StageCost, ...] = ()
    stages: tuple[tuple[str, Kind, int], ...] = ()
    sources: tuple[tuple[str, Evidence[Item]], ...] = ()
    retrieved: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class NoEvidenceExplanation:
    """Why evidence has no items, or none that fits, in words.

    reason: as a code. nearest: the entities with the nearest names, where none is known by what was asked about. fault:
    the error, where the question could not be asked.
    """

    text: str
    reason: Reason | None = None
    nearest: tuple[Entity, ...] = ()
    fault: LodestarError | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Evidence(Generic[ItemT_co]):
    """Items of one kind with their scores, best first.

    `calibration` says what the scores mean, None where nobody knows; a stage that rescores replaces or drops it.
    `left_out` says in sentences what else is left out or undone, beside ends that a chain lacks. `absence` says why
    there is nothing, or nothing that fits. `extras` are what single features add, one of each class at most
    (`extra_of`). `labels` are those of the graph's relations.
    """

    question: Question
    topics: tuple[Topic, ...]
    kind: Kind
    items: tuple[Scored[ItemT_co], ...] = ()
    calibration: Calibration | None = None
    left_out: tuple[str, ...] = ()
    absence: NoEvidenceExplanation | None = None
    extras: tuple[EvidenceExtra, ...] = ()
    trace: EvidenceTrace = field(default_factory=EvidenceTrace, compare=False, repr=False)
    labels: Labels = field(default_factory=lambda: NO_LABELS, compare=False, repr=False)

    @property
    def note(self) -> str:
        """Why there is nothing, or nothing that fits, in words; else empty."""
        return self.absence.text if self.absence else ""

    @property
    def reason(self) -> Reason | None:
        return self.absence.reason if self.absence else None

    @property
    def fault(self) -> LodestarError | None:
        """Why the question could not be asked: it is none, or no entity of it is known."""
        return self.absence.fault if self.absence else None

    @property
    def seconds(self) -> float:
        return sum(cost.seconds for cost in self.trace.costs)

    @property
    def round_trips(self) -> int:
        return sum(cost.round_trips for cost in self.trace.costs)

    @property
    def chains(self) -> tuple[Scored[Chain], ...]:
        return tuple(cast(Scored[Chain], each) for each in self.items if isinstance(each.value, Chain))

    @property
    def cut_paths(self) -> tuple[str, ...]:
        chains = (each.value for each in self.chains)
        return tuple(
            f"{chain.topic.label}: {format_path(chain.relation_path.steps, self.labels)}"
            for chain in chains
            if chain.cut
        )

    @property
    def cuts(self) -> tuple[str, ...]:
        return (*self.cut_paths, *self.left_out)

    def extra_of(self, kind: type[ExtraT]) -> ExtraT | None:
        return next((each for each in self.extras if isinstance(each, kind)), None)

    def sources_or_self(self, name: str) -> tuple[tuple[str, Evidence[Item]], ...]:
        """Return the evidence of each retriever behind it, by name; itself under `name` if one alone found it."""
        return self.trace.sources or ((name, self),)

    def probability(self, index: int) -> float | None:
        """Return the probability that an item leads to a right answer, None where nobody knows.

        That is so where the scores have no calibration, and of chains made of triples: a calibration of triples says
        nothing of them, and one of paths only of those that were retrieved as they are.
        """
        item = self.items[index]
        if self.calibration is None:
            return None
        if isinstance(item.value, Chain):
            retrieved = self.trace.retrieved
            made = retrieved and (item.value.topic.id, str(item.value.relation_path)) not in retrieved
            if made or self.calibration.of == "triple":
                return None
        return self.calibration.probability(item.score)

    @property
    def confidence(self) -> float | None:
        """The probability that the first item leads to a right answer, None where the scores have no calibration.

        It is what `AnswerProbabilityFactors` say, if the first item still has the path and score that they are about.
        """
        if not self.items:
            return None
        first, said = self.items[0], self.extra_of(AnswerProbabilityFactors)
        known = self.probability(0)
        if said is None or known is None or not isinstance(first.value, Chain):
            return known
        about = (first.value.topic.id, str(first.value.relation_path), first.score)
        return said.probability if about == (said.topic, said.path, said.score) else known

    def take(self, places: Iterable[int]) -> Evidence[ItemT_co]:
        """Return the evidence with the items at these places, in this order."""
        return replace(self, items=tuple(self.items[place] for place in places))

    def cut_to(self, top_k: int) -> Evidence[ItemT_co]:
        return replace(self, items=self.items[:top_k])

    def chain_order(self, scored: Scored[Chain]) -> tuple[float, int, int, str, str]:
        """Return what chains made of its triples are sorted by: among equal scores those first that were retrieved."""
        key = (scored.value.topic.id, str(scored.value.relation_path))
        retrieved = self.trace.retrieved
        place = retrieved.index(key) if key in retrieved else len(retrieved)
        score, length, topic, path = item_sort_key(scored)
        return (score, place, length, topic, path)

    def add_stage(self, name: str, labels: Labels) -> Evidence[ItemT_co]:
        stages = (*self.trace.stages, (name, self.kind, len(self.items)))
        return replace(self, labels=labels, trace=replace(self.trace, stages=stages))

    def add_costs(self, costs: Iterable[StageCost]) -> Evidence[ItemT_co]:
        """Return the evidence with more costs, added to those of the same stage."""
        return replace(self, trace=replace(self.trace, costs=merge_stage_costs((*self.trace.costs, *costs))))

    def to_dict(self, *, trace: bool = False) -> EvidenceData:
        """Return it as plain data for JSON (docs/how-it-works.md); `trace` adds what each stage took and left."""
        return serialise_evidence(self, trace=trace)

    def __repr__(self) -> str:
        best = f", best {self.items[0].value!r}" if self.items else f", {self.note}" if self.note else ""
        return f"<Evidence for {self.question.text!r}: {format_count(len(self.items), self.kind)}{best}>"


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """What a plan gives, an `EvidenceExtra` of the triples that it rests on.

    plan: as JSON has it; how: in words. found: the first entities or values, each with the value that orders it;
    total: how many there are; missing: how many lack a value. number, yes, says: the answer where it is one, and in
    words. probability: that the plan is what was asked, None where nobody knows; unsure: whether it is too low to state
    the answer. reason: why there is none.
    """

    plan: Mapping[str, Any]
    how: str
    found: tuple[tuple[Entity, float | None], ...] = ()
    total: int = 0
    probability: float | None = None
    unsure: bool = False
    missing: int = 0
    number: float | None = None
    yes: bool | None = None
    says: str = ""
    reason: str = ""

    @property
    def text(self) -> str:
        return f"{self.how}; {self.missing:,} without a value" if self.missing else self.how

    def to_dict(self) -> dict[str, Any]:
        """Return the plan, what it says and what it gives, as plain data."""
        found = [{**serialise_entity(entity), "key": round_score(key)} for entity, key in self.found]
        names = ("plan", "how", "total", "missing", "number", "yes", "says", "reason")
        return {"plan": {**{name: getattr(self, name) for name in names}, "found": found}}


@dataclass(frozen=True, slots=True)
class GraphToken:
    """What GRIL has to tell a reader that learned with it beside the triples, (dimension,): an `EvidenceExtra` of
    evidence."""

    values: tuple[float, ...] = field(compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, slots=True)
class ChainLengthShares:
    """How probable it is that the chain asked for has 1, 2, … triples, or more for the last one: an `EvidenceExtra` of
    triples."""

    values: tuple[float, ...] = field(compare=False, repr=False)

    def share(self, length: int) -> float:
        return self.values[min(length, len(self.values)) - 1]

    def to_dict(self) -> dict[str, Any]:
        return {}


def find_graph_token(evidence: Evidence[Item]) -> tuple[float, ...]:
    token = evidence.extra_of(GraphToken)
    return () if token is None else token.values


def item_sort_key(scored: Scored[Item]) -> tuple[float, int, str, str]:
    """Return what items are sorted by: best score first; of equal ones the shorter, then by ids and names."""
    item = scored.value
    if isinstance(item, Chain):
        return (-scored.score, len(item.steps), item.topic.id, str(item.relation_path))
    return (-scored.score, 1, item.head.id, f"{item.relation} {item.tail.id}")


NO_ANSWER = "no answer found"
NOT_THERE = "not in the graph"
"""The text of an answer whose `yes` is false: the graph may just not know it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question with what it rests on: `entities`, a `number`, or `yes`; `kind` says which, or none.

    Its truth value is `found`: whether there is an answer, not whether that is yes.

    `confidence` is the probability that the answer is right, which an answerer holds against its bounds, None where it
    does not know one; `unsure` says that it is between them: below it there would be no answer.
    `failure` is why there is none where the answerer failed: the evidence is not lost with it.
    """

    evidence: Evidence[Item]
    entities: tuple[AnswerEntity, ...]
    text: str
    answerer: str
    usage: TokenUsage | None = field(default=None, compare=False)
    """None where no language model was asked, or where its endpoint does not say."""
    failure: LodestarError | None = field(default=None, compare=False)
    confidence: float | None = None
    unsure: bool = False
    why: tuple[str, ...] = field(default=(), compare=False)
    """What decided, in words, the most important first; empty where an answerer does not say."""
    number: float | None = None
    """How many, where that was asked."""
    yes: bool | None = None
    """Whether it is so, where that was asked."""
    not_understood: tuple[str, ...] = ()
    """Words of the question that no reading of it used; then there is no answer."""
    nearest: Answer | None = field(default=None, compare=False, repr=False)
    """The answer to the question without the words that were not understood."""

    @property
    def kind(self) -> AnswerKind:
        if self.yes is not None:
            return "yes-no"
        if self.number is not None:
            return "number"
        return "entities" if self.entities else "none"

    def withhold(self, words: tuple[str, ...]) -> Answer:
        """Return no answer, because these words of the question were not understood, with this one as its `nearest`."""
        text = f"not understood: {', '.join(f'“{word}”' for word in words)}"
        return Answer(self.evidence, (), text, self.answerer, not_understood=words, nearest=self)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(entity.name for entity in self.entities)

    @property
    def answers(self) -> tuple[AnswerEntity, ...]:
        """The entities; a number or a yes as one without an id, which rests on all items."""
        if self.yes is None and self.number is None:
            return self.entities
        text = str(self.number) if self.yes is None else "yes" if self.yes else NOT_THERE
        rests_on = tuple(range(len(self.evidence.items)))
        return (AnswerEntity(text, None, self.confidence, "graph", rests_on),)

    @property
    def reason(self) -> Reason | None:
        """Why there is no answer, where there is none and somebody knows; in words in `text`."""
        if self.not_understood:
            return "not understood"
        if self.found:
            return None
        return "failed" if self.failure else self.evidence.reason

    @property
    def found(self) -> bool:
        return self.kind != "none"

    def __bool__(self) -> bool:
        return self.found

    def to_dict(self, *, trace: bool = False) -> AnswerData:
        """Return it with its evidence as plain data for JSON, as ``ask --json`` prints it."""
        return serialise_answer(self, trace=trace)

    def __repr__(self) -> str:
        sure = "" if self.confidence is None else f", confidence {self.confidence:.2f}"
        return f"<Answer {self.text!r}{sure}, from {format_count(len(self.evidence.items), self.evidence.kind)}>"


MAX_NAMED, MAX_UNSURE = 10, 3
"""Entities that the text of an answer names."""


def format_entity_names(entities: Sequence[AnswerEntity], total: int | None = None, *, unsure: bool = False) -> str:
    """Return the names of the first entities, of an unsure answer fewer, and how many more there are.

    Values that differ in their language or datatype alone are named once.
    """
    told = {each.name if (each.id or "").startswith('"') else (each.name, each.id): each.name for each in entities}
    named = list(told.values())[: MAX_UNSURE if unsure else MAX_NAMED]
    more = (len(told) if total is None else total) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


def make_failed_answer(evidence: Evidence[Item], error: LodestarError) -> Answer:
    return Answer(evidence, (), f"failed: {error}", "failed", failure=error)


MAX_ANSWER_LINES = 3
"""Lines of evidence after an answer."""


def format_answer(answer: Answer) -> str:
    """Return an answer as text for a chat, with the first lines of its evidence."""
    best = answer.evidence.items[:MAX_ANSWER_LINES]
    lines = [
        line for each in best for line in format_item(each.value, answer.evidence.labels, max_names=5).splitlines()
    ]
    because = "\n".join(f"- {line}" for line in (*answer.why, *lines[:MAX_ANSWER_LINES]))
    if not answer.found:
        note = answer.evidence.note
        return f"{answer.text} ({note})" if note and note not in answer.text else answer.text
    return f"{answer.text}\n\n{because}" if because else answer.text
