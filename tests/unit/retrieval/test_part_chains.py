"""Which chain of a part is meant: what it leads to, and what the question says of it."""

from __future__ import annotations

import pytest
from lodestar.engine.evidence import Calibration
from lodestar.engine.evidence.extras import FormResult
from lodestar.engine.forms.part_chains import leads_to_named_kind, leads_to_values, take_back_last_hop
from lodestar.engine.forms.yes_or_no import JOINED, JOINED_FAR, answer_yes_or_no, raise_odds
from lodestar.engine.values import Chain, Entity, LinkedQuestion, Path, Question, Scored, Topic, Triple
from lodestar.models.forms.parsing import parse_question

from tests.made.evidence import chain_of, evidence_of, leads

HALL, TANKER, FINCH, HERON, LONG, SHORT = (
    Entity(name, name) for name in ("Hall", "tanker", "Finch", "Heron", "120", "90")
)


def go(*triples: tuple[Entity, str, Entity]) -> Path:
    """The path over these triples; a relation that begins with ^ is followed against its direction."""
    facts = tuple(Triple(o, r[1:], s) if r.startswith("^") else Triple(s, r, o) for s, r, o in triples)
    return Path(facts, tuple(r.startswith("^") for _, r, _ in triples))


def test_a_hop_that_is_only_gone_back_over_is_taken_back() -> None:
    types = chain_of(
        go((HALL, "^built_in", FINCH), (FINCH, "type", TANKER)), go((HALL, "^built_in", HERON), (HERON, "type", TANKER))
    )
    lengths = chain_of(
        go((TANKER, "^type", FINCH), (FINCH, "length", LONG)), go((TANKER, "^type", HERON), (HERON, "length", SHORT))
    )
    part, value = take_back_last_hop(Scored(types, 1.0), Scored(lengths, -0.5))
    assert str(part.value.relation_path) == "^built_in"
    assert set(part.value.ends) == {FINCH, HERON}
    assert str(value.value.relation_path) == "length"
    assert (value.value.topic, value.value.ends) == (FINCH, (LONG,))


def test_a_hop_that_leads_on_stays() -> None:
    types = chain_of(go((HALL, "^built_in", FINCH), (FINCH, "type", TANKER)))
    lengths = chain_of(go((TANKER, "^kind", FINCH), (FINCH, "length", LONG)))
    part, value = Scored(types, 1.0), Scored(lengths, -0.5)
    assert take_back_last_hop(part, value) == (part, value)


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("Which tankers are in Oslo?", True),
        ("Which tanker?", True),
        ("Which ships are tankers?", False),
        ("How old are tankers?", False),
    ],
)
def test_a_kind_that_is_an_entity_leads_to_its_things(text: str, is_named: bool) -> None:
    things = chain_of(go((TANKER, "^type", FINCH)), go((TANKER, "^type", HERON)))
    assert leads_to_named_kind(evidence_of(Scored(things, 1.0), text=text), things) is is_named


def test_values_are_what_all_ends_are() -> None:
    assert leads_to_values(leads("length", LONG, SHORT, topic=FINCH))
    assert not leads_to_values(leads("length", LONG, TANKER, topic=FINCH))


def test_odds_are_raised() -> None:
    assert raise_odds(0.5, 10) == pytest.approx(10 / 11)
    assert raise_odds(0.0, 10) == 0
    assert raise_odds(1.0, 10) == 1


def ask_whether(*found: tuple[Chain, float]) -> FormResult:
    """What is said to "Is Finch the boss of Heron?", if these chains lead on from Finch, with these probabilities."""
    text = "Is Finch the boss of Heron?"
    plan = parse_question(text)
    assert plan is not None
    linked = LinkedQuestion(Question(text), (Topic(FINCH, mention="Finch"), Topic(HERON, mention="Heron")))
    items = [Scored(chain, likely) for chain, likely in found]
    evidence = evidence_of(*items, text=text, calibration=Calibration("probability"))
    said, _, _ = answer_yes_or_no(linked, plan, [evidence, evidence_of()])
    return said


def test_a_path_that_joins_both_entities_is_likelier_than_a_better_one_that_does_not() -> None:
    joining, other = leads("boss", HERON, topic=FINCH), leads("length", LONG, topic=FINCH)
    said = ask_whether((other, 0.5), (joining, 0.3))
    assert said.says == "yes"
    assert said.probability == pytest.approx(raise_odds(0.3, JOINED))
    assert ask_whether((other, 0.9), (joining, 0.3)).says != "yes"


def test_a_long_path_that_joins_both_is_less_likely_meant() -> None:
    far, other = leads("boss", HERON, topic=FINCH, via=HALL), leads("length", LONG, topic=FINCH)
    assert ask_whether((other, 0.5), (far, 0.3)).says != "yes"
    said = ask_whether((other, 0.3), (far, 0.3))
    assert said.says == "yes"
    assert said.probability == pytest.approx(raise_odds(0.3, JOINED_FAR))
