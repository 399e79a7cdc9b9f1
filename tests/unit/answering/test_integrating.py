"""Integration: the graph's answer and the model's own knowledge, asked at the same time and put together."""

from __future__ import annotations

import math

import pytest
from lodestar.engine.answering.llm import LanguageModelAnswerer
from lodestar.engine.answering.model_knowledge import (
    list_keyed_answers,
    merge_answers,
    merge_with_model_answers,
)
from lodestar.engine.data_model import AnswerEntity, Chain, Entity, Scored
from lodestar.engine.errors import LLMError
from lodestar.engine.evidence import Answer, Evidence
from lodestar.engine.llm import Completed, Completion, Prompt, TokenUsage
from lodestar.models.graphrag_fi import ConfidenceThresholds

from tests.fakes.call_context import make_context
from tests.made.evidence import evidence_of, leads

PERU = Entity("m.peru", "Peru")
EVIDENCE: Evidence[Chain] = evidence_of(
    Scored(leads("borders", Entity("m.chile", "Chile"), Entity("m.brazil", "Brazil"), topic=PERU), 0.9),
    text="What borders Peru?",
)


def answer(*entities: tuple[str, str | None, float], usage: TokenUsage | None = None) -> Answer:
    found = tuple(AnswerEntity(n, i, c, "graph" if i else "model", (0,) if i else ()) for n, i, c in entities)
    return Answer(EVIDENCE, found, "text", "some", usage)


def written(*tokens: tuple[str, float]) -> Completion:
    pieces = tuple((text, math.log(p)) for text, p in tokens)
    return Completion("".join(text for text, _ in tokens), logprobs=pieces, model="m", usage=TokenUsage(10, 2))


WITH_GRAPH = written(('{"answers": ["', 1.0), ("Chile", 0.9), ('", "', 1.0), ("Brazil", 0.3), ('"]}', 1.0))
CLOSED_BOOK = written(
    ('{"answers": ["', 1.0),
    ("brazil", 0.999),
    ('", "', 1.0),
    ("Ecuador", 0.998),
    ('", "', 1.0),
    ("Spain", 0.5),
    ('"]}', 1.0),
)


class Asked:
    """Answers the prompts with evidence and those without, and notes them."""

    def __init__(self, with_graph: Completed = WITH_GRAPH, closed_book: Completed = CLOSED_BOOK) -> None:
        self.prompts: list[Prompt] = []
        self._with_graph = with_graph
        self._closed_book = closed_book

    def __call__(self, prompt: Prompt) -> Completed:
        self.prompts.append(prompt)
        return self._with_graph if "<evidence>" in prompt.messages[0].content else self._closed_book


def integrate_pair(asked: Asked, thresholds: ConfidenceThresholds = ConfidenceThresholds(0.5, 0.995)) -> Answer:  # noqa: B008
    (found,) = merge_with_model_answers(make_context(reply=asked), [EVIDENCE], LanguageModelAnswerer(), thresholds)
    return found


def shown(found: Answer) -> list[tuple[str, str | None, str]]:
    return [(entity.name, entity.id, entity.origin) for entity in found.entities]


class TestBoth:
    def test_each_side_is_held_to_its_threshold(self) -> None:
        """Of the graph's answers Chile (0.9) stays, of the model's brazil (0.999) and Ecuador (0.998)."""
        asked = Asked()
        found = integrate_pair(asked)
        assert shown(found) == [("Chile", "m.chile", "graph"), ("brazil", None, "model"), ("Ecuador", None, "model")]
        assert found.text == "Chile, brazil, Ecuador"
        assert found.usage == TokenUsage(20, 4)
        closed_book, with_graph = asked.prompts
        assert closed_book.logprobs and with_graph.logprobs
        assert "Chile" not in closed_book.messages[0].content

    def test_what_both_say_has_the_graph_s_evidence(self) -> None:
        found = integrate_pair(Asked(), ConfidenceThresholds(0.2, 0.995))
        assert shown(found) == [
            ("Chile", "m.chile", "graph"),
            ("Brazil", "m.brazil", "both"),
            ("Ecuador", None, "model"),
        ]
        assert found.entities[1].evidence == (0,)
        assert found.entities[1].confidence == pytest.approx(0.999)

    def test_without_log_probabilities_the_model_adds_nothing(self) -> None:
        plain = Completion('{"answers": [{"name": "Ecuador", "confidence": 1.0}]}')
        assert shown(integrate_pair(Asked(closed_book=plain))) == [("Chile", "m.chile", "graph")]

    def test_a_side_that_fails_leaves_the_other(self) -> None:
        assert shown(integrate_pair(Asked(closed_book=LLMError("down")))) == [("Chile", "m.chile", "graph")]
        rescued = integrate_pair(Asked(with_graph=LLMError("down")))
        assert shown(rescued) == [("brazil", None, "model"), ("Ecuador", None, "model")]
        assert rescued.failure is None
        lost = integrate_pair(Asked(with_graph=LLMError("down"), closed_book=LLMError("down")))
        assert str(lost.failure) == "down"
        assert lost.text == "failed: down"


class TestAnyTwo:
    def test_entities_that_share_a_name_stay_two(self) -> None:
        one = answer(("Lima", "m.lima", 0.9), ("Lima", "m.ohio", 0.8))
        assert shown(merge_answers(one, answer(("lima", None, 1.0)), ConfidenceThresholds())) == [
            ("Lima", "m.lima", "both"),
            ("Lima", "m.ohio", "graph"),
        ]
        assert [key for key, _ in list_keyed_answers(one)] == ["lima", "lima\nm.ohio"]
