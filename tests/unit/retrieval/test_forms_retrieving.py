"""Which of the paths found for the parts of a question with a form are used, without a graph that combines their ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from lodestar.engine.evidence.calibration import Calibration
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Evidence, Kind
from lodestar.engine.evidence.extras import FormResult
from lodestar.engine.forms.form_retriever import VALUED, FormRetriever
from lodestar.engine.forms.yes_or_no import raise_odds
from lodestar.engine.neo4j.templates import Row
from lodestar.engine.steps import Steps
from lodestar.engine.values import Entity, LinkedQuestion, Question, Scored, Topic

from tests.fakes.memory_graph import MemoryGraph
from tests.made.evidence import evidence_of, leads, retrieved

PERU, AMAZON, RIMAC = (Entity(name, name) for name in ("Peru", "Amazon", "Rimac"))


class CombiningGraph(MemoryGraph):
    """Says of all sets of ends that two are left."""

    def _combine_ends(self, _params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        return [(2, [])]


class OnePath:
    """Finds the rivers of Peru for every question, with one probability."""

    gives: Kind = "chain"

    def __init__(self, probability: float) -> None:
        self.probability = probability

    def retrieve(self, questions: Sequence[LinkedQuestion], _top_k: int) -> Steps[list[Evidence[Chain]]]:
        yield from ()
        item = Scored(leads("river", AMAZON, RIMAC, topic=PERU), self.probability)
        return [
            evidence_of(item, text=each.question.text, calibration=Calibration("probability"), topics=each.topics)
            for each in questions
        ]


class NoLinker:
    """Nothing is linked, as the question has its topic by id."""

    def link(self, questions: Sequence[Question]) -> Steps[list[tuple[Topic, ...]]]:
        raise AssertionError(questions)


@pytest.mark.parametrize(("probability", "total"), [(0.29, 0), (0.3, 2)])
def test_a_path_that_is_less_likely_than_the_bound_is_not_counted(probability: float, total: int) -> None:
    retriever = FormRetriever(OnePath(probability), NoLinker(), {}, least=0.3)
    graph = CombiningGraph([("Peru", "river", "Amazon"), ("Peru", "river", "Rimac")])
    (found,) = retrieved(graph, retriever, [Question("How many rivers does Peru have?", ("Peru",))])
    formed = found.extra_of(FormResult)
    assert formed is not None
    assert (formed.forms, formed.total) == (("how many",), total)
    assert formed.reason.startswith("nothing was found for") is (total == 0)


class CapitalThenCities:
    """Finds the capital of Peru first, then its cities, both likely."""

    gives: Kind = "chain"

    def retrieve(self, questions: Sequence[LinkedQuestion], _top_k: int) -> Steps[list[Evidence[Chain]]]:
        yield from ()
        items = [
            Scored(leads("capital", Entity("Lima", "Lima"), topic=PERU), 0.9),
            Scored(leads("city", *(Entity(name, name) for name in ("Lima", "Cusco")), topic=PERU), 0.6),
        ]
        calibration = Calibration("probability")
        return [evidence_of(*items, text=q.question.text, calibration=calibration, topics=q.topics) for q in questions]


def test_nobody_asks_how_many_of_one_thing() -> None:
    graph = CombiningGraph([("Peru", "capital", "Lima"), ("Peru", "city", "Lima"), ("Peru", "city", "Cusco")])
    retriever = FormRetriever(CapitalThenCities(), NoLinker(), {}, least=0.2)
    (found,) = retrieved(graph, retriever, [Question("How many cities are in Peru?", ("Peru",))])
    formed = found.extra_of(FormResult)
    assert formed is not None
    assert [path for _, path in formed.parts] == ["Peru: city"]


SHIPS, CREWS = (tuple(Entity(f"{kind} {i}", f"{kind} {i}") for i in range(2)) for kind in ("Ship", "Crew"))


class ShipsAndCrews:
    """Finds crews and ships for a hall, crews first; of ships alone a length."""

    gives: Kind = "chain"

    def __init__(self, ships: float) -> None:
        self.ships = ships

    def retrieve(self, questions: Sequence[LinkedQuestion], _top_k: int) -> Steps[list[Evidence[Chain]]]:
        yield from ()
        return [self._find(each) for each in questions]

    def _find(self, linked: LinkedQuestion) -> Evidence[Chain]:
        topic = linked.topics[0].entity
        items = [
            Scored(leads("crew", *CREWS, topic=topic), 0.5),
            Scored(leads("built", *SHIPS, topic=topic), self.ships),
        ]
        if topic in SHIPS:
            items = [Scored(leads("length", Entity("120", "120"), topic=topic), 0.9)]
        elif topic in CREWS:
            items = [Scored(leads("leader", Entity("Ann", "Ann"), topic=topic), 0.6)]
        calibration = Calibration("probability")
        return evidence_of(*items, text=linked.question.text, calibration=calibration, topics=linked.topics)


def ask_for_the_longest(ships: float) -> FormResult:
    graph = CombiningGraph(
        [("Hall", "built", ship.id) for ship in SHIPS]
        + [("Hall", "crew", crew.id) for crew in CREWS]
        + [(ship.id, "length", "120") for ship in SHIPS]
    )
    retriever = FormRetriever(ShipsAndCrews(ships), NoLinker(), {}, least=0.2)
    (found,) = retrieved(graph, retriever, [Question("Which is the longest of the boats at Hall?", ("Hall",))])
    formed = found.extra_of(FormResult)
    assert formed is not None
    return formed


@pytest.mark.parametrize("ships", [0.25, 0.03])
def test_an_ordered_part_is_the_path_to_what_has_the_property(ships: float) -> None:
    formed = ask_for_the_longest(ships)
    assert [path for _, path in formed.parts] == ["Hall: built", "length"]
    assert formed.probability == pytest.approx(raise_odds(ships, VALUED))
