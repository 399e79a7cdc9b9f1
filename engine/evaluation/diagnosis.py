"""Find the stage at which a gold answer was lost, by the paths that mining finds between topics and gold answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..errors import UsageError
from ..evidence.bridges import to_chains
from ..evidence.chain import Chain
from ..evidence.evidence import Answer, Evidence, Item
from ..gold_questions import NO_ANSWER, NO_TOPIC, TOO_LONG, GoldQuestion, SkippedQuestion
from ..neo4j.catalogue import read_catalogue
from ..neo4j.gateway import Gateway
from ..neo4j.mining import stream_mediator_relations
from ..retrieval.beam import FrontierBounds
from ..supervision.answer_paths import TopicAnswerPath, steps_of
from ..supervision.mining import Miner, MiningOptions, QuestionPaths, mine_in_halves
from .metrics import Prediction, match_predictions

TOGETHER = 16
"""Questions that are mined at a time."""
EVERY = FrontierBounds(proposers=1_000)
"""Paths also through entities that the search itself would not walk on from."""
ENOUGH_F1 = 0.5
"""From this F1 of its ends on, a path counts as right."""
MARK = " without its relations"
"""Suffix of the id of a question whose relations are excluded."""

KINDS = {
    "failed": "it failed",
    "not linked": "no entity of the question was found",
    "not in the graph": "no right answer is in the graph",
    "out of reach": "no path of the allowed hops leads to a right answer",
    "pruned": "the search dropped the right path at hop {}",
    "not the first": "the right path came back at rank {}",
    "lost by the answerer": "the first path leads to a right answer, and another was given",
    "in part": "the first answer is right, others are wrong or missing",
}
"""Kinds of misses, in the order of the checks, with what they mean."""


@dataclass(frozen=True, slots=True)
class Miss:
    """Why a question is answered wrongly: one of `KINDS`, with the hop of the loss or the rank of the path."""

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
        return Miss("pruned", _find_lost_hop(found, evidence) if evidence.walked else None)


def _find_lost_hop(found: QuestionPaths, evidence: Evidence[Item]) -> int:
    """Return the hop at which the search dropped the last of the paths to a gold answer."""
    kept = {(topic, tuple(map(str, path.steps))) for topic, path in evidence.walked}

    def lost_hop(path: TopicAnswerPath) -> int:
        topic, hops = found.topics[path.topic].id, range(len(path.hops), 0, -1)
        walked = (hop for hop in hops if (topic, tuple(map(str, steps_of(path.hops[:hop])))) in kept)
        return min(next(walked, 0) + 1, len(path.hops))

    return max(map(lost_hop, found.paths), default=1)


def exclude_relations(questions: Sequence[GoldQuestion], diagnosis: Diagnosis) -> tuple[GoldQuestion, ...]:
    """Return the questions with the relations that lead to their gold answers excluded, in order.

    These are the relations of their gold paths, and of the paths whose ends agree with the gold answers. Questions
    without a gold answer within reach of the set's topics are left out. Raises `UsageError` if none is left.
    """
    excluded: list[GoldQuestion] = []
    topical = [question for question in questions if question.topic_ids]
    for question, found in zip(topical, diagnosis.find_paths(topical), strict=True):
        if isinstance(found, SkippedQuestion) or not found.paths:
            continue
        least = min(ENOUGH_F1, max(path.f1 for path in found.paths))
        right = {step.relation for path in found.paths if path.f1 >= least for step in steps_of(path.hops)}
        right |= {relation for path in question.paths for relation in path.relations}
        bare = replace(question, id=f"{question.id}{MARK}", answers=(), paths=(), triples=())
        excluded.append(replace(bare, excluded_relations=frozenset(right)))
    if not excluded:
        raise UsageError(
            f"--unanswerable: expected questions with a gold answer within {diagnosis.max_hop} hops of the set's "
            f"topics, found none of {len(questions):,}"
        )
    return tuple(excluded)


def check_excluded(question: GoldQuestion, evidence: Evidence[Item]) -> None:
    """Raise `UsageError` if evidence has a relation that was excluded for its question."""
    for item in evidence.items:
        value = item.value
        used = {step.step.relation for step in value.steps} if isinstance(value, Chain) else {value.relation}
        if wrong := used & question.excluded_relations:
            raise UsageError(
                f"--unanswerable: {question.id}: the recipe found the excluded {min(wrong)!r}: expected a recipe whose "
                "search can exclude relations, such as similarity, star or reg-triple"
            )
