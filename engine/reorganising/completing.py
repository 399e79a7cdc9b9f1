"""Read all triples of the best chains' relation paths from the graph (our own).

A retriever of triples keeps some hundred, and one relation path of three hops may have thousands: its chain is right,
but most of its ends are missing. Once the path is found, the graph has the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Kind
from ..retrieval.beam import Frontier, FrontierBounds, FrontierTree, select_answer_ends
from ..steps import Steps
from ..values import RelationStep, Scored

Walk = tuple[str, tuple[tuple[str, bool], ...]]
"""The id of a topic, and relation and direction of each step from it."""


class ChainCompleter:
    """A `Reorganiser`: the best `chains` chains of a question have every triple of their relation paths.

    Each keeps its place and its score. One that has targets stays as it is, and so do the others. As in the chains that
    triples make, no step walks the triple of the step before it back. `stored_as` has
    the relationship type of each relation that is not stored under its own name. Round trips per batch: one a step of
    the longest path, and one more for each relation that is walked from a hub.
    """

    takes: Kind = "chain"
    gives: Kind = "chain"

    def __init__(self, stored_as: Mapping[str, str], *, chains: int) -> None:
        self._stored_as = stored_as
        self._chains = chains

    def reorganise(self, evidence: Sequence[Evidence[Chain]]) -> Steps[list[Evidence[Chain]]]:
        """Return the evidence, in its order, with chains that are complete."""
        topics = {topic.entity.id: topic for each in evidence for topic in each.topics}
        tree = FrontierTree(topics, FrontierBounds(), max_hop=0, stored_as=self._stored_as, reuse_triples=False)
        reached: dict[Walk, Frontier] = {
            (id_, ()): root for id_, topic in topics.items() if (root := tree.root(topic.entity))
        }
        walks = {
            _walk_of(item.value)
            for each in evidence
            for item in each.items[: self._chains]
            if item.value.topic.id in topics and not item.value.targets
        }
        for length in range(1, max((len(steps) for _, steps in walks), default=0) + 1):
            level = sorted({(topic, steps[:length]) for topic, steps in walks if len(steps) >= length})
            chosen = [(reached[topic, steps[:-1]], RelationStep(*steps[-1])) for topic, steps in level]
            reached |= zip(level, (yield from tree.expand(chosen)), strict=True)
        return [replace(each, items=tuple(self._complete(each, reached))) for each in evidence]

    def _complete(self, evidence: Evidence[Chain], reached: Mapping[Walk, Frontier]) -> Iterator[Scored[Chain]]:
        topics = frozenset(topic.entity.id for topic in evidence.topics)
        for item in evidence.items[: self._chains]:
            frontier = None if item.value.targets else reached.get(_walk_of(item.value))
            ends = frontier and select_answer_ends(frontier.steps, frontier.ends, topics, return_to_topic=False)
            yield Scored(frontier.chain(ends), item.score) if frontier and ends else item
        yield from evidence.items[self._chains :]


def _walk_of(chain: Chain) -> Walk:
    return chain.topic.id, tuple((step.step.relation, step.step.inverse) for step in chain.steps)
