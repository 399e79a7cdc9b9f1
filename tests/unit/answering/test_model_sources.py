"""What a language model answers becomes a source of the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lodestar.engine.answering.integrating import LanguageModelSources
from lodestar.engine.errors import LLMError
from lodestar.engine.evidence.calibration import Calibration
from lodestar.engine.evidence.evidence import Answer, Evidence, Item, make_failed_answer
from lodestar.engine.evidence.extras import FormResult
from lodestar.engine.steps import Steps, run_steps
from lodestar.engine.values import AnswerEntity, Entity, Question, Scored, Topic, Triple

PERU, LIMA, OTHER_LIMA, SOL = (
    Entity("m.peru", "Peru"),
    Entity("m.lima", "Lima"),
    Entity("m.lima_ohio", "LIMA"),
    Entity("m.sol", "Peruvian_sol"),
)
ITEMS = tuple(
    Scored(Triple(PERU, relation, tail), score)
    for relation, tail, score in (("capital", LIMA, 0.9), ("namesake", OTHER_LIMA, 0.5), ("currency", SOL, 0.4))
)
EVIDENCE: Evidence[Item] = Evidence(Question("?"), (Topic(PERU),), "triple", ITEMS, Calibration("probability"))


@dataclass
class FixedAnswers:
    """An `Answerer` with the same names for each question; it keeps what it was asked."""

    names: tuple[tuple[str, float | None], ...] = ()
    fails: bool = False
    asked: list[Evidence[Item]] = field(default_factory=list)

    def answer(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Answer]]:
        yield from ()
        self.asked += evidence
        if self.fails:
            return [make_failed_answer(each, LLMError("no reply")) for each in evidence]
        entities = tuple(AnswerEntity(name, None, sure, "model", ()) for name, sure in self.names)
        return [Answer(each, entities, "", "fixed") for each in evidence]


def add(
    evidence: Sequence[Evidence[Item]], answerers: Mapping[str, FixedAnswers], *, reads: int = 10
) -> list[Evidence[Item]]:
    return run_steps(LanguageModelSources(answerers, reads=reads).reorganise(evidence), lambda _: [])


def test_each_answerer_is_a_source_with_the_entities_that_it_names() -> None:
    said = FixedAnswers((("peruvian SOL", None), ("lima", 0.8), ("Atlantis", 0.99), ("Lima", 0.1)))
    (found,) = add([EVIDENCE], {"llm": said, "closed-book": FixedAnswers()})
    assert found.items == ITEMS
    (own, read, known) = found.sources
    assert own == ("triple", EVIDENCE)
    assert [name for name, _ in (read, known)] == ["llm", "closed-book"]
    chains = [(item.score, item.value.steps, item.value.ends) for item in read[1].items]
    assert chains == [(0.8, (), (LIMA, OTHER_LIMA)), (0.5, (), (SOL,))]
    assert read[1].probability(0) == 0.8
    assert known[1].items == ()


def test_it_reads_the_first_items_and_no_question_that_is_answered() -> None:
    said = FixedAnswers((("Peruvian sol", 0.9),))
    counted = replace(EVIDENCE, extras=(FormResult(("count",), "number of", (), total=2, counted=True),))
    found = add([counted, EVIDENCE], {"llm": said}, reads=2)
    assert [each.items for each in said.asked] == [ITEMS[:2]]
    assert found[0] == counted and not found[0].sources
    assert [item.value.ends for item in found[1].sources[1][1].items] == [(SOL,)]


def test_a_model_that_fails_leaves_the_rest() -> None:
    (found,) = add([EVIDENCE], {"llm": FixedAnswers(fails=True), "closed-book": FixedAnswers((("Lima", 0.9),))})
    assert found.left_out == ("llm: no reply",)
    assert [name for name, _ in found.sources] == ["triple", "closed-book"]


def test_a_source_s_chains_begin_at_the_first_topic_or_where_there_is_none_at_what_they_name() -> None:
    said = FixedAnswers((("Lima", 0.9),))
    for topics, start in (((Topic(PERU), Topic(SOL)), PERU), ((), LIMA)):
        (found,) = add([replace(EVIDENCE, topics=topics)], {"llm": said})
        assert [item.value.topic for item in found.sources[1][1].items] == [start]
