"""Search relation paths by beam search (STAR, section 4.1, inference), for a batch of questions at once.

From each topic entity; at each hop every beam is extended by every relation that leaves or enters its frontier; all
extensions of all questions are scored together; the best stay; a path competes for the result with END as its last
step. The scorer is free: similarity without training, or a trained one.

A batch of questions holds its frontiers, the entities that a relation path leads to, in one tree: a relation path from
a topic is read from the graph once, however many questions and beams walk it.

Deviations: a step into unnamed mediators and the step out of it count as one hop, and a path cannot end at a mediator.
Walking straight back over the triple into a mediator is not proposed.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

import numpy as np

from ...models.ranges import Count, Positive, Ranged
from ..evidence.calibration import Calibration
from ..evidence.chain import Chain, ChainStep, Link
from ..evidence.evidence import Evidence, Kind, item_sort_key
from ..linking.topics import compute_link_penalties, select_start_topics
from ..neo4j.catalogue import look_up_relation_name
from ..neo4j.graph import (
    HUB_DEGREE,
    EntitySignature,
    Expansion,
    ExpansionResult,
    Tail,
    expand_hub_step,
    expand_steps,
    expand_values,
)
from ..neo4j.templates import Request
from ..steps import Steps, attribute_costs, send_all
from ..values import Entity, LinkedQuestion, RelationPath, RelationStep, Scored, Topic, check_finite
from .scoring import PathQuery, PathScorer, PathScores


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


@dataclass(frozen=True, slots=True)
class FrontierBounds(Ranged):
    """What one expansion may read. All are our own choices; what a bound leaves out is reported as a cut.

    fan_out: tails per source and relation. max_tails: tails per relation path. max_sources: entities of a frontier
    that are walked on from. proposers: entities of a frontier whose relations are proposed as next steps.
    hub_degree: from this degree on an entity is a hub and has its relations read one by one.
    """

    fan_out: Positive = 500
    max_tails: Positive = 2_000
    max_sources: Positive = 200
    proposers: Positive = 32
    hub_degree: Count = HUB_DEGREE


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

    @property
    def relation_path(self) -> RelationPath:
        return RelationPath(self.steps)

    @property
    def ends(self) -> tuple[Entity, ...]:
        """The named entities and the literals reached, in reading order."""
        return tuple(tail.entity for tail in self.tails.values() if not tail.entity.is_mediator)

    @property
    def at_mediator(self) -> bool:
        """Whether the last step led to unnamed mediators: such a path cannot stop here."""
        return bool(self.steps and self.tails) and all(tail.entity.is_mediator for tail in self.tails.values())

    def log_branching(self, without: AbstractSet[int] = frozenset()) -> float:
        """Σ ln(1 + n) over the hops so far and the one that starts here; n is the number of relations that lead on.

        `without`: catalogue numbers of relations that do not count.
        """
        before = self.parent.log_branching(without) if self.parent is not None else 0.0
        return before if self.at_mediator else before + math.log1p(sum(abs(n) not in without for n in self.proposals()))

    def chain(self, ends: tuple[Entity, ...]) -> Chain:
        """Return the relation path with all its triples; `ends` are those of its ends that may be answers."""
        steps: list[ChainStep] = []
        at = self
        while at.parent is not None:
            steps.append(ChainStep(at.steps[-1], tuple(at.links)))
            at = at.parent
        return Chain(self.topic, tuple(reversed(steps)), ends, cut=self.cut)

    def only_sources(self) -> dict[Entity, Entity]:
        """Return the source of each end that a single triple leads to on the last step."""
        sources: dict[Entity, set[Entity]] = {}
        for source, end in self.links:
            sources.setdefault(end, set()).add(source)
        return {end: some.pop() for end, some in sources.items() if len(some) == 1}

    def proposals(self) -> frozenset[int]:
        """The signed catalogue numbers of the relations that lead on."""
        return frozenset(n for tail in self.tails.values() if tail.signature for n in tail.signature)

    def steps_on(self, relations: Mapping[int, str]) -> Iterator[tuple[int, RelationStep]]:
        """Yield the steps that lead on with their signed numbers, in catalogue order; `relations` has the names.

        Out of a mediator over the relation it was entered by is none. Raises `StaleCatalogueError` for a number
        without a name.
        """
        entered = self.steps[-1] if self.at_mediator else None
        for number in sorted(self.proposals()):
            step = RelationStep(look_up_relation_name(abs(number), relations), inverse=number < 0)
            if entered is None or not step.reverses(entered):
                yield number, step


class FrontierTree:
    """The frontiers of one batch, by topic and steps.

    `stored_as` has the relationship type of each relation that is not stored under its own name. `reuse_triples`:
    whether a step may walk the triple of the step before it back.
    """

    def __init__(
        self,
        signatures: Mapping[str, EntitySignature | Topic],
        bounds: FrontierBounds,
        max_hop: int,
        stored_as: Mapping[str, str],
        *,
        reuse_triples: bool = True,
    ) -> None:
        self.bounds = bounds
        self.max_hop = max_hop
        self.stored_as = stored_as
        self.reuse_triples = reuse_triples
        self._frontiers: dict[tuple[str, tuple[RelationStep, ...]], Frontier] = {}
        for signature in signatures.values():
            root = Frontier(signature.entity, (), None)
            root.tails[signature.entity.id] = Tail(signature.entity, signature.degree, signature.relations)
            self._frontiers[signature.entity.id, ()] = root

    def root(self, topic: Entity) -> Frontier | None:
        """The frontier that is the topic itself; None when the graph has no such entity."""
        return self._frontiers.get((topic.id, ()))

    def expand(self, chosen: Iterable[tuple[Frontier, RelationStep]]) -> Steps[list[Frontier]]:
        """Take the chosen steps and return the frontiers they lead to, in order; each is read at most once.

        Where a path has reached `max_hop`, only mediators come with signatures: it goes on from nowhere else.
        """
        reached: list[Frontier] = []
        new: list[Frontier] = []
        for parent, step in chosen:
            key = (parent.topic.id, (*parent.steps, step))
            if key not in self._frontiers:
                self._frontiers[key] = Frontier(parent.topic, key[1], parent)
                new.append(self._frontiers[key])
            reached.append(self._frontiers[key])
        answers = yield from send_all(self._requests(new))
        back = {key: sources for key, frontier in enumerate(new) if (sources := self._used_triples(frontier))}
        for expanded in (item for answer in answers for item in answer):
            self._add(new[expanded.key], expanded, back.get(expanded.key, {}))
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
            sources = [t for t in frontier.parent.tails.values() if t.entity.is_literal == from_value]
            if len(sources) > self.bounds.max_sources:
                frontier.cut = True
                sources = sources[: self.bounds.max_sources]
            frontier.cut = frontier.cut or frontier.parent.cut
            if not sources:  # nothing leads on from an empty frontier, or from values
                continue
            signatures = -(-self.bounds.proposers // len(sources))
            last = frontier.relation_path.num_hops >= self.max_hop
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
            requests.append(expand_values(values, self.bounds.fan_out, self.bounds.max_tails))
        return requests

    def _used_triples(self, frontier: Frontier) -> Mapping[Entity, Entity]:
        """Return the triples that the last step may not walk, as the tail by the source."""
        before = frontier.parent
        if (
            self.reuse_triples
            or before is None
            or not before.steps
            or not frontier.steps[-1].reverses(before.steps[-1])
        ):
            return {}
        return before.only_sources()

    def _add(self, frontier: Frontier, expanded: ExpansionResult, used: Mapping[Entity, Entity]) -> None:
        assert frontier.parent is not None
        frontier.cut = frontier.cut or expanded.cut
        source = frontier.parent.tails[expanded.source].entity
        for tail in expanded.tails:
            if tail.entity == used.get(source):
                continue
            known = frontier.tails.get(tail.entity.id)
            is_full = len(frontier.tails) >= self.bounds.max_tails
            if known is None and is_full:
                frontier.cut = True
                continue
            if known is None or (known.signature is None and tail.signature is not None and not is_full):
                frontier.tails[tail.entity.id] = tail
            frontier.links.append((source, tail.entity))


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A step from a frontier that a beam may take."""

    topic: Topic
    frontier: Frontier
    step: RelationStep

    @property
    def path(self) -> RelationPath:
        return RelationPath((*self.frontier.steps, self.step))

    @property
    def tie_break(self) -> tuple[str, str]:
        """Equal scores: by the topic's id, then by the relations' names."""
        return (self.topic.entity.id, str(self.path))


@dataclass(frozen=True, slots=True)
class _Result:
    """A path found: where it leads, and the score of stopping there."""

    frontier: Frontier
    score: float


@dataclass(slots=True)
class _Search:
    """The state of one question."""

    linked: LinkedQuestion
    penalties: Mapping[str, float]
    """What its link takes from the score of a path, by topic id, 0 or less."""
    beams: list[tuple[Topic, Frontier]] = field(default_factory=list)
    topics: frozenset[str] = frozenset()
    """Ids of the entities the search started from."""
    results: list[_Result] = field(default_factory=list)
    walked: list[tuple[str, RelationPath]] = field(default_factory=list)

    def worst_result(self, pool: int) -> float:
        """The score that a new result must pass to be among the best `pool`."""
        if len(self.results) < pool:
            return float("-inf")
        return sorted((r.score for r in self.results), reverse=True)[pool - 1]


class BeamSearch:
    """Retrieves chains by beam search; a `Retriever`.

    `relations` maps catalogue numbers to names, `stored_as` names to relationship types where the two differ.
    `calibration` says what the scorer's scores mean. `beam_width` paths per question are carried on, `max_hop` is the
    longest path in hops between named entities, and what a topic's link lacks to the best one costs `link_weight` times
    as much, in score. `slack` is how far below the worst kept result a path may score and still be expanded, because a
    later stage may raise it. Whether a topic may be an answer is `return_to_topic` (see `ends`).
    Round trips per batch: one a hop, and one more for each relation chosen at a hub.
    """

    gives: Kind = "chain"

    def __init__(
        self,
        relations: Mapping[int, str],
        scorer: PathScorer,
        *,
        calibration: Calibration | None = None,
        beam_width: int = 10,
        max_hop: int = 2,
        link_weight: float = 0.5,
        slack: float = 0.0,
        return_to_topic: bool = False,
        bounds: FrontierBounds | None = None,
        stored_as: Mapping[str, str] | None = None,
    ) -> None:
        self.relations = relations
        self.stored_as = stored_as or {}
        self.scorer = scorer
        self.calibration = calibration
        self.beam_width = beam_width
        self.max_hop = max_hop
        self.link_weight = link_weight
        self.slack = slack
        self.return_to_topic = return_to_topic
        self.bounds = bounds or FrontierBounds()

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int) -> Steps[list[Evidence[Chain]]]:
        """Return the chains found for each question, best first; `top_k` or more where there are so many.

        Raises `StaleCatalogueError` when the graph has a relation whose number is not in `relations`.
        """
        tree = FrontierTree(_topics(questions), self.bounds, self.max_hop, self.stored_as)
        searches = [self._begun(linked, tree) for linked in questions]
        pool = max(top_k, self.beam_width)  # so that a top_k below the beam's width only shows less
        for hop in range(1, 2 * self.max_hop + 1):
            if not any(search.beams for search in searches):
                break
            yield from attribute_costs(f"score {hop}")
            candidates_of = [self._candidates(search) for search in searches]
            encoding_s = self.scorer.encoding_s
            scores = self.scorer.score([self._query(s, c) for s, c in zip(searches, candidates_of, strict=True)])
            for score in scores:
                check_finite(np.stack([score.stop, score.extend]), "a path scorer", log_probabilities=True)
            chosen = [
                self._choose(search, candidates, score, pool)
                for search, candidates, score in zip(searches, candidates_of, scores, strict=True)
            ]
            yield from attribute_costs("encode", self.scorer.encoding_s - encoding_s)
            yield from attribute_costs(f"hop {hop}")
            steps = [(c.frontier, c.step) for picks in chosen for c, _, _ in picks]
            frontiers = iter((yield from tree.expand(steps)))
            for search, picks in zip(searches, chosen, strict=True):
                search.beams = []
                for candidate, stop, carried in picks:
                    frontier = next(frontiers)
                    search.walked.append((frontier.topic.id, frontier.relation_path))
                    if self._ends(search, frontier):
                        search.results.append(_Result(frontier, stop))
                    if carried or frontier.at_mediator:
                        search.beams.append((candidate.topic, frontier))
        yield from attribute_costs("ground")
        return [self._evidence(search) for search in searches]

    def _begun(self, linked: LinkedQuestion, tree: FrontierTree) -> _Search:
        search = _Search(linked, compute_link_penalties(linked.topics, self.link_weight))
        for topic in select_start_topics(linked.topics):
            if root := tree.root(topic.entity):
                search.beams.append((topic, root))
        search.topics = frozenset(topic.entity.id for topic, _ in search.beams)
        return search

    def _ends(self, search: _Search, frontier: Frontier) -> tuple[Entity, ...]:
        return select_answer_ends(frontier.steps, frontier.ends, search.topics, return_to_topic=self.return_to_topic)

    def _candidates(self, search: _Search) -> list[_Candidate]:
        excluded = search.linked.question.excluded_relations
        return [
            _Candidate(topic, frontier, step)
            for topic, frontier in search.beams
            for _, step in frontier.steps_on(self.relations)
            if step.relation not in excluded
        ]

    def _choose(
        self, search: _Search, candidates: Sequence[_Candidate], scores: PathScores, pool: int
    ) -> list[tuple[_Candidate, float, bool]]:
        """Return the candidates to walk, with the score of stopping there and whether they are carried on."""
        penalty = [search.penalties[candidate.topic.entity.id] for candidate in candidates]
        stop = [float(s) + p for s, p in zip(scores.stop, penalty, strict=True)]
        extend = [float(s) + p for s, p in zip(scores.extend, penalty, strict=True)]
        order = [i for i in range(len(candidates)) if max(stop[i], extend[i]) > float("-inf")]
        carried = sorted(order, key=lambda i: (-extend[i], candidates[i].tie_break))[: self.beam_width]
        worst = search.worst_result(pool) - self.slack
        stopping = sorted(order, key=lambda i: (-stop[i], candidates[i].tie_break))[:pool]
        picks = dict.fromkeys([*carried, *(i for i in stopping if stop[i] > worst)])
        carried_on = {i for i in carried if candidates[i].path.num_hops < self.max_hop}
        walked = [i for i in picks if i in carried_on or stop[i] > worst]
        return [(candidates[i], stop[i], i in carried_on) for i in walked]

    def _query(self, search: _Search, candidates: Sequence[_Candidate]) -> PathQuery:
        names = search.linked.question.excluded_relations
        excluded = frozenset(number for number, name in self.relations.items() if name in names)
        branching = {f: f.log_branching(excluded) for f in dict.fromkeys(c.frontier for c in candidates)}
        return PathQuery(
            search.linked.question.text,
            tuple(c.topic for c in candidates),
            tuple(c.path for c in candidates),
            tuple(branching[c.frontier] for c in candidates),
        )

    def _evidence(self, search: _Search) -> Evidence[Chain]:
        items = [Scored(r.frontier.chain(self._ends(search, r.frontier)), r.score) for r in search.results]
        return Evidence(
            search.linked.question,
            search.linked.topics,
            "chain",
            tuple(sorted(items, key=item_sort_key)),
            self.calibration,
            walked=tuple(search.walked),
        )


def _topics(questions: Sequence[LinkedQuestion]) -> dict[str, Topic]:
    return {topic.entity.id: topic for linked in questions for topic in linked.topics}
