"""Why the first answer is wrong: each miss is of one kind, looked for from the beginning of the search to its end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..questions.gold import GoldQuestion
from ..values import Answer, RelationPath
from .metrics.matching import Predicted, matched
from .reachable import ReachablePath, reachable
from .records.record import Miss
from .whole_graph import WholeGraph

KINDS = (
    "failed",
    "not linked",
    "not in the graph",
    "out of reach",
    "pruned",
    "not the first",
    "lost by the answerer",
)
"""In the order in which they are looked for:

failed: an error or a timeout. not linked: none of the question's topic entities was started from. not in the graph: no
right answer is. out of reach: no path of the hops allowed leads from a topic to one. pruned: such a path was given up
at a hop, or did not come among the paths returned. not the first: a path with a right answer came back, behind others.
lost by the answerer: the first path has a right answer, the first answer is none.
"""


class Diagnosis:
    """Tells kinds of misses apart, exactly, over the whole graph."""

    def __init__(self, graph: WholeGraph, max_hop: int, *, return_to_topic: bool = False) -> None:
        self._graph = graph
        self._max_hop = max_hop
        self._return_to_topic = return_to_topic
        self._named = graph.named()

    def ids_named(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of the entities that go by one of the names."""
        return tuple(dict.fromkeys(id_ for name in names for id_ in self._named.get(name, ())))

    def gold_ids(self, question: GoldQuestion) -> tuple[str, ...]:
        """Return the ids of the right answers that the graph has, by id or, where the set gives none, by name."""
        found = [
            id_
            for answer in question.answers
            for id_ in ((answer.id,) if answer.id else self.ids_named(answer.names))
            if id_ in self._graph.numbers
        ]
        return tuple(dict.fromkeys(found))

    def topic_ids(self, question: GoldQuestion) -> tuple[str, ...]:
        """Return the ids of the question's topic entities, by id or by name."""
        return question.topic_ids or self.ids_named(question.topic_names)

    def miss(self, question: GoldQuestion, answer: Answer) -> Miss:
        """Return the kind of a question whose first answer is wrong or missing."""
        retrieval = answer.retrieval
        started = [topic.value.entity.id for topic in retrieval.topics]
        wanted = self.topic_ids(question)
        if not started or (wanted and not set(wanted) & set(started)):
            return Miss("not linked")
        gold = [self._graph.numbers[id_] for id_ in self.gold_ids(question)]
        if not gold:
            return Miss("not in the graph")
        for rank, path in enumerate(retrieval.paths, start=1):
            ends = [Predicted(end.label, end.id) for end in path.value.ends]
            if any(matched(ends, question.answers)):
                return Miss("lost by the answerer") if rank == 1 else Miss("not the first", rank)
        topics = [self._graph.numbers[id_] for id_ in started if id_ in self._graph.numbers]
        reached = reachable(
            self._graph,
            topics,
            np.array(gold, dtype=np.int64),
            self._max_hop,
            return_to_topic=self._return_to_topic,
        )
        if not reached:
            return Miss("out of reach")
        return Miss("pruned", _lost_at(reached, retrieval.walked) if retrieval.walked else None)


def _lost_at(reached: Sequence[ReachablePath], walked: Sequence[tuple[str, RelationPath]]) -> int:
    """Return the hop at which the search gave up the last of the paths that lead to a right answer."""
    kept = {(topic, _names(path)) for topic, path in walked}
    farthest = 1
    for found in reached:
        steps = _names(found.relation_path)
        num_kept = next((n for n in range(len(steps), 0, -1) if (found.topic.id, steps[:n]) in kept), 0)
        hops_kept = sum(not step.to_mediator for step in found.relation_path.steps[:num_kept])
        farthest = max(farthest, min(hops_kept + 1, found.relation_path.num_hops))
    return farthest


def _names(path: RelationPath) -> tuple[str, ...]:
    return tuple(map(str, path.steps))
