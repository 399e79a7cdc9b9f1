"""Hold the entities that relation paths lead to, and read the next ones from the graph, for a batch of questions.

The frontiers of a batch are one tree: a relation path from a topic is read once, however many questions and beams walk
it.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..data_model import Chain, ChainStep, Entity, Link, RelationPath, RelationStep, Topic
from ..neo4j import Request
from ..neo4j.catalogue import look_up_relation_name_by_number
from ..neo4j.graph_requests import (
    HUB_DEGREE,
    EntitySignature,
    Expansion,
    ExpansionResult,
    Tail,
    expand_from_literals,
    expand_hub_step,
    expand_steps,
)

if TYPE_CHECKING:
    from ..context import Database


SAID_HOPS = 3
"""Hops that a path may have, whatever the longest one is, where the question says that it has so many."""


def select_answer_ends(
    steps: Sequence[RelationStep], ends: Sequence[Entity], topics: Container[str], *, return_to_topic: bool
) -> tuple[Entity, ...]:
    """Return the ends that may be answers: the question's own topics are none of them.

    With `return_to_topic` they may be ("the child of Ann's father" is Ann, too), but not at the end of a path that
    walks back the way it came: that one always leads to them.
    """
    if return_to_topic and not is_return_path(steps):
        return tuple(ends)
    return tuple(end for end in ends if end.id not in topics)


def is_return_path(steps: Sequence[RelationStep]) -> bool:
    """Whether the second half of a path is its first half reversed."""
    return all(back.reverses(out) for out, back in zip(steps, reversed(steps), strict=True))


def find_most_hops(path: RelationPath, max_hop: int) -> int:
    """Return how many hops a search may give a path: three where it begins over a relation and straight back, as in
    "films that share an actor with"."""
    first = path.steps[:2]
    returns = len(first) == 2 and not first[1].to_mediator and is_return_path(first)
    return max(max_hop, SAID_HOPS) if returns else max_hop


@dataclass(frozen=True, slots=True)
class FrontierBounds:
    """What one expansion may read. All are our own choices; what a bound leaves out is reported as a cut.

    fan_out: tails per source and relation. max_tails: tails per relation path. max_sources: entities of a frontier
    that are walked on from. proposers: entities of a frontier whose relations are proposed as next steps.
    hub_degree: from this degree on an entity is a hub and has its relations read one by one.
    """

    fan_out: int = 500
    max_tails: int = 2_000
    max_sources: int = 200
    proposers: int = 32
    hub_degree: int = HUB_DEGREE


@dataclass(slots=True, eq=False)
class Frontier:
    """The entities that a relation path leads to from its topic, and how each was reached."""

    topic: Entity
    steps: tuple[RelationStep, ...]
    parent: Frontier | None
    tails: dict[str, Tail] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    """Every triple that was read on the last step."""
    cut: bool = False
    return_to_topic: bool = False

    @property
    def relation_path(self) -> RelationPath:
        return RelationPath(self.steps)

    @property
    def ends(self) -> tuple[Entity, ...]:
        """The named entities and the literals reached, in reading order."""
        return tuple(tail.entity for tail in self.tails.values() if not tail.entity.is_mediator)

    @property
    def sources(self) -> list[Tail]:
        """What the next step may start from: not the topic again, without `return_to_topic`. Of films that share an
        actor with X, X is none.
        """
        anywhere = self.return_to_topic or not self.steps
        return [tail for tail in self.tails.values() if anywhere or tail.entity.id != self.topic.id]

    @property
    def at_mediator(self) -> bool:
        """Whether the last step led to unnamed mediators: such a path cannot stop here."""
        return bool(self.steps and self.tails) and all(tail.entity.is_mediator for tail in self.tails.values())

    @property
    def is_back_where_it_was(self) -> bool:
        """Whether the last two steps lead there and back to nothing else: to the director of films of one director."""
        before = self.parent.parent if self.parent is not None else None
        is_return = len(self.steps) > 2 and is_return_path(self.steps[-2:])
        return is_return and before is not None and self.tails.keys() <= before.tails.keys()

    def log_branching(self) -> float:
        """Σ ln(1 + n) over the hops so far and the one that starts here; n is the number of relations that lead on."""
        before = self.parent.log_branching() if self.parent is not None else 0.0
        return before if self.at_mediator else before + math.log1p(len(self.proposals()))

    def chain(self, ends: tuple[Entity, ...]) -> Chain:
        """Return the relation path with all its triples; `ends` are those of its ends that may be answers."""
        steps: list[ChainStep] = []
        at = self
        while at.parent is not None:
            steps.append(ChainStep(at.steps[-1], tuple(at.links)))
            at = at.parent
        return Chain(self.topic, tuple(reversed(steps)), ends, cut=self.cut)

    def proposals(self) -> frozenset[int]:
        """The signed catalogue numbers of the relations that lead on."""
        return frozenset(n for tail in self.sources if tail.signature for n in tail.signature)

    def steps_on(self, relations: Mapping[int, str]) -> Iterator[tuple[int, RelationStep]]:
        """Yield the steps that lead on with their signed numbers, in catalogue order; `relations` has the names.

        Out of a mediator over the relation it was entered by is none. Raises `StaleCatalogueError` for a number
        without a name.
        """
        entered = self.steps[-1] if self.at_mediator else None
        for number in sorted(self.proposals()):
            step = RelationStep(look_up_relation_name_by_number(abs(number), relations), inverse=number < 0)
            if entered is None or not step.reverses(entered):
                yield number, step


class FrontierTree:
    """The frontiers of one batch, by topic and steps.

    stored_as: the relationship type of each relation that is not stored under its own name. return_to_topic: whether a
    path may walk through its topic again.
    """

    def __init__(
        self,
        signatures: Mapping[str, EntitySignature | Topic],
        bounds: FrontierBounds,
        max_hop: int,
        stored_as: Mapping[str, str],
        *,
        return_to_topic: bool,
    ) -> None:
        self.bounds = bounds
        self.max_hop = max_hop
        self.stored_as = stored_as
        self._frontiers: dict[tuple[str, tuple[RelationStep, ...]], Frontier] = {}
        for signature in signatures.values():
            root = Frontier(signature.entity, (), None, return_to_topic=return_to_topic)
            root.tails[signature.entity.id] = Tail(signature.entity, signature.degree, signature.relations)
            self._frontiers[signature.entity.id, ()] = root

    def root(self, topic: Entity) -> Frontier | None:
        """The frontier that is the topic itself; None when the graph has no such entity."""
        return self._frontiers.get((topic.id, ()))

    def expand(self, db: Database, chosen: Iterable[tuple[Frontier, RelationStep]]) -> list[Frontier]:
        """Take the chosen steps and return the frontiers they lead to, in order; each is read at most once.

        Where a path has reached `max_hop`, only mediators come with signatures: it goes on from nowhere else.
        """
        reached: list[Frontier] = []
        new: list[Frontier] = []
        for parent, step in chosen:
            key = (parent.topic.id, (*parent.steps, step))
            if key not in self._frontiers:
                may_return = parent.return_to_topic
                self._frontiers[key] = Frontier(parent.topic, key[1], parent, return_to_topic=may_return)
                new.append(self._frontiers[key])
            reached.append(self._frontiers[key])
        for expanded in (item for answer in db.run_all(self._requests(new)) for item in answer):
            self._add(new[expanded.key], expanded)
        for frontier in new:
            if frontier.at_mediator:
                mediated = replace(frontier.steps[-1], to_mediator=True)
                frontier.steps = (*frontier.steps[:-1], mediated)
        return reached

    def _requests(self, new: Sequence[Frontier]) -> list[Request[list[ExpansionResult]]]:
        light: list[Expansion] = []
        heavy: list[Expansion] = []
        values: list[Expansion] = []
        for key, frontier in enumerate(new):
            assert frontier.parent is not None
            from_value = frontier.topic.is_literal and not frontier.parent.steps
            sources = [t for t in frontier.parent.sources if t.entity.is_literal == from_value]
            if len(sources) > self.bounds.max_sources:
                frontier.cut = True
                sources = sources[: self.bounds.max_sources]
            frontier.cut = frontier.cut or frontier.parent.cut
            if not sources:  # nothing leads on from an empty frontier, or from values
                continue
            signatures = -(-self.bounds.proposers // len(sources))
            path = frontier.relation_path
            last = path.num_hops >= find_most_hops(path, self.max_hop)
            step = frontier.steps[-1]
            type_ = self.stored_as.get(step.relation)
            if from_value:
                values.append(Expansion(key, step, (frontier.topic.id,), signatures, last, type_))
                continue
            for group, hubs in ((light, False), (heavy, True)):
                ids = tuple(t.entity.id for t in sources if (t.degree >= self.bounds.hub_degree) == hubs)
                if ids:
                    group.append(Expansion(key, step, ids, signatures, last, type_))
        requests = [expand_hub_step(expansion, self.bounds.fan_out) for expansion in heavy]
        if light:
            requests.append(expand_steps(light, self.bounds.fan_out, self.bounds.max_tails))
        if values:
            requests.append(expand_from_literals(values, self.bounds.fan_out, self.bounds.max_tails))
        return requests

    def _add(self, frontier: Frontier, expanded: ExpansionResult) -> None:
        assert frontier.parent is not None
        frontier.cut = frontier.cut or expanded.cut
        source = frontier.parent.tails[expanded.source].entity
        for tail in expanded.tails:
            known = frontier.tails.get(tail.entity.id)
            is_full = len(frontier.tails) >= self.bounds.max_tails
            if known is None and is_full:
                frontier.cut = True
                continue
            if known is None or (known.signature is None and tail.signature is not None and not is_full):
                frontier.tails[tail.entity.id] = tail
            frontier.links.append((source, tail.entity))
