"""Read the surroundings of many entities at once, as columns instead of one object per triple."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from .graph import MAX_VALUE_CHARS, RELATED
from .templates import Request, Row, template

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SignatureColumns:
    """Relation signatures of entities, concatenated.

    Row i belongs to the entity with number `of[i]` in the same answer; its signature is ``relations[starts[i]:starts[i
    + 1]]``: signed catalogue numbers (n leaves it, -n enters it), ascending. `counts` has the number of triples of
    each.
    """

    of: Ints
    starts: Ints
    relations: Ints
    counts: Ints

    @classmethod
    def of_lists(cls, of: Sequence[int], lists: Sequence[Sequence[int]]) -> SignatureColumns:
        """Return the signatures from the database's rows, each its relations followed by as many counts."""
        sizes = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)) // 2
        values = np.fromiter(chain.from_iterable(lists), dtype=np.int64)
        is_relation = np.repeat(np.tile([True, False], len(lists)), np.repeat(sizes, 2))
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(np.array(of, dtype=np.int64), starts, values[is_relation], values[~is_relation])


@dataclass(frozen=True, slots=True)
class NodeTable:
    """Entities and literals, each once; the name of a literal is its value.

    ids, names: (num_nodes,). `literals` has the ids of the literals, `signatures` those of the requested entities.
    """

    ids: Sequence[str]
    names: Sequence[str | None]
    literals: frozenset[str]
    signatures: SignatureColumns


@dataclass(frozen=True, slots=True)
class NeighbourTriples:
    """Triples at the requested entities, one row each, and their neighbours.

    sources: (num_rows,) index of the entity in the request. relations: (num_rows,) signed catalogue number, negative if
    the triple enters the source. neighbours: (num_rows,) index into `nodes`. positions: (num_rows,) position in the
    store's order among the source's triples of that relation; 0 if all triples of the source were requested.
    """

    sources: Ints
    relations: Ints
    neighbours: Ints
    positions: Ints
    nodes: NodeTable


@dataclass(frozen=True, slots=True)
class EntityReadLimits:
    """Some triples of an entity: the most of each relation, by name, that leaves and that enters it."""

    id: str
    leaving: Mapping[str, int]
    entering: Mapping[str, int]


def read_entity_signatures(ids: Sequence[str]) -> Request[NodeTable]:
    """Read the existing entities among `ids`, with their signatures."""

    def decode(rows: Sequence[Row]) -> NodeTable:
        signatures = SignatureColumns.of_lists(range(len(rows)), [signature or () for _, _, signature in rows])
        return NodeTable([row[0] for row in rows], [row[1] for row in rows], frozenset(), signatures)

    return Request(template("read_signature_counts"), {"ids": list(ids)}, decode)


def read_neighbours(
    whole: Sequence[str], parts: Sequence[EntityReadLimits], numbers: Mapping[str, int], *, last: bool
) -> Request[NeighbourTriples]:
    """Read all triples of the entities `whole`, and some triples of `parts`; `sources` counts on from `whole` to
    `parts`.

    `numbers` are the catalogue numbers of the relations to read; others are skipped. Neighbours come with their
    signatures; if `last`, only the unnamed ones.
    """
    order = sorted(numbers, key=lambda name: numbers[name])
    signed = np.array([numbers[name] for name in order], dtype=np.int64)
    num_positions = max((n for part in parts for n in (*part.leaving.values(), *part.entering.values())), default=1)

    def decode(rows: Sequence[Row]) -> NeighbourTriples:
        codes, neighbours, nodes = _columns(rows)
        rest, positions = np.divmod(codes, num_positions)
        rest, relations = np.divmod(rest, len(order))
        sources, entering = np.divmod(rest, 2)
        return NeighbourTriples(sources, signed[relations] * (1 - 2 * entering), neighbours, positions, nodes)

    params: dict[str, Any] = {
        "whole": list(whole),
        "parts": [{"id": p.id, "leaving": dict(p.leaving), "entering": dict(p.entering)} for p in parts],
        "numbers": {name: number for number, name in enumerate(order)},
        "num_relations": len(order),
        "positions": num_positions,
        "last": last,
        "value_chars": MAX_VALUE_CHARS,
    }
    return Request(template("read_neighbours"), params, decode)


def read_hub_neighbours(
    hubs: Sequence[str], relation: str, number: int, limit: int, *, stored_as: str | None, last: bool
) -> Request[NeighbourTriples]:
    """Read the first `limit` triples of one relation at each hub; a negative `number` means that it enters them.

    `stored_as` is the relationship type of the relation if that differs from its name.
    """

    def decode(rows: Sequence[Row]) -> NeighbourTriples:
        codes, neighbours, nodes = _columns(rows)
        sources, positions = np.divmod(codes, limit)
        return NeighbourTriples(sources, np.full(len(codes), number, dtype=np.int64), neighbours, positions, nodes)

    type_ = stored_as or relation
    params: dict[str, Any] = {
        "hubs": list(hubs),
        "relation": relation if type_ == RELATED else None,
        "limit": limit,
        "last": last,
        "inverse": number < 0,
        "value_chars": MAX_VALUE_CHARS,
    }
    return Request(template("read_hub_neighbours"), params, decode, names={"RELATION": type_})


def _columns(rows: Sequence[Row]) -> tuple[Ints, Ints, NodeTable]:
    """Return the codes of all triples, the neighbour of each, and the neighbours."""
    ids, names, literals, codes, signatures = rows[0]
    sizes = np.fromiter(map(len, codes), dtype=np.int64, count=len(codes))
    given = [number for number, signature in enumerate(signatures) if signature is not None]
    nodes = NodeTable(
        ids, names, frozenset(literals), SignatureColumns.of_lists(given, [signatures[number] for number in given])
    )
    flat = np.fromiter(chain.from_iterable(codes), dtype=np.int64)
    return flat, np.repeat(np.arange(len(codes)), sizes), nodes
