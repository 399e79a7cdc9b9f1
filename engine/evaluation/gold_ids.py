"""Which nodes of the graph are right answers: by id or, where the set gives none, by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ..questions.gold import GoldQuestion
from .metrics.matching import normalised_answer
from .whole_graph import WholeGraph


class GoldIds:
    """Finds the ids of right answers in the whole graph."""

    def __init__(self, graph: WholeGraph) -> None:
        self.graph = graph
        self._named = graph.named()

    def named(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of the entities and literals that go by one of the names.

        Where nothing goes by any of them as it is written, as answers are matched: case, punctuation, articles aside.
        """
        if exactly := tuple(dict.fromkeys(id_ for name in names for id_ in self._named.get(name, ()))):
            return exactly
        folded = dict.fromkeys(map(normalised_answer, names))
        return tuple(dict.fromkeys(id_ for name in folded for id_ in self._normalised.get(name, ())))

    @cached_property
    def _normalised(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, ids in self._named.items():
            found.setdefault(normalised_answer(name), []).extend(ids)
        return found

    def answers(self, question: GoldQuestion) -> tuple[str, ...]:
        """Return the ids of the right answers that the graph has."""
        found = [
            id_
            for answer in question.answers
            for id_ in ((answer.id,) if answer.id else self.named(answer.names))
            if id_ in self.graph.numbers
        ]
        return tuple(dict.fromkeys(found))
