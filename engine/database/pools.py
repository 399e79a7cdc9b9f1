"""Typed requests of candidate pools: what lies between topics and answers, and around both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .requests import Request, Row
from .templates import template

VALUE_CHARS = 100
"""What is read of a literal's value, as a name on a path."""


@dataclass(frozen=True, slots=True)
class RelationChain:
    """Paths with the same relations, merged: their steps as `PoolChain` writes them, the names on one of them, their
    number; `cut`: there may be more from where they start."""

    steps: tuple[str, ...]
    names: tuple[str, ...]
    count: int
    cut: bool


def find_shortest_paths(pairs: Sequence[tuple[str, str]], max_paths: int) -> Request[list[list[RelationChain]]]:
    """The shortest paths of each pair of ids, a topic's and an answer's: `max_paths` of a pair are looked at."""

    def decode(rows: Sequence[Row]) -> list[list[RelationChain]]:
        found: list[list[RelationChain]] = [[] for _ in pairs]
        for pair, steps, names, count, cut in rows:
            found[pair].append(RelationChain(tuple(steps), tuple(names), count, cut))
        return found

    params = {
        "pairs": [{"key": key, "topic": topic, "answer": answer} for key, (topic, answer) in enumerate(pairs)],
        "max_paths": max_paths,
        "value_chars": VALUE_CHARS,
    }
    return Request(template("find_shortest_paths"), params, decode)


def read_neighbourhoods(ids: Sequence[str], max_degree: int) -> Request[dict[str, list[RelationChain]]]:
    """The one-hop neighbourhoods of the entities among `ids`, chains of one step: `max_degree` triples of each are
    looked at."""

    def decode(rows: Sequence[Row]) -> dict[str, list[RelationChain]]:
        found: dict[str, list[RelationChain]] = {}
        for id_, step, names, count, cut in rows:
            found.setdefault(id_, []).append(RelationChain((step,), tuple(names), count, cut))
        return found

    params = {"ids": list(ids), "max_degree": max_degree, "value_chars": VALUE_CHARS}
    return Request(template("read_neighbourhoods"), params, decode)
