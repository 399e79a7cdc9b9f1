"""How many questions are made from a graph, and which."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...errors import UsageError
from ...retrieval.frontier import Bounds
from ..mining.options import MAX_HOP

DEFAULT_QUESTIONS = 3_000
LENGTHS = (5.0, 4.0, 3.0, 1.0)


MAX_WEIGHT = 1_000_000


@dataclass(frozen=True, slots=True)
class MakingOptions:
    """What is made; all are our own choices.

    lengths: how many questions are begun with paths of one hop, of two, …, as weights; long ones are given up oftener,
    where nothing leads on or too much does. joint: the share whose answers two topics
    have in common. temper: a relation of n triples is drawn with weight n ** temper. max_ends: a path that leads to
    more is asked about by nobody. max_topics: entities kept to start a relation from. paraphrase: a language
    model rewords the questions.
    """

    num_questions: int = DEFAULT_QUESTIONS
    max_hop: int = 2
    seed: int = 0
    lengths: tuple[float, ...] = LENGTHS
    joint: float = 0.08
    temper: float = 0.5
    max_ends: int = 200
    max_topics: int = 200
    bounds: Bounds = field(default_factory=Bounds)
    paraphrase: bool = False

    def __post_init__(self) -> None:
        if self.num_questions < 1:
            raise UsageError(f"questions: expected at least 1, found {self.num_questions}")
        if not 1 <= self.max_hop <= MAX_HOP:
            raise UsageError(f"max_hop: expected 1 to {MAX_HOP}, found {self.max_hop}")
        weights = self.lengths[: self.max_hop]
        if not all(0 <= weight <= MAX_WEIGHT for weight in self.lengths) or not sum(weights) > 0:
            found = ",".join(f"{weight:g}" for weight in self.lengths)
            raise UsageError(f"lengths: expected weights of one hop, of two, …, one of them over 0, found {found}")
