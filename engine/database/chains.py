"""The request that expands chains over retrieved triples, and the columns that it takes: triples by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from .requests import Request, Row
from .templates import template

ChainSteps = tuple[int, ...]
"""A chain as its steps: 2 · place of the triple, + 1 where it is walked from tail to head."""

Levels = tuple[tuple[ChainSteps, ...], ...]
"""The chains from a topic by their length, from 1."""


@dataclass(frozen=True, slots=True)
class TripleColumns:
    """The triples of a question, best first. heads and tails are places in `ids`, of which the first `topics` are the
    topics; `literals` says which of them are literals."""

    topics: int
    ids: tuple[str, ...]
    literals: tuple[bool, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    tails: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ExpansionBounds:
    """max_length: triples of a chain (ReG's L). max_chains: of a topic and a length, the first of them, which grow on.
    turning: whether a chain may change between walking along relations and against them."""

    max_length: int
    max_chains: int
    turning: bool


def expand_chains(questions: Sequence[TripleColumns], bounds: ExpansionBounds) -> Request[list[list[Levels]]]:
    """The chains of each question from each of its topics; triples that the graph does not have are in none.

    A level has one chain more than `max_chains` where the bound cut it.
    """

    def decode(rows: Sequence[Row]) -> list[list[Levels]]:
        found: list[list[Levels]] = [[()] * question.topics for question in questions]
        for question, topic, levels in rows:
            found[question][topic] = tuple(tuple(map(tuple, level)) for level in levels)
        return found

    params = {"questions": [asdict(question) for question in questions], **asdict(bounds)}
    return Request(template("expand_chains"), params, decode)
