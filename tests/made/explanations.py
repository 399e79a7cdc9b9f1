"""Explanations made by hand, for tests of what is drawn of them."""

from __future__ import annotations

from collections.abc import Sequence

from lodestar.engine.show.explanation import ExplainedPath, Explanation, WeightedWord
from lodestar.engine.values import Entity, Path, Question, Triple

from tests.made.evidence import chain_of


def words(*weighted: tuple[str, float]) -> tuple[WeightedWord, ...]:
    return tuple(WeightedWord(text, weight, ((text, weight),)) for text, weight in weighted)


def explained_path(
    question: Sequence[tuple[str, float]],
    path: Sequence[tuple[str, float]],
    *,
    topic: str = "Peru",
    relation: str = "location.country.capital",
    ends: Sequence[str] = ("Lima",),
) -> ExplainedPath:
    entities = tuple(Entity(f"m.{i}", name) for i, name in enumerate(ends))
    start = Entity("m.topic", topic)
    instances = [Path((Triple(start, relation, end),), (False,)) for end in entities]
    return ExplainedPath(chain_of(*instances), 3.25, 0.875, words(*question), words(*path))


def explanation(*paths: ExplainedPath, question: str = "What is the capital of Peru?", note: str = "") -> Explanation:
    return Explanation(Question(question), paths, note)


PERU = explanation(
    explained_path([("what", 0.25), ("capital", 0.75)], [("peru", 0.125), ("capital", 0.5), ("[END]", 0.375)]),
    explained_path([("what", 0.5), ("capital", 0.5)], [("peru", 0.25), ("currency", 0.75)], ends=["Peruvian sol"]),
)
