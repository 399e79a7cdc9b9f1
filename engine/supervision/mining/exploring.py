"""What can be walked from a topic: what the beam search would be offered if it pruned nothing.

Inner hops are walked, for many topics at once. Of the last hop it is enough to know which relations lead on, except
where one may lead to unnamed mediators: there the hop goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from ...retrieval.frontier import Frontier, FrontierTree
from ...steps import Steps
from ...values import Entity, Step
from .hops import HopTrie, WalkedHop, WalkedPath, steps_of

EXPANDED_TOGETHER = 128
"""Steps taken in one request: few enough to be answered well within its timeout."""

_END: HopTrie = {}
"""What follows the last hop; shared, never written to."""


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """A walked relation path: the hops that are complete, and the steps of the one under way at mediators."""

    frontier: Frontier
    hops: WalkedPath
    under_way: WalkedHop
    following: HopTrie
    """The node of the trie that `hops` lead to."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps walked."""
        return (*steps_of(self.hops), *self.under_way)

    def hop(self, step: Step) -> WalkedHop:
        """Return the hop that this step completes."""
        return (*self.under_way, step)


@dataclass(slots=True, eq=False)
class Explored:
    """The relation paths from one topic.

    walked: the ways whose ends are known. last: the ways from which last hops leave. cut: there are more paths.
    """

    topic: Entity
    trie: HopTrie = field(default_factory=dict)
    walked: list[Way] = field(default_factory=list)
    last: list[Way] = field(default_factory=list)
    num_paths: int = 0
    cut: bool = False


class Explorer:
    """Walks all that can be walked from the topics of a tree, `max_paths` relation paths from each at most.

    `relations` has the names of the catalogue's numbers, `mediating` the signed numbers of the relations that unnamed
    entities are in.
    """

    def __init__(
        self, tree: FrontierTree, relations: Mapping[int, str], mediating: AbstractSet[int], max_paths: int
    ) -> None:
        self.tree = tree
        self.relations = relations
        self.mediating = mediating
        self.max_paths = max_paths

    def explore(self, roots: Sequence[Frontier]) -> Steps[dict[str, Explored]]:
        """Return what can be walked from each topic, by its id."""
        reaches = {root.topic.id: Explored(root.topic) for root in roots}
        front = [Way(root, (), (), reaches[root.topic.id].trie) for root in roots]
        while front:
            taken = [(way, step) for way in front for step in self._leaving(way, reaches[way.frontier.topic.id])]
            reached = yield from expand(self.tree, [(way.frontier, step) for way, step in taken])
            front = []
            for (way, step), frontier in zip(taken, reached, strict=True):
                reach = reaches[frontier.topic.id]
                if frontier.at_mediator:
                    reach.num_paths -= 1
                    following = Way(frontier, way.hops, way.hop(step), way.following)
                else:
                    hop = way.hop(step)
                    node = way.following.setdefault(hop, {})
                    following = Way(frontier, (*way.hops, hop), (), node)
                    reach.walked.append(following)
                goes_on = len(following.hops) < self.tree.max_hop and len(frontier.steps) < 2 * self.tree.max_hop
                if goes_on and frontier.tails:
                    front.append(following)
        return reaches

    def _leaving(self, way: Way, reach: Explored) -> Iterator[Step]:
        """Note the last hops that leave a way, and yield the other steps: those that have to be walked."""
        is_last = len(way.hops) + 1 == self.tree.max_hop
        if is_last:
            reach.last.append(way)
        for number, step in way.frontier.steps_on(self.relations):
            if reach.num_paths >= self.max_paths:
                reach.cut = True
                return
            reach.num_paths += 1
            if not is_last or -number in self.mediating:
                yield step
            else:
                way.following[way.hop(step)] = _END


def expand(tree: FrontierTree, chosen: Sequence[tuple[Frontier, Step]]) -> Steps[list[Frontier]]:
    """Take the steps, some at a time, and return the frontiers they lead to, in order."""
    reached: list[Frontier] = []
    for start in range(0, len(chosen), EXPANDED_TOGETHER):
        reached += yield from tree.expand(chosen[start : start + EXPANDED_TOGETHER])
    return reached
