"""Beam search over relation paths (STAR, section 4.1, inference), for a batch of questions at once.

From each topic entity; at each hop every beam is extended by every relation that leaves or enters its frontier; all
extensions of all questions are scored together; the best stay; a path competes for the result with END as its last
step. The scorer is free: similarity without training, or a trained one. What was found is ranked by the scorer's second
look (`PathScorer.rerank`), once a question, where a scorer has one.

Deviations: a step into unnamed mediators and the step out of it count as one hop, and a path cannot end at a mediator.
Walking straight back over the triple into a mediator is not proposed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...models.shortlist import others_below
from ..database.graph import read_signatures
from ..steps import Steps, counted, one
from ..values import Entity, EntityCandidate, Question, RelationPath, Retrieval, Scored, Step
from .ends import ends_for
from .frontier import Bounds, Frontier, FrontierTree
from .grounding import grounded
from .meeting import Lead, meetings
from .scoring import PathQuery, PathScorer, PathScores
from .stopwatch import Stopwatch

LINK_WEIGHT = 0.5
"""Of a similarity score, for each 1 that a link lacks to the best."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A step from a frontier that a beam may take."""

    topic: Scored[EntityCandidate]
    frontier: Frontier
    step: Step

    @property
    def path(self) -> RelationPath:
        return RelationPath((*self.frontier.steps, self.step))

    @property
    def tie_break(self) -> tuple[int, str, str]:
        """Equal scores: the shorter path first, then by the topic's id and the relations' names."""
        return (len(self.frontier.steps), self.topic.value.entity.id, str(self.path))


@dataclass(frozen=True, slots=True)
class _Result:
    """A path found: the candidate that was walked, where it leads, and the score of stopping there."""

    candidate: _Candidate
    frontier: Frontier
    score: float


@dataclass(slots=True)
class _Search:
    """The state of one question."""

    question: Question
    mentions: dict[str, str] = field(default_factory=dict)
    """The entities the search started from, and how the question mentions them."""
    best_link: float = 0.0
    beams: list[tuple[Scored[EntityCandidate], Frontier]] = field(default_factory=list)
    results: list[_Result] = field(default_factory=list)
    walked: list[tuple[str, RelationPath]] = field(default_factory=list)

    def worst_result(self, top_k: int) -> float:
        """The score that a new result must pass to be among the best `top_k`."""
        if len(self.results) < top_k:
            return float("-inf")
        return sorted((r.score for r in self.results), reverse=True)[top_k - 1]


class BeamSearch:
    """Retrieves relation paths by beam search; a `Retriever`.

    `relations` maps catalogue numbers to names, `stored_as` names to relationship types where the two differ.
    `beam_width` paths per question are carried on, `max_hop` is the longest path in hops between named entities, a
    search starts from at most `max_topics` linked entities, each linked with at least `min_link` of the best one's
    score, and what a link lacks to the best one costs `link_weight` times as much of a path's score; a path that meets
    another topic's (see `meeting`) gains `meeting_bonus`. Whether a topic may be an answer is `return_to_topic` (see
    `ends`).
    Round trips per batch: hops + 1, and one more for each relation chosen at a hub.
    """

    def __init__(
        self,
        relations: Mapping[int, str],
        scorer: PathScorer,
        *,
        beam_width: int = 10,
        max_hop: int = 2,
        max_topics: int = 3,
        min_link: float = 0.75,
        link_weight: float = LINK_WEIGHT,
        meeting_bonus: float = 0.0,
        return_to_topic: bool = False,
        bounds: Bounds | None = None,
        stored_as: Mapping[str, str] | None = None,
    ) -> None:
        self.relations = relations
        self.stored_as = stored_as or {}
        self.scorer = scorer
        self.beam_width = beam_width
        self.max_hop = max_hop
        self.max_topics = max_topics
        self.min_link = min_link
        self.link_weight = link_weight
        self.meeting_bonus = meeting_bonus
        self.return_to_topic = return_to_topic
        self.bounds = bounds or Bounds()

    def retrieve(
        self, questions: Sequence[Question], topics: Sequence[Sequence[Scored[EntityCandidate]]], top_k: int
    ) -> Steps[list[Retrieval]]:
        """Return one retrieval per question, with at most `top_k` grounded paths, best first.

        Raises `UnknownRelationError` when the graph has a relation whose number is not in `relations`.
        """
        watch = Stopwatch()
        searches = [_Search(question) for question in questions]
        started_from = [self._started_from(candidates) for candidates in topics]
        ids = {t.value.entity.id: None for candidates in started_from for t in candidates}
        signatures = (yield from one(read_signatures(list(ids)))) if ids else {}
        tree = FrontierTree(signatures, self.bounds, self.max_hop, self.stored_as)
        known = [_known(candidates, tree) for candidates in topics]
        for search, candidates in zip(searches, known, strict=True):
            search.beams = [(topic, root) for topic, root in candidates if root is not None]
            search.mentions = {root.topic.id: topic.value.mention for topic, root in search.beams}
            search.best_link = max((topic.score for topic, _ in search.beams), default=0.0)
        round_trips = {"topics": int(bool(ids))}
        watch.lap("topics")

        for hop in range(1, 2 * self.max_hop + 1):
            if not any(search.beams for search in searches):
                break
            candidates_of = [self._candidates(search) for search in searches]
            encoding_s = self.scorer.encoding_s
            scores = self.scorer.score([_query(s, c) for s, c in zip(searches, candidates_of, strict=True)])
            chosen = [
                self._choose(search, candidates, score, top_k)
                for search, candidates, score in zip(searches, candidates_of, scores, strict=True)
            ]
            watch.lap(f"score {hop}")
            watch.move(f"score {hop}", "encode", self.scorer.encoding_s - encoding_s)
            steps = [(c.frontier, c.step) for picks in chosen for c, _, _ in picks]
            reached, round_trips[f"hop {hop}"] = yield from counted(tree.expand(steps))
            frontiers = iter(reached)
            for search, picks in zip(searches, chosen, strict=True):
                search.beams = []
                for candidate, stop, carried in picks:
                    frontier = next(frontiers)
                    search.walked.append((frontier.topic.id, frontier.relation_path))
                    if self._ends(search, frontier):
                        search.results.append(_Result(candidate, frontier, stop))
                    if carried or frontier.at_mediator:
                        search.beams.append((candidate.topic, frontier))
            watch.lap(f"hop {hop}")

        encoding_s = self.scorer.encoding_s
        if self._rerank(searches):
            watch.lap("rerank")
            watch.move("rerank", "encode", self.scorer.encoding_s - encoding_s)

        retrievals = [
            self._retrieval(search, [topic for topic, _ in candidates], top_k)
            for search, candidates in zip(searches, known, strict=True)
        ]
        watch.lap("ground")
        return [replace(r, seconds=watch.seconds, stage_round_trips=round_trips) for r in retrievals]

    def _rerank(self, searches: Sequence[_Search]) -> bool:
        """Take the scores of the scorer's second look for the best paths found; all others stay below these. Return
        whether there was one."""
        for search in searches:
            search.results.sort(key=lambda result: (-result.score, result.candidate.tie_break))
        found = [[result.candidate for result in search.results] for search in searches]
        scores = [np.array([result.score for result in search.results], dtype=np.float32) for search in searches]
        penalties = [
            np.array([self._penalty(search, candidate) for candidate in candidates], dtype=np.float32)
            for search, candidates in zip(searches, found, strict=True)
        ]
        reads = self.scorer.rerank(
            [_query(search, candidates) for search, candidates in zip(searches, found, strict=True)],
            [whole - penalty for whole, penalty in zip(scores, penalties, strict=True)],
        )
        for search, whole, penalty, read in zip(searches, scores, penalties, reads, strict=True):
            if len(read):
                whole[: len(read)] = read + penalty[: len(read)]
                others_below(whole, np.arange(len(read)))
                search.results = [replace(r, score=s) for r, s in zip(search.results, whole.tolist(), strict=True)]
        return any(len(read) for read in reads)

    def _penalty(self, search: _Search, candidate: _Candidate) -> float:
        """Return what a topic's link takes from the score of a path, 0 or less."""
        return self.link_weight * (candidate.topic.score - search.best_link)

    def _lead(self, search: _Search, result: _Result) -> Lead:
        frontier = result.frontier
        return Lead(
            topic=frontier.topic.id,
            mention=search.mentions[frontier.topic.id],
            num_hops=frontier.relation_path.num_hops,
            ends=frozenset(end.id for end in self._ends(search, frontier)),
            score=result.score,
        )

    def _ends(self, search: _Search, frontier: Frontier) -> tuple[Entity, ...]:
        return ends_for(frontier.steps, frontier.ends, search.mentions, return_to_topic=self.return_to_topic)

    def _started_from(self, candidates: Sequence[Scored[EntityCandidate]]) -> Sequence[Scored[EntityCandidate]]:
        """Return the candidates to start from: all that the asker named, the best of those that were linked."""
        if all(not c.value.matched_name for c in candidates):
            return candidates
        least = self.min_link * max(c.score for c in candidates)
        return [c for c in candidates if c.score >= least][: self.max_topics]

    def _candidates(self, search: _Search) -> list[_Candidate]:
        """Every step that the search's beams may take next, in catalogue order."""
        return [
            _Candidate(topic, frontier, step)
            for topic, frontier in search.beams
            for _, step in frontier.steps_on(self.relations)
        ]

    def _choose(
        self, search: _Search, candidates: Sequence[_Candidate], scores: PathScores, top_k: int
    ) -> list[tuple[_Candidate, float, bool]]:
        """Return the candidates to walk, with the score of stopping there and whether they are carried on."""
        penalty = [self._penalty(search, candidate) for candidate in candidates]
        stop = [float(s) + p for s, p in zip(scores.stop, penalty, strict=True)]
        extend = [float(s) + p for s, p in zip(scores.extend, penalty, strict=True)]
        order = range(len(candidates))
        carried = sorted(order, key=lambda i: (-extend[i], candidates[i].tie_break))[: self.beam_width]
        num_results = max(top_k, self.beam_width)  # so that a top_k below the beam's width only shows less
        worst = search.worst_result(num_results) - self.meeting_bonus
        stopping = sorted(order, key=lambda i: (-stop[i], candidates[i].tie_break))[:num_results]
        picks = dict.fromkeys([*carried, *(i for i in stopping if stop[i] > worst)])
        carried_on = {i for i in carried if candidates[i].path.num_hops < self.max_hop}
        walked = [i for i in picks if i in carried_on or stop[i] > worst]
        return [(candidates[i], stop[i], i in carried_on) for i in walked]

    def _retrieval(self, search: _Search, topics: Sequence[Scored[EntityCandidate]], top_k: int) -> Retrieval:
        leads = [self._lead(search, result) for result in search.results]
        met = dict(zip((result.frontier for result in search.results), meetings(leads), strict=True))
        ranked = sorted(
            (Scored(r.frontier, r.score + self.meeting_bonus * bool(met[r.frontier])) for r in search.results),
            key=lambda r: (-r.score, len(r.value.steps), r.value.topic.id, str(r.value.relation_path)),
        )
        paths = tuple(
            Scored(grounded(r.value, self._ends(search, r.value), met[r.value]), r.score) for r in ranked[:top_k]
        )
        cuts = tuple(f"{p.value.topic.label}: {p.value.relation_path}" for p in paths if p.value.cut)
        return Retrieval(search.question, tuple(topics), paths, cuts=cuts, walked=tuple(search.walked))


def _known(
    candidates: Sequence[Scored[EntityCandidate]], tree: FrontierTree
) -> list[tuple[Scored[EntityCandidate], Frontier | None]]:
    """Return the candidates with their roots; those to start from that the graph does not have are left out."""
    known: list[tuple[Scored[EntityCandidate], Frontier | None]] = []
    for candidate in candidates:
        root = tree.root(candidate.value.entity)
        if root is not None:
            topic = replace(candidate.value, entity=root.topic, degree=root.tails[root.topic.id].degree)
            known.append((Scored(topic, candidate.score), root))
        elif candidate.value.matched_name:
            known.append((candidate, None))
    return known


def _query(search: _Search, candidates: Sequence[_Candidate]) -> PathQuery:
    branching = {frontier: frontier.log_branching for frontier in dict.fromkeys(c.frontier for c in candidates)}
    return PathQuery(
        search.question.text,
        tuple(c.topic.value for c in candidates),
        tuple(c.path for c in candidates),
        tuple(branching[c.frontier] for c in candidates),
    )
