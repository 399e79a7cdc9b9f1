"""Build the requests for answer paths and candidate pools, from which training data is mined."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..values import RelationStep
from . import Request, Row, template

MAX_NAMESAKES = 1_000
"""The most matches of a full-text query that are searched for the entities of a name."""

_PLAIN = re.compile(r'[^"\\\x00-\x1f\x7f]*')


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """A topic entity and the entities or literals that paths from it should reach, by id."""

    topic: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnswerSteps:
    """The relation paths of one or two steps of a pair; `cut` if there may be more."""

    paths: tuple[tuple[RelationStep, ...], ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True)
class LastSteps:
    """The last steps to an answer, by the entity they start from; `cut` if there are more."""

    steps: Mapping[str, frozenset[RelationStep]] = field(default_factory=dict)
    cut: bool = False


def find_answer_paths(pairs: Sequence[AnswerPair], max_degree: int, max_paths: int) -> Request[list[AnswerSteps]]:
    """Find the short relation paths between topic and answers of each pair, at most `max_paths`."""

    def decode(rows: Sequence[Row]) -> list[AnswerSteps]:
        found = [AnswerSteps()] * len(pairs)
        for pair, paths, cut in rows:
            found[pair] = AnswerSteps(tuple(tuple(map(_step, path)) for path in paths), cut)
        return found

    params = {
        "pairs": [{"key": key, "topic": pair.topic, "answers": list(pair.answers)} for key, pair in enumerate(pairs)],
        "max_degree": max_degree,
        "max_paths": max_paths,
    }
    return Request(template("find_answer_paths"), params, decode)


def find_last_steps(answers: Sequence[str], max_degree: int) -> Request[dict[str, LastSteps]]:
    """Find the last steps to each answer that has any."""

    def decode(rows: Sequence[Row]) -> dict[str, LastSteps]:
        steps: dict[str, dict[str, set[RelationStep]]] = {}
        cuts: dict[str, bool] = {}
        for answer, step, sources, cut in rows:
            into = steps.setdefault(answer, {})
            for source in sources:
                into.setdefault(source, set()).add(_step(step))
            cuts[answer] = cut
        return {
            answer: LastSteps({source: frozenset(found) for source, found in into.items()}, cuts[answer])
            for answer, into in steps.items()
        }

    return Request(template("find_last_steps"), {"answers": list(answers), "max_degree": max_degree}, decode)


def find_entities_by_name(names: Sequence[str]) -> Request[dict[str, tuple[str, ...]]]:
    """Find the ids of the entities and literals with exactly these names, by name; unknown names are left out."""
    params: dict[str, Any] = {
        "wanted": [{"name": name, "query": _phrase(name), "term": _term(name)} for name in names],
        "limit": MAX_NAMESAKES,
    }
    return Request(
        template("find_entities_by_name"), params, lambda rows: {name: tuple(ids) for name, ids in rows if ids}
    )


def stream_mediator_relations() -> Request[int]:
    """Stream the signed catalogue numbers in the signatures of unnamed entities, one a row."""
    return Request(template("stream_mediator_relations"), {}, lambda rows: int(rows[0][0]))


def _step(returned: str) -> RelationStep:
    """Return the step of a query's text: a relation's name, with a leading ^ if it is inverse."""
    return RelationStep(returned[1:], inverse=True) if returned.startswith("^") else RelationStep(returned)


def _phrase(name: str) -> str:
    return '"' + name.replace("_", " ").replace("\\", "\\\\").replace('"', '\\"') + '"'


def _term(value: str) -> str | None:
    """Return the prefix of the ids of literals with this value; None if it has no plain prefix."""
    plain = _PLAIN.match(value)
    assert plain
    if not plain[0]:
        return None
    return f'"{plain[0]}"' if plain[0] == value else f'"{plain[0]}'


VALUE_CHARS = 100
"""The longest literal value, as a name on a path."""


@dataclass(frozen=True, slots=True)
class RelationPathGroup:
    """Paths with the same relations, merged: their steps in `PoolChain`'s notation, the names on one of them, and their
    number; `cut` if there may be more from their start.
    """

    steps: tuple[str, ...]
    names: tuple[str, ...]
    count: int
    cut: bool


def find_shortest_paths(pairs: Sequence[tuple[str, str]], max_paths: int) -> Request[list[list[RelationPathGroup]]]:
    """Find the shortest paths of each pair of ids (topic, answer), from at most `max_paths` paths a pair."""

    def decode(rows: Sequence[Row]) -> list[list[RelationPathGroup]]:
        found: list[list[RelationPathGroup]] = [[] for _ in pairs]
        for pair, steps, names, count, cut in rows:
            found[pair].append(RelationPathGroup(tuple(steps), tuple(names), count, cut))
        return found

    params = {
        "pairs": [{"key": key, "topic": topic, "answer": answer} for key, (topic, answer) in enumerate(pairs)],
        "max_paths": max_paths,
        "value_chars": VALUE_CHARS,
    }
    return Request(template("find_shortest_paths"), params, decode)


def read_neighbourhoods(ids: Sequence[str], max_degree: int) -> Request[dict[str, list[RelationPathGroup]]]:
    """Read the one-hop neighbourhoods of the entities among `ids` as chains of one step, from at most `max_degree`
    triples of each.
    """

    def decode(rows: Sequence[Row]) -> dict[str, list[RelationPathGroup]]:
        found: dict[str, list[RelationPathGroup]] = {}
        for id_, step, names, count, cut in rows:
            found.setdefault(id_, []).append(RelationPathGroup((step,), tuple(names), count, cut))
        return found

    params = {"ids": list(ids), "max_degree": max_degree, "value_chars": VALUE_CHARS}
    return Request(template("read_neighbourhoods"), params, decode)
