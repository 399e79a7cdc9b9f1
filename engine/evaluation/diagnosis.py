"""Find the stage at which a gold answer was lost, by the paths that mining finds between topics and gold answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..evidence.bridges import to_chains
from ..evidence.evidence import Answer
from ..gold_questions import NO_ANSWER, NO_TOPIC, TOO_LONG, GoldQuestion, SkippedQuestion
from ..neo4j.catalogue import read_catalogue
from ..neo4j.gateway import Gateway
from ..neo4j.mining import stream_mediator_relations
from ..retrieval.beam import FrontierBounds
from ..supervision.mining import Miner, MiningOptions, QuestionPaths, mine_in_halves
from .metrics import Prediction, match_predictions

TOGETHER = 16
"""Questions that are mined at a time."""
EVERY = FrontierBounds(proposers=1_000)
"""Paths also through entities that the search itself would not walk on from."""

KINDS = {
    "failed": "it failed",
    "not linked": "no entity of the question was found",
    "not in the graph": "no right answer is in the graph",
    "out of reach": "no path of the allowed hops leads to a right answer",
    "pruned": "the search dropped the right path",
    "not the first": "the right path came back at rank {}",
    "lost by the answerer": "the first path leads to a right answer, and another was given",
    "in part": "the first answer is right, others are wrong or missing",
}
"""Kinds of misses, in the order of the checks, with what they mean."""


@dataclass(frozen=True, slots=True)
class Miss:
    """Why a question is answered wrongly: one of `KINDS`; place: the rank of the path that is not the first."""

    kind: str
    place: int | None = None


class Diagnosis:
    """Determines the kinds of misses in the graph of a gateway, for searches of at most `max_hop` hops."""

    def __init__(self, gateway: Gateway, max_hop: int, *, return_to_topic: bool = False) -> None:
        self.max_hop = max_hop
        options = MiningOptions(max_hop=max_hop, return_to_topic=return_to_topic, bounds=EVERY)
        mediating = frozenset(gateway.stream(stream_mediator_relations()))
        self._miner = Miner(gateway, gateway.run(read_catalogue()), mediating, options)

    def find_paths(self, questions: Sequence[GoldQuestion]) -> Iterator[QuestionPaths | SkippedQuestion]:
        """Yield for each question the paths from its topics to its gold answers, or why there are none."""
        for start in range(0, len(questions), TOGETHER):
            yield from mine_in_halves(self._miner.mine, questions[start : start + TOGETHER])

    def miss(self, question: GoldQuestion, answer: Answer) -> Miss | None:
        """Return the kind of miss of a question whose first answer is wrong or missing; None if it takes too long."""
        evidence = answer.evidence
        started = tuple(topic.entity.id for topic in evidence.topics)
        wanted = question.topic_ids
        if not started or (wanted and not set(wanted) & set(started)):
            return Miss("not linked")
        for rank, chain in enumerate(to_chains(evidence).items, start=1):
            ends = [Prediction(end.label, end.id) for end in chain.value.ends]
            if any(match_predictions(ends, question.answers)):
                return Miss("lost by the answerer") if rank == 1 else Miss("not the first", rank)
        (found,) = self.find_paths([replace(question, topic_ids=started, paths=())])
        if isinstance(found, SkippedQuestion):
            if found.reason == TOO_LONG:
                return None
            kinds = {NO_TOPIC: "not linked", NO_ANSWER: "not in the graph"}
            return Miss(kinds.get(found.reason, "out of reach"))
        return Miss("pruned")
