"""GraphRAG-FI's filtering in a pipeline: a coarse filter, then two groups by a language model's word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from lodestar.engine.data_model import Chain, Entity
from lodestar.engine.errors import LLMError
from lodestar.engine.evidence import Evidence
from lodestar.engine.llm import Completed, Completion, Prompt
from lodestar.engine.reorganising.filtering import FIFilter, score_items_by_attention
from lodestar.models.causal_lm import PromptAttention

from tests.fakes.call_context import make_context
from tests.made.evidence import evidence_of, leads, ranked

PERU = Entity("peru", "Peru")


def evidence(*relations: str, text: str = "What borders Peru?") -> Evidence[Chain]:
    return evidence_of(*ranked(*(leads(each, Entity(each, each), topic=PERU) for each in relations)), text=text)


def filtered(*given: Evidence[Chain], reply: Callable[[Prompt], Completed], coarse: int = 50) -> list[Evidence[Any]]:
    ctx = make_context(reply=reply, opened={FIFilter(coarse=coarse): FALLING})
    return [each.add_costs(ctx.trace.costs) for each in FIFilter(coarse=coarse)(ctx, given)]


def falling(evidence: Evidence[Any]) -> Any:
    """The order in which the items came."""
    return -np.arange(len(evidence.items), dtype=np.float64)


FALLING = ("falling", falling)


def says(content: str) -> Callable[[Prompt], Completed]:
    return lambda _: Completion(content)


def noting(asked: list[Prompt]) -> Callable[[Prompt], Completed]:
    def reply(prompt: Prompt) -> Completed:
        asked.append(prompt)
        return Completion("1")

    return reply


def shown(evidence: Evidence[Any]) -> list[tuple[str, int | None]]:
    return [(item.value.ends[0].id, item.group) for item in evidence.items]


class TestGroups:
    def test_the_useful_come_first_and_the_others_follow(self) -> None:
        (found,) = filtered(evidence(*"abcdef"), reply=says("3, 1"), coarse=3)
        assert shown(found) == [("a", 0), ("c", 0), ("b", 1)]
        assert [item.score for item in found.items] == [1.0, 0.8, 0.9]
        assert found.left_out == ()
        assert [cost.stage for cost in found.trace.costs] == ["filter falling"]

    def test_what_is_asked_numbers_the_items_and_gives_no_instructions_a_chance(self) -> None:
        asked: list[Prompt] = []
        filtered(evidence("a", "b", "c", text="{paths}?"), reply=noting(asked))
        system, user = asked[0].messages
        assert (system.role, user.role) == ("system", "user")
        assert user.content.startswith("Question:\n{paths}?\n")
        assert "1. Peru —[a]→ a\n2. Peru —[b]→ b\n" in user.content

    @pytest.mark.parametrize(
        ("reply", "why"),
        [
            (LLMError("the model is down"), "the model is down"),
            (Completion("", refusal="I will not"), "the language model refused"),
            (Completion("who knows"), "said 'who knows'"),
        ],
    )
    def test_where_the_model_fails_nothing_is_lost(self, reply: Completed, why: str) -> None:
        first, second = filtered(
            evidence(*"abxy", text="first"),
            evidence(*"cdxy", text="two"),
            reply=lambda prompt: reply if "first" in prompt.messages[1].content else Completion("2"),
            coarse=2,
        )
        assert shown(first) == [("a", None), ("b", None)]
        assert why in first.left_out[0]
        assert shown(second) == [("d", 0), ("c", 1)]

    @pytest.mark.parametrize(("num_items", "num_kept"), [(0, 0), (25, 25), (200, 50)])
    def test_as_many_are_kept_as_the_paper_keeps(self, num_items: int, num_kept: int) -> None:
        stage = FIFilter(fine=False, integrate=False)
        (found,) = stage(make_context(opened={stage: FALLING}), [evidence(*map(str, range(num_items)))])
        assert shown(found) == [(str(place), None) for place in range(num_kept)]


class Attends:
    """Attends to the letter x, in the layer that is asked for."""

    num_layers = 6

    def attention(self, messages: Sequence[dict[str, str]], layer: int) -> PromptAttention:
        ((role, self.content),) = (tuple(message.values()) for message in messages)
        assert (role, layer) == ("user", 5)
        places = np.arange(len(self.content))
        weights = np.array([[float(letter == "x") for letter in self.content]], dtype=np.float32)
        return PromptAttention(weights, np.stack([places, places + 1], axis=1))


class TestRelevance:
    def test_a_model_is_shown_the_items_and_then_the_question(self) -> None:
        """Items of 13 letters, of which none, one and two are attended to: half the most and half the mean of them."""
        model: Any = Attends()
        values = score_items_by_attention(model, evidence("a", "b", "x", text="x\nborders?"))
        items = ["Peru —[a]→ a", "Peru —[b]→ b", "Peru —[x]→ x"]
        assert model.content.endswith("\nReasoning Paths:\n" + "\n".join(items) + "\n\nQuestion:\nx borders?")
        assert values.tolist() == pytest.approx([0, 0, (1 + 2 / 12) / 2])
