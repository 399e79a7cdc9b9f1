"""Questions with what is known to be right about them, whatever the format they were published in."""

from __future__ import annotations

import random
from dataclasses import dataclass

from ..values import Question


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """One right answer: an entity's id, the names it goes by, or both; never neither.

    A right answer that is no entity (a number, a date) has its text as the only name.
    """

    id: str | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.id and not self.names:
            raise ValueError("a gold answer has an id or a name")


@dataclass(frozen=True, slots=True)
class GoldPath:
    """A reasoning path that leads to an answer, as annotators wrote it: in walking order, directions unsaid.

    `entities` is one longer than `relations`, or empty where only the relations are known.
    """

    relations: tuple[str, ...]
    entities: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.relations or (self.entities and len(self.entities) != len(self.relations) + 1):
            raise ValueError("a gold path has relations, and no entities or one more of them than relations")


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question with its topic entities (ids, or names where the set gives no ids) and its right answers.

    `answers` is empty where the right thing to do is to abstain. `num_hops` is None where the set does not say it.
    `triples` are those that the set holds for relevant: (head, relation, tail), by id or name as the set has them.
    `without` names relations that it is asked without (`evaluation.unanswerable`). `options` are what is chosen from,
    where it is a choice; one of them is the answer's name.
    """

    id: str
    text: str
    answers: tuple[GoldAnswer, ...]
    topic_ids: tuple[str, ...] = ()
    topic_names: tuple[str, ...] = ()
    num_hops: int | None = None
    paths: tuple[GoldPath, ...] = ()
    triples: tuple[tuple[str, str, str], ...] = ()
    without: frozenset[str] = frozenset()
    options: tuple[str, ...] = ()

    def asked(self, topic_entities: tuple[str, ...]) -> Question:
        """Return the question as the engine is asked it, starting from these entities (none: they are linked)."""
        return Question(self.text, topic_entities, self.id, self.without, self.options)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions of one file, in its order; ids are distinct. `sha256` is of the file's bytes as they are."""

    name: str
    format: str
    sha256: str
    questions: tuple[GoldQuestion, ...]

    def sampled(self, limit: int | None, seed: int) -> tuple[GoldQuestion, ...]:
        """Return a sample in the order of the set; all of them without a limit or where it is larger."""
        if limit is None or limit >= len(self.questions):
            return self.questions
        chosen = random.Random(seed).sample(range(len(self.questions)), limit)  # noqa: S311 - a sample, no secret
        return tuple(self.questions[index] for index in sorted(chosen))
