"""Wrong paths that are hard to tell from a positive one (STAR, section 4.1).

At each hop t of a positive path the hops before it are kept and its relation is replaced by the k relations most
similar to it, and by k drawn at random from all of the graph. Besides, the path stops too soon or goes on too long.

Deviations: of a hop through a mediator the last relation is replaced. A replaced relation keeps its direction.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence

from ...models.star.mined import INVERSE, THROUGH, AnswerPath, Hops, NegativePath, Reach

KINDS = ("similar", "random", "early", "overrun")

IsAnswer = Callable[[int, Hops], bool]
"""Whether the path from this topic of the question, by its place, leads to a right answer."""


def negatives(
    paths: Sequence[AnswerPath],
    reach: Sequence[Reach],
    is_answer: IsAnswer,
    *,
    nearest: Mapping[str, Sequence[str]],
    num_negatives: int,
    rng: random.Random,
) -> tuple[NegativePath, ...]:
    """Return the negative paths of one question, each once, none of which leads to an answer.

    reach: for each topic what can be walked. nearest: for every relation of the graph the most similar others, best
    first.
    """
    found: dict[tuple[int, Hops], NegativePath] = {}
    for path in paths:
        if path.positive:
            for hops, kind in _of_positive(path, reach[path.topic], nearest, num_negatives, rng):
                if not is_answer(path.topic, hops):
                    found.setdefault((path.topic, hops), NegativePath(path.topic, hops, kind))
    return tuple(found.values())


def _of_positive(
    path: AnswerPath,
    reach: Reach,
    nearest: Mapping[str, Sequence[str]],
    num_negatives: int,
    rng: random.Random,
) -> Iterator[tuple[Hops, str]]:
    for t, hop in enumerate(path.hops):
        before = path.hops[:t]
        relation = relation_of(hop)
        for near in nearest[relation][:num_negatives]:
            yield (*before, replaced(hop, near)), "similar"
        others = [other for other in nearest if other != relation]
        for drawn in rng.sample(others, min(num_negatives, len(others))):
            yield (*before, replaced(hop, drawn)), "random"
    for length in range(1, len(path.hops)):
        yield path.hops[:length], "early"
    for hop in path.hops:
        reach = reach[hop]
    following = list(reach)
    for hop in rng.sample(following, min(num_negatives, len(following))):
        yield (*path.hops, hop), "overrun"


def relation_of(hop: str) -> str:
    """Return the last relation of a hop."""
    return hop.rpartition(THROUGH)[2].removeprefix(INVERSE)


def replaced(hop: str, relation: str) -> str:
    """Return the hop with another last relation, walked in the same direction."""
    through, arrow, last = hop.rpartition(THROUGH)
    return f"{through}{arrow}{INVERSE if last.startswith(INVERSE) else ''}{relation}"
