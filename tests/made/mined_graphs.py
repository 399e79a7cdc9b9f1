"""What the miner needs to know of a `MemoryGraph`."""

from __future__ import annotations

from lodestar.engine.data_model import RelationStep
from lodestar.engine.neo4j.catalogue import RelationCatalogue, RelationInfo
from lodestar.engine.supervision import WalkedHop, WalkedPath
from lodestar.models.mined_files import INVERSE, THROUGH

from tests.fakes.memory_graph import MemoryGraph


def catalogue_of(graph: MemoryGraph) -> RelationCatalogue:
    return RelationCatalogue(
        tuple(
            RelationInfo(number, name, name, 1, stored_as=graph.stored_as.get(name))
            for number, name in graph.numbered.items()
        )
    )


def mediating_of(graph: MemoryGraph) -> frozenset[int]:
    """The signed numbers of the relations that unnamed entities are in."""
    return frozenset(number for id_, name in graph.names.items() if name is None for number in graph.signature(id_))


def step(written: str) -> RelationStep:
    return RelationStep(written.removeprefix(INVERSE), written.startswith(INVERSE))


def hop(written: str) -> WalkedHop:
    return tuple(map(step, written.split(THROUGH)))


def hops(*written: str) -> WalkedPath:
    return tuple(map(hop, written))
