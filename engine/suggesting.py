"""Make questions from a graph, for somebody who does not know yet what it holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..models.text import SUBCLASS_RELATIONS, TYPE_RELATIONS
from ..models.wording import make_question, pluralise, singularise
from ..models.wording.answer_kinds import UNKNOWN, classify_noun
from .neo4j import Request, Row, load_query
from .neo4j.catalogue import LABEL_SEPARATOR, RelationInfo, verbalise_type
from .neo4j.gateway import Gateway
from .plans.schema import GraphSchema, split_mediated_step

if TYPE_CHECKING:
    from .api import Engine

AMONG, HEADS, STEPS = 100_000, 200, 500
"""Entities that are looked at, those of them that questions are about, and triples of each."""
PER_FORM = 3
"""Questions of each form that are tried."""
_BOOLEANS = ("yes", "no", "true", "false")
_LARGE = ("area", "population", "size", "number")
_NAME = re.compile(r"[^\W_][\w .'’-]*")
_NO_SUBJECT = re.compile(r"same ?as|see ?also|depiction|home ?page|description|comment|image|url|id$", re.I)


def suggest_questions(engine: Engine, limit: int = 6) -> list[str]:
    """Return questions of several forms that the engine answers surely: one hop, two, the most, how many."""
    catalogue, schema = engine.read_graph().catalogue, read_plan_schema(engine)
    relations = {r.name: r for r in catalogue.relations if _is_subject(r)}
    facts = _read_facts(engine.gateway(), relations)
    forms = [
        _one_hop(facts, relations),
        _two_hops(facts, relations),
        *_of_kinds(catalogue.relations, schema),
        _how_many(facts, relations),
    ]
    in_turn = list(dict.fromkeys(form[place] for place in range(PER_FORM) for form in forms if place < len(form)))
    sure: list[str] = []
    for start in range(0, len(in_turn), limit):
        if len(sure) < limit:
            answers = engine.ask_batch(in_turn[start : start + limit])
            sure += [a.evidence.question.text for a in answers if a.found and not a.unsure]
    return sure[:limit]


def _one_hop(facts: Sequence[Row], relations: Mapping[str, RelationInfo]) -> list[str]:
    to_one = _first_of_each([row for row in facts if row[3] == 1])
    made = [*filter(None, (make_question(_words(relations[row[1]]), row[0]) for row in to_one))]
    return [question for wants_noun in (True, False) for question, is_noun in made if is_noun is wants_noun]


def _two_hops(facts: Sequence[Row], relations: Mapping[str, RelationInfo]) -> list[str]:
    """Return questions about a thing that is told by what it alone leads to: the country whose capital is Lima."""
    times = Counter((row[1], row[2]) for row in facts)
    of_head: dict[str, list[Row]] = {}
    for row in facts:
        if row[3] == 1 and _is_noun(relations[row[1]]):
            of_head.setdefault(row[0], []).append(row)
    told = [row for some in of_head.values() for row in some if times[row[1], row[2]] == 1 and not row[4]]
    return [
        f"What is the {_words(relations[then[1]])} of the {kind} whose {_words(relations[relation])} is {tail}?"
        for head, relation, tail, *_ in _first_of_each(told)
        for then in of_head[head][:PER_FORM]
        for kind in [verbalise_type(relations[relation].domain) or relations[relation].head.kind]
        if then[1] != relation and then[2] != tail and _NAME.fullmatch(tail) and kind not in (UNKNOWN, "text")
    ]


def _how_many(facts: Sequence[Row], relations: Mapping[str, RelationInfo]) -> list[str]:
    return [
        f"How many {pluralise(_words(relations[relation]))} does {head} have?"
        for head, relation, _, num, is_value in _first_of_each([row for row in facts if 1 < row[3] < STEPS // 2])
        if _is_noun(relations[relation]) and not is_value
    ]


def list_kind_names(relations: Sequence[RelationInfo], schema: GraphSchema) -> list[str]:
    """Return the kinds of things that have a name of one word, as the source or their relations have it."""
    types = {verbalise_type(each) for r in relations for each in (r.domain, r.range)}
    return [
        name
        for name in schema.of_kind
        if name.isalpha()
        and singularise(name) == name
        and (schema.kinds[name].types or name in types or classify_noun(name))
        if any(not step.startswith("^") for step in schema.of_kind[name].steps)
    ]


def read_plan_schema(engine: Engine) -> GraphSchema:
    """Return what plans may name, as the engine's own plans have it."""
    from .context import Context
    from .plans.plan_selection import get_graph_schema  # `lodestar` alone needs none of it

    return get_graph_schema(Context(engine.gateway(), engine.read_graph()))


def _of_kinds(relations: Sequence[RelationInfo], schema: GraphSchema) -> tuple[list[str], list[str]]:
    """Return questions about kinds of things: which has the most of a number, and how many there are."""
    words, kinds = {r.name: _words(r) for r in relations}, list_kind_names(relations, schema)
    most = [
        f"Which {kind} has the {'largest' if words[path[0]] in _LARGE else 'highest'} {words[path[0]]}?"
        for kind in kinds
        for step, share in schema.of_kind[kind].steps.items()
        for path in [split_mediated_step(step)]
        if share > 0.5 and step in schema.ends and schema.ends[step].value == "number" and path[0] in words
    ]
    return most, [f"How many {pluralise(kind)} are there?" for kind in kinds]


def _first_of_each(facts: Sequence[Row]) -> list[Row]:
    """Return the first fact of each relation, each about another head where there is one."""
    taken: dict[str, Row] = {}
    heads: set[str] = set()
    for row in facts:
        if row[1] not in taken or (taken[row[1]][0] in heads and row[0] not in heads):
            taken[row[1]] = row
            heads.add(row[0])
    return list(taken.values())


def _is_subject(relation: RelationInfo) -> bool:
    last = relation.label.rpartition(LABEL_SEPARATOR)[2]
    return last not in (*TYPE_RELATIONS, *SUBCLASS_RELATIONS, "domain", "range") and not _NO_SUBJECT.search(last)


def _is_noun(relation: RelationInfo) -> bool:
    made = make_question(_words(relation), "")
    return made is not None and made[1]


def _words(relation: RelationInfo) -> str:
    return relation.shown_label.rpartition(LABEL_SEPARATOR)[2].replace("_", " ").removeprefix("has ")


def _read_facts(gateway: Gateway, relations: Mapping[str, RelationInfo]) -> list[Row]:
    """Return rows of head, relation, tail, how many tails and whether it is a value, of the largest relations first."""
    params = {"among": AMONG, "heads": HEADS, "steps": STEPS}
    rows = gateway.run(Request(load_query("read_examples"), params, lambda rows: rows))
    facts = [row for row in rows if row[1] in relations and _NAME.fullmatch(row[0]) and row[2].lower() not in _BOOLEANS]
    return sorted(facts, key=lambda row: -relations[row[1]].count)
