"""What a language model answers becomes a source of the evidence."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from lodestar.engine.data_model import Entity, Question, Scored, Topic, Triple
from lodestar.engine.errors import LLMError
from lodestar.engine.evidence import Calibration, Evidence, Item, PlanAnswer
from lodestar.engine.llm import Completed, Completion, Prompt
from lodestar.engine.reorganising.filtering import AddModelAnswers

from tests.fakes.call_context import make_context

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


Names = tuple[tuple[str, float], ...]


def says(names: Names) -> Completion:
    """A reply that names these, each with its token's probability."""
    tokens = [('{"answers": [', 0.0)]
    for place, (name, likely) in enumerate(names):
        tokens += [(", " if place else "", 0.0), ('"', 0.0), (name, math.log(likely)), ('"', 0.0)]
    tokens = [each for each in (*tokens, ("]}", 0.0)) if each[0]]
    content = "".join(text for text, _ in tokens)
    assert json.loads(content)
    return Completion(content, logprobs=tuple(tokens))


class Asked:
    """Answers with the evidence and without it, and notes the prompts."""

    def __init__(self, read: Completed, known: Completed) -> None:
        self.replies = (read, known)
        self.prompts: list[str] = []

    def __call__(self, prompt: Prompt) -> Completed:
        content = prompt.messages[0].content
        self.prompts.append(content)
        return self.replies[0 if "<evidence>" in content else 1]


def add(evidence: list[Evidence[Item]], asked: Asked) -> list[Evidence[Item]]:
    return AddModelAnswers()(make_context(reply=asked), evidence)


def test_each_way_to_ask_is_a_source_with_the_entities_that_it_names() -> None:
    read = says((("peruvian SOL", 0.5), ("lima", 0.8), ("Atlantis", 0.99), ("Lima", 0.1)))
    (found,) = add([EVIDENCE], Asked(read, says(())))
    assert found.items == ITEMS
    (own, one, two) = found.trace.sources
    assert own == ("triple", EVIDENCE)
    assert [name for name, _ in (one, two)] == ["llm", "closed-book"]
    chains = [(round(item.score, 6), item.value.steps, item.value.ends) for item in one[1].items]
    assert chains == [(0.8, (), (LIMA, OTHER_LIMA)), (0.5, (), (SOL,))]
    assert two[1].items == ()


def test_it_reads_no_question_that_is_answered() -> None:
    counted = replace(EVIDENCE, extras=(PlanAnswer({"do": "count"}, "number of", total=2, number=2),))
    asked = Asked(says((("Peruvian sol", 0.9),)), says(()))
    found = add([counted, EVIDENCE], asked)
    assert len(asked.prompts) == 2
    assert found[0] == counted and not found[0].trace.sources
    assert [item.value.ends for item in found[1].trace.sources[1][1].items] == [(SOL,)]


def test_a_model_that_fails_leaves_the_rest() -> None:
    (found,) = add([EVIDENCE], Asked(LLMError("no reply"), says((("Lima", 0.9),))))
    assert found.left_out == ("llm: no reply",)
    assert [name for name, _ in found.trace.sources] == ["triple", "closed-book"]
