"""The values that stages pass on: frozen, compared by content, free of any database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from .errors import UsageError

T = TypeVar("T")

MAX_QUESTION_CHARS = 10_000


@dataclass(frozen=True, slots=True)
class Entity:
    """A node of the graph; its identity is its id. `name` is None for an unnamed mediator (Freebase's CVT).

    Of a literal the id is its canonical N-Triples term and the name its value; a path may end in one, no path goes on.
    """

    id: str
    name: str | None = field(default=None, compare=False)
    is_literal: bool = False

    @property
    def is_mediator(self) -> bool:
        """Whether it has no name to be shown by."""
        return not self.name and not self.is_literal

    @property
    def label(self) -> str:
        """What a reader sees: a literal's value as it is, a name with its underscores opened, never a bare id.

        An ellipsis for a mediator, a pair of quotes for the empty value.
        """
        if self.is_literal:
            return self.name or '""'
        return self.name.replace("_", " ") if self.name else "…"


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it was asked; `topic_entities` are ids the asker gave, empty where the linker is to find them."""

    text: str
    topic_entities: tuple[str, ...] = ()
    id: str = ""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise UsageError("the question is empty: expected some text")
        if len(self.text) > MAX_QUESTION_CHARS:
            raise UsageError(f"the question has {len(self.text):,} characters: expected at most {MAX_QUESTION_CHARS:,}")
        for text in (self.text, *self.topic_entities):
            if any("\ud800" <= c <= "\udfff" for c in text):
                raise UsageError(f"the question or an id of it is not UTF-8 text: found {text[:80]!r}")


@dataclass(frozen=True, slots=True)
class Triple:
    """(head, relation, tail): its own identity, so that parallel relations stay apart."""

    head: Entity
    relation: str
    tail: Entity


@dataclass(frozen=True, slots=True)
class Step:
    """One relation of a relation path; `inverse` when walked from tail to head."""

    relation: str
    inverse: bool = False
    to_mediator: bool = False
    """The step ends at unnamed mediators, so that it and the next step are one n-ary fact."""

    def __str__(self) -> str:
        return f"^{self.relation}" if self.inverse else self.relation


@dataclass(frozen=True, slots=True)
class RelationPath:
    """The relations of a path in walking order."""

    steps: tuple[Step, ...]

    @property
    def num_hops(self) -> int:
        """Hops between named entities: a step into a mediator and the step out of it are one hop."""
        return sum(not step.to_mediator for step in self.steps)

    def __str__(self) -> str:
        return " → ".join(map(str, self.steps))


@dataclass(frozen=True, slots=True)
class Path:
    """A reasoning path: triples that meet end to end, with the direction in which each is walked.

    Raises `ValueError` when a triple does not start where the one before it ended.
    """

    triples: tuple[Triple, ...]
    inverses: tuple[bool, ...]

    def __post_init__(self) -> None:
        if not self.triples or len(self.triples) != len(self.inverses):
            raise ValueError("a path has at least one triple and one direction for each")
        for left, right in zip(self.entities_after, self.entities_before[1:], strict=False):
            if left != right:
                raise ValueError(f"the path breaks between {left.id!r} and {right.id!r}")

    @property
    def entities_before(self) -> tuple[Entity, ...]:
        """Where each step starts."""
        return tuple(t.tail if inv else t.head for t, inv in zip(self.triples, self.inverses, strict=True))

    @property
    def entities_after(self) -> tuple[Entity, ...]:
        """Where each step ends."""
        return tuple(t.head if inv else t.tail for t, inv in zip(self.triples, self.inverses, strict=True))

    @property
    def start(self) -> Entity:
        """The topic entity."""
        return self.entities_before[0]

    @property
    def end(self) -> Entity:
        """The entity the path leads to."""
        return self.entities_after[-1]

    @property
    def entities(self) -> tuple[Entity, ...]:
        """All entities in walking order, one more than there are triples."""
        return (self.start, *self.entities_after)

    def __str__(self) -> str:
        words = [self.start.label]
        for triple, inverse, entity in zip(self.triples, self.inverses, self.entities_after, strict=True):
            arrow = f"←[{triple.relation}]—" if inverse else f"—[{triple.relation}]→"
            words += [arrow, entity.label]
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Scored(Generic[T]):
    """A value with the score a stage gave it; what the score means is said by the stage."""

    value: T
    score: float


@dataclass(frozen=True, slots=True)
class EntityCandidate:
    """An entity that a mention in the question may mean."""

    entity: Entity
    mention: str
    matched_name: str
    degree: int


@dataclass(frozen=True, slots=True)
class RetrievedPath:
    """A relation path from a topic entity, grounded: every instance was read from the graph.

    `ends` are the distinct entities it leads to, in the order they were read; `instances` has one entity path to each
    of the first hundred; `cut` says that a bound stopped the reading, so that there may be more ends.
    """

    topic: Entity
    relation_path: RelationPath
    instances: tuple[Path, ...]
    ends: tuple[Entity, ...]
    cut: bool = False
    meeting: tuple[Entity, ...] = ()
    """Those of the ends that a good path from another topic entity of the question leads to as well."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was found for one question: paths, best first, and what it took.

    `seconds` and `stage_round_trips` are by stage, `round_trips` is their sum; they belong to the question's batch.
    """

    question: Question
    topics: tuple[Scored[EntityCandidate], ...]
    paths: tuple[Scored[RetrievedPath], ...]
    seconds: Mapping[str, float] = field(default_factory=dict, compare=False)
    round_trips: int = field(default=0, compare=False)
    stage_round_trips: Mapping[str, int] = field(default_factory=dict, compare=False)
    cuts: tuple[str, ...] = ()
    """The paths of which a bound left something out, in words."""
    note: str = ""
    """Why there are no topics, where there are none."""
    walked: tuple[tuple[str, RelationPath], ...] = field(default=(), compare=False)
    """The relation paths that the search carried on or took for a result, each with its topic's id: all others were
    pruned. Empty where a retriever does not say."""


@dataclass(frozen=True, slots=True)
class AnswerEntity:
    """One answer: in the evidence, or the model's own (`origin` = ``model``) and then without an id."""

    name: str
    id: str | None
    confidence: float
    origin: Literal["graph", "model"]
    evidence: tuple[int, ...]
    """Indexes into the retrieval's paths."""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What a language model counted: tokens of its prompt and of its completion."""

    prompt: int
    completion: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question with what it rests on; no `entities` means that no answer was found."""

    retrieval: Retrieval
    entities: tuple[AnswerEntity, ...]
    text: str
    answerer: str
    usage: TokenUsage | None = field(default=None, compare=False)
    """None where no language model was asked, or where its endpoint does not say."""

    @property
    def found(self) -> bool:
        """Whether there is an answer."""
        return bool(self.entities)
