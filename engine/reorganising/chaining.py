"""Expand triples to chains, merge chains that meet, and complete chains from the graph.

Expanding and merging are ReG's structure-aware reorganisation (section 4.2); completing is our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from ...models.ranges import Positive, Range, Weight
from ..evidence.bridges import chain_of, compute_weakest_score, triples_of
from ..evidence.chain import Chain, ChainStep, Link
from ..evidence.evidence import Evidence, Kind
from ..parts import Reorganiser, option, part
from ..retrieval.frontier import Frontier, FrontierBounds, FrontierTree, select_answer_ends
from ..values import Entity, RelationStep, Scored, Triple

if TYPE_CHECKING:
    from ..context import Context

ChainSteps = tuple[int, ...]
"""A chain as its steps: 2 · index of the triple, + 1 if it is walked from tail to head."""

Levels = tuple[tuple[ChainSteps, ...], ...]
"""The chains from a topic by length, from 1."""


@dataclass(frozen=True, slots=True)
class ExpansionBounds:
    """max_length: most triples of a chain (ReG's L). max_chains: most chains per topic and length that are extended.
    turning: whether a chain may change direction.
    """

    max_length: int = 4
    max_chains: int = 5_000
    turning: bool = True


KEPT = 1_000
"""Best chains of a question that are kept."""


def chain_triples(triples: Sequence[Triple], topics: Iterable[Entity], bounds: ExpansionBounds) -> list[Levels]:
    """Return the chains from each topic, by length; a level has `max_chains` + 1 chains if the bound cut it.

    triples: best first, each once.
    """
    leaving: dict[Entity, list[int]] = {}
    for place, triple in enumerate(triples):
        leaving.setdefault(triple.head, []).append(2 * place)
        if triple.head != triple.tail and not triple.tail.is_literal:
            leaving.setdefault(triple.tail, []).append(2 * place + 1)

    onward = [leaving.get(end, []) for triple in triples for end in (triple.tail, triple.head)]

    def longer(steps: ChainSteps) -> Iterator[ChainSteps]:
        last = steps[-1]
        walked = {step >> 1 for step in steps}
        for step in onward[last]:
            if (bounds.turning or (step ^ last) & 1 == 0) and step >> 1 not in walked:
                yield (*steps, step)

    found = []
    for topic in dict.fromkeys(topics):
        levels: list[tuple[ChainSteps, ...]] = [
            tuple((step,) for step in leaving.get(topic, [])[: bounds.max_chains + 1])
        ]
        for _ in range(1, bounds.max_length):
            grown = (more for steps in levels[-1][: bounds.max_chains] for more in longer(steps))
            levels.append(tuple(islice(grown, bounds.max_chains + 1)))
        found.append(tuple(levels))
    return found


@part("reorganise")
@dataclass(frozen=True)
class Reorganise(Reorganiser):
    """Expands triples to chains from the topics, and merges chains with several answers and chains that meet
    (docs/papers.md).

    Chains of different topics that lead to the same stand together, and share it as targets (appendix D.4.2). The
    paper scores no chain: ours is worth as much as the weakest of its steps, each step as its best triple, so that the
    calibration stays; of a group the best chain has its place by score, the others follow it.
    """

    takes: ClassVar[Kind] = "triple"
    gives: ClassVar[Kind] = "chain"

    max_length: Annotated[int, Range(1, 8)] = option(4, "longest chain, in triples (ReG's L)")
    turning: bool = option(True, "whether a chain may change direction")

    def __call__(self, _ctx: Context, evidence: Sequence[Evidence[Triple]]) -> list[Evidence[Chain]]:
        bounds = ExpansionBounds(self.max_length, turning=self.turning)
        return [expand_to_chains(each, bounds) for each in evidence]


def expand_to_chains(evidence: Evidence[Triple], bounds: ExpansionBounds, keep: int = KEPT) -> Evidence[Chain]:
    """Return the evidence with the chains that its triples make."""
    scores = {each.value: each.score for each in evidence.items}
    topics = tuple(dict.fromkeys(topic.entity for topic in evidence.topics))
    triples = [each.value for each in evidence.items]
    grown = chain_triples(triples, topics, bounds)
    chains = [
        Scored(chain, compute_weakest_score(chain, scores))
        for topic, levels in zip(topics, grown, strict=True)
        for chain in _merged(topic, triples, levels, bounds, frozenset(topics))
    ]
    chains.sort(key=evidence.chain_order)
    kept = _join_chains(chains[:keep], evidence)
    is_cut = any(len(level) > bounds.max_chains for levels in grown for level in levels)
    left_out = [f"chains of a length beyond the first {bounds.max_chains:,} are left out"] if is_cut else []
    left_out += [f"chains beyond the best {keep:,} are left out"] if len(chains) > keep else []
    groups: tuple[int, ...] = ()
    if evidence.groups:
        of = {triple: evidence.group(place) for place, triple in enumerate(triples)}
        groups = tuple(min(map(of.__getitem__, triples_of(each.value))) for each in kept)
    cuts = (*evidence.left_out, *left_out)
    changed = replace(evidence, kind="chain", items=tuple(kept), groups=groups, left_out=cuts)  # type: ignore[arg-type]
    return cast(Evidence[Chain], changed)


def _join_chains(chains: list[Scored[Chain]], evidence: Evidence[Triple]) -> list[Scored[Chain]]:
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


NUM_LEADS = 5
"""Chains of one hop of a topic that chains of other topics are compared with."""


@part("merge")
@dataclass(frozen=True)
class Merge(Reorganiser):
    """Merges chains from different topics at the entities where they meet (ReG, section 4.2): their targets.

    A question that names two entities mostly asks for what is related to both. Our own rule: a chain meets the best of
    the other topics' `NUM_LEADS` best one-hop chains with which it shares an end; two candidates for the same mention
    never meet. A chain with targets gains `bonus`, in log-odds; without a calibration no score is changed.
    """

    takes: ClassVar[Kind] = "chain"
    gives: ClassVar[Kind] = "chain"

    bonus: Weight = option(0.0, "log-odds that a chain gains for meeting another topic's chain")

    def __call__(self, _ctx: Context, evidence: Sequence[Evidence[Chain]]) -> list[Evidence[Chain]]:
        return [self._merged(each) for each in evidence]

    def _merged(self, evidence: Evidence[Chain]) -> Evidence[Chain]:
        bonus = evidence.calibration.from_log_odds(self.bonus) if evidence.calibration else 0.0
        mentions = {topic.entity.id: topic.mention for topic in evidence.topics}
        met = find_meeting_ends(evidence.items, mentions)
        items = [
            Scored(replace(each.value, targets=targets), each.score + bonus) if targets else each
            for each, targets in zip(evidence.items, met, strict=True)
        ]
        order = sorted(range(len(items)), key=lambda i: evidence.chain_order(items[i]))
        groups = tuple(evidence.groups[i] for i in order) if evidence.groups else ()
        return replace(evidence, items=tuple(items[i] for i in order), groups=groups)


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
        others = [of for topic, of in ends if are_distinct_mentions(chain.topic, topic, mentions)]
        shared = (tuple(end for end in chain.ends if end in of) for of in others)
        targets.append(next((met for met in shared if met), ()))
    return targets


def are_distinct_mentions(left: Entity, right: Entity, mentions: Mapping[str, str]) -> bool:
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
            place for other in by_topic if are_distinct_mentions(topic, other, mentions) for place in by_topic[other]
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
                and all(are_distinct_mentions(chains[other].value.topic, own, mentions) for other in group)
            ):
                group.append(place)
                shared &= ends[place]
        placed.update(group)
        groups.append((group, shared if len(group) > 1 else frozenset()))
    return groups


def add_targets(chain: Chain, shared: frozenset[Entity]) -> Chain:
    """Return the chain with the ends that its group shares as targets, in its own order."""
    return replace(chain, targets=tuple(end for end in chain.ends if end in shared))


Walk = tuple[str, tuple[tuple[str, bool], ...]]
"""The id of a topic, and relation and direction of each step from it."""


@part("complete-chains")
@dataclass(frozen=True)
class CompleteChains(Reorganiser):
    """Reads the triples that are missing on the best chains' relation paths from the graph (docs/how-it-works.md).

    A retriever of triples keeps some hundred, and one relation path may have thousands: the graph has the rest. Each
    chain keeps its place and its score. One that has targets stays as it is, and so do the others. No step walks the
    triple of the step before it back. Round trips per batch: one a step of the longest path, and one more for each
    relation walked from a hub.
    """

    takes: ClassVar[Kind] = "chain"
    gives: ClassVar[Kind] = "chain"

    chains: Positive = option(50, "best chains that are completed, the others stay as they are")

    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Chain]]) -> list[Evidence[Chain]]:
        topics = {topic.entity.id: topic for each in evidence for topic in each.topics}
        tree = FrontierTree(
            topics, FrontierBounds(), max_hop=0, stored_as=ctx.graph.catalogue.stored_as, reuse_triples=False
        )
        reached: dict[Walk, Frontier] = {
            (id_, ()): root for id_, topic in topics.items() if (root := tree.root(topic.entity))
        }
        walks = {
            _walk_of(item.value)
            for each in evidence
            for item in each.items[: self.chains]
            if item.value.topic.id in topics and not item.value.targets
        }
        for length in range(1, max((len(steps) for _, steps in walks), default=0) + 1):
            level = sorted({(topic, steps[:length]) for topic, steps in walks if len(steps) >= length})
            chosen = [(reached[topic, steps[:-1]], RelationStep(*steps[-1])) for topic, steps in level]
            reached |= zip(level, tree.expand(ctx.db, chosen), strict=True)
        return [replace(each, items=tuple(self._complete(each, reached))) for each in evidence]

    def _complete(self, evidence: Evidence[Chain], reached: Mapping[Walk, Frontier]) -> Iterator[Scored[Chain]]:
        topics = frozenset(topic.entity.id for topic in evidence.topics)
        for item in evidence.items[: self.chains]:
            frontier = None if item.value.targets else reached.get(_walk_of(item.value))
            ends = frontier and select_answer_ends(frontier.steps, frontier.ends, topics, return_to_topic=False)
            yield Scored(frontier.chain(ends), item.score) if frontier and ends else item
        yield from evidence.items[self.chains :]


def _walk_of(chain: Chain) -> Walk:
    return chain.topic.id, tuple((step.step.relation, step.step.inverse) for step in chain.steps)
