"""Search relation paths by beam search (STAR, section 4.1, inference), for a batch of questions at once.

From each topic entity; at each hop every beam is extended by every relation that leaves or enters its frontier; all
extensions of all questions are scored together; the best stay; a path competes for the result with END as its last
step. The scorer is free: similarity without training, or a trained one.

Deviations: a step into unnamed mediators and the step out of it count as one hop, and a path cannot end at a mediator.
Walking straight back over the triple into a mediator is not proposed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..evidence.calibration import Calibration
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Kind, item_sort_key
from ..linking.topics import compute_link_penalties, select_start_topics
from ..steps import Steps, attribute_costs
from ..values import Entity, LinkedQuestion, RelationPath, RelationStep, Scored, Topic, check_finite
from .frontier import Frontier, FrontierBounds, FrontierTree, select_answer_ends
from .scoring import PathQuery, PathScorer, PathScores, RelationShortlist


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A step from a frontier that a beam may take."""

    topic: Topic
    frontier: Frontier
    step: RelationStep

    @property
    def path(self) -> RelationPath:
        return RelationPath((*self.frontier.steps, self.step))

    @property
    def tie_break(self) -> tuple[str, str]:
        """Equal scores: by the topic's id, then by the relations' names."""
        return (self.topic.entity.id, str(self.path))


@dataclass(frozen=True, slots=True)
class _Result:
    """A path found: where it leads, and the score of stopping there."""

    frontier: Frontier
    score: float


@dataclass(slots=True)
class _Search:
    """The state of one question."""

    linked: LinkedQuestion
    penalties: Mapping[str, float]
    """What its link takes from the score of a path, by topic id, 0 or less."""
    beams: list[tuple[Topic, Frontier]] = field(default_factory=list)
    topics: frozenset[str] = frozenset()
    """Ids of the entities the search started from."""
    results: list[_Result] = field(default_factory=list)
    walked: list[tuple[str, RelationPath]] = field(default_factory=list)

    def worst_result(self, pool: int) -> float:
        """The score that a new result must pass to be among the best `pool`."""
        if len(self.results) < pool:
            return float("-inf")
        return sorted((r.score for r in self.results), reverse=True)[pool - 1]


class BeamSearch:
    """Retrieves chains by beam search; a `Retriever`.

    `relations` maps catalogue numbers to names, `stored_as` names to relationship types where the two differ.
    `calibration` says what the scorer's scores mean. `beam_width` paths per question are carried on, `max_hop` is the
    longest path in hops between named entities, a search starts from at most `max_topics` linked entities, each linked
    with at least `min_link` of the best one's score, and what a link lacks to the best one costs `link_weight` times as
    much, in score. `slack` is how far below the worst kept result a path may score and still be expanded, because a
    later stage may raise it. Whether a topic may be an answer is `return_to_topic` (see `ends`).
    With a `shortlist`, a question that is offered very many steps is scored on those by its nearest relations alone.
    Round trips per batch: one a hop, and one more for each relation chosen at a hub.
    """

    gives: Kind = "chain"

    def __init__(
        self,
        relations: Mapping[int, str],
        scorer: PathScorer,
        *,
        calibration: Calibration | None = None,
        beam_width: int = 10,
        max_hop: int = 2,
        max_topics: int = 3,
        min_link: float = 0.1,
        link_weight: float = 0.5,
        slack: float = 0.0,
        return_to_topic: bool = False,
        bounds: FrontierBounds | None = None,
        shortlist: RelationShortlist | None = None,
        stored_as: Mapping[str, str] | None = None,
    ) -> None:
        self.relations = relations
        self.stored_as = stored_as or {}
        self.scorer = scorer
        self.calibration = calibration
        self.beam_width = beam_width
        self.max_hop = max_hop
        self.max_topics = max_topics
        self.min_link = min_link
        self.link_weight = link_weight
        self.slack = slack
        self.return_to_topic = return_to_topic
        self.bounds = bounds or FrontierBounds()
        self.shortlist = shortlist

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int) -> Steps[list[Evidence[Chain]]]:
        """Return the chains found for each question, best first; `top_k` or more where there are so many.

        Raises `StaleCatalogueError` when the graph has a relation whose number is not in `relations`.
        """
        tree = FrontierTree(_topics(questions), self.bounds, self.max_hop, self.stored_as)
        searches = [self._begun(linked, tree) for linked in questions]
        pool = max(top_k, self.beam_width)  # so that a top_k below the beam's width only shows less
        for hop in range(1, 2 * self.max_hop + 1):
            if not any(search.beams for search in searches):
                break
            yield from attribute_costs(f"score {hop}")
            candidates_of = self._shortlisted(searches, [self._candidates(search) for search in searches])
            encoding_s = self.scorer.encoding_s
            scores = self.scorer.score([self._query(s, c) for s, c in zip(searches, candidates_of, strict=True)])
            for score in scores:
                check_finite(np.stack([score.stop, score.extend]), "a path scorer", log_probabilities=True)
            chosen = [
                self._choose(search, candidates, score, pool)
                for search, candidates, score in zip(searches, candidates_of, scores, strict=True)
            ]
            yield from attribute_costs("encode", self.scorer.encoding_s - encoding_s)
            yield from attribute_costs(f"hop {hop}")
            steps = [(c.frontier, c.step) for picks in chosen for c, _, _ in picks]
            frontiers = iter((yield from tree.expand(steps)))
            for search, picks in zip(searches, chosen, strict=True):
                search.beams = []
                for candidate, stop, carried in picks:
                    frontier = next(frontiers)
                    search.walked.append((frontier.topic.id, frontier.relation_path))
                    if self._ends(search, frontier):
                        search.results.append(_Result(frontier, stop))
                    if carried or frontier.at_mediator:
                        search.beams.append((candidate.topic, frontier))
        yield from attribute_costs("ground")
        return [self._evidence(search) for search in searches]

    def _begun(self, linked: LinkedQuestion, tree: FrontierTree) -> _Search:
        search = _Search(linked, compute_link_penalties(linked.topics, self.link_weight))
        for topic in select_start_topics(linked.topics, self.max_topics, self.min_link):
            if root := tree.root(topic.entity):
                search.beams.append((topic, root))
        search.topics = frozenset(topic.entity.id for topic, _ in search.beams)
        return search

    def _ends(self, search: _Search, frontier: Frontier) -> tuple[Entity, ...]:
        return select_answer_ends(frontier.steps, frontier.ends, search.topics, return_to_topic=self.return_to_topic)

    def _candidates(self, search: _Search) -> list[_Candidate]:
        """Every step that the search's beams may take next, in catalogue order."""
        excluded = search.linked.question.excluded_relations
        return [
            _Candidate(topic, frontier, step)
            for topic, frontier in search.beams
            for _, step in frontier.steps_on(self.relations)
            if step.relation not in excluded
        ]

    def _shortlisted(
        self, searches: Sequence[_Search], candidates_of: list[list[_Candidate]]
    ) -> list[list[_Candidate]]:
        """Return the candidates of each question, of very many those by the relations nearest to it."""
        if self.shortlist is None:
            return candidates_of
        many = [i for i, candidates in enumerate(candidates_of) if len(candidates) > self.shortlist.least]
        text = [search.linked.question.text for search in searches]
        kept = self.shortlist.relations([(text[i], c.topic) for i in many for c in candidates_of[i]])
        for i in many:
            candidates_of[i] = [c for c in candidates_of[i] if c.step.relation in kept[text[i], c.topic]]
        return candidates_of

    def _choose(
        self, search: _Search, candidates: Sequence[_Candidate], scores: PathScores, pool: int
    ) -> list[tuple[_Candidate, float, bool]]:
        """Return the candidates to walk, with the score of stopping there and whether they are carried on."""
        penalty = [search.penalties[candidate.topic.entity.id] for candidate in candidates]
        stop = [float(s) + p for s, p in zip(scores.stop, penalty, strict=True)]
        extend = [float(s) + p for s, p in zip(scores.extend, penalty, strict=True)]
        order = [i for i in range(len(candidates)) if max(stop[i], extend[i]) > float("-inf")]
        carried = sorted(order, key=lambda i: (-extend[i], candidates[i].tie_break))[: self.beam_width]
        worst = search.worst_result(pool) - self.slack
        stopping = sorted(order, key=lambda i: (-stop[i], candidates[i].tie_break))[:pool]
        picks = dict.fromkeys([*carried, *(i for i in stopping if stop[i] > worst)])
        carried_on = {i for i in carried if candidates[i].path.num_hops < self.max_hop}
        walked = [i for i in picks if i in carried_on or stop[i] > worst]
        return [(candidates[i], stop[i], i in carried_on) for i in walked]

    def _query(self, search: _Search, candidates: Sequence[_Candidate]) -> PathQuery:
        names = search.linked.question.excluded_relations
        excluded = frozenset(number for number, name in self.relations.items() if name in names)
        branching = {f: f.log_branching(excluded) for f in dict.fromkeys(c.frontier for c in candidates)}
        return PathQuery(
            search.linked.question.text,
            tuple(c.topic for c in candidates),
            tuple(c.path for c in candidates),
            tuple(branching[c.frontier] for c in candidates),
        )

    def _evidence(self, search: _Search) -> Evidence[Chain]:
        items = [Scored(r.frontier.chain(self._ends(search, r.frontier)), r.score) for r in search.results]
        return Evidence(
            search.linked.question,
            search.linked.topics,
            "chain",
            tuple(sorted(items, key=item_sort_key)),
            self.calibration,
            walked=tuple(search.walked),
        )


def _topics(questions: Sequence[LinkedQuestion]) -> dict[str, Topic]:
    return {topic.entity.id: topic for linked in questions for topic in linked.topics}
