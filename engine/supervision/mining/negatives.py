"""Wrong paths that are hard to tell from a positive one (STAR, section 4.1).

At each hop t of a positive path the hops before it are kept and its relation is replaced by the k relations most
similar to it, and by k others drawn at random. Besides, the path stops too soon or goes on too long.

Deviations: both kinds come first from what can be walked there in the graph, in either direction, and only where that
is too little from all of its relations, in the direction of the one replaced. Of relations drawn from all of FB15k-237
four in five similar ones, and nineteen in twenty at random, cannot be walked: a search never has to tell them apart. Of
a hop through a mediator the last relation is compared, or replaced.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

from ....models.star.mined import NegativePath
from ...values import Step
from .answer_paths import RightPath
from .hops import HopTrie, WalkedHop, WalkedPath, written_hop

KINDS = ("similar", "random", "early", "overrun")

IsAnswer = Callable[[int, WalkedPath], bool]
"""Whether the path from this topic of the question, by its place, leads to a right answer."""

Nearest = Callable[[str], Sequence[str]]
"""All other relations of the graph, the most similar one first."""


def negatives(
    positives: Sequence[RightPath],
    reach: Sequence[HopTrie],
    is_answer: IsAnswer,
    *,
    nearest: Nearest,
    num_negatives: int,
    rng: random.Random,
) -> tuple[NegativePath, ...]:
    """Return the negative paths of one question, each once, none of which leads to an answer.

    reach: for each topic what can be walked. nearest: the other relations of the graph by similarity to one.
    """
    found: dict[tuple[int, WalkedPath], NegativePath] = {}
    for path in positives:
        for hops, kind in _of_positive(path, reach[path.topic], nearest, num_negatives, rng):
            if not is_answer(path.topic, hops):
                found.setdefault((path.topic, hops), NegativePath(path.topic, tuple(map(written_hop, hops)), kind))
    return tuple(found.values())


def _of_positive(
    path: RightPath, reach: HopTrie, nearest: Nearest, num_negatives: int, rng: random.Random
) -> Iterator[tuple[WalkedPath, str]]:
    for t, hop in enumerate(path.hops):
        before = path.hops[:t]
        ordered = nearest(hop[-1].relation)
        place = {relation: at for at, relation in enumerate(ordered)}
        # Its own relation in the other direction is in no list, and nearest of all.
        others = (other for other in reach if other != hop)
        walkable = sorted(others, key=lambda other: (place.get(other[-1].relation, -1), written_hop(other)))
        here = {other[-1].relation for other in reach if other == replaced(hop, other[-1].relation)}
        elsewhere = [relation for relation in ordered if relation not in here]
        for other in islice(chain(walkable, (replaced(hop, relation) for relation in elsewhere)), num_negatives):
            yield (*before, other), "similar"
        left = walkable[num_negatives:]
        drawn = rng.sample(left, min(num_negatives, len(left)))
        unused = elsewhere[max(num_negatives - len(walkable), 0) :]
        more = rng.sample(unused, min(num_negatives - len(drawn), len(unused)))
        for other in [*drawn, *(replaced(hop, relation) for relation in more)]:
            yield (*before, other), "random"
        reach = reach[hop]
    for length in range(1, len(path.hops)):
        yield path.hops[:length], "early"
    following = list(reach)
    for hop in rng.sample(following, min(num_negatives, len(following))):
        yield (*path.hops, hop), "overrun"


def replaced(hop: WalkedHop, relation: str) -> WalkedHop:
    """Return the hop with another last relation, walked in the same direction."""
    return (*hop[:-1], Step(relation, hop[-1].inverse))
