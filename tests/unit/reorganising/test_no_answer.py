"""Why there is no answer: by a graph in memory, and the scorer of the tests, which counts shared words."""

from __future__ import annotations

import pytest
from lodestar.engine.answering.extractive import ExtractiveAnswerer
from lodestar.engine.evidence.calibration import Calibration
from lodestar.engine.evidence.plain import answer_data
from lodestar.engine.pipeline import ReorganisedRetriever
from lodestar.engine.reorganising import no_answer
from lodestar.engine.reorganising.no_answer import NoAnswerExplainer
from lodestar.engine.retrieval.beam import BeamSearch
from lodestar.engine.values import Question, Topic

from tests.evidence import retrieved
from tests.memory_graph import MemoryGraph
from tests.word_scorer import WordScorer

GRAPH = MemoryGraph([("Peru", "capital", "Lima"), ("Chile", "currency", "Peso"), ("Chile", "capital", "Santiago")])
SCORE = Calibration("logit", 10.0, -1.0)
ASKED: list[str] = []


def nearest(text: str, topic: Topic, num_relations: int) -> frozenset[str]:
    ASKED.append(f"{text} {topic.entity.id} {num_relations}")
    return frozenset({"currency"})


def asked(question: Question) -> tuple[str, str | None]:
    search = BeamSearch(GRAPH.numbered, WordScorer(), calibration=SCORE, max_hop=1)
    explained = ReorganisedRetriever(search, NoAnswerExplainer(WordScorer(), SCORE, GRAPH.numbered, nearest))
    answer = ExtractiveAnswerer().answer_of(retrieved(GRAPH, explained, [question])[0])
    assert answer_data(answer)["reason"] == answer.reason
    return answer.text, answer.reason


def test_a_relation_that_fits_and_has_no_triple_there() -> None:
    text = "no answer found: currency fits the question, and the graph has no triple of it at Peru"
    assert asked(Question("currency?", ("Peru",))) == (text, "no triple")


def test_no_relation_fits() -> None:
    assert asked(Question("mayor?", ("Peru",))) == (
        "no answer found: no relation fits the question",
        "no relation fits",
    )


def test_an_answer_has_no_reason() -> None:
    assert asked(Question("capital?", ("Peru",))) == ("Lima", None)


def test_relations_that_the_search_does_without_are_as_if_the_graph_had_none() -> None:
    question = Question("currency?", ("Peru",), excluded_relations=frozenset({"currency"}))
    assert asked(question)[1] == "no relation fits"


def test_of_many_relations_the_nearest_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(no_answer, "MAX_RELATIONS", 0)
    assert asked(Question("currency?", ("Peru",)))[1] == "no triple"
    assert ASKED == ["currency? Peru 0"]
