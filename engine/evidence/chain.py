"""Define the chain: a relation path from a topic entity with every triple that was read on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..values import Entity, Path, RelationPath, RelationStep, Triple

MAX_INSTANCES = 100
"""Of a chain that leads to thousands of entities nobody reads every entity path."""

Link = tuple[Entity, Entity]
"""Where a triple was walked from, and where it led."""


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One step of a chain with the triples that were read on it, in reading order, as links."""

    step: RelationStep
    links: tuple[Link, ...]

    def head_and_tail(self, link: Link) -> Link:
        source, target = link
        return (target, source) if self.step.inverse else link

    def triple(self, link: Link) -> Triple:
        head, tail = self.head_and_tail(link)
        return Triple(head, self.step.relation, tail)


@dataclass(frozen=True, slots=True)
class Chain:
    """A relation path from a topic entity, grounded: every triple of each step was read from the graph.

    `ends` are the distinct entities it leads to that may be answers, in reading order. `targets` are those of them at
    which it meets another topic's chain (ReG's merging of multiple entities). `cut` says that a bound stopped the
    reading, so that there may be more.
    """

    topic: Entity
    steps: tuple[ChainStep, ...]
    ends: tuple[Entity, ...]
    targets: tuple[Entity, ...] = ()
    cut: bool = False

    @property
    def relation_path(self) -> RelationPath:
        """The relations in walking order."""
        return RelationPath(tuple(step.step for step in self.steps))

    @property
    def answers(self) -> tuple[Entity, ...]:
        """The targets, or all ends where there are none."""
        return self.targets or self.ends

    def __repr__(self) -> str:
        named = ", ".join(end.label for end in self.answers[:3])
        more = f" and {len(self.answers) - 3:,} more" if len(self.answers) > 3 else ""
        return f"<Chain {self.topic.label} —[{self.relation_path}]→ {named}{more}>"

    def links(self) -> tuple[tuple[Link, ...], ...]:
        """Return, for each step, the links that lie on a way from the topic to an end."""
        wanted = {end.id for end in self.ends}
        kept: list[tuple[Link, ...]] = []
        for step in reversed(self.steps):
            kept.append(tuple(link for link in step.links if link[1].id in wanted))
            wanted = {source.id for source, _ in kept[-1]}
        return tuple(reversed(kept))

    def triples(self) -> tuple[tuple[Triple, ...], ...]:
        """Return, for each step, its triples that lie on a way from the topic to an end."""
        return tuple(
            tuple(step.triple(link) for link in links) for step, links in zip(self.steps, self.links(), strict=True)
        )

    def instances(self, max_instances: int = MAX_INSTANCES) -> tuple[Path, ...]:
        """Return one entity path to each of the first ends: that by which the end was first reached."""
        inverses = tuple(step.step.inverse for step in self.steps)
        return tuple(
            Path(tuple(step.triple(link) for step, link in zip(self.steps, links, strict=True)), inverses)
            for links in self.instance_links(max_instances)
        )

    def instance_links(self, max_instances: int = MAX_INSTANCES) -> Iterator[list[Link]]:
        """Yield the links of each instance in walking order, one for each step."""
        firsts = [_first_links(step.links) for step in self.steps]
        firsts.reverse()
        for end in self.ends[:max_instances]:
            links: list[Link] = []
            here = end.id
            for first in firsts:
                links.append(first[here])
                here = links[-1][0].id
            links.reverse()
            yield links


def _first_links(links: Iterable[Link]) -> dict[str, Link]:
    first: dict[str, Link] = {}
    for link in links:
        first.setdefault(link[1].id, link)
    return first


Item = Triple | Chain
