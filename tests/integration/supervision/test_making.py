"""Questions made from a graph alone, over a real Neo4j: their answers are the graph's, the same for a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import neo4j
import pytest
from lodestar import Engine
from lodestar.engine.errors import GraphError, UsageError
from lodestar.engine.neo4j.connection import Connection
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.progress import progress_bar
from lodestar.engine.settings import Settings
from lodestar.engine.supervision.made_set import make_questions, split_train_dev
from lodestar.engine.supervision.mine_file import mine_to_file
from lodestar.engine.supervision.miner import MiningOptions
from lodestar.engine.supervision.path_sampling import QuestionGenerationOptions
from lodestar.engine.training.path_sets import generate_mined_sets
from lodestar.engine.values import Question
from lodestar.models.star.config import DualOptions, StarConfig
from lodestar.models.star.kind import KIND
from lodestar.models.star.mined import read_mined_file
from lodestar.models.training.objective import TrainingOptions

from tests.conftest import clear_database
from tests.made.graphs import COUNTRIES, TripleSource, load
from tests.made.mined_examples import tiny_encoder
from tests.made.trainings import train_sets

pytestmark = pytest.mark.usefixtures("engine")

OPTIONS = QuestionGenerationOptions(num_questions=60, max_hop=2, joint=0.2)


def ends_of(topic: str, relations: Sequence[str], triples: Sequence[tuple[str, str, str]]) -> list[set[str]]:
    """Where these relations lead from a topic, in whichever directions: a set of ends for each way to walk them."""
    found = [frozenset([topic])]
    for relation in relations:
        following = []
        for sources in found:
            following.append(frozenset(t for h, r, t in triples if r == relation and h in sources))
            following.append(frozenset(h for h, r, t in triples if r == relation and t in sources))
        found = [ends for ends in following if ends]
    return [set(ends) - {topic} for ends in found]


def test_answers_are_where_the_path_leads(engine: Engine) -> None:
    made = make_questions(engine, OPTIONS)
    assert len(made.questions) == 60
    kinds = {(question.num_hops, len(question.topic_ids)) for question in made.questions}
    assert {(1, 1), (2, 1)} <= kinds
    for question in made.questions:
        answers = {answer.id for answer in question.answers}
        for topic, path in zip(question.topic_ids, question.paths, strict=True):
            ways = ends_of(topic, path.relations, COUNTRIES)
            if len(question.paths) == 1:
                assert answers in ways, question
            else:
                assert any(answers <= ends for ends in ways), question
        for name in question.topic_names:
            assert name.lower() in question.text.lower()


def test_a_step_through_a_mediator_is_one_hop(engine: Engine) -> None:
    made = make_questions(engine, OPTIONS)
    through = [q for q in made.questions if q.paths[0].relations[:1] == ("location.location.adjoin_s",)]
    assert any(q.num_hops == 1 and len(q.paths[0].relations) == 2 for q in through)


def test_the_same_for_a_seed_and_another_for_another(engine: Engine) -> None:
    one, two = make_questions(engine, OPTIONS), make_questions(engine, OPTIONS)
    assert one == two
    other = make_questions(engine, QuestionGenerationOptions(num_questions=60, max_hop=2, joint=0.2, seed=1))
    assert {q.text for q in other.questions} != {q.text for q in one.questions}


def test_parts_share_no_path_of_a_topic(engine: Engine) -> None:
    learn, choose = split_train_dev(make_questions(engine, OPTIONS))
    paths = [{(q.topic_ids, tuple(p.relations for p in q.paths)) for q in part.questions} for part in (learn, choose)]
    assert paths[0]
    assert paths[1]
    assert not paths[0] & paths[1]
    assert learn.sha256 != choose.sha256


def test_made_questions_are_mined_with_the_path_they_were_made_of(engine: Engine, tmp_path: Path) -> None:
    made = make_questions(engine, OPTIONS)
    mine_to_file(made, engine, tmp_path / "made.jsonl", MiningOptions(max_hop=2))
    mined = read_mined_file(tmp_path / "made.jsonl")
    assert len(mined.questions) == len(made.questions)
    for question in mined.questions:
        assert any(path.gold and path.positive for path in question.paths), question


class Graph:
    """Loads small graphs in the place of one another."""

    def __init__(self, gateway: Gateway, driver: neo4j.Driver, connection: Connection, settings: Settings) -> None:
        self.gateway = gateway
        self.driver = driver
        self.connection = connection
        self.settings = settings

    def made(self, triples: Sequence[tuple[str, str, str]], names: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """The texts of questions made of such a graph, and what was said."""
        clear_database(self.driver, self.connection.database)
        load(TripleSource(triples, names), self.gateway)
        said: list[str] = []
        with Engine(self.settings) as engine:
            made = make_questions(engine, QuestionGenerationOptions(num_questions=30), say=said.append)
        return [question.text for question in made.questions], said


@pytest.fixture
def graph(gateway: Gateway, driver: neo4j.Driver, connection: Connection, settings: Settings) -> Graph:
    return Graph(gateway, driver, connection, settings)


def people(relation: str) -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    triples = [(f"p{i}", relation, f"p{i + 5}") for i in range(10)]
    return triples, {f"p{i}": f"Person{chr(65 + i)}" for i in range(15)}


def test_ten_triples_of_one_relation(graph: Graph) -> None:
    texts, said = graph.made(*people("reports_to"))
    assert 10 <= len(texts) <= 30
    assert ["different questions" in line for line in said] == [True] * (len(texts) < 30)


@pytest.mark.parametrize(
    ("relation", "line"),
    [
        ("4711", "1 of 1 relations have no English words"),
        ("http://example.org/ns#1", "1 of 1 relations have no English words"),
        ("vorgesetzter", "none of the 1 relations has a common English word"),
    ],
)
def test_relations_without_english_words_are_said(graph: Graph, relation: str, line: str) -> None:
    texts, said = graph.made(*people(relation))
    assert texts
    assert said[0].startswith(line), said


@pytest.mark.parametrize("relation", ["reports_to", "4711", "http://example.org/ns#1", "vorgesetzter"])
def test_a_scorer_is_trained_on_such_a_graph_and_answers(graph: Graph, relation: str, tmp_path: Path) -> None:
    graph.made(*people(relation))
    learn, choose = generate_mined_sets(
        tmp_path / "star",
        QuestionGenerationOptions(num_questions=30, max_hop=1),
        MiningOptions(max_hop=1),
        graph.settings,
        fresh=False,
        mining=lambda: progress_bar("the graph", "mining"),
        say=lambda _line: None,
    )
    config = StarConfig(
        scorer="similarity",
        encoder=str(tiny_encoder(tmp_path / "encoder")),
        dual=DualOptions(similarity=1.0),
        dual_training=TrainingOptions(epochs=1),
    )
    train_sets(KIND, config, [learn], [choose], tmp_path / "star")
    options = {"star.checkpoint": str(tmp_path / "star"), "star.max_hop": 1, "answerer.min_probability": 0.0}
    settings = replace(graph.settings, encoders=config.encoder)
    with Engine(settings, recipe="star", options=options) as engine:
        answer = engine.ask(Question(f"{relation} of PersonA", ("p0",)))
    assert [entity.name for entity in answer.entities] == ["PersonF"]


def test_a_graph_without_names_is_one_line(graph: Graph) -> None:
    triples, _ = people("reports_to")
    with pytest.raises(GraphError, match="expected entities with names, found none"):
        graph.made(triples, {})


def test_how_many_is_checked() -> None:
    with pytest.raises(UsageError, match="expected at least 1 for num_questions"):
        QuestionGenerationOptions(num_questions=0)
