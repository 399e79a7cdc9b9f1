"""Words and kinds of relations in a real Neo4j: found at load, said, used, kept, taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lodestar import Engine
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.relations.descriptions import (
    DescriptionReport,
    add_relation_descriptions,
    find_relation,
    parse_relation_phrases,
    remove_descriptions,
)
from lodestar.loaders.formats.triples import TsvSource

from tests.conftest import OpenOver
from tests.made.files import written
from tests.made.graphs import load

TEAM = (
    "Ann Alder\tqq7\tSales\nBob Birch\tqq7\tSales\nCid Cedar\tqq7\tMill\nAnn Alder\thired_on\t2015-02-03\n"
    "Bob Birch\thired_on\t2016-02-03\nCid Cedar\thired_on\t2017-02-03\nSales\tcity\tPorto\nMill\tcity\tRiga\n"
    "Ann Alder\temail\tann@firm.example\nSales\theaded_by\tBob Birch\nMill\theaded_by\tCid Cedar\n"
)


@pytest.fixture
def team(open_over: OpenOver, tmp_path: Path) -> Iterator[Engine]:
    with open_over(TsvSource(written(tmp_path, TEAM))) as engine:
        yield engine


def names(engine: Engine, question: str) -> set[str | None]:
    return {entity.name for entity in engine.ask(question).entities}


def describe(engine: Engine, relation: str, *phrases: str) -> DescriptionReport:
    gateway = engine.gateway()
    catalogue = gateway.run(read_catalogue())
    return add_relation_descriptions(gateway, catalogue, parse_relation_phrases(catalogue, relation, phrases))


def test_kinds_of_ends_are_found_at_load_and_said_of_an_answer(team: Engine) -> None:
    kinds = {
        relation.name: (relation.head.kind, relation.tail.kind) for relation in team.read_graph().catalogue.relations
    }
    assert kinds["hired_on"] == ("person", "date")
    assert kinds["city"][1] == "place"
    answer = team.ask("When did Ann Alder join?")
    assert [entity.name for entity in answer.entities] == ["2015-02-03"]
    assert (
        team.explain("When did Ann Alder join?", top_k=1)
        .items[0]
        .reading.startswith("wants a date: hired_on leads to dates")
    )


def test_a_phrase_answers_what_the_name_does_not_and_is_taken_back(team: Engine) -> None:
    question = "Which squad does Ann Alder play in?"
    before = team.ask(question).confidence
    assert describe(team, "qq7", "which squad does play in", "squad").num_phrases == 2
    done = describe(team, "^qq7", "who plays in the squad")
    assert (done.num_relations, done.num_phrases) == (1, 1)
    after = team.ask(question).confidence
    assert names(team, question) == {"Sales"}
    assert before is not None
    assert after is not None
    assert before < 0.5 < after
    assert describe(team, "qq7", "squad").num_relations == 0
    gateway = team.gateway()
    assert remove_descriptions(gateway, gateway.run(read_catalogue())).num_phrases == 3
    assert not find_relation(gateway.run(read_catalogue()), "qq7")[0].phrases


def test_what_was_said_is_kept_by_append_and_replace(team: Engine, gateway: Gateway, tmp_path: Path) -> None:
    describe(team, "qq7", "squad", "label=plays for")
    more = written(tmp_path, "Dot Dogwood\tqq7\tMill\nDot Dogwood\tqq8\tMill\n", "more.tsv")
    for mode in ("append", "replace"):
        load(TsvSource(more), gateway, mode=mode, force=True)
        (relation,) = (r for r in gateway.run(read_catalogue()).relations if r.name == "qq7")
        assert relation.said_label == "plays for"
        assert [phrase.text for phrase in relation.phrases] == ["squad"]
