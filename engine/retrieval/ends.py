"""Where a relation path ends for the asker: which of the entities it leads to may be answers."""

from __future__ import annotations

from collections.abc import Container, Sequence

from ..values import Entity, Step


def ends_for(
    steps: Sequence[Step], ends: Sequence[Entity], topics: Container[str], *, return_to_topic: bool
) -> tuple[Entity, ...]:
    """Return the ends that may be answers: the question's own topics are none of them.

    With `return_to_topic` they may be ("the child of Ann's father" is Ann, too), but not at the end of a path that
    walks back the way it came: that one always leads to them.
    """
    if return_to_topic and not walks_back(steps):
        return tuple(ends)
    return tuple(end for end in ends if end.id not in topics)


def walks_back(steps: Sequence[Step]) -> bool:
    """Whether the second half of a path is its first half reversed."""
    return all(
        (out.relation, out.inverse) == (back.relation, not back.inverse)
        for out, back in zip(steps, reversed(steps), strict=True)
    )
