"""The part that pools triples along paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ...models.path_pooling.pooling import Kernel, Pool, Pooling
from ..evidence.evidence import Kind
from ..reorganising.pooling import PathSmoothing
from ..resources import GraphResources
from ..stages import Reorganiser
from .part import ReorganiserPart, described, option

_SOURCE = "Path Pooling, section "


@dataclass(frozen=True)
class PathPooling(ReorganiserPart):
    """Smooths the scores of triples along the paths from and to the topics, keeps the best (docs/path-pooling.md)."""

    name: ClassVar[str] = "path-pooling"
    takes: ClassVar[Kind] = "triple"
    gives: ClassVar[Kind] = "triple"

    keep: int = option(25, "triples kept; 0 keeps all, in their new order", source=f"{_SOURCE}4.2", least=0)
    coarse: int = option(500, "best triples that are pooled; 0 pools all", source=f"{_SOURCE}4.2", least=0)
    kernel: Kernel = field(
        default="dijkstra",
        metadata=described("paths that are pooled along: dijkstra, bfs or random-walk", source=f"{_SOURCE}4.3.1"),
    )
    pool: Pool = field(
        default="mean",
        metadata=described("score of a path, of those of its triples: mean or max", source=f"{_SOURCE}4.3.2"),
    )
    position: float = option(1.0, "a, by which the bonus for a place in a path is divided", least=1e-6)
    max_length: int = option(
        4, "longest path of bfs and random-walk, in triples", source=f"{_SOURCE}4.3.1", least=1, most=8
    )
    num_walks: int = option(
        256, "random walks from each topic and to it", source=f"{_SOURCE}4.3.1", least=1, most=10_000
    )
    seed: int = option(0, "of the random walks", least=0)

    def reorganiser(self, _graph: GraphResources) -> Reorganiser:
        """Return the pooling."""
        pooling = Pooling(self.kernel, self.pool, self.position, self.max_length, self.num_walks, self.seed)
        return PathSmoothing(pooling, keep=self.keep or None, coarse=self.coarse or None)
