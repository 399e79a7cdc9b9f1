"""Read the triples that one step of a batch of subgraphs needs, each once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...evidence.bridges import expand_ranges
from ...neo4j.catalogue import look_up_relation_name
from ...neo4j.graph import HUB_DEGREE
from ...neo4j.neighbours import (
    EntityReadLimits,
    NeighbourTriples,
    NodeTable,
    SignatureColumns,
    read_hub_neighbours,
    read_neighbours,
)
from ...neo4j.templates import Request
from ...steps import Steps, send_all
from .batch import Bools, EntityTable

Ints = npt.NDArray[np.int64]

MAX_QUERIES_SPARED = 25
"""However many relations of a node are wanted, not more edges are looked at than in the time of so many queries."""


class EntityRegistry:
    """The entities that a batch has met, by number, with their signatures."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.names: list[str | None] = []
        self.is_literal: Bools = np.zeros(0, dtype=np.bool_)
        self.is_mediator: Bools = np.zeros(0, dtype=np.bool_)
        self._numbers: dict[str, int] = {}
        self._first: Ints = np.zeros(0, dtype=np.int64)
        self._after: Ints = np.zeros(0, dtype=np.int64)
        self._relations: Ints = np.zeros(0, dtype=np.int64)
        self._counts: Ints = np.zeros(0, dtype=np.int64)
        self._ranks: Ints = np.zeros(0, dtype=np.int64)

    def number(self, id_: str) -> int | None:
        """Return the number of an entity, None where it was not met."""
        return self._numbers.get(id_)

    def add(self, nodes: NodeTable) -> Ints:
        """Return the numbers of these nodes, (num_nodes,); those not met before get one."""
        known = len(self.ids)
        names: list[str | None] = []
        found = np.zeros(len(nodes.ids), dtype=np.int64)
        for place, (id_, name) in enumerate(zip(nodes.ids, nodes.names, strict=True)):
            number = self._numbers.setdefault(id_, known + len(names))
            found[place] = number
            if number == known + len(names):
                names.append(name)
                self.ids.append(id_)
        self.names += names
        literal = np.array([id_ in nodes.literals for id_ in self.ids[known:]], dtype=np.bool_)
        unnamed = np.array([not name for name in names], dtype=np.bool_)
        self.is_literal = np.concatenate([self.is_literal, literal])
        self.is_mediator = np.concatenate([self.is_mediator, unnamed & ~literal])
        self._add_signatures(found, nodes.signatures, len(names))
        return found

    def _add_signatures(self, found: Ints, signatures: SignatureColumns, num_new: int) -> None:
        self._first, self._after = (np.pad(ends, (0, num_new)) for ends in (self._first, self._after))
        numbers = found[signatures.of]
        self._first[numbers] = signatures.starts[:-1] + len(self._relations)
        self._after[numbers] = signatures.starts[1:] + len(self._relations)
        self._relations = np.concatenate([self._relations, signatures.relations])
        self._counts = np.concatenate([self._counts, signatures.counts])

    def groups(self, numbers: Ints) -> tuple[Ints, Ints, Ints]:
        """Return what the signatures of these entities say, (num_groups,) each: entity, signed relation, count."""
        at, of = expand_ranges(self._first[numbers], self._after[numbers])
        return numbers[of], self._relations[at], self._counts[at]

    def ranks(self) -> Ints:
        """Return the place of each entity in the order of ids, (num_entities,)."""
        if len(self._ranks) != len(self.ids):
            order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
            self._ranks = np.zeros(len(order), dtype=np.int64)
            self._ranks[order] = np.arange(len(order))
        return self._ranks

    def table(self) -> EntityTable:
        """Return the entities met so far."""
        return EntityTable(tuple(self.ids), tuple(self.names), self.is_literal)


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """What one question wants to read in one step: (num_groups,) each; a group is a relation and direction at a node.

    entities: numbers of entities. relations: signed catalogue numbers. limits: how many triples, none of them 0.
    whole: (num_groups,) whether all triples that the entity has are wanted.
    """

    entities: Ints
    relations: Ints
    limits: Ints
    whole: Bools


@dataclass(frozen=True, slots=True)
class StepTriples:
    """The triples that were read in one step, (num_rows,) each, sorted by source.

    sources, neighbours: numbers of entities. relations: signed. positions: place among those of the same source and
    relation, 0 where all triples of the source were read. wholes: sorted entities of which all were read.
    """

    sources: Ints
    relations: Ints
    neighbours: Ints
    positions: Ints
    wholes: Ints

    def of(self, plan: ReadPlan) -> tuple[Ints, Ints, Ints]:
        """Return source, signed relation and neighbour of the triples that a plan wants."""
        entities = np.unique(plan.entities)
        rows, _ = expand_ranges(*(np.searchsorted(self.sources, entities, side) for side in ("left", "right")))
        rows = rows[self._is_wanted(rows, plan)]
        return self.sources[rows], self.relations[rows], self.neighbours[rows]

    def _is_wanted(self, rows: Ints, plan: ReadPlan) -> Bools:
        if plan.whole.all():
            return np.ones(len(rows), dtype=np.bool_)
        kinds, offset = np.unique(np.concatenate([plan.relations, self.relations[rows]]), return_inverse=True)
        groups, wanted = np.split(offset, [len(plan.relations)])
        keys = plan.entities * len(kinds) + groups
        order = np.argsort(keys)
        at = self.sources[rows] * len(kinds) + wanted
        place = np.minimum(np.searchsorted(keys[order], at), len(keys) - 1)
        there = keys[order][place] == at
        wanted_here: Bools = there & (self.positions[rows] < plan.limits[order][place])
        return wanted_here


@dataclass(slots=True)
class StepReader:
    """Reads what the plans of a batch want in one step: one query, and one for each relation wanted at hubs.

    A hub has more edges than it is worth to look at for the relations wanted: `hub_degree` for each of them.

    `relations` maps catalogue numbers to names, `stored_as` names to relationship types where the two differ.
    """

    relations: Mapping[int, str]
    stored_as: Mapping[str, str]
    hub_degree: int = HUB_DEGREE
    entities: EntityRegistry = field(default_factory=EntityRegistry)

    def read(self, plans: Sequence[ReadPlan], *, last: bool) -> Steps[StepTriples]:
        """Return the triples that any of the plans wants; the nodes they lead to are among `entities` from then on."""
        wholes, wanted = _unite_plans(plans)
        hubs = self._hubs(wanted)
        light = {entity: limits for entity, limits in wanted.items() if entity not in hubs}
        requests: list[Request[NeighbourTriples]] = []
        sources: list[Ints] = []
        if len(wholes) or light:
            requests.append(self._request(wholes, light, last=last))
            sources.append(np.concatenate([wholes, np.array(list(light), dtype=np.int64)]))
        by_relation: dict[int, list[int]] = {}
        for hub in sorted(hubs):
            for relation in wanted[hub]:
                by_relation.setdefault(relation, []).append(hub)
        for relation, there in by_relation.items():
            name = self._name(relation)
            limit = max(wanted[hub][relation] for hub in there)
            ids = [self.entities.ids[hub] for hub in there]
            type_ = self.stored_as.get(name)
            requests.append(read_hub_neighbours(ids, name, relation, limit, stored_as=type_, last=last))
            sources.append(np.array(there, dtype=np.int64))
        answers = yield from send_all(requests)
        return self._join_answers(answers, sources, wholes)

    def _request(
        self, wholes: Ints, parts: Mapping[int, Mapping[int, int]], *, last: bool
    ) -> Request[NeighbourTriples]:
        _, relations, _ = self.entities.groups(wholes)
        numbers = {abs(int(n)) for n in np.unique(relations)} | {abs(n) for part in parts.values() for n in part}
        return read_neighbours(
            [self.entities.ids[entity] for entity in wholes],
            [
                EntityReadLimits(
                    self.entities.ids[entity],
                    {self._name(n): limit for n, limit in limits.items() if n > 0},
                    {self._name(n): limit for n, limit in limits.items() if n < 0},
                )
                for entity, limits in parts.items()
            ],
            {self._name(number): number for number in numbers},
            last=last,
        )

    def _join_answers(self, answers: Sequence[NeighbourTriples], sources: Sequence[Ints], wholes: Ints) -> StepTriples:
        none = np.zeros(0, dtype=np.int64)
        numbers = [self.entities.add(answer.nodes) for answer in answers]
        source = np.concatenate([none, *(s[a.sources] for s, a in zip(sources, answers, strict=True))])
        relation = np.concatenate([none, *(a.relations for a in answers)])
        neighbour = np.concatenate([none, *(n[a.neighbours] for n, a in zip(numbers, answers, strict=True))])
        position = np.concatenate([none, *(a.positions for a in answers)])
        order = np.argsort(source)
        return StepTriples(source[order], relation[order], neighbour[order], position[order], wholes)

    def _hubs(self, wanted: Mapping[int, Mapping[int, int]]) -> set[int]:
        """Return those of the entities that have too many edges to be looked at for the relations wanted."""
        entities = np.array(list(wanted), dtype=np.int64)
        owners, _, counts = self.entities.groups(entities)
        degrees = np.bincount(owners, weights=counts)
        return {
            entity
            for entity, limits in wanted.items()
            if degrees[entity] >= self.hub_degree * min(len(limits), MAX_QUERIES_SPARED)
        }

    def _name(self, number: int) -> str:
        return look_up_relation_name(abs(number), self.relations)


def _unite_plans(plans: Sequence[ReadPlan]) -> tuple[Ints, dict[int, dict[int, int]]]:
    """Return the entities that every plan wants whole, sorted, and of the others how many triples of each relation."""
    entities = np.concatenate([np.zeros(0, dtype=np.int64), *(plan.entities for plan in plans)])
    whole = np.concatenate([np.zeros(0, dtype=np.bool_), *(plan.whole for plan in plans)])
    in_part = np.unique(entities[~whole])
    wanted: dict[int, dict[int, int]] = {int(entity): {} for entity in in_part}
    for plan in plans:
        rows = np.flatnonzero(np.isin(plan.entities, in_part))
        for entity, relation, limit in zip(
            plan.entities[rows].tolist(), plan.relations[rows].tolist(), plan.limits[rows].tolist(), strict=True
        ):
            limits = wanted[entity]
            limits[relation] = max(limit, limits.get(relation, limit))
    return np.setdiff1d(entities[whole], in_part), wanted
