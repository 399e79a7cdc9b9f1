"""Sample random relation paths from the graph, to generate questions from.

All walks of a batch take each step together, with the queries and bounds of the search.
"""

from __future__ import annotations

import hashlib
import heapq
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...models.ranges import Hops, Positive, Share, Weight
from ..errors import UsageError
from ..neo4j.catalogue import Catalogue
from ..neo4j.graph import EntitySignature
from ..resolving import check_options
from ..retrieval.frontier import Frontier, FrontierBounds, FrontierTree
from ..steps import Steps
from ..values import Entity, RelationStep
from .answer_paths import expand_frontiers

DEFAULT_QUESTIONS = 3_000
LENGTHS = (5.0, 4.0, 3.0, 1.0)


MAX_WEIGHT = 1_000_000


@dataclass(frozen=True, slots=True)
class QuestionGenerationOptions:
    """Options for generating questions; all are our own choices.

    lengths: weights of the questions with one hop, two, …; long paths are dropped more often, when nothing or too much
    follows. joint: share of questions whose answers two topics have in common. temper: a relation of n triples is drawn
    with weight n ** temper. max_ends: paths with more ends are dropped. max_topics: entities kept per relation to start
    from. paraphrase: a language model rewords the questions.
    """

    num_questions: Positive = DEFAULT_QUESTIONS
    max_hop: Hops = 2
    seed: int = 0
    lengths: tuple[float, ...] = LENGTHS
    joint: Share = 0.08
    temper: Weight = 0.5
    max_ends: Positive = 200
    max_topics: Positive = 200
    bounds: FrontierBounds = field(default_factory=FrontierBounds)
    paraphrase: bool = False

    def __post_init__(self) -> None:
        check_options(self, "making questions")
        weights = self.lengths[: self.max_hop]
        if not all(0 <= weight <= MAX_WEIGHT for weight in self.lengths) or not sum(weights) > 0:
            found = ",".join(f"{weight:g}" for weight in self.lengths)
            raise UsageError(f"lengths: expected weights of one hop, of two, …, one of them over 0, found {found}")


_MIX = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


@dataclass(slots=True)
class TopicsByRelation:
    """Topics by the signed catalogue number of one of their relations, in an order that depends only on seed and ids.

    together: for each outgoing relation, how often each other one leaves the same entities.
    """

    topics: dict[int, list[EntitySignature]] = field(default_factory=dict)
    together: dict[int, Counter[int]] = field(default_factory=dict)
    num_entities: int = 0


def sample_topics(entities: Iterable[EntitySignature], seed: int, max_topics: int) -> TopicsByRelation:
    """Return `max_topics` entities of each signed number: those with the smallest hashes of their ids."""
    starts = TopicsByRelation()
    kept: dict[int, list[tuple[int, str, EntitySignature]]] = {}
    for entity in entities:
        starts.num_entities += 1
        digest = hashlib.blake2b(f"{seed}\n{entity.entity.id}".encode(), digest_size=8).digest()
        key = int.from_bytes(digest, "big")
        leaving = [number for number in entity.relations if number > 0]
        for number in entity.relations:
            heap = kept.setdefault(number, [])
            place = -(((key ^ number) * _MIX) & _MASK)  # negated: a max-heap that keeps the smallest
            if len(heap) < max_topics:
                heapq.heappush(heap, (place, entity.entity.id, entity))
            elif place > heap[0][0]:
                heapq.heapreplace(heap, (place, entity.entity.id, entity))
            if number > 0 and starts.num_entities % 8 == 1:
                starts.together.setdefault(number, Counter()).update(leaving)
    starts.topics = {number: [entity for *_, entity in sorted(heap, reverse=True)] for number, heap in kept.items()}
    return starts


MAX_PARTNERS = 20
"""Tails of a relation from which the second topic of a joint question is drawn."""


@dataclass(frozen=True, slots=True)
class SampledPath:
    """A relation path from a topic."""

    topic: Entity
    steps: tuple[RelationStep, ...]

    @property
    def num_hops(self) -> int:
        """Hops between named entities."""
        return sum(not step.to_mediator for step in self.steps)


@dataclass(frozen=True, slots=True)
class PathConjunction:
    """One path, or two that meet, with the common ends."""

    paths: tuple[SampledPath, ...]
    ends: tuple[Entity, ...]


@dataclass(slots=True)
class _Walk:
    """A walk in progress; `frontier` is None if it failed."""

    chance: random.Random
    num_hops: int
    joint: bool
    frontier: Frontier | None


class PathSampler:
    """Draws paths from the graph with this catalogue; `topics` are `TopicsByRelation.topics`."""

    def __init__(
        self, catalogue: Catalogue, topics: Mapping[int, Sequence[EntitySignature]], options: QuestionGenerationOptions
    ) -> None:
        self.options = options
        self.relations = {relation.number: relation.name for relation in catalogue.relations}
        self.stored_as = catalogue.stored_as
        self.topics = topics
        self._numbers = {name: number for number, name in self.relations.items()}
        self._weights = {r.number: max(r.count, 1) ** options.temper for r in catalogue.relations}
        self._firsts = sorted(number for number in topics if abs(number) in self.relations)

    def sample(self, places: Iterable[int]) -> Steps[list[PathConjunction | None]]:
        """Return sampled paths for each question number, None for a failed walk; number and seed decide them."""
        begun = [self._begin(place) for place in places]
        tree = self._tree(topic for _, topic, _ in begun)
        walks: list[_Walk] = []
        taken: list[tuple[_Walk, RelationStep]] = []
        for walk, topic, step in begun:
            walk.frontier = tree.root(topic.entity)
            walks.append(walk)
            taken.append((walk, step))
        while taken:
            reached = yield from expand_frontiers(tree, [(_at(walk), step) for walk, step in taken])
            following: list[tuple[_Walk, RelationStep]] = []
            for (walk, _), frontier in zip(taken, reached, strict=True):
                walk.frontier = frontier if len(frontier.tails) <= self.options.max_ends else None
                if walk.frontier is not None and not self._is_done(walk):
                    on = self._next(walk)
                    if on is None:
                        walk.frontier = None
                    else:
                        following.append((walk, on))
            taken = following
        found = [self._to_drawn(walk) for walk in walks]
        yield from self._add_second_topics(walks, found)
        return found

    def _tree(self, topics: Iterable[EntitySignature]) -> FrontierTree:
        by_id = {topic.entity.id: topic for topic in topics}
        # With one more hop than is walked, the ends have signatures.
        return FrontierTree(by_id, self.options.bounds, self.options.max_hop + 1, self.stored_as)

    def _begin(self, place: int) -> tuple[_Walk, EntitySignature, RelationStep]:
        chance = random.Random(f"{self.options.seed}/{place}")  # noqa: S311 - examples, no secret
        lengths = self.options.lengths[: self.options.max_hop]
        (num_hops,) = chance.choices(range(1, len(lengths) + 1), weights=lengths)
        (number,) = chance.choices(self._firsts, weights=[self._weights[abs(n)] for n in self._firsts])
        topic = chance.choice(self.topics[number])
        joint = chance.random() < self.options.joint
        return _Walk(chance, min(num_hops, 2) if joint else num_hops, joint, None), topic, self._step(number)

    def _step(self, number: int) -> RelationStep:
        return RelationStep(self.relations[abs(number)], inverse=number < 0)

    def _is_done(self, walk: _Walk) -> bool:
        frontier = _at(walk)
        return not frontier.at_mediator and frontier.relation_path.num_hops >= walk.num_hops

    def _next(self, walk: _Walk) -> RelationStep | None:
        """Return a random next step; None if there is none, or too many mediators in a row."""
        frontier = _at(walk)
        steps = list(frontier.steps_on(self.relations))
        if not steps or len(frontier.steps) >= 2 * self.options.max_hop:
            return None
        (step,) = walk.chance.choices(steps, weights=[self._weights[abs(number)] for number, _ in steps])
        return step[1]

    def _to_drawn(self, walk: _Walk) -> PathConjunction | None:
        frontier = walk.frontier
        if frontier is None or frontier.cut:
            return None
        ends = tuple(end for end in frontier.ends if end.id != frontier.topic.id and end.name)
        return PathConjunction((SampledPath(frontier.topic, frontier.steps),), ends) if ends else None

    def _add_second_topics(self, walks: Sequence[_Walk], found: list[PathConjunction | None]) -> Steps[None]:
        """Add a second topic to the joint questions: another neighbour of one of their ends."""
        chosen: list[tuple[int, EntitySignature, RelationStep]] = []
        for place, (walk, drawn) in enumerate(zip(walks, found, strict=True)):
            end = self._end(walk) if walk.joint and drawn is not None and len(drawn.ends) > 1 else None
            if end and (numbers := [n for n in end.relations if abs(n) in self.relations]):
                (number,) = walk.chance.choices(numbers, weights=[self._weights[abs(n)] for n in numbers])
                chosen.append((place, end, self._step(number)))
        tree = self._tree(end for _, end, _ in chosen)
        partners = yield from expand_frontiers(tree, [(_root(tree, end), step) for _, end, step in chosen])
        backs: list[tuple[int, EntitySignature, RelationStep]] = []
        for (place, _, step), frontier in zip(chosen, partners, strict=True):
            topic = _at(walks[place]).topic
            tails = [
                EntitySignature(tail.entity, tail.degree, tail.signature)
                for tail in frontier.tails.values()
                if tail.signature and tail.entity.name and tail.entity.id != topic.id
            ]
            if tails:
                backs.append(
                    (place, walks[place].chance.choice(tails[:MAX_PARTNERS]), replace(step, inverse=not step.inverse))
                )
        if not backs:
            return
        tree = self._tree(partner for _, partner, _ in backs)
        reached = yield from expand_frontiers(tree, [(_root(tree, partner), step) for _, partner, step in backs])
        for (place, partner, step), frontier in zip(backs, reached, strict=True):
            drawn = found[place]
            assert drawn is not None
            both = {end.id for end in frontier.ends}
            ends = tuple(end for end in drawn.ends if end.id in both and end.id != partner.entity.id)
            if 0 < len(ends) < len(drawn.ends) and not frontier.cut:
                found[place] = PathConjunction((*drawn.paths, SampledPath(partner.entity, (step,))), ends)

    def _end(self, walk: _Walk) -> EntitySignature | None:
        """Return a random end of a walk whose relations are known."""
        tails = [tail for tail in _at(walk).tails.values() if tail.signature and tail.entity.name]
        if not tails:
            return None
        tail = walk.chance.choice(tails)
        return EntitySignature(tail.entity, tail.degree, tail.signature or ())


def _at(walk: _Walk) -> Frontier:
    assert walk.frontier is not None
    return walk.frontier


def _root(tree: FrontierTree, topic: EntitySignature) -> Frontier:
    root = tree.root(topic.entity)
    assert root is not None
    return root
