"""Find the relation paths from a question's topics to its answers.

Inner hops are walked, for many topics at once. For the last hop it is enough to know its relations, unless it may lead
to unnamed mediators, where the hop continues.

The ends of walked paths are known. Of the last hops, which were not walked, only those towards an answer are walked:
the database finds them between topic and answer (``find_answer_paths.cypher``), or for longer paths by the last steps
to the answers (``find_last_steps.cypher``), which meet the paths from the topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ...models.mined import THROUGH, f1_of
from ..gold_questions import GroundedQuestion
from ..neo4j import Request
from ..neo4j.gateway import Gateway
from ..neo4j.graph import AnswerSteps, LastSteps, find_answer_paths, find_last_steps
from ..retrieval.frontier import Frontier, FrontierTree, select_answer_ends
from ..values import Entity, RelationStep

WalkedHop = tuple[RelationStep, ...]
"""From one named entity to the next: one step, or the steps into unnamed mediators and out of them. The position in the
hop alone tells that a step leads to a mediator.
"""

WalkedPath = tuple[WalkedHop, ...]

HopTrie = dict[WalkedHop, "HopTrie"]
"""The relation paths from a topic: each hop with the hops that can follow it."""


def steps_of(hops: WalkedPath) -> tuple[RelationStep, ...]:
    return tuple(chain.from_iterable(hops))


def serialise_hop(hop: WalkedHop) -> str:
    return THROUGH.join(map(str, hop))


def serialise_trie(trie: HopTrie) -> Mapping[str, Any]:
    return {serialise_hop(hop): serialise_trie(following) for hop, following in trie.items()}


EXPANDED_TOGETHER = 128
"""Steps per request: few enough to finish well within its timeout."""

_END: HopTrie = {}
"""The children of a last hop; shared and never changed."""


@dataclass(frozen=True, slots=True, eq=False)
class PartialPath:
    """A walked relation path: the complete hops, and the steps of an unfinished hop at mediators."""

    frontier: Frontier
    hops: WalkedPath
    under_way: WalkedHop
    following: HopTrie
    """The trie node of `hops`."""

    @property
    def steps(self) -> tuple[RelationStep, ...]:
        return (*steps_of(self.hops), *self.under_way)

    def hop(self, step: RelationStep) -> WalkedHop:
        return (*self.under_way, step)


@dataclass(slots=True, eq=False)
class TopicPaths:
    """The relation paths from one topic.

    walked: paths with known ends. last: paths that last hops extend. cut: there are more paths.
    """

    topic: Entity
    trie: HopTrie = field(default_factory=dict)
    walked: list[PartialPath] = field(default_factory=list)
    last: list[PartialPath] = field(default_factory=list)
    num_paths: int = 0
    cut: bool = False


class Explorer:
    """Walks all relation paths from the topics of a tree, at most `max_paths` from each.

    `relations` maps catalogue numbers to names, `mediating` has the signed numbers of the relations of unnamed
    entities.
    """

    def __init__(
        self,
        gateway: Gateway,
        tree: FrontierTree,
        relations: Mapping[int, str],
        mediating: AbstractSet[int],
        max_paths: int,
    ) -> None:
        self.gateway = gateway
        self.tree = tree
        self.relations = relations
        self.mediating = mediating
        self.max_paths = max_paths

    def explore(self, roots: Sequence[Frontier]) -> dict[str, TopicPaths]:
        reaches = {root.topic.id: TopicPaths(root.topic) for root in roots}
        front = [PartialPath(root, (), (), reaches[root.topic.id].trie) for root in roots]
        while front:
            chosen = [(way, step) for way in front for step in self._leaving(way, reaches[way.frontier.topic.id])]
            reached = self.expand([(way.frontier, step) for way, step in chosen])
            front = []
            for (way, step), frontier in zip(chosen, reached, strict=True):
                reach = reaches[frontier.topic.id]
                if frontier.at_mediator:
                    reach.num_paths -= 1
                    following = PartialPath(frontier, way.hops, way.hop(step), way.following)
                else:
                    hop = way.hop(step)
                    node = way.following.setdefault(hop, {})
                    following = PartialPath(frontier, (*way.hops, hop), (), node)
                    reach.walked.append(following)
                goes_on = len(following.hops) < self.tree.max_hop and len(frontier.steps) < 2 * self.tree.max_hop
                if goes_on and frontier.tails:
                    front.append(following)
        return reaches

    def expand(self, chosen: Sequence[tuple[Frontier, RelationStep]]) -> list[Frontier]:
        """Take the steps in batches and return the frontiers they lead to, in order."""
        reached: list[Frontier] = []
        for start in range(0, len(chosen), EXPANDED_TOGETHER):
            reached += self.tree.expand(self.gateway, chosen[start : start + EXPANDED_TOGETHER])
        return reached

    def _leaving(self, way: PartialPath, reach: TopicPaths) -> Iterator[RelationStep]:
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


@dataclass(frozen=True, slots=True)
class TopicAnswerPath:
    """A relation path from a topic (by its index in the question) to at least one gold answer.

    precision: right ends / ends. recall: right ends / gold answers. gold: an annotator wrote its relations.
    answers: the ids of its right ends.
    """

    topic: int
    hops: WalkedPath
    precision: float
    recall: float
    gold: bool
    answers: frozenset[str]

    @property
    def f1(self) -> float:
        return f1_of(self.precision, self.recall)


Search = tuple[GroundedQuestion, int, TopicPaths]
"""A question, the number of one of its topics, and the paths from that."""
_Met = tuple[Mapping[PartialPath, AbstractSet[RelationStep]], frozenset[tuple[RelationStep, ...]], bool]
"""The last steps to the answers by the path that they extend, all paths known to lead to an answer, and whether there
may be more of these."""


@dataclass(frozen=True, slots=True)
class UnlabelledPaths:
    """The paths from one topic of a question to its answers, before labelling.

    reaching: all known paths to an answer, whether or not the search would offer them. num_cut: how often a bound may
    have dropped some, or ends of one.
    """

    paths: tuple[TopicAnswerPath, ...]
    reaching: frozenset[tuple[RelationStep, ...]]
    num_cut: int


def find_paths(
    explorer: Explorer, searches: Sequence[Search], max_degree: int, *, return_to_topic: bool = False
) -> list[UnlabelledPaths]:
    if not searches:
        return []
    pairs = [(paths.topic.id, sorted(question.answers)) for question, _, paths in searches]
    answers = {id_ for question, _, paths in searches if any(map(_is_long, paths.last)) for id_ in question.answers}
    requests: list[Request[Any]] = [find_answer_paths(pairs, max_degree, explorer.max_paths)]
    if answers:
        requests.append(find_last_steps(sorted(answers), max_degree))
    short, *last = explorer.gateway.run_all(requests)
    met = [_meet(*each, last[0] if last else {}) for each in zip(searches, short, strict=True)]
    chosen = [
        [
            (way, step)
            for way in paths.last
            for _, step in (way.frontier.steps_on(explorer.relations) if steps[way] else ())
            if step in steps[way]
        ]
        for (_, _, paths), (steps, _, _) in zip(searches, met, strict=True)
    ]
    reached = iter(explorer.expand([(way.frontier, step) for some in chosen for way, step in some]))
    found = []
    for (question, number, paths), (_, reaching, is_cut), some in zip(searches, met, chosen, strict=True):
        known = {way.hops: way.frontier for way in paths.walked}
        ends = [((*way.hops, way.hop(step)), next(reached)) for way, step in some]
        known |= {hops: frontier for hops, frontier in ends if not frontier.at_mediator}
        judged = [
            (path, frontier.cut)
            for hops, frontier in known.items()
            if (path := evaluate_path(question, number, hops, frontier, return_to_topic=return_to_topic))
        ]
        right = sorted((path for path, _ in judged), key=lambda path: (len(path.hops), *map(serialise_hop, path.hops)))
        all_reaching = reaching.union(steps_of(path.hops) for path in right)
        found.append(UnlabelledPaths(tuple(right), all_reaching, is_cut + sum(cut for _, cut in judged)))
    return found


def _is_long(way: PartialPath) -> bool:
    return len(way.frontier.steps) > 1


def _meet(search: Search, short: AnswerSteps, last: Mapping[str, LastSteps]) -> _Met:
    question, _, paths = search
    following: dict[tuple[RelationStep, ...], set[RelationStep]] = {}
    for *before, step in short.paths:
        following.setdefault(tuple(before), set()).add(step)
    into = [last[answer] for answer in sorted(question.answers) if answer in last]
    steps: dict[PartialPath, AbstractSet[RelationStep]] = {}
    for way in paths.last:
        if _is_long(way):
            steps[way] = {step for tail in way.frontier.tails for found in into for step in found.steps.get(tail, ())}
        else:
            steps[way] = following.get(way.steps, set())
    whole = {(*way.steps, step) for way, found in steps.items() for step in found}
    return steps, frozenset({*short.paths, *whole}), short.cut or any(found.cut for found in into)


def evaluate_path(
    question: GroundedQuestion, topic: int, hops: WalkedPath, frontier: Frontier, *, return_to_topic: bool
) -> TopicAnswerPath | None:
    """Return the path with precision and recall of its ends; None if no end is a gold answer."""
    topics = {each.id for each in question.topics}
    ends = select_answer_ends(frontier.steps, frontier.ends, topics, return_to_topic=return_to_topic)
    right = frozenset(end.id for end in ends if end.id in question.answers)
    if not right:
        return None
    relations = tuple(step.relation for step in frontier.steps)
    return TopicAnswerPath(
        topic=topic,
        hops=hops,
        precision=len(right) / len(ends),
        recall=len(right) / len(question.answers),
        gold=any(path.relations == relations for path in question.question.paths),
        answers=right,
    )
