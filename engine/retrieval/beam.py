"""Search relation paths by beam search (STAR, section 4.1, inference), for a batch of questions at once.

From each topic entity; at each hop every beam is extended by every relation that leaves or enters its frontier; all
extensions of all questions are scored together; the best stay; a path competes for the result with END as its last
step. The scorer is free: similarity without training, or a trained one.

Deviations: a step into unnamed mediators and the step out of it count as one hop, and a path cannot end at a mediator.
Walking straight back over the triple into a mediator is not proposed.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from ...models import Hops, Range
from ...models.word_positions import read_asked_words
from ..data_model import (
    Chain,
    Entity,
    LinkedQuestion,
    Question,
    RelationPath,
    RelationStep,
    Scored,
    Topic,
    check_scores_finite,
)
from ..errors import UsageError
from ..evidence import Calibration, Evidence, Kind, item_sort_key
from ..linking import compute_link_penalties, select_start_topics
from ..neo4j import Request, Row, load_query
from ..parts import Retriever, option
from ..plans.schema import MAX_KINDS, read_types
from ..relations.descriptions import find_relation
from ..reorganising import Merge
from . import PathQuery, PathScorer, PathScores, Shortlist, get_topic_mention, remove_topic_mention
from .frontier import SAID_HOPS, Frontier, FrontierBounds, FrontierTree, find_most_hops, select_answer_ends
from .no_answer import NoAnswerExplainer

if TYPE_CHECKING:
    from ..context import Context
    from ..resources import GraphResources


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


_Pick = tuple[_Candidate, float, bool]
"""A step to take, the score of stopping there, and whether it is carried on."""
_Taken = tuple[_Candidate, float, bool, Frontier]
"""The same with where it leads."""


@dataclass(slots=True)
class _Search:
    """The state of one question."""

    linked: LinkedQuestion
    penalties: Mapping[str, float]
    """What its link takes from the score of a path, by topic id, 0 or less."""
    beams: list[tuple[Topic, Frontier]] = field(default_factory=list)
    topics: frozenset[str] = frozenset()
    """Ids of the entities the search started from."""
    max_hop: int = 0
    """Of its longest path in hops between named entities."""
    returns: bool = False
    """Whether it may ask for a way over a relation and straight back, and on."""
    fitting: set[str] = field(default_factory=set)
    """Ids of the ends that fit the question's filter."""
    results: list[Scored[Frontier]] = field(default_factory=list)

    def worst_result(self, pool: int) -> float:
        """The score that a new result must pass to be among the best `pool`."""
        if len(self.results) < pool:
            return float("-inf")
        return sorted((r.score for r in self.results), reverse=True)[pool - 1]


@dataclass(frozen=True, eq=False)
class BeamSearch:
    """Retrieves chains by beam search.

    `relations` maps catalogue numbers to names, `stored_as` names to relationship types where the two differ.
    `calibration` says what the scorer's scores mean. `beam_width` paths per question are carried on, `max_hop` is the
    longest path in hops between named entities (`find_most_hops`), and what a topic's link lacks to the best
    one costs `link_weight` times as much, in score. `slack` is how far below the worst kept result a path may score and
    still be expanded, because a later stage may raise it. `return_to_topic`: whether a topic may be an answer, or on
    the way. Where many relations lead on from the paths of a topic, `shortlist` says which are scored.
    Round trips per batch: one a hop, and one more for each relation chosen at a hub.
    """

    relations: Mapping[int, str]
    scorer: PathScorer
    calibration: Calibration | None = None
    beam_width: int = 10
    max_hop: int = 2
    link_weight: float = 0.5
    slack: float = 0.0
    return_to_topic: bool = False
    bounds: FrontierBounds = field(default_factory=FrontierBounds)
    stored_as: Mapping[str, str] = field(default_factory=dict)
    shortlist: Shortlist | None = None

    def __call__(self, ctx: Context, questions: Sequence[LinkedQuestion], top_k: int) -> list[Evidence[Chain]]:
        """Return the chains found for each question, best first; `top_k` or more where there are so many.

        Raises `StaleCatalogueError` when the graph has a relation whose number is not in `relations`.
        """
        topics = {topic.entity.id: topic for linked in questions for topic in linked.topics}
        tree = FrontierTree(topics, self.bounds, self.max_hop, self.stored_as, return_to_topic=self.return_to_topic)
        searches = [self._begun(linked, tree) for linked in questions]
        tree.max_hop = max((search.max_hop for search in searches), default=self.max_hop)
        pool = max(top_k, self.beam_width)  # so that a top_k below the beam's width only shows less
        for hop in range(1, 2 * tree.max_hop + 1):
            if not any(search.beams for search in searches):
                break
            with ctx.trace.stage(f"score {hop}"):
                candidates_of = [self._candidates(search) for search in searches]
                scores = self.scorer.score([self._query(s, c) for s, c in zip(searches, candidates_of, strict=True)])
                for score in scores:
                    check_scores_finite(np.stack([score.stop, score.extend]), "a path scorer", log_probabilities=True)
                chosen = [
                    self._choose(search, candidates, score, pool)
                    for search, candidates, score in zip(searches, candidates_of, scores, strict=True)
                ]
            with ctx.trace.stage(f"hop {hop}"):
                steps = [(c.frontier, c.step) for picks in chosen for c, _, _ in picks]
                reached = iter(tree.expand(ctx.db, steps))
                taken = [[(*pick, next(reached)) for pick in picks] for picks in chosen]
                self._filter(ctx, searches, taken)
                for search, picks in zip(searches, taken, strict=True):
                    self._advance(search, picks)
        with ctx.trace.stage("ground"):
            return [self._evidence(search) for search in searches]

    def _advance(self, search: _Search, picks: Sequence[_Taken]) -> None:
        search.beams = []
        for candidate, stop, carried, frontier in picks:
            if self._ends(search, frontier) and not frontier.is_back_where_it_was:
                search.results.append(Scored(frontier, stop))
            if carried or frontier.at_mediator:
                search.beams.append((candidate.topic, frontier))

    def _begun(self, linked: LinkedQuestion, tree: FrontierTree) -> _Search:
        search = _Search(linked, compute_link_penalties(linked.topics, self.link_weight))
        for topic in select_start_topics(linked.topics):
            if root := tree.root(topic.entity):
                search.beams.append((topic, root))
        search.topics = frozenset(topic.entity.id for topic, _ in search.beams)
        asked = [read_asked_words(linked.question.text, get_topic_mention(topic)) for topic, _ in search.beams]
        search.returns = any(each.may_return for each in asked)
        is_chain = any(each.links >= SAID_HOPS for each in asked)
        search.max_hop = max(self.max_hop, SAID_HOPS) if is_chain else self.max_hop
        return search

    def _filter(self, ctx: Context, searches: Sequence[_Search], taken: Sequence[Sequence[_Taken]]) -> None:
        """Find which of the ends that were reached fit the filter of their question, if it has one."""
        asked = [
            (search, list(dict.fromkeys(end.id for *_, frontier in picks for end in frontier.ends)))
            for search, picks in zip(searches, taken, strict=True)
            if search.linked.question.filter
        ]
        fitting = _find_fitting(ctx, [(search.linked.question, ids) for search, ids in asked]) if asked else []
        for (search, _), ids in zip(asked, fitting, strict=True):
            search.fitting |= ids

    def _ends(self, search: _Search, frontier: Frontier) -> tuple[Entity, ...]:
        ends = select_answer_ends(frontier.steps, frontier.ends, search.topics, return_to_topic=self.return_to_topic)
        return tuple(end for end in ends if end.id in search.fitting) if search.linked.question.filter else ends

    def _candidates(self, search: _Search) -> list[_Candidate]:
        steps: dict[Topic, list[tuple[Frontier, int, RelationStep]]] = {}
        for topic, frontier in search.beams:
            steps.setdefault(topic, []).extend((frontier, *each) for each in frontier.steps_on(self.relations))
        found: list[_Candidate] = []
        for topic, some in steps.items():
            numbers: Collection[int] = {number for _, number, _ in some}
            if self.shortlist is not None:
                numbers = self.shortlist(remove_topic_mention(search.linked.question.text, topic), numbers)
            found += (_Candidate(topic, frontier, step) for frontier, number, step in some if number in numbers)
        return found

    def _choose(self, search: _Search, candidates: Sequence[_Candidate], scores: PathScores, pool: int) -> list[_Pick]:
        """Return the candidates to walk, with the score of stopping there and whether they are carried on."""
        penalty = [search.penalties[candidate.topic.entity.id] for candidate in candidates]
        stop = [float(s) + p for s, p in zip(scores.stop, penalty, strict=True)]
        extend = [float(s) + p for s, p in zip(scores.extend, penalty, strict=True)]
        order = [i for i in range(len(candidates)) if max(stop[i], extend[i]) > float("-inf")]
        carried = sorted(order, key=lambda i: (-extend[i], candidates[i].tie_break))[: self.beam_width]
        worst = search.worst_result(pool) - self.slack
        stopping = sorted(order, key=lambda i: (-stop[i], candidates[i].tie_break))[:pool]
        picks = dict.fromkeys([*carried, *(i for i in stopping if stop[i] > worst)])
        most = {
            i: find_most_hops(candidates[i].path, search.max_hop) if search.returns else search.max_hop for i in carried
        }
        carried_on = {i for i in carried if candidates[i].path.num_hops < most[i]}
        walked = [i for i in picks if i in carried_on or stop[i] > worst]
        return [(candidates[i], stop[i], i in carried_on) for i in walked]

    def _query(self, search: _Search, candidates: Sequence[_Candidate]) -> PathQuery:
        branching = {f: f.log_branching() for f in dict.fromkeys(c.frontier for c in candidates)}
        return PathQuery(
            search.linked.question.text,
            tuple(c.topic for c in candidates),
            tuple(c.path for c in candidates),
            tuple(branching[c.frontier] for c in candidates),
        )

    def _evidence(self, search: _Search) -> Evidence[Chain]:
        items = [Scored(r.value.chain(self._ends(search, r.value)), r.score) for r in search.results]
        return Evidence(
            search.linked.question,
            search.linked.topics,
            "chain",
            tuple(sorted(items, key=item_sort_key)),
            self.calibration,
        )


OpenedSearch = tuple[BeamSearch, Any, NoAnswerExplainer | None]
"""A beam search over a graph, what reads its best paths again, and what says why there is no answer."""


@dataclass(frozen=True)
class BeamRetriever(Retriever):
    """Options of a beam search. `open` returns its `OpenedSearch`."""

    gives: ClassVar[Kind] = "chain"

    beam_width: Annotated[int, Range(1, 1_000)] = option(10, "paths kept at each hop", source="STAR, section 5.1")
    max_hop: Hops = option(
        2, "longest path in hops between named entities, or 3 where the question says so", source="STAR"
    )
    return_to_topic: bool = option(False, "allow a topic entity as an answer, and on the way")

    link_weight: ClassVar[float] = 1.585
    """Log-odds that a path loses per 1 that its link scores below the best."""

    @property
    def bonus(self) -> float:
        """Log-odds that a path gains for meeting another topic's path."""
        return 0.0

    def __call__(self, ctx: Context, questions: Sequence[LinkedQuestion], top_k: int) -> list[Evidence[Any]]:
        """Search, read the best paths again, merge those that meet, and say how sure the first answer is."""
        search, rescore, explain = self.opened(ctx.graph)
        found: list[Evidence[Any]] = search(ctx, questions, top_k)
        for name, stage in (("rerank", rescore), ("merge", Merge(self.bonus))):
            if stage is not None:
                with ctx.trace.stage(name):
                    found = [each.add_stage(name, ctx.graph.labels) for each in stage(ctx, found)]
        return found if explain is None else explain(found)

    def open_search(
        self,
        graph: GraphResources,
        scorer: PathScorer,
        calibration: Calibration | None,
        rescore: Any = None,
        *,
        doubts: bool = False,
    ) -> OpenedSearch:
        """Return the search with a scorer. calibration: what its scores mean, without it nothing is explained."""
        scale = calibration or Calibration("logit")
        search = BeamSearch(
            graph.relations,
            scorer,
            calibration=calibration,
            beam_width=self.beam_width,
            max_hop=self.max_hop,
            link_weight=scale.from_log_odds(self.link_weight),
            slack=scale.from_log_odds(self.bonus),
            return_to_topic=self.return_to_topic,
            stored_as=graph.catalogue.stored_as,
            shortlist=graph.shortlist,
        )

        def nearest(text: str, topic: Topic, num_relations: int) -> frozenset[str]:
            masked = graph.shared.vectors.stack([remove_topic_mention(text, topic)])
            return graph.index.nearest(masked, num_relations)[0]

        explain = (
            NoAnswerExplainer(scorer, calibration, graph.relations, nearest, doubts, graph.labels, graph.words)
            if calibration
            else None
        )
        return search, rescore, explain


def _find_fitting(ctx: Context, asked: Sequence[tuple[Question, Sequence[str]]]) -> list[frozenset[str]]:
    """Return, of each question's entities by id, those that fit its filter; one round trip.

    The key `kind` has the name of what an answer must be an instance of, `relation` one that it must have. Any other
    key is a relation, and its value the name or the literal that it must lead to. Raises `UsageError` for a relation
    or a kind that the graph does not have.
    """
    wanted = [
        {"ids": list(ids), "conditions": [_make_condition(*each, ctx.graph) for each in question.filter]}
        for question, ids in asked
    ]

    def decode(rows: Sequence[Row]) -> list[frozenset[str]]:
        found = {question: frozenset(ids) for question, ids in rows}
        return [found.get(place, frozenset()) for place in range(len(asked))]

    fitting = ctx.db.run(Request(load_query("find_fitting"), {"asked": wanted}, decode))
    for (question, _), some in zip(asked, fitting, strict=True):
        if not some and (kind := dict(question.filter).get("kind")):
            _check_kind(ctx, kind)
    return fitting


def _check_kind(ctx: Context, kind: str) -> None:
    graph = ctx.graph
    request = read_types(graph.catalogue, graph.words)
    types = graph.get_or_make(read_types, lambda: ctx.db.run(request) if request else [])
    known = {_fold_value(name): name for _, name, _ in types}
    if not known:
        raise UsageError("filter: no relation of the graph says kinds of things")
    if _fold_value(kind) not in known and len(types) < MAX_KINDS:
        near = difflib.get_close_matches(_fold_value(kind), known, n=3)
        hint = f"{'nearest:' if near else 'it has'} {', '.join(known[each] for each in near or [*known][:3])}"
        raise UsageError(f"filter: the graph has no kind {kind[:80]!r}; {hint}")


def _fold_value(text: str) -> str:
    return text.replace("_", " ").lower()


def _make_condition(key: str, value: str, graph: GraphResources) -> dict[str, Any]:
    catalogue, text = graph.catalogue, _fold_value(value)
    if key == "relation":
        return {"number": find_relation(catalogue, value)[0].number, "relations": [], "value": None}
    if key == "kind":
        names = [each.name for each in catalogue.relations if graph.words[each.name].is_type]
    else:
        names = [find_relation(catalogue, key)[0].name]
    return {"number": None, "relations": names, "value": text}
