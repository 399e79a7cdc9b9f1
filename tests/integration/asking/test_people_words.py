"""Words and kinds of relations in a real Neo4j: found at load, said, used, kept, taken back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from lodestar import Engine
from lodestar.engine.errors import InputError, UsageError
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, QuestionSet
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.recipes.linking import relation_evidence
from lodestar.engine.retrieval.triples import GraphRelations, SubgraphReader
from lodestar.engine.settings import Settings
from lodestar.engine.supervision.subgraphs import write_question_graphs
from lodestar.engine.values import LinkedQuestion, Question
from lodestar.loaders.formats.delimited import TsvSource
from lodestar.loaders.loads.loading import LoadOptions
from lodestar.loaders.loads.loading import load as load_source
from lodestar.models.reg_triple.config import SubgraphOptions
from lodestar.models.subgraphs import read_graphs

TEAM = (
    "Ann Alder\tqq7\tSales\nBob Birch\tqq7\tSales\nCid Cedar\tqq7\tMill\nAnn Alder\thired_on\t2015-02-03\n"
    "Bob Birch\thired_on\t2016-02-03\nCid Cedar\thired_on\t2017-02-03\nSales\tcity\tPorto\nMill\tcity\tRiga\n"
    "Ann Alder\temail\tann@firm.example\nSales\theaded_by\tBob Birch\nMill\theaded_by\tCid Cedar\n"
)


@pytest.fixture
def team(empty_graph: None, gateway: Gateway, settings: Settings, tmp_path: Path) -> Iterator[Engine]:
    file = tmp_path / "team.tsv"
    file.write_text(TEAM)
    load_source(TsvSource(str(file)), gateway, LoadOptions(staging=tmp_path / "staging"))
    with Engine(settings) as engine:
        yield engine


def names(engine: Engine, question: str) -> set[str | None]:
    return {entity.name for entity in engine.ask(question).entities}


def test_kinds_of_ends_are_found_at_load_and_said_of_an_answer(team: Engine) -> None:
    kinds = {relation.name: (relation.head.kind, relation.tail.kind) for relation in team.read_relations()}
    assert kinds["hired_on"] == ("person", "date")
    assert kinds["city"][1] == "place"
    answer = team.ask("When did Ann Alder join?")
    assert [entity.name for entity in answer.entities] == ["2015-02-03"]
    assert team.describe_interpretation(answer.evidence).startswith("wants a date: hired_on leads to dates")


def test_a_phrase_answers_what_the_name_does_not_and_is_taken_back(team: Engine) -> None:
    question = "Which squad does Ann Alder play in?"
    before = team.ask(question).confidence
    done = team.describe({"qq7": ["which squad does play in", "squad"], "^qq7": ["who plays in the squad"]})
    assert (done.num_relations, done.num_phrases) == (1, 3)
    after = team.ask(question).confidence
    assert names(team, question) == {"Sales"}
    assert before is not None
    assert after is not None
    assert before < 0.5 < after
    assert team.describe({"qq7": ["squad"]}).num_relations == 0
    assert team.undescribe().num_phrases == 3
    assert not team.read_relations("qq7")[0].phrases


def test_what_was_said_is_kept_by_append_and_replace(team: Engine, gateway: Gateway, tmp_path: Path) -> None:
    team.describe({"qq7": ["squad", "label=plays for"]})
    more = tmp_path / "more.tsv"
    more.write_text("Dot Dogwood\tqq7\tMill\nDot Dogwood\tqq8\tMill\n")
    for mode in ("append", "replace"):
        load_source(TsvSource(str(more)), gateway, LoadOptions(staging=tmp_path / "staging", mode=mode, force=True))
        (relation,) = (r for r in gateway.fetch(read_catalogue()).relations if r.name == "qq7")
        assert relation.said_label == "plays for"
        assert [phrase.text for phrase in relation.phrases] == ["squad"]


def test_collisions_are_told_and_faults_change_nothing(team: Engine) -> None:
    done = team.describe({"qq7": ["who is there"], "city": ["who is there"]})
    assert done.collisions[0].relations == ("city", "qq7")
    for words, error in (({"nothing": ["x"]}, UsageError), ({"qq7": ["new one", "<i>x</i>"]}, InputError)):
        with pytest.raises(error):
            team.describe(words)
    assert [phrase.text for phrase in team.read_relations("qq7")[0].phrases] == ["who is there"]


def test_linking_reads_what_was_said_of_relations(team: Engine) -> None:
    """Of two entities with a part of the mention, the one with the relation that is asked for is meant."""
    graph = team.resources.of_graph(team.gateway().fetch(read_catalogue()))
    question = "Which squad does Alder play in?"
    (topic,) = [each for each in team.link(question) if each.entity.id == "Ann Alder"]
    numbers = {relation.name: relation.number for relation in graph.catalogue.relations}
    topic = replace(topic, relations=(numbers["qq7"],))
    before = relation_evidence(graph).features([question], [[topic]])[0]
    team.describe({"qq7": ["which squad does play in"]})
    graph = team.resources.of_graph(team.gateway().fetch(read_catalogue()))
    after = relation_evidence(graph).features([question], [[topic]])[0]
    assert after[0, 0] > before[0, 0] + 0.2


@pytest.mark.parametrize("phrases", [0, 1])
def test_subgraphs_are_learned_from_and_read_with_the_same_phrases(team: Engine, tmp_path: Path, phrases: int) -> None:
    team.describe({"qq7": ["squad", "the team of"]})
    options = SubgraphOptions(num_hops=1, phrases=phrases)
    text = "qq7, squad" if phrases else "qq7"
    asked = QuestionSet(
        "one", "lodestar", "0" * 64, (GoldQuestion("q", "Where is Ann Alder?", (GoldAnswer("Sales"),), ("Ann Alder",)),)
    )
    write_question_graphs(asked, team, team.resources.vectors, tmp_path / "graphs.safetensors", options)
    assert text in read_graphs(tmp_path / "graphs.safetensors").texts.relations
    graph = team.resources.of_graph(team.gateway().fetch(read_catalogue()))
    words = {number: graph.words[name] for number, name in graph.relations.items()}
    relations = GraphRelations(graph.relations, words, graph.catalogue.stored_as)
    columns = SubgraphReader(relations, team.resources.vectors, options)
    linked = LinkedQuestion(Question("Where is Ann Alder?"), team.link("Where is Ann Alder?"))
    batch = team.gateway().run(columns.extract([linked]))
    assert text in columns.columns([linked], batch).relations
    assert ("phrases" in options.as_json()) == bool(phrases)
