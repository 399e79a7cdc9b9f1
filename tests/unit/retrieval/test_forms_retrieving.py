"""Which of the paths found for the parts of a question with a form are used, without a graph that combines their ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest
from lodestar.engine.context import Database
from lodestar.engine.evidence import Calibration, Evidence
from lodestar.engine.evidence.extras import FormResult
from lodestar.engine.forms.form_retriever import VALUED, FormRetriever
from lodestar.engine.forms.yes_or_no import raise_odds
from lodestar.engine.linking import look_up_topics
from lodestar.engine.neo4j import Row
from lodestar.engine.values import Chain, Entity, LinkedQuestion, Question, Scored

from tests.fakes.call_context import make_context
from tests.fakes.memory_graph import MemoryGraph
from tests.made.evidence import evidence_of, leads

PERU, AMAZON, RIMAC, LIMA, CUSCO = (Entity(name, name) for name in ("Peru", "Amazon", "Rimac", "Lima", "Cusco"))


class CombiningGraph(MemoryGraph):
    """Says of all sets of ends that two are left."""

    def _combine_ends(self, _params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        return [(2, [])]


class FoundByHand:
    """Finds for each question what was found by hand for its topic, with these probabilities."""

    def __init__(self, find: Callable[[Entity], Mapping[Chain, float]]) -> None:
        self.find = find

    def __call__(self, questions: Sequence[LinkedQuestion], _top_k: int) -> list[Evidence[Chain]]:
        calibration = Calibration("probability")
        return [
            evidence_of(
                *(Scored(chain, likely) for chain, likely in self.find(each.topics[0].entity).items()),
                text=each.question.text,
                calibration=calibration,
                topics=each.topics,
            )
            for each in questions
        ]


def look_up_parts(db: Database, questions: Sequence[Question]) -> list[LinkedQuestion]:
    """Return the questions with the topics that they have by id."""
    return look_up_topics(db, questions, [()] * len(questions))


def ask(
    text: str,
    topic: Entity,
    find: Callable[[Entity], Mapping[Chain, float]],
    least: float = 0.2,
    ends: Iterable[Entity] = (),
) -> FormResult:
    """Ask a question with a form about a topic; ends: further entities that are looked up."""
    graph = CombiningGraph([(topic.id, "any", end.id) for end in ends] or [(topic.id, "any", "other")])
    db = make_context(graph).db
    link = partial(look_up_parts, db)
    retriever = FormRetriever(db, FoundByHand(find), link, {}, {}, least)
    (found,) = retriever.retrieve(link([Question(text, (topic.id,))]), 10)
    formed = found.extra_of(FormResult)
    assert formed is not None
    return formed


@pytest.mark.parametrize(("probability", "total"), [(0.29, 0), (0.3, 2)])
def test_a_path_that_is_less_likely_than_the_bound_is_not_counted(probability: float, total: int) -> None:
    rivers = {leads("river", AMAZON, RIMAC, topic=PERU): probability}
    formed = ask("How many rivers does Peru have?", PERU, lambda _: rivers, least=0.3)
    assert (formed.forms, formed.total) == (("how many",), total)
    assert formed.reason.startswith("nothing was found for") is (total == 0)


def test_nobody_asks_how_many_of_one_thing() -> None:
    found = {leads("capital", LIMA, topic=PERU): 0.9, leads("city", LIMA, CUSCO, topic=PERU): 0.6}
    formed = ask("How many cities are in Peru?", PERU, lambda _: found)
    assert [path for _, path in formed.parts] == ["Peru: city"]


HALL = Entity("Hall", "Hall")
SHIPS, CREWS = (tuple(Entity(f"{kind} {i}", f"{kind} {i}") for i in range(2)) for kind in ("Ship", "Crew"))


@pytest.mark.parametrize("ships", [0.25, 0.03])
def test_an_ordered_part_is_the_path_to_what_has_the_property(ships: float) -> None:
    """Crews are likelier than ships, but only ships have a length."""

    def find(topic: Entity) -> Mapping[Chain, float]:
        if topic in SHIPS:
            return {leads("length", Entity("120", "120"), topic=topic): 0.9}
        if topic in CREWS:
            return {leads("leader", Entity("Ann", "Ann"), topic=topic): 0.6}
        return {leads("crew", *CREWS, topic=topic): 0.5, leads("built", *SHIPS, topic=topic): ships}

    formed = ask("Which is the longest of the boats at Hall?", HALL, find, ends=(*SHIPS, *CREWS))
    assert [path for _, path in formed.parts] == ["Hall: built", "length"]
    assert formed.probability == pytest.approx(raise_odds(ships, VALUED))
