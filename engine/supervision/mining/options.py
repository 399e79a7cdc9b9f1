"""How far hard path mining looks, and how much it keeps."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...errors import UsageError
from ...retrieval.frontier import Bounds

MAX_HOP = 4


@dataclass(frozen=True, slots=True)
class MiningOptions:
    """What is mined. `num_negatives` is STAR's k: similar and random relations for each hop of a positive path.

    return_to_topic: a topic may be an answer (see `retrieval.ends`). max_paths: relation paths kept of what can be
    walked from a topic, and of what leads from it to the answers. max_degree: between two entities of more triples than
    this no path to an answer is looked for. bounds: those of the search that is to be trained.
    """

    max_hop: int = 2
    num_negatives: int = 5
    return_to_topic: bool = False
    seed: int = 0
    max_paths: int = 2_000
    max_degree: int = 20_000
    bounds: Bounds = field(default_factory=Bounds)

    def __post_init__(self) -> None:
        if not 1 <= self.max_hop <= MAX_HOP:
            raise UsageError(f"max_hop: expected 1 to {MAX_HOP}, found {self.max_hop}")
        if self.num_negatives < 0:
            raise UsageError(f"num_negatives: expected at least 0, found {self.num_negatives}")
        if self.max_paths < 1:
            raise UsageError(f"max_paths: expected at least 1, found {self.max_paths}")
