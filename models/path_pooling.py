"""Pool the scores of triples along paths: Path Pooling."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

Node = Hashable


class ScoredEdge(NamedTuple):
    """A retrieved triple. Pooling ignores the names of relations: parallel ones are triples of their own."""

    head: Node
    tail: Node
    score: float


def reselect_triples(
    triples: Sequence[ScoredEdge],
    topics: Iterable[Node],
    keep: int | None,
    position: float = 1.0,
    *,
    coarse: int | None = 500,
    directed: bool = True,
) -> list[tuple[int, float]]:
    """Return the places of the kept triples of a question with their s', best first.

    Path Pooling, section 3.4. Reselection pools the `coarse` best triples and keeps `keep` of them (the paper: 500, and
    25 to 200), or all if there are fewer. Reranking is both None: the same triples in a new order. Ties in s' go to the
    higher score, then to the earlier triple.
    """
    places = sorted(sorted(range(len(triples)), key=lambda place: -triples[place].score)[:coarse])
    pooled = pool_triple_scores([triples[place] for place in places], topics, position, directed=directed)
    ranked = sorted(zip(places, pooled, strict=True), key=lambda each: (-each[1], -triples[each[0]].score, each[0]))
    return ranked[:keep]


def pool_triple_scores(
    triples: Sequence[ScoredEdge], topics: Iterable[Node], position: float = 1.0, *, directed: bool = True
) -> list[float]:
    """Return the smoothed score s' of each triple of a question; Path Pooling, algorithm 1.

        s_p = mean(s_1 … s_l),  p_i = min(s) / (i · a),  s'(τ) = max over paths p ∋ τ of s_p + p_i

    p: every shortest path from a topic to a node, and from a node to a topic, along the directions of the triples, or,
    not `directed`, in any direction: our own, for graphs in which no path leads from one answer to the next. A path's
    length is its number of triples (the paper states no weights: our reading). i: the place of τ in p, from 1.
    position: a, not 0; the paper does not give it. A triple on no path is its own path: a self-loop, one that no topic
    reaches, one on no shortest path; all of them if no topic is among the nodes. Scores should be at least 0, as
    probabilities are: negative ones make the bonus negative, which prefers triples far from a path's start. s' is
    between min(s) + min(0, min(s) / a) and max(s) + max(0, min(s) / a).
    """
    bonus = min((each.score for each in triples), default=0.0) / position
    best: dict[int, float] = {}
    for is_turned in (False, True):
        leaving: dict[Node, list[tuple[int, Node]]] = {}
        for number, (head, tail, _) in enumerate(triples):
            source, target = (tail, head) if is_turned else (head, tail)
            leaving.setdefault(source, []).append((number, target))
            if not directed:
                leaving.setdefault(target, []).append((number, source))
        for topic in topics:
            for number, pooled in _pool_from(topic, triples, leaving, bonus, is_turned=is_turned):
                best[number] = max(pooled, best.get(number, pooled))
    return [best.get(number, each.score + bonus) for number, each in enumerate(triples)]


def _pool_from(
    topic: Node,
    triples: Sequence[ScoredEdge],
    leaving: Mapping[Node, Sequence[tuple[int, Node]]],
    bonus: float,
    *,
    is_turned: bool,
) -> Iterable[tuple[int, float]]:
    """Yield the triples on the shortest paths from a topic, each with the best s_p + bonus / i over these paths.

    A path that goes on for k triples beyond one has the best sum up to it, and the best sum of k triples from where it
    leads. On a path from the topic the place of a triple is its depth; on one to the topic, read from its other end, it
    is k + 1.
    """
    sums: dict[Node, float] = {topic: 0.0}
    levels: list[list[tuple[int, Node, Node]]] = []
    level: Iterable[Node] = [topic]
    while edges := [
        (number, source, target) for source in level for number, target in leaving.get(source, ()) if target not in sums
    ]:
        levels.append(edges)
        reached: dict[Node, float] = {}
        for number, source, target in edges:
            so_far = sums[source] + triples[number].score
            reached[target] = max(so_far, reached.get(target, so_far))
        sums |= reached
        level = reached
    beyond: dict[Node, list[float]] = {}
    for depth in range(len(levels), 0, -1):
        for number, source, target in levels[depth - 1]:
            score, onward = triples[number].score, beyond.get(target, [0.0])
            so_far = sums[source] + score
            yield (
                number,
                max(
                    (so_far + rest) / (depth + k) + bonus / (k + 1 if is_turned else depth)
                    for k, rest in enumerate(onward)
                ),
            )
            known = beyond.setdefault(source, [0.0])
            for k, rest in enumerate(onward, start=1):
                if k < len(known):
                    known[k] = max(known[k], score + rest)
                else:
                    known.append(score + rest)
