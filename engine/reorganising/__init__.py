"""Expand triples to chains, merge chains that meet, and smooth the scores of triples.

Expanding and merging are ReG's structure-aware reorganisation (section 4.2), smoothing is Path Pooling.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from ...models import Count, Range, Weight
from ...models.calibration import sigmoid
from ...models.path_pooling import ScoredEdge, reselect_triples
from ..data_model import Chain, Entity, Scored, Triple
from ..evidence import Evidence, Kind
from ..evidence.chains_and_triples import convert_to_chains
from ..neo4j.graph_requests import find_paths_between
from ..parts import Reorganiser, option, part

if TYPE_CHECKING:
    from ..context import Context, Database


@part("reorganise")
@dataclass(frozen=True)
class Reorganise(Reorganiser):
    """Expands triples to chains from the topics, and merges chains with several answers and chains that meet
    (docs/papers.md).

    The chains are expanded in the database, a batch by few queries, over the triples that it still has. Chains of
    different topics that lead to the same stand together, and share it as targets (appendix D.4.2); of a group the best
    chain has its place by score (`_score_path`), the others follow it.
    """

    takes: ClassVar[Kind] = "triple"
    gives: ClassVar[Kind] = "chain"

    max_length: Annotated[int, Range(1, 8)] = option(4, "longest chain, in triples (ReG's L)")

    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Triple]]) -> list[Evidence[Chain]]:
        found = []
        for each in convert_to_chains(ctx.db, evidence, self.max_length):
            mentions = {topic.entity.id: topic.mention for topic in each.topics}
            groups = group_meeting_chains(each.items, mentions)
            joined = [(each.items[place], shared) for places, shared in groups for place in places]
            found.append(replace(each, items=tuple(_with_targets(*pair) for pair in joined)))
        return found


def _with_targets(item: Scored[Chain], shared: Container[Entity]) -> Scored[Chain]:
    return replace(item, value=replace(item.value, targets=tuple(end for end in item.value.ends if end in shared)))


Walk = tuple[str, tuple[tuple[str, bool], ...]]
"""The id of a topic, and relation and direction of each step from it."""

NUM_LEADS = 5
"""Chains of one hop of a topic that chains of other topics are compared with."""


@part("merge")
@dataclass(frozen=True)
class Merge(Reorganiser):
    """Merges chains from different topics at the entities where they meet (ReG, section 4.2): their targets.

    A question that names two entities mostly asks for what is related to both. Our own rule: a chain meets the best of
    the other topics' `NUM_LEADS` best one-hop chains with which it shares an end, or else the shortest paths to another
    topic that begin with its relations; two candidates for the same mention never meet. A chain with targets gains
    `bonus`, in log-odds; without a calibration no score is changed. One round trip for a batch, none where no question
    has several topics.
    """

    takes: ClassVar[Kind] = "chain"
    gives: ClassVar[Kind] = "chain"

    bonus: Weight = option(0.0, "log-odds that a chain gains for meeting another topic's chain")

    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Chain]]) -> list[Evidence[Chain]]:
        joined = read_nodes_between_topics(ctx.db, evidence)
        return [self._merged(*each) for each in zip(evidence, joined, strict=True)]

    def _merged(self, evidence: Evidence[Chain], joined: JoinedTopics) -> Evidence[Chain]:
        through, is_cut = joined
        bonus = evidence.calibration.from_log_odds(self.bonus) if evidence.calibration else 0.0
        mentions = {topic.entity.id: topic.mention for topic in evidence.topics}
        met = find_meeting_ends(evidence.items, mentions)
        items = [
            Scored(replace(each.value, targets=targets), each.score + bonus, each.group) if targets else each
            for each, leads in zip(evidence.items, met, strict=True)
            for walk in (tuple((step.step.relation, step.step.inverse) for step in each.value.steps),)
            for ids in (through.get((each.value.topic.id, walk), ()),)
            for targets in (leads or tuple(end for end in each.value.ends if end.id in ids),)
        ]
        left_out = (*evidence.left_out, JOINED_CUT) if is_cut else evidence.left_out
        return replace(evidence, items=tuple(sorted(items, key=evidence.chain_order)), left_out=left_out)


MAX_PAIRS = 3
"""Pairs of topics of a question that paths are read between."""
MAX_JOINING = 200
"""Shortest paths that are read of a pair."""
JOINED_CUT = f"shortest paths between topics beyond the first {MAX_JOINING} are left out"


JoinedTopics = tuple[Mapping[Walk, AbstractSet[str]], bool]
"""The shortest paths between the topics of a question: the ids of the entities that each beginning of one leads to; and
whether a pair has more paths than were read."""


def read_nodes_between_topics(db: Database, evidence: Sequence[Evidence[Chain]]) -> list[JoinedTopics]:
    """Read the shortest paths between the topics of each question, at most `MAX_PAIRS` pairs of different mentions."""
    pairs: list[tuple[int, str, str]] = []
    for place, each in enumerate(evidence):
        mentions = {topic.entity.id: topic.mention for topic in each.topics}
        starts = dict.fromkeys(item.value.topic for item in each.items)
        distinct = (pair for pair in itertools.combinations(starts, 2) if _are_distinct_mentions(*pair, mentions))
        pairs += ((place, left.id, right.id) for left, right in itertools.islice(distinct, MAX_PAIRS))
    through: list[dict[Walk, set[str]]] = [{} for _ in evidence]
    num_paths: Counter[int] = Counter()
    asked = [(left, right) for _, left, right in pairs]
    rows = db.run(find_paths_between(asked, max_paths=MAX_JOINING)) if asked else []
    for pair, steps, nodes in rows:
        num_paths[pair] += 1
        place, left, right = pairs[pair]
        for length, node in enumerate(nodes, start=1):
            back = tuple((name, not inverse) for name, inverse in reversed(steps[length:]))
            for walk in ((left, steps[:length]), (right, back)):
                through[place].setdefault(walk, set()).add(node)
    cut = {pairs[pair][0] for pair, number in num_paths.items() if number > MAX_JOINING}
    return [(each, place in cut) for place, each in enumerate(through)]


def find_meeting_ends(chains: Sequence[Scored[Chain]], mentions: Mapping[str, str]) -> list[tuple[Entity, ...]]:
    """Return for each chain the ends at which it meets a lead of another topic, none where it meets none.

    mentions: how the question mentions each topic, by the topic's id.
    """
    leads: dict[str, list[Scored[Chain]]] = {}
    for each in sorted(chains, key=lambda each: -each.score):
        if each.value.relation_path.num_hops == 1:
            leads.setdefault(each.value.topic.id, []).append(each)
    chosen = sorted((lead for own in leads.values() for lead in own[:NUM_LEADS]), key=lambda lead: -lead.score)
    ends = [(lead.value.topic, frozenset(lead.value.ends)) for lead in chosen]
    targets: list[tuple[Entity, ...]] = []
    for each in chains:
        chain = each.value
        others = [of for topic, of in ends if _are_distinct_mentions(chain.topic, topic, mentions)]
        shared = (tuple(end for end in chain.ends if end in of) for of in others)
        targets.append(next((met for met in shared if met), ()))
    return targets


def _are_distinct_mentions(left: Entity, right: Entity, mentions: Mapping[str, str]) -> bool:
    """Whether the two are different entities that the question speaks of at different places."""
    mention = mentions.get(left.id, "")
    return left.id != right.id and (not mention or mention != mentions.get(right.id, ""))


def group_meeting_chains(
    chains: Sequence[Scored[Chain]], mentions: Mapping[str, str]
) -> list[tuple[list[int], frozenset[Entity]]]:
    """Return the chains, best first, in groups: places of chains of different topics, and the ends that they share.

    A group begins with the best chain that is in none yet, and takes in the next ones that keep the shared ends from
    being empty, of each topic one. Where a chain is in no other's company its group has no shared ends.
    mentions: how the question mentions each topic, by the topic's id.
    """
    ends = [frozenset(each.value.ends) for each in chains]
    by_topic: dict[Entity, list[int]] = {}
    for place, each in enumerate(chains):
        by_topic.setdefault(each.value.topic, []).append(place)
    others = {
        topic: sorted(
            place for other in by_topic if _are_distinct_mentions(topic, other, mentions) for place in by_topic[other]
        )
        for topic in by_topic
    }
    placed: set[int] = set()
    groups: list[tuple[list[int], frozenset[Entity]]] = []
    for first, each in enumerate(chains):
        if first in placed:
            continue
        group, shared = [first], ends[first]
        for place in others[each.value.topic]:
            own = chains[place].value.topic
            if (
                place not in placed
                and not shared.isdisjoint(ends[place])
                and all(_are_distinct_mentions(chains[other].value.topic, own, mentions) for other in group)
            ):
                group.append(place)
                shared &= ends[place]
        placed.update(group)
        groups.append((group, shared if len(group) > 1 else frozenset()))
    return groups


@part("path-pooling")
@dataclass(frozen=True)
class PathPooling(Reorganiser):
    """Smooths triple scores along the paths from and to the topics, and keeps the best (docs/papers.md).

    What is pooled are probabilities: those of the evidence's calibration; without one the scores as they are, or, where
    one is negative, their sigmoid, for the position bonus would prefer the far triples. Triples stand in the order of
    their pooled scores and keep their own: a pooled score is no probability, and of chains of such the shorter won.
    """

    takes: ClassVar[Kind] = "triple"
    gives: ClassVar[Kind] = "triple"

    keep: Count = option(25, "triples kept; 0 keeps all, in their new order", source="Path Pooling, section 4.2")
    coarse: Count = option(500, "best triples to pool; 0 pools all", source="Path Pooling, section 4.2")
    position: Annotated[float, Range(1e-6)] = option(1.0, "a, the divisor of the bonus for a position in a path")
    directed: bool = option(True, "paths follow the directions of the triples", source="Path Pooling, section 3.3")

    def __call__(self, _ctx: Context, evidence: Sequence[Evidence[Triple]]) -> list[Evidence[Triple]]:
        keep, coarse = self.keep or None, self.coarse or None
        reselect = partial(reselect_triples, keep=keep, position=self.position, coarse=coarse, directed=self.directed)
        pooled = []
        for each in evidence:
            topics = dict.fromkeys(topic.entity for topic in each.topics)
            found = reselect(list_scored_edges(each), topics)
            pooled.append(replace(each, items=tuple(each.items[place] for place, _ in found)))
        return pooled


def list_scored_edges(evidence: Evidence[Triple]) -> list[ScoredEdge]:
    scores = [scored.score for scored in evidence.items]
    if evidence.calibration is not None:
        scores = [evidence.calibration.probability(score) for score in scores]
    elif any(score < 0 for score in scores):
        scores = sigmoid(np.array(scores)).tolist()
    triples = (scored.value for scored in evidence.items)
    return [ScoredEdge(each.head, each.tail, score) for each, score in zip(triples, scores, strict=True)]
