"""Convert evidence from one kind to the other: triples of chains, and the chains that triples make in the database;
read the snippets of a graph that was made from text.

This is how ReG's structure-aware reorganisation (section 4.2) walks: breadth first, in either direction. Our own
reading, for the paper scores nothing: all triples of one relation path are one path; no triple is on a path twice.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..data_model import Chain, ChainStep, Entity, RelationStep, Scored, Triple, find_lowest_group_number
from ..neo4j import Request, Row, load_query
from ..neo4j.graph_requests import MENTIONED_WITH, Pair, read_snippets
from . import Calibration, ChainLengthShares, Evidence, Item, Kind, item_sort_key

if TYPE_CHECKING:
    from ..context import Database
    from ..neo4j.gateway import Gateway

ItemT = TypeVar("ItemT", Triple, Chain)

MAX_HOP = 4
MAX_CHAINS = 1_000
"""Of one question, and of one length from one topic: the evidence says that it was cut where the triples allow more."""
MAX_STEPS = 100_000
"""Triples that are walked for the paths of one length from one topic."""
ASKED_TOGETHER = 32
"""Questions of a query: of so many it is far within its timeout."""
CUT = f"chains beyond the first {MAX_CHAINS:,} are left out"


def convert_item_kind(db: Database, evidence: Sequence[Evidence[Item]], kind: Kind | None) -> list[Evidence[Any]]:
    """Return evidence with items of this kind, as they are for None; triples are read from the database once more for
    chains."""
    if kind is None:
        return list(evidence)
    return [convert_to_triples(each) for each in evidence] if kind == "triple" else convert_to_chains(db, evidence)


def convert_to_triples(evidence: Evidence[Item]) -> Evidence[Triple]:
    """Return the triples of the chains, each with score and group of its best chain; the calibration stays."""
    if evidence.kind == "triple":
        return cast(Evidence[Triple], evidence)
    best: dict[Triple, Scored[Triple]] = {}
    for scored in evidence.items:
        for triple in list_item_triples(scored.value):
            known = best.get(triple, Scored(triple, float("-inf")))
            best[triple] = Scored(
                triple, max(known.score, scored.score), find_lowest_group_number((known.group, scored.group))
            )
    chains = (each.value for each in evidence.chains)
    retrieved = tuple((chain.topic.id, str(chain.relation_path)) for chain in chains)
    triples = _as(evidence, "triple", sorted(best.values(), key=item_sort_key))
    return replace(triples, trace=replace(evidence.trace, retrieved=retrieved))


def convert_to_chains(
    db: Database, evidence: Sequence[Evidence[Item]], max_length: int = MAX_HOP
) -> list[Evidence[Chain]]:
    """Return the chains that triples make from the topics of each question, by breadth-first search in the database.

    One query for each `ASKED_TOGETHER` questions (after ReG, section 4.2), none where all evidence has chains already.
    A chain takes all triples of a relation path together, in either direction, at most `max_length` in a row and none
    twice; what the graph lacks is in none. The paper scores no chain: ours has the score that its triples had as a
    chain that was retrieved, else that of `_score_path`.
    """
    places = [place for place, each in enumerate(evidence) if each.kind == "triple"]
    of_triples = [cast(Evidence[Triple], evidence[place]) for place in places]
    asked = [(each.items, [topic.entity for topic in each.topics]) for each in of_triples]
    found = [cast(Evidence[Chain], each) for each in evidence]
    for place, each, paths in zip(places, of_triples, find_paths_through_triples(db, asked, max_length), strict=True):
        found[place] = _make_chains(each, paths)
    return found


def _make_chains(evidence: Evidence[Triple], paths: Sequence[GroundedRelationPath]) -> Evidence[Chain]:
    topics = frozenset(topic.entity for topic in evidence.topics)
    groups = [each.group for each in evidence.items]
    values = [each.score for each in evidence.items]
    one_by_one = None if evidence.trace.retrieved else evidence.calibration
    lengths = evidence.extra_of(ChainLengthShares)
    onward = _lead_on(paths, values)
    made: list[Scored[Chain]] = []
    for place, path in enumerate(paths):
        if ends := tuple(end for end in path.ends if not end.is_mediator and end not in topics):
            chain = Chain(path.topic, path.steps, ends)
            on_way = _triples_on_way(path, ends)
            best = [max(values[triple] for triple in step) for step in on_way]
            score = _score_path(best, onward[place], one_by_one, lengths)
            made.append(
                Scored(chain, score, find_lowest_group_number(groups[triple] for step in on_way for triple in step))
            )
    made.sort(key=evidence.chain_order)
    calibration = Calibration("probability", of=one_by_one.of) if one_by_one else evidence.calibration
    chains = replace(_as(evidence, "chain", made[:MAX_CHAINS]), calibration=calibration)
    is_cut = len(made) > MAX_CHAINS or _is_cut(paths)
    return replace(chains, left_out=(*chains.left_out, CUT)) if is_cut else chains


def _is_cut(paths: Sequence[GroundedRelationPath]) -> bool:
    num_paths = Counter((path.topic, len(path.steps)) for path in paths)
    num_steps: Counter[tuple[Entity, int]] = Counter()
    for path in paths:
        num_steps[path.topic, len(path.steps)] += len(path.walked[-1])
    return max(num_paths.values(), default=0) > MAX_CHAINS or max(num_steps.values(), default=0) >= MAX_STEPS


def _score_path(
    best: Sequence[float],
    onward: Sequence[float],
    calibration: Calibration | None,
    lengths: ChainLengthShares | None,
) -> float:
    """Return the score of a path from the scores of its steps, each worth its best triple. Our own.

    Where a retriever has scored triples one by one, the path t₁ … t_l is worth p(t₁) · … · p(t_l) · P(l), p by their
    calibration, P by what it tells of lengths, so that the beginning of a path does not win by being short. Where it
    tells none P(l) is Π (1 − p(o)), onward: the scores o of the steps that lead on from its ends. Without a calibration
    a path is worth its weakest step.
    """
    if calibration is None:
        return min(best)
    probability = calibration.probability
    of_length = lengths.share(len(best)) if lengths else math.prod(1 - probability(score) for score in onward)
    return math.prod(map(probability, best)) * of_length


def _lead_on(paths: Sequence[GroundedRelationPath], scores: Sequence[float]) -> defaultdict[int, list[float]]:
    onward: defaultdict[int, list[float]] = defaultdict(list)
    for path in paths:
        if path.parent is not None:
            onward[path.parent].append(max(scores[triple] for triple in path.walked[-1]))
    return onward


def _triples_on_way(path: GroundedRelationPath, ends: Iterable[Entity]) -> list[list[int]]:
    wanted = {end.id for end in ends}
    found: list[list[int]] = []
    for step, walked in zip(reversed(path.steps), reversed(path.walked), strict=True):
        kept = [(link, triple) for link, triple in zip(step.links, walked, strict=True) if link[1].id in wanted]
        found.append([triple for _, triple in kept])
        wanted = {source.id for (source, _), _ in kept}
    return found


def list_item_triples(item: Item) -> Iterable[Triple]:
    if isinstance(item, Triple):
        return (item,)
    return dict.fromkeys(triple for step in item.triples() for triple in step)


def _as(evidence: Evidence[Item], kind: Kind, items: Sequence[Scored[ItemT]]) -> Evidence[ItemT]:
    return cast(Evidence[ItemT], replace(evidence, kind=kind, items=tuple(items)))


@dataclass(frozen=True, slots=True)
class GroundedRelationPath:
    """A relation path from a topic with all triples on it, and its ends in the order in which they are met.

    parent: the place of the path that it goes on from, None for the topic. walked: of each step the places of its
    triples, in the order of its links.
    """

    topic: Entity
    steps: tuple[ChainStep, ...]
    ends: tuple[Entity, ...]
    parent: int | None
    walked: tuple[tuple[int, ...], ...]


Asked = tuple[Sequence[Scored[Triple]], Sequence[Entity]]
"""The triples of a question, and its topics."""


def find_paths_through_triples(
    db: Database,
    asked: Sequence[Asked],
    max_length: int = MAX_HOP,
    max_paths: int = MAX_CHAINS + 1,
) -> list[list[GroundedRelationPath]]:
    """Return the relation paths from each topic of each question, the shorter first; a literal is only ever an end.

    Of one length and topic those `max_paths` are kept whose weakest step is the best. One query for each
    `ASKED_TOGETHER` questions, all of them together; none where no question has triples and topics.
    """
    found: list[list[GroundedRelationPath]] = [[] for _ in asked]
    places = [place for place, (triples, topics) in enumerate(asked) if triples and topics]
    parts = [places[start : start + ASKED_TOGETHER] for start in range(0, len(places), ASKED_TOGETHER)]
    requests = [expand_chains([asked[place] for place in part], max_length, max_paths) for part in parts]
    for part, rows in zip(parts, db.run_all(requests) if requests else (), strict=True):
        for question, topic, levels in rows:
            triples, topics = asked[part[question]]
            _grow(found[part[question]], levels, triples, list(dict.fromkeys(topics))[topic])
    return found


def expand_chains(asked: Sequence[Asked], max_length: int, max_paths: int) -> Request[list[Row]]:
    """Ask for the paths that triples make, as places of triples; see the query."""
    relations: dict[str, int] = {}
    questions = []
    for triples, topics in asked:
        nodes = _number_nodes(triples, topics)
        ranks = {score: rank for rank, score in enumerate(sorted({each.score for each in triples}, reverse=True))}
        questions.append(
            {
                "topics": len(dict.fromkeys(topics)),
                "ids": [node.id for node in nodes],
                "literals": [node.is_literal for node in nodes],
                "heads": [nodes[each.value.head] for each in triples],
                "relations": [relations.setdefault(each.value.relation, len(relations)) for each in triples],
                "tails": [nodes[each.value.tail] for each in triples],
                "ranks": [ranks[each.score] for each in triples],
            }
        )
    params = {
        "questions": questions,
        "relations": list(relations),
        "max_length": max_length,
        "max_paths": max_paths,
        "max_steps": MAX_STEPS,
    }
    return Request(load_query("expand_chains"), params, list)


def _number_nodes(triples: Sequence[Scored[Triple]], topics: Sequence[Entity]) -> dict[Entity, int]:
    numbers = {topic: number for number, topic in enumerate(dict.fromkeys(topics))}
    for each in triples:
        for node in (each.value.head, each.value.tail):
            numbers.setdefault(node, len(numbers))
    return numbers


def _grow(
    found: list[GroundedRelationPath],
    levels: Sequence[Sequence[tuple[int, int, list[int]]]],
    triples: Sequence[Scored[Triple]],
    topic: Entity,
) -> None:
    known: list[tuple[tuple[float, tuple[int, ...]], GroundedRelationPath, int | None]] = [
        ((-math.inf, ()), GroundedRelationPath(topic, (), (), None, ()), None)
    ]
    for level in levels:
        longer = []
        for before, code, walked in level:
            (weakness, codes), parent, place = known[before]
            own = [triples[triple].value for triple in walked]
            links = tuple((t.tail, t.head) if code % 2 == 1 else (t.head, t.tail) for t in own)
            ends = tuple(dict.fromkeys(end for _, end in links))
            step = RelationStep(own[0].relation, code % 2 == 1, all(end.is_mediator for end in ends))
            steps = (*parent.steps, ChainStep(step, links))
            path = GroundedRelationPath(topic, steps, ends, place, (*parent.walked, tuple(walked)))
            weakness = max(weakness, -max(triples[triple].score for triple in walked))
            longer.append(((weakness, (*codes, code)), path))
        order = sorted(range(len(longer)), key=lambda row: longer[row][0])
        places = {row: len(found) + number for number, row in enumerate(order)}
        found += [longer[row][1] for row in order]
        known = [(*each, places[row]) for row, each in enumerate(longer)]


Quotes = tuple[tuple[str, ...], ...]
"""The snippets of each item, best item first."""


def collect_snippets(db: Gateway, evidence: Sequence[Evidence[Item]], max_items: int) -> list[Quotes]:
    """Return the snippets of the first items of each evidence, a step's after the other, each snippet once.

    Of a chain they are those of the entity path that stands for it. One round trip for all, none where no item is of
    concepts that are mentioned together.
    """
    pairs = [[_pairs(item.value) for item in each.items[:max_items]] for each in evidence]
    asked = list(dict.fromkeys(pair for items in pairs for item in items for pair in item))
    found = dict(zip(asked, db.run(read_snippets(asked)), strict=True)) if asked else {}
    return [
        tuple(tuple(dict.fromkeys(text for pair in item for text in found[pair])) for item in items) for items in pairs
    ]


def _pairs(item: Item) -> list[Pair]:
    triples = item.triples_of(item.instances(1)[0]) if isinstance(item, Chain) else (item,)
    return [(triple.head.id, triple.tail.id) for triple in triples if triple.relation == MENTIONED_WITH]
