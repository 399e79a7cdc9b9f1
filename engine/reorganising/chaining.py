"""Expand triples to chains and merge chains: ReG's structure-aware reorganisation as a stage (section 4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from ..evidence.bridges import chain_of, compute_weakest_score, triples_of
from ..evidence.chain import Chain, ChainStep, Link
from ..evidence.evidence import Evidence, Kind
from ..neo4j.graph import ChainSteps, ExpansionBounds, Levels, QuestionTriples, expand_chains
from ..steps import Steps, send_one
from ..values import Entity, RelationStep, Scored, Triple
from .merging import add_targets, group_meeting_chains


def columns_of(triples: Sequence[Triple], topics: Sequence[Entity]) -> QuestionTriples:
    """Return triples as columns; `topics` are the first nodes, in order."""
    numbers = {entity: number for number, entity in enumerate(dict.fromkeys(topics))}
    num_topics = len(numbers)
    ends = [
        (numbers.setdefault(triple.head, len(numbers)), numbers.setdefault(triple.tail, len(numbers)))
        for triple in triples
    ]
    return QuestionTriples(
        num_topics,
        ids=tuple(entity.id for entity in numbers),
        literals=tuple(entity.is_literal for entity in numbers),
        heads=tuple(head for head, _ in ends),
        relations=tuple(triple.relation for triple in triples),
        tails=tuple(tail for _, tail in ends),
    )


def chain_triples(columns: QuestionTriples, bounds: ExpansionBounds) -> list[Levels]:
    """Return the chains from each topic: what the request `expand_chains` gives where the graph has all the triples."""
    leaving = _leaving(columns)
    return [tuple(_levels(topic, columns, leaving, bounds)) for topic in range(columns.topics)]


def _leaving(columns: QuestionTriples) -> Mapping[int, list[int]]:
    leaving: dict[int, list[int]] = {}
    for place, (head, tail) in enumerate(zip(columns.heads, columns.tails, strict=True)):
        leaving.setdefault(head, []).append(2 * place)
        if head != tail and not columns.literals[tail]:
            leaving.setdefault(tail, []).append(2 * place + 1)
    return leaving


def _levels(
    topic: int, columns: QuestionTriples, leaving: Mapping[int, list[int]], bounds: ExpansionBounds
) -> Iterator[tuple[ChainSteps, ...]]:
    level: tuple[ChainSteps, ...] = tuple((step,) for step in leaving.get(topic, [])[: bounds.max_chains + 1])
    yield level
    for _ in range(1, bounds.max_length):
        level = _longer(level[: bounds.max_chains], columns, leaving, bounds)
        yield level


def _longer(
    level: Sequence[ChainSteps], columns: QuestionTriples, leaving: Mapping[int, list[int]], bounds: ExpansionBounds
) -> tuple[ChainSteps, ...]:
    longer: list[ChainSteps] = []
    for chain in level:
        last = chain[-1]
        walked = {step >> 1 for step in chain}
        end = (columns.heads if last & 1 else columns.tails)[last >> 1]
        for step in leaving.get(end, ()):
            if (bounds.turning or (step ^ last) & 1 == 0) and step >> 1 not in walked:
                longer.append((*chain, step))
                if len(longer) > bounds.max_chains:
                    return tuple(longer)
    return tuple(longer)


@dataclass(frozen=True, slots=True)
class ChainExpander:
    """A `Reorganiser`: the chains that triples make from the topics, those of one relation path merged to one.

    Chains of different topics that lead to the same stand together, and share it as targets (`join`). The paper scores
    no chain: ours is worth as much as the weakest of its steps, each step as its best triple, so that the calibration
    stays; of a group the best chain has its place by score, the others follow it. Of a question the best `keep` chains
    are kept. With `in_database` the chains are expanded there, all questions in one request.
    """

    bounds: ExpansionBounds
    keep: int
    join: bool = True
    in_database: bool = False

    takes: Kind = "triple"
    gives: Kind = "chain"

    def reorganise(self, evidence: Sequence[Evidence[Triple]]) -> Steps[list[Evidence[Chain]]]:
        """Return the evidence as chains."""
        columns = [
            columns_of([scored.value for scored in each.items], [topic.entity for topic in each.topics])
            for each in evidence
        ]
        if self.in_database and any(each.heads and each.topics for each in columns):
            grown = yield from send_one(expand_chains(columns, self.bounds))
        else:
            grown = [chain_triples(each, self.bounds) for each in columns]
        return [self._chained(*each) for each in zip(evidence, grown, strict=True)]

    def _chained(self, evidence: Evidence[Triple], grown: Sequence[Levels]) -> Evidence[Chain]:
        scores = {each.value: each.score for each in evidence.items}
        topics = tuple(dict.fromkeys(topic.entity for topic in evidence.topics))
        triples = [each.value for each in evidence.items]
        chains = [
            Scored(chain, compute_weakest_score(chain, scores))
            for topic, levels in zip(topics, grown, strict=True)
            for chain in _merged(topic, triples, levels, self.bounds, frozenset(topics))
        ]
        chains.sort(key=evidence.chain_order)
        kept = self._join_chains(chains[: self.keep], evidence)
        is_cut = any(len(level) > self.bounds.max_chains for levels in grown for level in levels)
        left_out = [f"chains of a length beyond the first {self.bounds.max_chains:,} are left out"] if is_cut else []
        left_out += [f"chains beyond the best {self.keep:,} are left out"] if len(chains) > self.keep else []
        groups: tuple[int, ...] = ()
        if evidence.groups:
            of = {triple: evidence.group(place) for place, triple in enumerate(triples)}
            groups = tuple(min(map(of.__getitem__, triples_of(each.value))) for each in kept)
        cuts = (*evidence.left_out, *left_out)
        changed = replace(evidence, kind="chain", items=tuple(kept), groups=groups, left_out=cuts)  # type: ignore[arg-type]
        return cast(Evidence[Chain], changed)

    def _join_chains(self, chains: list[Scored[Chain]], evidence: Evidence[Triple]) -> list[Scored[Chain]]:
        if not self.join:
            return chains
        mentions = {topic.entity.id: topic.mention for topic in evidence.topics}
        return [
            Scored(add_targets(chains[place].value, shared), chains[place].score)
            for places, shared in group_meeting_chains(chains, mentions)
            for place in places
        ]


def _merged(
    topic: Entity,
    triples: Sequence[Triple],
    levels: Levels,
    bounds: ExpansionBounds,
    topics: frozenset[Entity],
) -> list[Chain]:
    """Return the chains from a topic, those of one relation path merged to one with all their ends."""
    links: dict[tuple[RelationStep, ...], list[dict[Link, None]]] = {}
    for level in levels:
        for chain in level[: bounds.max_chains]:
            walked = [_walked(triples[step >> 1], inverse=bool(step & 1)) for step in chain]
            path = tuple(step for step, _ in walked)
            into = links.setdefault(path, [{} for _ in path])
            for place, (_, link) in enumerate(walked):
                into[place][link] = None
    found = (
        chain_of(topic, [ChainStep(step, tuple(some)) for step, some in zip(path, into, strict=True)], topics)
        for path, into in links.items()
    )
    cut = {length for length, level in enumerate(levels, start=1) if len(level) > bounds.max_chains}
    least = min(cut, default=bounds.max_length + 1)
    return [replace(chain, cut=len(chain.steps) >= least) for chain in found if chain]


def _walked(triple: Triple, *, inverse: bool) -> tuple[RelationStep, Link]:
    link = (triple.tail, triple.head) if inverse else (triple.head, triple.tail)
    return RelationStep(triple.relation, inverse), link
