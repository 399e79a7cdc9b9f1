"""Grounding: from a frontier to entity paths, every triple of which was read from the graph."""

from __future__ import annotations

from ..values import Entity, Path, RetrievedPath, Triple
from .frontier import Frontier

MAX_INSTANCES = 100
"""Of a path that leads to thousands of entities nobody reads every instance, and a batch has hundreds of such paths."""


def grounded(frontier: Frontier, ends: tuple[Entity, ...], meeting: frozenset[str]) -> RetrievedPath:
    """Return the frontier's relation path with one entity path to each of the first `MAX_INSTANCES` ends.

    `meeting` are ids among the ends.
    """
    return RetrievedPath(
        topic=frontier.topic,
        relation_path=frontier.relation_path,
        instances=tuple(entity_path(frontier, end) for end in ends[:MAX_INSTANCES]),
        ends=ends,
        meeting=tuple(end for end in ends if end.id in meeting),
        cut=frontier.cut,
    )


def entity_path(frontier: Frontier, end: Entity) -> Path:
    """Return the path by which `end` was first reached from the topic."""
    triples: list[Triple] = []
    at, here = frontier, end
    while at.parent is not None:
        step, before = at.steps[-1], at.sources[here.id]
        triples.append(Triple(here, step.relation, before) if step.inverse else Triple(before, step.relation, here))
        at, here = at.parent, before
    triples.reverse()
    return Path(tuple(triples), tuple(step.inverse for step in frontier.steps))
