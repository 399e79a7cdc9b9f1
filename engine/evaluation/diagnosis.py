"""Why the first answer is wrong: each miss is of one kind, looked for from the beginning of the search to its end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..evidence.answer import Answer
from ..evidence.bridges import to_chains
from ..questions.gold import GoldQuestion
from ..values import RelationPath
from .gold_ids import GoldIds
from .metrics.matching import Predicted, matched
from .reachable import ReachablePath, reachable
from .records.record import Miss

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

    def __init__(self, gold: GoldIds, max_hop: int, *, return_to_topic: bool = False) -> None:
        self.gold = gold
        self._graph = gold.graph
        self._max_hop = max_hop
        self._return_to_topic = return_to_topic

    def miss(self, question: GoldQuestion, answer: Answer) -> Miss:
        """Return the kind of a question whose first answer is wrong or missing."""
        evidence = answer.evidence
        started = [topic.entity.id for topic in evidence.topics]
        wanted = question.topic_ids
        if not started or (wanted and not set(wanted) & set(started)):
            return Miss("not linked")
        gold = [self._graph.numbers[id_] for id_ in self.gold.answers(question)]
        if not gold:
            return Miss("not in the graph")
        for rank, chain in enumerate(to_chains(evidence).items, start=1):
            ends = [Predicted(end.label, end.id) for end in chain.value.ends]
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
        return Miss("pruned", _lost_at(reached, evidence.walked) if evidence.walked else None)


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
