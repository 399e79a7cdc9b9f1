"""Define the values that stages pass on, and write literals as N-Triples terms.

Values are frozen, compared by content, and independent of any database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from .errors import ModelError, UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

T_co = TypeVar("T_co", covariant=True)

MAX_QUESTION_CHARS = 10_000
MAX_TOPICS_CHARS = 20_000
"""Of all topic ids of a question together, because they become one query parameter."""
MAX_OPTIONS = 100
"""A language model is held to them by a schema; llama.cpp takes minutes for one of thousands."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A node of the graph, identified by its id. `name` is None for an unnamed mediator (Freebase's CVT).

    The id of a literal is its canonical N-Triples term, its name the value. A path may end in a literal but not pass
    through one.
    """

    id: str
    name: str | None = field(default=None, compare=False)
    is_literal: bool = False

    @property
    def is_mediator(self) -> bool:
        """Whether the entity has no name to show."""
        return not self.name and not self.is_literal

    @property
    def label(self) -> str:
        """The text that a reader sees: a literal's value, or a name with spaces for underscores; never a bare id.

        An ellipsis for a mediator, a pair of quotes for the empty value.
        """
        if self.is_literal:
            return self.name or '""'
        return self.name.replace("_", " ") if self.name else "…"


@dataclass(frozen=True, slots=True)
class Question:
    """A question. `topic_entities` are ids or names from the user; if empty, the linker finds the topics.

    `options` are the choices of a multiple-choice question. `filter`: what its answers must be, as pairs of a key and a
    value (`CallOptions`).
    """

    text: str
    topic_entities: tuple[str, ...] = ()
    id: str = ""
    options: tuple[str, ...] = ()
    filter: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise UsageError("the question is empty: expected some text")
        for found, most, what in (
            (len(self.text), MAX_QUESTION_CHARS, "characters"),
            (sum(map(len, self.topic_entities)), MAX_TOPICS_CHARS, "characters of its topics' ids"),
            (len(self.options), MAX_OPTIONS, "options"),
        ):
            if found > most:
                raise UsageError(f"the question has {found:,} {what}: expected at most {most:,}")
        for text in (self.text, *self.topic_entities, *self.options):
            if any("\ud800" <= c <= "\udfff" for c in text):
                raise UsageError(f"the question or an id of it is not UTF-8 text: found {text[:80]!r}")


@dataclass(frozen=True, slots=True)
class Triple:
    """A triple (head, relation, tail). Parallel relations between two entities are distinct triples."""

    head: Entity
    relation: str
    tail: Entity

    def __repr__(self) -> str:
        return f"<Triple {self.head.label} —[{self.relation}]→ {self.tail.label}>"


@dataclass(frozen=True, slots=True)
class RelationStep:
    """One relation of a relation path; `inverse` if walked from tail to head."""

    relation: str
    inverse: bool = False
    to_mediator: bool = False
    """The step ends at unnamed mediators, so that it and the next step are one n-ary fact."""

    def reverses(self, other: RelationStep) -> bool:
        """Return whether this step walks the relation of another one back."""
        return self.relation == other.relation and self.inverse != other.inverse

    def __str__(self) -> str:
        return f"^{self.relation}" if self.inverse else self.relation


@dataclass(frozen=True, slots=True)
class RelationPath:
    """The relations of a path in walking order."""

    steps: tuple[RelationStep, ...]

    @property
    def num_hops(self) -> int:
        """Hops between named entities: a step into a mediator and the step out of it are one hop."""
        return sum(not step.to_mediator for step in self.steps)

    def __str__(self) -> str:
        return " → ".join(map(str, self.steps))


MAX_INSTANCES = 100
"""Of a chain that leads to thousands of entities nobody reads every entity path."""

Link = tuple[Entity, Entity]
"""Where a triple was walked from, and where it led."""
EntityPath = tuple[Link, ...]
"""A link for each step of a chain; each begins where the one before it ended."""


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One step of a chain with the triples that were read on it, in reading order, as links."""

    step: RelationStep
    links: tuple[Link, ...]

    def triple(self, link: Link) -> Triple:
        head, tail = reversed(link) if self.step.inverse else link
        return Triple(head, self.step.relation, tail)


@dataclass(frozen=True, slots=True)
class Chain:
    """A relation path from a topic entity, grounded: every triple of each step was read from the graph.

    `ends` are the distinct entities it leads to that may be answers, in reading order. `targets` are those of them at
    which it meets another topic's chain (ReG's merging of multiple entities). `cut` says that a bound stopped the
    reading, so that there may be more.
    """

    topic: Entity
    steps: tuple[ChainStep, ...]
    ends: tuple[Entity, ...]
    targets: tuple[Entity, ...] = ()
    cut: bool = False

    @property
    def relation_path(self) -> RelationPath:
        return RelationPath(tuple(step.step for step in self.steps))

    @property
    def answers(self) -> tuple[Entity, ...]:
        """The targets, or all ends where there are none."""
        return self.targets or self.ends

    def __repr__(self) -> str:
        named = ", ".join(end.label for end in self.answers[:3])
        more = f" and {len(self.answers) - 3:,} more" if len(self.answers) > 3 else ""
        return f"<Chain {self.topic.label} —[{self.relation_path}]→ {named}{more}>"

    def triples(self) -> tuple[tuple[Triple, ...], ...]:
        """Return, for each step, its triples that lie on a way from the topic to an end."""
        wanted = {end.id for end in self.ends}
        kept: list[tuple[Triple, ...]] = []
        for step in reversed(self.steps):
            links = [link for link in step.links if link[1].id in wanted]
            wanted = {source.id for source, _ in links}
            kept.append(tuple(map(step.triple, links)))
        return tuple(reversed(kept))

    def instances(self, max_instances: int = MAX_INSTANCES) -> tuple[EntityPath, ...]:
        """Return one entity path to each of the first ends: that by which the end was first reached."""
        firsts = [{link[1].id: link for link in reversed(step.links)} for step in self.steps]
        found = []
        for end in self.ends[:max_instances]:
            links, here = [], end.id
            for first in reversed(firsts):
                links.append(first[here])
                here = first[here][0].id
            found.append(tuple(reversed(links)))
        return tuple(found)

    def triples_of(self, path: EntityPath) -> tuple[Triple, ...]:
        """Return the triples of one of the chain's entity paths."""
        return tuple(step.triple(link) for step, link in zip(self.steps, path, strict=True))


Item = Triple | Chain


@dataclass(frozen=True, slots=True)
class Scored(Generic[T_co]):
    """A value with its score; the stage that gave the score defines its meaning.

    group: its priority, 0 first (GraphRAG-FI); None where nothing made groups.
    """

    value: T_co
    score: float
    group: int | None = None


def find_lowest_group_number(groups: Iterable[int | None]) -> int | None:
    return min((group for group in groups if group is not None), default=None)


@dataclass(frozen=True, slots=True)
class Topic:
    """An entity that a question may be about: as a linker finds it, and once it is looked up as the graph has it.

    `relations` are the catalogue numbers of the relations that leave (n) and enter (-n) it, empty before it is looked
    up. `score` says how sure its link is, 1 of an entity that the asker named by id; such a one has no `mention` and no
    `matched_name`. `probability` is that of the question being about it, None where the linker does not know.
    """

    entity: Entity
    degree: int = 0
    relations: tuple[int, ...] = field(default=(), compare=False, repr=False)
    score: float = 1.0
    mention: str = ""
    matched_name: str = ""
    probability: float | None = 1.0
    span: tuple[int, int] | None = None
    """Start and end of the mention in the question, in characters; the end is exclusive."""
    kind: str = ""
    """What it is, in a word or two (country); empty where nothing tells."""


@dataclass(frozen=True, slots=True)
class LinkedQuestion:
    """A question with its linked topic entities, best first; empty if none was found."""

    question: Question
    topics: tuple[Topic, ...]


@dataclass(frozen=True, slots=True)
class AnswerEntity:
    """One answer: from the evidence (``graph``), from the model alone (``model``, without an id), or from ``both``."""

    name: str
    id: str | None
    confidence: float | None
    """None if neither a calibration nor the model gives a confidence."""
    origin: Literal["graph", "model", "both"]
    evidence: tuple[int, ...]
    """Indexes into the evidence's items."""


def check_scores_finite(scores: npt.NDArray[np.floating[Any]], scorer: str, *, log_probabilities: bool = False) -> None:
    """Raise `ModelError` unless all scores are finite; a log-probability may be minus infinity."""
    import numpy as np

    if not np.all(np.isfinite(scores) | (np.isneginf(scores) if log_probabilities else False)):
        raise ModelError(
            f"expected finite scores of {scorer}, found an infinite one or NaN: its weights are damaged, or "
            "its training has diverged: train or fetch it again"
        )


XSD = "http://www.w3.org/2001/XMLSchema#"
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\u0000"})
_NOT_IN_AN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')


def format_literal_term(value: str, datatype: str | None = None, language: str | None = None) -> str:
    """Return the N-Triples term of a literal."""
    quoted = f'"{value.translate(_ESCAPED)}"'
    if language:
        return f"{quoted}@{language}"
    return f"{quoted}^^<{escape_iri(datatype)}>" if datatype else quoted


def escape_iri(text: str) -> str:
    """Return a text with the characters escaped that an IRI cannot contain."""
    return _NOT_IN_AN_IRI.sub(lambda found: f"\\u{ord(found[0]):04X}", text)
