"""Request the steps of a search: relations around entities, chain expansion, snippets and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain, repeat
from typing import Any

from ..values import Entity, Step
from .requests import Request, Row
from .templates import template

RELATED = "RELATED"
"""The relationship type shared by relations that have none of their own; the property `relation` tells them apart."""

MAX_VALUE_CHARS = 2_000
"""What is read of a literal's value; a longer one ends in an ellipsis."""

MAX_TRIPLES_OF_VALUE = 10_000
"""Triples of a literal that are looked at."""


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity with every name it can be found by."""

    entity: Entity
    search_names: tuple[str, ...]
    degree: int


@dataclass(frozen=True, slots=True)
class Signature:
    """An entity with the catalogue numbers of the relations that leave (n) and enter (-n) it."""

    entity: Entity
    degree: int
    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Expansion:
    """A step to be taken from several sources; `key` comes back with the tails.

    The first `signatures` tails of each source come with their signatures; only the unnamed ones when `last`.
    `stored_as` is the relationship type of the relation where that is not its name.
    """

    key: int
    step: Step
    sources: tuple[str, ...]
    signatures: int
    last: bool
    stored_as: str | None = None

    @property
    def type(self) -> str:
        """The relationship type under which the relation is stored."""
        return self.stored_as or self.step.relation


@dataclass(frozen=True, slots=True)
class Tail:
    """Where a step led; `signature` is None where it was not asked for, and of a literal."""

    entity: Entity
    degree: int
    signature: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Expanded:
    """The tails of one source in one expansion; `cut` when the bound per source left some out."""

    key: int
    source: str
    tails: tuple[Tail, ...]
    cut: bool


@dataclass(frozen=True, slots=True)
class NameQuery:
    """A full-text query in Lucene syntax: of the `read` best matching entities the first `limit` are wanted, and a few
    with the most triples."""

    text: str
    limit: int
    read: int = 0


def find_entity_candidates(
    queries: Sequence[Sequence[NameQuery]], *, popular: int = 3
) -> Request[list[list[NamedEntity]]]:
    """Per question the entities that match any of its full-text queries, each once, by the first query it matches.

    popular: of each query those with the most triples that are wanted beside the best.
    """

    def decode(rows: Sequence[Row]) -> list[list[NamedEntity]]:
        found: list[dict[str, NamedEntity]] = [{} for _ in queries]
        for question, id_, name, search_names, degree in rows:
            if id_ not in found[question]:
                found[question][id_] = NamedEntity(Entity(id_, name), tuple(search_names or ()), degree)
        return [list(some.values()) for some in found]

    asked = [
        {"question": question, "text": each.text, "limit": each.limit, "read": max(each.read, each.limit)}
        for question, some in enumerate(queries)
        for each in some
    ]
    return Request(template("find_entity_candidates"), {"queries": asked, "popular": popular}, decode)


def read_search_names(ids: Sequence[str]) -> Request[dict[str, NamedEntity]]:
    """The entities that exist among `ids` with the names they are found by, by id."""

    def decode(rows: Sequence[Row]) -> dict[str, NamedEntity]:
        return {id_: NamedEntity(Entity(id_, name), tuple(names), degree) for id_, name, names, degree in rows}

    return Request(template("read_search_names"), {"ids": list(ids)}, decode)


def read_signatures(ids: Sequence[str]) -> Request[dict[str, Signature]]:
    """The signatures of the entities that exist among `ids`, by id."""

    def decode(rows: Sequence[Row]) -> dict[str, Signature]:
        return {id_: Signature(Entity(id_, name), degree, tuple(relations)) for id_, name, degree, relations in rows}

    return Request(template("read_signatures"), {"ids": list(ids)}, decode)


def find_values(terms: Sequence[str], limit: int) -> Request[list[list[Entity]]]:
    """For each beginning of an id the literals with it, by id, at most `limit`."""

    def decode(rows: Sequence[Row]) -> list[list[Entity]]:
        found: list[list[Entity]] = [[] for _ in terms]
        for place, id_, value in rows:
            found[place].append(Entity(id_, value, is_literal=True))
        return found

    params = {"terms": list(terms), "limit": limit, "value_chars": MAX_VALUE_CHARS}
    return Request(template("find_values"), params, decode)


def read_value_signatures(ids: Sequence[str]) -> Request[dict[str, Signature]]:
    """The signatures of the literals that exist among `ids`, by id: the relations that lead to them."""

    def decode(rows: Sequence[Row]) -> dict[str, Signature]:
        return {
            id_: Signature(Entity(id_, value, is_literal=True), degree, tuple(relations))
            for id_, value, degree, relations in rows
        }

    params = {"ids": list(ids), "max_triples": MAX_TRIPLES_OF_VALUE, "value_chars": MAX_VALUE_CHARS}
    return Request(template("read_value_signatures"), params, decode)


def expand_steps(expansions: Sequence[Expansion], fan_out: int, max_tails: int) -> Request[list[Expanded]]:
    """Take the steps from sources of moderate degree: at most `fan_out` tails per source, `max_tails` per expansion."""

    def decode(rows: Sequence[Row]) -> list[Expanded]:
        return [_expanded_step(*row, fan_out=fan_out) for row in rows]

    params = {
        "expansions": [
            {
                "key": x.key,
                "relation": x.step.relation,
                "type": x.type,
                "inverse": x.step.inverse,
                "sources": list(x.sources),
                "signatures": x.signatures,
                "last": x.last,
            }
            for x in expansions
        ],
        "fan_out": fan_out,
        "max_tails": max_tails,
        "value_chars": MAX_VALUE_CHARS,
    }
    return Request(template("expand_steps"), params, decode)


def expand_values(
    expansions: Sequence[Expansion], fan_out: int, max_tails: int, max_triples: int = MAX_TRIPLES_OF_VALUE
) -> Request[list[Expanded]]:
    """Take the steps back from literals; of each its first `max_triples` triples are looked at."""

    def decode(rows: Sequence[Row]) -> list[Expanded]:
        return [_expanded_step(*row, fan_out=fan_out) for row in rows]

    params = {
        "expansions": [
            {
                "key": x.key,
                "relation": x.step.relation,
                "type": x.type,
                "sources": list(x.sources),
                "signatures": x.signatures,
                "last": x.last,
            }
            for x in expansions
        ],
        "fan_out": fan_out,
        "max_tails": max_tails,
        "max_triples": max_triples,
    }
    return Request(template("expand_values"), params, decode)


def expand_hub_step(expansion: Expansion, fan_out: int) -> Request[list[Expanded]]:
    """Take one step from hubs, at most `fan_out` tails per source."""

    def decode(rows: Sequence[Row]) -> list[Expanded]:
        return [_expanded_step(expansion.key, *row, fan_out=fan_out) for row in rows]

    params: dict[str, Any] = {
        "sources": list(expansion.sources),
        "relation": expansion.step.relation if expansion.type == RELATED else None,
        "fan_out": fan_out,
        "signatures": expansion.signatures,
        "last": expansion.last,
    }
    if not expansion.step.inverse:
        params["value_chars"] = MAX_VALUE_CHARS
    direction = "_inverse" if expansion.step.inverse else ""
    return Request(template(f"expand_hub_step{direction}"), params, decode, names={"RELATION": expansion.type})


def _expanded_step(key: int, source: str, tails: list[Any], signatures: list[Any], *, fan_out: int) -> Expanded:
    known = chain((None if signature is None else tuple(signature) for signature in signatures), repeat(None))
    kept = tuple(
        Tail(Entity(id_, name, is_literal), degree or 0, signature)
        for (id_, name, degree, is_literal), signature in zip(tails[:fan_out], known, strict=False)
    )
    return Expanded(key, source, kept, cut=len(tails) > fan_out)


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


MENTIONED_WITH = "mentioned with"
"""The relation of two concepts of one snippet."""
MENTIONED_IN = "mentioned in"
"""The relation of a concept and the text of a snippet, a literal."""

MAX_SNIPPETS = 3
MAX_DEGREE = 20_000
"""Of a concept, how many snippets are looked at."""

Pair = tuple[str, str]
"""The ids of two concepts."""


def read_snippets(pairs: Sequence[Pair], max_snippets: int = MAX_SNIPPETS) -> Request[list[tuple[str, ...]]]:
    """The texts of the first snippets that mention both of a pair, shortest first; of each pair, in their order."""

    def decode(rows: Sequence[Row]) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = [()] * len(pairs)
        for pair, texts in rows:
            found[pair] = tuple(texts)
        return found

    params = {
        "pairs": [list(pair) for pair in pairs],
        "relation": MENTIONED_IN,
        "max_snippets": max_snippets,
        "max_degree": MAX_DEGREE,
    }
    return Request(template("read_snippets"), params, decode)
