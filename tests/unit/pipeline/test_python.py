"""What you see and write in Python: engines by name, options of one call, what an answer is, short representations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest
from lodestar import Engine
from lodestar.engine.data_model import AnswerEntity, Chain, Question
from lodestar.engine.errors import EntityNotFoundError, LodestarError, UsageError
from lodestar.engine.evidence import NO_ANSWER, Answer, Evidence
from lodestar.engine.neo4j import Row
from lodestar.engine.neo4j.catalogue import GRAPH_VERSION
from lodestar.engine.settings import Settings, resolve_settings

from tests.fakes.memory_graph import MemoryGraph

QUESTION = "What is the capital of Peru?"
NOTHING: Evidence[Chain] = Evidence(Question("q"), (), "chain")
LIMA = AnswerEntity("Lima", "l", 0.5, "graph", (0,))
TRIPLES = (
    ("Peru", "capital", "Lima"),
    ("Peru", "official language", "Quechua"),
    ("Peru", "official language", "Spanish"),
    ("Lima", "mayor", "Ana"),
    ("Bolivia", "borders", "Peru"),
)


class WholeGraph(MemoryGraph):
    """A graph in memory that an engine can be opened over, and that stands in for a `Gateway`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """It has no connections."""

    def _read_edition(self, _params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        return [(1, "then", "now", len(self.relations), None, 0)]

    def _read_graph_state(self, _params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        num_nodes = len(self.names) + len(self.relations) + 1
        loads = [("memory", True, False, GRAPH_VERSION)]
        return [(["entity_id", "entity_names"], len(self.names), 0, [1] * len(self.relations), loads, num_nodes, 0)]

    def _read_catalogue(self, _params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        unknown = [None, None, None]
        words: tuple[Any, ...] = (None, None, [], [], unknown, unknown)
        return [(number, name, name, 1, None, None, None, None, *words) for name, number in self.relations.items()]

    def close(self) -> None:
        """It has no connections."""


def open_engine(tmp_path: Path, recipe: str) -> Engine:
    settings = Settings(home=str(tmp_path), uri="bolt://127.0.0.1:1")
    engine = Engine(settings, recipe=recipe)
    engine._gateway = WholeGraph(TRIPLES)  # type: ignore[assignment]
    return engine


@pytest.mark.parametrize(
    ("answer", "kind", "names", "answers"),
    [
        (Answer(NOTHING, (LIMA,), "Lima", "extractive"), "entities", ("Lima",), ["Lima"]),
        (Answer(NOTHING, (), "0", "extractive", number=0), "number", (), ["0"]),
        (Answer(NOTHING, (), "yes", "extractive", yes=True), "yes-no", (), ["yes"]),
        (Answer(NOTHING, (), "not in the graph", "extractive", yes=False), "yes-no", (), ["not in the graph"]),
        (Answer(NOTHING, (), NO_ANSWER, "extractive"), "none", (), []),
    ],
)
def test_an_answer_says_what_it_is(answer: Answer, kind: str, names: tuple[str, ...], answers: list[str]) -> None:
    assert (answer.kind, answer.names) == (kind, names)
    assert [each.name for each in answer.answers] == answers
    assert bool(answer) is answer.found is (kind != "none")
    data = answer.to_dict()
    assert (data["kind"], data["number"], data["yes"]) == (kind, answer.number, answer.yes)
    assert [each["name"] for each in data["answers"]] == answers


def test_options_of_one_call_change_the_recipe_for_it_alone(tmp_path: Path) -> None:
    with open_engine(tmp_path, "similarity") as engine:
        whole = engine.retrieve(QUESTION)
        assert len(engine.retrieve(QUESTION, max_hop=1, top_k=1).items) == 1
        near: dict[str, Any] = {"similarity.max_hop": 1}
        assert engine.retrieve(QUESTION, max_hop=1) == engine.retrieve(QUESTION, **near) != whole
        assert engine.retrieve(QUESTION) == whole
        assert engine.ask(QUESTION, min_probability=0.999).kind == "none"
        assert [each.kind for each in engine.ask_batch([QUESTION], min_probability=0.999)] == ["none"]
        assert engine.ask(QUESTION).names == ("Lima",)
        with pytest.raises(UsageError, match="option 'topk': no part of the recipe similarity has it"):
            engine.ask(QUESTION, topk=3)
        with pytest.raises(UsageError, match="max_hop"):
            engine.ask(QUESTION, max_hop="far")


def test_a_graph_or_a_database_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LODESTAR_HOME", str(tmp_path))
    monkeypatch.setenv("NEO4J_URI", "neo4j://elsewhere.example.org")
    assert resolve_settings({"name": "geo"}).uri == ""
    assert resolve_settings({"name": "geo", "uri": "bolt://127.0.0.1:1"}).uri == "bolt://127.0.0.1:1"
    with Engine(uri="bolt://127.0.0.1:1", auth=("ann", "hush"), database="films") as engine:
        assert (engine.connection.user, engine.connection.password) == ("ann", "hush")
        assert engine.connection.database == "films"
        assert repr(engine) == "<Engine over bolt://127.0.0.1:1, recipe similarity>"
        assert "hush" not in f"{engine!r}{engine.settings!r}{engine.connection!r}"


def test_what_cannot_be_said_is_one_line_without_secrets() -> None:
    with pytest.raises(UsageError, match=r"expected Settings alone, or settings by name, as Engine\(name=…\)"):
        Engine("bolt://ann:hush@example.org")
    with pytest.raises(UsageError, match="expected Settings alone"):
        Engine(Settings(), name="geo", auth=("ann", "hush"))
    with pytest.raises(UsageError) as raised:
        Engine(uri="bolt://127.0.0.1:1", password=1234)
    assert str(raised.value) == "setting password: expected text, found int"


BAD: dict[str | Question, type[LodestarError]] = {
    "xyzzy?": EntityNotFoundError,
    Question("What is it?", ("Atlantis",)): EntityNotFoundError,
}


def test_a_batch_says_the_fault_of_each_question(tmp_path: Path) -> None:
    with open_engine(tmp_path, "similarity") as engine:
        first, *others, last = engine.ask_batch([QUESTION, *BAD, QUESTION])
        for (bad, error), other in zip(BAD.items(), others, strict=True):
            assert type(other.evidence.fault) is error, bad
        sound, empty, again = engine.ask_batch([QUESTION, " ", QUESTION])
        assert (sound.text, again.text, empty.found, empty.reason) == ("Lima", "Lima", False, "failed")
        assert "the question is empty" in empty.text
        assert [each.found for each in engine.ask_batch(["", "x" * 20_000])] == [False, False]
        with pytest.raises(UsageError, match="the question is empty"):
            engine.ask("")
    assert first.evidence.fault is None
    assert (first.text, last.text) == ("Lima", "Lima")
