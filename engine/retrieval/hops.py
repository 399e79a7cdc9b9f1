"""From the steps of a relation path to the hops that scorers read."""

from __future__ import annotations

from collections.abc import Mapping

from ...models.text.verbalise import Directed, Hop, RelationWords
from ..values import RelationPath


def hops_of(path: RelationPath, words: Mapping[str, RelationWords]) -> tuple[Hop, ...]:
    """Return the path's hops: a step into a mediator and the step out of it are one."""
    hops: list[Hop] = []
    open_hop: Hop = ()
    for step in path.steps:
        open_hop = (*open_hop, Directed(words[step.relation], step.inverse))
        if not step.to_mediator:
            hops.append(open_hop)
            open_hop = ()
    return (*hops, open_hop) if open_hop else tuple(hops)
