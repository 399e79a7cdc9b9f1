"""Read question subgraphs by walking out from the topics, hop by hop, for a batch of questions at once.

A hop is at most two steps, since a step into an unnamed mediator and the step out of it are one hop: the first is taken
from the nodes that the hop before reached, the second from the mediators that the first has newly reached. (A mediator
that is reached from a mediator is walked on from in the next hop.) A step takes all relations of a node or the best
that a scorer proposes, in both directions. Relation signatures have the number of triples of each relation at each
node: what the bounds allow is known before a triple is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from ...models.path_similarity import PathSimilarity, TopicPaths
from ...models.text import DirectedRelation, RelationWords
from ...models.text.vectors import TextVectors
from ...models.word_positions import read_asked_words, remove_mention
from ..data_model import Entity
from ..neo4j import Request
from ..neo4j.catalogue import look_up_relation_name_by_number
from ..neo4j.graph_requests import (
    HUB_DEGREE,
    EntityReadLimits,
    NeighbourTriples,
    NodesWithSignatures,
    Signature,
    read_entity_signatures,
    read_hub_neighbours,
    read_neighbours,
)
from . import Shortlist

if TYPE_CHECKING:
    from ..context import Database

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float32]

MAX_QUERIES_SPARED = 25
"""However many relations of a node are wanted, not more edges are looked at than in the time of so many queries."""

Limits = Mapping[int, int]
"""How many triples of each relation, by signed catalogue number (negative where they enter), are read at a node."""
ReadPlan = Mapping[str, Limits]
"""What one question wants to read in one step, by the ids of nodes."""
StepTriples = Mapping[str, Sequence[tuple[int, str, int]]]
"""What was read in one step by the ids of nodes: signed relation, neighbour, and place among those of the relation; 0
where all triples of the node were read."""


@dataclass(frozen=True, slots=True, eq=False)
class SubgraphBatch:
    """The subgraphs of questions as one disjoint graph: directed multigraphs without equal triples.

    Question q has the nodes from node_starts[q] to node_starts[q + 1] and the triples from triple_starts[q] to
    triple_starts[q + 1], both (num_questions + 1,). An entity that is in several questions' subgraphs is a node in
    each.
    table: the entities of the batch, each once. heads, relations, tails: (num_triples,), of each question sorted by
    (head, relation, tail). Heads and tails are indexes of nodes, relations are catalogue numbers; the triple was walked
    from either end. Parallel relations are triples of their own, a self-loop has head == tail, a literal is only ever a
    tail. entities: (num_nodes,) index into `table`, nodes of each question sorted by hops from the nearest topic, then
    by id. is_topic: (num_nodes,). is_cut: of each question whether a bound left triples out.
    """

    table: tuple[Entity, ...]
    heads: Ints
    relations: Ints
    tails: Ints
    entities: Ints
    is_topic: Bools
    node_starts: Ints
    triple_starts: Ints
    is_cut: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.is_cut)

    @property
    def is_literal(self) -> Bools:
        """Which nodes are literals, (num_nodes,)."""
        return np.array([self.table[number].is_literal for number in self.entities.tolist()], dtype=np.bool_)

    @property
    def ids(self) -> list[str]:
        return [self.table[number].id for number in self.entities.tolist()]

    @property
    def node_questions(self) -> Ints:
        """The question that each node belongs to, (num_nodes,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.node_starts))


class _MetEntities:
    """The entities that a batch has met, by id, with the number of triples of each relation at them."""

    def __init__(self) -> None:
        self.entities: dict[str, Entity] = {}
        self.signatures: dict[str, Signature] = {}

    def add(self, nodes: NodesWithSignatures) -> None:
        """Note these nodes, and the signatures that came with them."""
        for id_, entity in nodes.entities.items():
            self.entities.setdefault(id_, entity)
        self.signatures |= nodes.signatures

    def signature(self, id_: str) -> Signature:
        return self.signatures.get(id_, {})

    def is_whole(self, id_: str, limits: Limits) -> bool:
        """Return whether these are all triples of a node."""
        return sum(limits.values()) == sum(self.signature(id_).values())


@dataclass(slots=True)
class _StepReader:
    """Reads what the plans of a batch want in one step: one query, and one for each relation wanted at hubs.

    A hub has more edges than it is worth to look at for the relations wanted: `hub_degree` for each of them.

    `relations` maps catalogue numbers to names, `stored_as` names to relationship types where the two differ.
    """

    relations: Mapping[int, str]
    stored_as: Mapping[str, str]
    hub_degree: int = HUB_DEGREE
    met: _MetEntities = field(default_factory=_MetEntities)

    def read(self, db: Database, plans: Sequence[ReadPlan], *, last: bool) -> StepTriples:
        """Return the triples that any of the plans wants; the nodes they lead to are among `met` from then on."""
        wanted: dict[str, dict[int, int]] = {}
        in_part: set[str] = set()
        for plan in plans:
            for id_, limits in plan.items():
                known = wanted.setdefault(id_, {})
                known.update((relation, max(limit, known.get(relation, 0))) for relation, limit in limits.items())
                if not self.met.is_whole(id_, limits):
                    in_part.add(id_)
        wholes = [id_ for id_ in wanted if id_ not in in_part]
        hubs = {id_ for id_ in in_part if self._is_hub(id_, wanted[id_])}
        parts = {id_: limits for id_, limits in wanted.items() if id_ in in_part - hubs}
        requests: list[Request[NeighbourTriples]] = []
        if wholes or parts:
            requests.append(self._request(wholes, parts, last=last))
        by_relation: dict[int, list[str]] = {}
        for hub in sorted(hubs):
            for relation in wanted[hub]:
                by_relation.setdefault(relation, []).append(hub)
        for relation, there in by_relation.items():
            name = self._name(relation)
            limit = max(wanted[hub][relation] for hub in there)
            type_ = self.stored_as.get(name)
            requests.append(read_hub_neighbours(there, name, relation, limit, stored_as=type_, last=last))
        found: dict[str, list[tuple[int, str, int]]] = {}
        for answer in db.run_all(requests):
            self.met.add(answer.nodes)
            for source, relation, neighbour, position in answer.rows:
                found.setdefault(source, []).append((relation, neighbour, position))
        return found

    def _request(self, wholes: Sequence[str], parts: Mapping[str, Limits], *, last: bool) -> Request[NeighbourTriples]:
        numbers = {abs(n) for id_ in wholes for n in self.met.signature(id_)} | {
            abs(n) for p in parts.values() for n in p
        }
        return read_neighbours(
            wholes,
            [
                EntityReadLimits(
                    id_,
                    {self._name(n): limit for n, limit in limits.items() if n > 0},
                    {self._name(n): limit for n, limit in limits.items() if n < 0},
                )
                for id_, limits in parts.items()
            ],
            {self._name(number): number for number in numbers},
            last=last,
        )

    def _is_hub(self, id_: str, limits: Limits) -> bool:
        """Return whether a node has too many edges to be looked at for the relations wanted."""
        degree = sum(self.met.signature(id_).values())
        return degree >= self.hub_degree * min(len(limits), MAX_QUERIES_SPARED)

    def _name(self, number: int) -> str:
        return look_up_relation_name_by_number(abs(number), self.relations)


@dataclass(frozen=True, slots=True)
class RelationQuery:
    """The relations that leave or enter the nodes a question has reached.

    topics: names of the question's topics. relations: (num_candidates,) signed catalogue numbers, negative where a
    relation would be walked from tail to head; each once.
    """

    question: str
    topics: tuple[str, ...]
    relations: Ints


class RelationProposer(Protocol):
    """Scores the relations that may be walked next, for a batch of questions at once."""

    def score(self, queries: Sequence[RelationQuery]) -> list[FloatArray]:
        """Return a score for each candidate of each query, (num_candidates,) each; higher is better. Deterministic."""
        ...


def select_best_relations(relations: Ints, scores: FloatArray, num_relations: int) -> Ints:
    """Return the at most `num_relations` best, best first; equal scores by number, leaving before entering."""
    order = np.lexsort((-relations, np.abs(relations), -scores))
    return relations[order[:num_relations]]


class SimilarityProposer:
    """A `RelationProposer` by sentence similarity, without training.

    A relation's score is S of `models/path_similarity.py` for the path of it alone; `words` has the words of every
    catalogue number. What was encoded once is kept. What a `shortlist` leaves out has minus infinity.
    """

    def __init__(
        self, words: Mapping[int, RelationWords], vectors: TextVectors, shortlist: Shortlist | None = None
    ) -> None:
        self.words = words
        self.shortlist = shortlist
        self._similarity = PathSimilarity(vectors)

    def score(self, queries: Sequence[RelationQuery]) -> list[FloatArray]:
        """Return S of each candidate, as of a path of one hop; the texts of all queries are encoded together."""
        found = [np.full(len(query.relations), -np.inf, dtype=np.float32) for query in queries]
        kept: list[list[int]] = []
        for query in queries:
            numbers = query.relations.tolist()
            chosen = self.shortlist(_masked(query), numbers) if self.shortlist else numbers
            kept.append([place for place, number in enumerate(numbers) if number in chosen])
        paths = [
            TopicPaths(
                _masked(query),
                [((DirectedRelation(self.words[abs(n)], n < 0),),) for n in query.relations[places].tolist()],
                [0.0] * len(places),
                read_asked_words(query.question, query.topics[0]) if query.topics else None,
            )
            for query, places in zip(queries, kept, strict=True)
        ]
        scores = iter(self._similarity.score_composed([[each] for each in paths if each.hops]))
        for own, places in zip(found, kept, strict=True):
            if places:
                ((own[places], _),) = next(scores)
        return found


def _masked(query: RelationQuery) -> str:
    text = query.question
    for topic in query.topics:
        text = remove_mention(text, topic)
    return text


@dataclass(frozen=True, slots=True)
class SubgraphBounds:
    """What a question's subgraph may hold. All are our own choices; that a bound left something out is reported.

    fan_out: triples of a node, relation and direction. node_triples: triples read at a node. question_triples: triples
    in all, 1 / 2^(hops − 1) of them before the last hop, which reaches the answers of a long question; a triple that is
    read from both its ends in one step counts twice.
    """

    fan_out: int = 500
    node_triples: int = 2_000
    question_triples: int = 10_000


def _share_reads(counts: Sequence[int], total: int) -> list[int]:
    """Return what may be read of each group: of all the same number at most, so that no more than `total` are read.

    Where that is not enough for one of each, it is one of the first.
    """
    left, most = total, max(counts, default=0)
    for place, count in enumerate(sorted(counts)):
        if (each := left // (len(counts) - place)) < count:
            most = each
            break
        left -= count
    if most > 0:
        return [min(count, most) for count in counts]
    served = set([place for place, count in enumerate(counts) if count][: max(total, 0)])
    return [int(place in served) for place in range(len(counts))]


Group = tuple[str, int]
"""The triples of one relation at a node: the node's id and the signed number of the relation."""


def _limit_reads(counts: Mapping[Group, int], bounds: SubgraphBounds, room: int) -> dict[Group, int]:
    """Return how many triples of each group may be read, the most wanted first.

    Where a question has too many triples, half of the room is shared alike and the other half goes to the groups in
    their order. room: triples that the question may still have.
    """
    groups = list(counts)
    by_node = [min(count, bounds.fan_out) for count in counts.values()]
    at_node: dict[str, list[int]] = {}
    for place, (node, _) in enumerate(groups):
        at_node.setdefault(node, []).append(place)
    for places in at_node.values():
        here = [by_node[place] for place in places]
        if sum(here) > bounds.node_triples:
            for place, share in zip(places, _share_reads(here, bounds.node_triples), strict=True):
                by_node[place] = share
    if sum(by_node) <= room:
        return dict(zip(groups, by_node, strict=True))
    alike = _share_reads(by_node, (room + 1) // 2)
    rest = room - sum(alike)
    limits: dict[Group, int] = {}
    for group, most, limit in zip(groups, by_node, alike, strict=True):
        more = min(most - limit, rest)
        limits[group] = limit + more
        rest -= more
    return limits


@dataclass(frozen=True, slots=True)
class SubgraphQuery:
    """A question whose subgraph is wanted: ids of its topic entities, and how far and how wide it may reach."""

    question: str
    topics: tuple[str, ...]
    num_hops: int = 2
    bounds: SubgraphBounds = field(default_factory=SubgraphBounds)


class SubgraphExtractor:
    """Extracts question subgraphs from the graph.

    `relations` maps catalogue numbers to names, `stored_as` names to relationship types where the two differ. With a
    `proposer`, the `num_relations` best relations of a question are walked in each step, else all.
    What a bound leaves out: of each relation and direction at a node, triples beyond the first in the order in which
    the store keeps them. Where a node has too many, each relation at it gets the same share; where a question has, of
    half of what it may have, and the other half goes to relations in the order of the proposer, else by number, and to
    the nodes of one relation by id, as it does where there is not enough for one triple each.
    Round trips for a batch: its hops + 1, one more for each hop that ends at mediators; and, sent at the same time, a
    query for each relation wanted at hubs.
    """

    def __init__(
        self,
        relations: Mapping[int, str],
        *,
        proposer: RelationProposer | None = None,
        num_relations: int = 20,
        stored_as: Mapping[str, str] | None = None,
        hub_degree: int = HUB_DEGREE,
    ) -> None:
        self.relations = relations
        self.proposer = proposer
        self.num_relations = num_relations
        self.stored_as = stored_as or {}
        self.hub_degree = hub_degree

    def extract(self, db: Database, queries: Sequence[SubgraphQuery]) -> SubgraphBatch:
        """Return the subgraphs of the questions, in order.

        Raises `StaleCatalogueError` when the graph has a relation whose number is not in `relations`.
        """
        reader = _StepReader(self.relations, self.stored_as, self.hub_degree)
        ids = list(dict.fromkeys(id_ for query in queries for id_ in query.topics))
        if ids:
            reader.met.add(db.run(read_entity_signatures(ids)))
        growing = [_Growing(query, reader.met) for query in queries]
        num_hops = max((query.num_hops for query in queries), default=0)
        for hop in range(1, num_hops + 1):
            for out_of_mediators in (False, True):
                fronts = [g.front(hop, out_of_mediators=out_of_mediators) for g in growing]
                relations = self._choose_relations(growing, fronts)
                plans = [
                    g.plan(*each, hop) for g, each in zip(growing, zip(fronts, relations, strict=True), strict=True)
                ]
                if any(plans):
                    found = reader.read(db, plans, last=hop == num_hops)
                    for g, plan in zip(growing, plans, strict=True):
                        g.add(found, plan, hop)
        return _join(growing, reader.met)

    def _choose_relations(self, growing: Sequence[_Growing], fronts: Sequence[Sequence[str]]) -> list[list[int]]:
        """Return the relations that each question walks in this step, the most wanted first."""
        candidates = [g.relations_at(front) for g, front in zip(growing, fronts, strict=True)]
        if self.proposer is None:
            return [sorted(relations, key=lambda n: (abs(n), -n)) for relations in candidates]
        asked = [
            RelationQuery(g.query.question, g.topic_names, np.array(relations, dtype=np.int64))
            for g, relations in zip(growing, candidates, strict=True)
        ]
        scores = self.proposer.score(asked)
        return [
            select_best_relations(query.relations, own, self.num_relations).tolist()
            for query, own in zip(asked, scores, strict=True)
        ]


class _Growing:
    """The subgraph of one question while it grows."""

    def __init__(self, query: SubgraphQuery, met: _MetEntities) -> None:
        self.query = query
        self.met = met
        self.hops = {id_: 0 for id_ in query.topics if id_ in met.entities}
        self.triples: set[tuple[str, int, str]] = set()
        self.is_cut = False
        self._walked: set[str] = set()

    @property
    def topic_names(self) -> tuple[str, ...]:
        """The names of the topics, in order."""
        names = (self.met.entities[id_].name for id_, hops in self.hops.items() if not hops)
        return tuple(name for name in names if name)

    def front(self, hop: int, *, out_of_mediators: bool) -> list[str]:
        """Return the nodes that are walked on from in this step, by id, and count them as walked."""
        if hop > self.query.num_hops:
            return []
        reached = (self.met.entities[id_] for id_ in self.hops.keys() - self._walked)
        front = sorted(
            each.id for each in reached if not each.is_literal and (each.is_mediator or not out_of_mediators)
        )
        self._walked.update(front)
        return front

    def relations_at(self, front: Sequence[str]) -> list[int]:
        """Return the relations at these nodes, each once, ascending."""
        return sorted({relation for id_ in front for relation in self.met.signature(id_)})

    def plan(self, front: Sequence[str], chosen: Sequence[int], hop: int) -> ReadPlan:
        """Return what is read at the nodes of a front: of the `chosen` relations, best first, within the bounds."""
        signatures = {id_: self.met.signature(id_) for id_ in front}
        counts = {(id_, n): signatures[id_][n] for n in chosen for id_ in front if n in signatures[id_]}
        later = self.query.num_hops - 1 if hop < self.query.num_hops else 0
        room = max((self.query.bounds.question_triples >> later) - len(self.triples), 0)
        limits = _limit_reads(counts, self.query.bounds, room)
        self.is_cut |= limits != counts
        plan: dict[str, dict[int, int]] = {}
        for (id_, relation), limit in limits.items():
            if limit:
                plan.setdefault(id_, {})[relation] = limit
        return plan

    def add(self, found: StepTriples, plan: ReadPlan, hop: int) -> None:
        """Take in the triples that were read for a plan."""
        for id_, limits in plan.items():
            for relation, neighbour, position in found.get(id_, ()):
                if position < limits.get(relation, 0):
                    self.hops.setdefault(neighbour, hop)
                    self.triples.add((id_, relation, neighbour) if relation > 0 else (neighbour, -relation, id_))


def _join(growing: Sequence[_Growing], met: _MetEntities) -> SubgraphBatch:
    """Return what has grown, in its order: nodes by hops and id, triples by head, relation and tail."""
    numbers = {id_: number for number, id_ in enumerate(met.entities)}
    triples: list[tuple[int, int, int]] = []
    entities: list[int] = []
    is_topic: list[bool] = []
    node_starts, triple_starts = [0], [0]
    for each in growing:
        nodes = sorted(each.hops, key=lambda id_: (each.hops[id_], id_))
        place = {id_: node_starts[-1] + number for number, id_ in enumerate(nodes)}
        triples += sorted((place[head], relation, place[tail]) for head, relation, tail in each.triples)
        entities += (numbers[id_] for id_ in nodes)
        is_topic += (each.hops[id_] == 0 for id_ in nodes)
        node_starts.append(len(entities))
        triple_starts.append(len(triples))

    def column(values: Sequence[int]) -> Ints:
        return np.array(values, dtype=np.int64)

    heads, relations, tails = np.array(triples, dtype=np.int64).reshape(-1, 3).T
    return SubgraphBatch(
        tuple(met.entities.values()),
        heads,
        relations,
        tails,
        column(entities),
        np.array(is_topic, dtype=np.bool_),
        column(node_starts),
        column(triple_starts),
        tuple(each.is_cut for each in growing),
    )
