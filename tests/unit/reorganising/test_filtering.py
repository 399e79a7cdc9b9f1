"""GraphRAG-FI's filtering in a pipeline: a coarse filter, then two groups by a language model's word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from lodestar.engine.errors import CheckpointError, LLMError, UsageError
from lodestar.engine.evidence.bridges import to_chains
from lodestar.engine.evidence.chain import Chain, ChainStep
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.llm.prompts import Completed, Completion, Prompt
from lodestar.engine.recipes.recipe import Recipe, read_recipe
from lodestar.engine.recipes.reorganising import FI, Filter
from lodestar.engine.relations.words import split_relation_name
from lodestar.engine.reorganising.filtering import RelevanceFilter, parse_item_numbers
from lodestar.engine.reorganising.relevance import (
    AttentionRelevance,
    Relevance,
    RerankerRelevance,
    ScoreRelevance,
    StarRelevance,
    list_item_texts,
)
from lodestar.engine.reorganising.simple_relevance import PageRankRelevance, SimilarityRelevance
from lodestar.engine.retrieval.dual_encoder import StarScorer
from lodestar.engine.settings import Settings
from lodestar.engine.steps import Steps, measure_costs, run_steps
from lodestar.engine.values import Entity, Question, RelationStep, Scored, Topic, Triple
from lodestar.models.language.causal_lm import CausalLM, PromptAttention
from lodestar.models.star.config import Scorer
from lodestar.models.star.scoring import StarModel, read_checkpoint
from lodestar.models.text.encoders import RerankerUnavailableError, load_reranker
from lodestar.models.text.vectors import TextVectors
from transformers import BertConfig, BertForSequenceClassification

from tests.fakes.letter_encoder import LetterEncoder
from tests.made.evidence import evidence_of, leads, ranked
from tests.made.tiny_causal_lm import write_tiny_causal_lm
from tests.made.tiny_checkpoint import tiny_backbone, write_tiny_checkpoint

PERU = Entity("peru", "Peru")


def evidence(*relations: str, text: str = "What borders Peru?") -> Evidence[Chain]:
    return evidence_of(*ranked(*(leads(each, Entity(each, each), topic=PERU) for each in relations)), text=text)


def filtered(
    *given: Evidence[Chain],
    reply: Callable[[Prompt], Completed],
    coarse: int = 50,
    relevance: Relevance | None = None,
    **options: Any,
) -> list[Evidence[Any]]:
    def send(calls: Sequence[object]) -> list[Completed]:
        return [reply(call) for call in calls if isinstance(call, Prompt)]

    filtering = RelevanceFilter(relevance or ScoreRelevance(), coarse=coarse, is_fine=True, **options)
    steps: Steps[list[Any]] = filtering.reorganise(given)
    found, costs = run_steps(measure_costs(steps), send)
    return [each.add_costs(costs) for each in found]


class Rising:
    """The later an item comes, the more relevant it is."""

    name = "rising"

    def of(self, evidence: Evidence[Any]) -> Any:
        return np.arange(len(evidence.items), dtype=np.float64)


def by_star(checkpoint: Path, *relations: str) -> StarRelevance:
    model = StarModel(read_checkpoint(checkpoint, "cpu"))
    words = {relation: split_relation_name(relation) for relation in relations}
    return StarRelevance(StarScorer(words, model), is_cross=model.checkpoint.cross is not None)


def says(content: str) -> Callable[[Prompt], Completed]:
    return lambda _: Completion(content)


def noting(asked: list[Prompt]) -> Callable[[Prompt], Completed]:
    def reply(prompt: Prompt) -> Completed:
        asked.append(prompt)
        return Completion("1")

    return reply


def shown(evidence: Evidence[Any]) -> list[tuple[str, int]]:
    return [(item.value.ends[0].id, evidence.group(i)) for i, item in enumerate(evidence.items)]


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ("1, 3", {1, 3}),
        ("[2,4]", {2, 4}),
        ("The useful paths are 1 and 4.", {1, 4}),
        ("2-4", {2, 3, 4}),
        ("1 – 2, 4", {1, 2, 4}),
        ("0, 1, 5, 99", {1}),
        ("<think>3 looks wrong, 2 too</think>\n4", {4}),
        ("<think>3 looks wrong,\n2 too</think>\n4", {4}),
        ("none", set()),
        ("[]", set()),
        ("There are no useful paths", set()),
        ("1.5", None),
        ("9999999", None),
        ("I cannot say", None),
        ("", None),
    ],
)
def test_the_numbers_of_a_reply_are_read_leniently(reply: str, numbers: set[int] | None) -> None:
    assert parse_item_numbers(reply, 4) == numbers


class TestGroups:
    def test_the_useful_come_first_and_the_others_follow(self) -> None:
        (found,) = filtered(evidence("a", "b", "c", "d"), reply=says("3, 1"), coarse=3)
        assert shown(found) == [("a", 0), ("c", 0), ("b", 1)]
        assert [item.score for item in found.items] == [1.0, 0.8, 0.9]
        assert found.left_out == ()
        assert [cost.stage for cost in found.trace] == ["filter by score"]

    def test_what_is_asked_numbers_the_items_and_gives_no_instructions_a_chance(self) -> None:
        asked: list[Prompt] = []
        filtered(evidence("a", "b"), reply=noting(asked))
        system, user = asked[0].messages
        assert (system.role, user.role) == ("system", "user")
        assert "What borders Peru?" in user.content
        assert "1. Peru —[a]→ a\n2. Peru —[b]→ b\n" in user.content

    def test_a_question_with_braces_stays_as_it_is(self) -> None:
        asked: list[Prompt] = []
        filtered(evidence("a", text="{paths}?"), reply=noting(asked))
        assert asked[0].messages[1].content.startswith("Question:\n{paths}?\n")

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
            evidence("a", "b", text="first"),
            evidence("c", "d", text="two"),
            reply=lambda prompt: reply if "first" in prompt.messages[1].content else Completion("2"),
        )
        assert shown(first) == [("a", 0), ("b", 0)]
        assert first.groups == ()
        assert why in first.left_out[0]
        assert shown(second) == [("d", 0), ("c", 1)]

    def test_where_the_model_fails_items_are_in_the_order_of_the_coarse_filter(self) -> None:
        (found,) = filtered(evidence("a", "b", "c"), reply=lambda _: LLMError("down"), coarse=2, relevance=Rising())
        assert shown(found) == [("c", 0), ("b", 0)]

    def test_the_most_relevant_of_a_group_come_first(self) -> None:
        (found,) = filtered(evidence("a", "b", "c", "d"), reply=says("4"), coarse=4, relevance=Rising())
        assert shown(found) == [("a", 0), ("d", 1), ("c", 1), ("b", 1)]  # the fourth that is asked about is a

    def test_the_second_group_can_be_dropped_but_never_all(self) -> None:
        (some,) = filtered(evidence("a", "b", "c"), reply=says("3, 1"), second=False)
        assert shown(some) == [("a", 0), ("c", 0)]
        (none,) = filtered(evidence("a", "b", "c"), reply=says("none"), second=False)
        assert shown(none) == [("a", 1), ("b", 1), ("c", 1)]

    def test_of_few_items_the_better_half_is_kept(self) -> None:
        (found,) = filtered(evidence("a", "b", "c"), reply=says("2"), relevance=Rising(), share=0.5)
        assert shown(found) == [("b", 0), ("c", 1)]

    def test_no_evidence_asks_nothing(self) -> None:
        def never(_: Prompt) -> Completed:
            raise AssertionError

        assert [shown(each) for each in filtered(evidence(), reply=never)] == [[]]

    @pytest.mark.parametrize(("num_items", "num_kept"), [(0, 0), (1, 1), (5, 3), (25, 13), (200, 50)])
    def test_fi_without_a_language_model_keeps_the_better_half_and_says_so(self, num_items: int, num_kept: int) -> None:
        graph: Any = SimpleNamespace(shared=SimpleNamespace(settings=Settings()))
        reorganiser = FI().reorganiser(graph)
        (found,) = run_steps(reorganiser.reorganise([evidence(*map(str, range(num_items)))]), lambda _: [])
        assert shown(found) == [(str(place), 0) for place in range(num_kept)]
        assert found.cuts == ("fi: no language model is configured: filtered by score alone, and nothing is added",)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"integrate": False}, "fi: no language model is configured: filtered by score alone"),
            ({"against": "cosine"}, "fi: no language model is configured: filtered by score alone"),
            ({"fine": False}, "fi: no language model is configured: nothing is added"),
            ({"fine": False, "integrate": False}, None),
            ({"fine": False, "against": "cosine"}, None),
        ],
    )
    def test_what_fi_does_without_is_said(self, options: dict[str, Any], said: str | None) -> None:
        shared: Any = SimpleNamespace(settings=Settings())
        filtering = FI(**options).reorganiser(SimpleNamespace(shared=shared))  # type: ignore[arg-type]
        (found,) = run_steps(filtering.reorganise([evidence("a", "b")]), lambda _: [])
        assert found.cuts == (() if said is None else (said,))

    def test_without_the_fine_filter_there_is_one_group(self) -> None:
        steps = RelevanceFilter(ScoreRelevance(), coarse=2, is_fine=False).reorganise([evidence("a", "b", "c")])
        (found,) = run_steps(steps, lambda _: [])
        assert shown(found) == [("a", 0), ("b", 0)]

    @pytest.mark.parametrize(("reorder", "kept"), [(True, [("c", 2), ("b", 0)]), (False, [("b", 0), ("c", 2)])])
    def test_groups_go_with_their_items_in_the_order_that_is_wanted(
        self, reorder: bool, kept: list[tuple[str, int]]
    ) -> None:
        given = replace(evidence("a", "b", "c"), groups=(1, 0, 2), left_out=("a bound",))
        filtering = RelevanceFilter(Rising(), coarse=2, is_fine=False, reorder=reorder, note="no model")
        (found,) = run_steps(filtering.reorganise([given]), lambda _: [])
        assert (shown(found), found.left_out) == (kept, ("a bound", "no model"))
        (failed,) = filtered(given, reply=lambda _: LLMError("down"))
        assert (failed.groups, failed.left_out) == ((1, 0, 2), ("a bound", "the filter's groups: down"))


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
        values = AttentionRelevance(model).of(evidence("a", "b", "x", text="x\nborders?"))
        items = ["Peru —[a]→ a", "Peru —[b]→ b", "Peru —[x]→ x"]
        assert model.content.endswith("\nReasoning Paths:\n" + "\n".join(items) + "\n\nQuestion:\nx borders?")
        assert values.tolist() == pytest.approx([0, 0, (1 + 2 / 12) / 2])

    def test_five_ends_of_a_chain_are_read_and_four_hundred_characters(self) -> None:
        ends = [Entity(f"e{number}", f"End {number}") for number in range(7)]
        long = [Entity(f"e{number}", 190 * "x") for number in range(3)]
        many, wide = ranked(leads("city", *ends, topic=PERU), leads("city", *long[:1], topic=Entity("t", 250 * "t")))
        assert list_item_texts([many]) == ["Peru —[city]→ End 0; End 1; End 2; End 3; End 4; and 2 more"]
        (text,) = list_item_texts([replace(wide, value=leads("r" * 150, *long[:1], topic=Entity("t", 150 * "t")))])
        assert (len(text), text[-2:]) == (400, "x…")

    def test_a_reranker_shows_no_progress_and_says_numbers(self) -> None:
        class Reranker:
            def predict(self, pairs: list[tuple[str, str]], show_progress_bar: bool | None = None) -> list[float]:
                assert pairs == [("What borders Peru?", "Peru —[a]→ a")]
                assert show_progress_bar is False
                return [float("nan")]

        reranker: Any = Reranker()
        with pytest.raises(CheckpointError, match="the reranker"):
            RerankerRelevance(reranker).of(evidence("a"))

    def test_attention_of_a_local_model(self, tmp_path: Path) -> None:
        relevance = AttentionRelevance(CausalLM(str(write_tiny_causal_lm(tmp_path, is_chat=True))))
        given = evidence("capital", "useful", "paths")
        values = relevance.of(given)
        assert values.shape == (3,)
        assert (values > 0).all()
        assert (values < 1).all()
        (found,) = filtered(given, reply=says("1"), coarse=2, relevance=relevance)
        best = sorted(range(3), key=lambda item: -values[item])[:2]
        assert {end for end, _ in shown(found)} == {given.items[item].value.ends[0].id for item in best}
        assert [cost.stage for cost in found.trace] == ["filter by attention"]

    def test_of_a_prompt_that_is_too_long_the_first_items_are_read(self, tmp_path: Path) -> None:
        model = CausalLM(str(write_tiny_causal_lm(tmp_path, max_length=400)))
        values = AttentionRelevance(model).of(evidence(*(f"relation {n}" * 3 for n in range(16))))
        assert (values[:2] > 0).all()
        assert (values[8:] == 0).all()

    def test_a_model_that_is_not_there_is_one_line(self, tmp_path: Path) -> None:
        with pytest.raises(LLMError, match="cannot be loaded"):
            AttentionRelevance(CausalLM(str(tmp_path))).of(evidence("a"))

    def test_a_reranker_reads_question_and_item(self, tmp_path: Path) -> None:
        torch.manual_seed(0)
        backbone = tiny_backbone()
        config: Any = backbone.model.config
        network: Any = BertForSequenceClassification
        network(BertConfig(**{**config.to_dict(), "num_labels": 1})).save_pretrained(tmp_path)
        backbone.tokenizer.save_pretrained(tmp_path)
        relevance = RerankerRelevance(load_reranker(str(tmp_path), "cpu"))
        both, one = relevance.of(evidence("capital", "currency")), relevance.of(evidence("capital"))
        assert both.shape == (2,)
        assert both[0] == pytest.approx(one[0], abs=1e-5)
        assert both[0] != both[1]
        assert relevance.of(evidence()).shape == (0,)

    @pytest.mark.parametrize(
        ("scorer", "name"), [("cross", "by star's cross-encoder"), ("similarity", "by star's dual encoder")]
    )
    def test_a_trained_path_scorer(self, tmp_path: Path, scorer: Scorer, name: str) -> None:
        relevance = by_star(write_tiny_checkpoint(tmp_path, scorer=scorer), "capital", "currency", "borders")
        given = evidence("capital", "currency", "borders")
        values = relevance.of(given)
        assert len(set(values.tolist())) == 3
        swapped = relevance.of(replace(given, items=given.items[::-1]))
        assert swapped.tolist() == pytest.approx(values[::-1].tolist(), abs=1e-5)
        (found,) = filtered(given, reply=says("1"), coarse=2, relevance=relevance)
        assert [cost.stage for cost in found.trace] == [f"filter {name}"]
        assert relevance.of(evidence()).shape == (0,)

    def test_a_chain_from_elsewhere_is_worth_less(self, tmp_path: Path) -> None:
        relevance = by_star(write_tiny_checkpoint(tmp_path), "capital", "currency")
        elsewhere = leads("capital", Entity("quito", "Quito"), topic=Entity("ecuador", "Ecuador"))
        chains = evidence_of(*ranked(elsewhere, leads("currency", Entity("sol", "Sol"), topic=PERU)))
        values = relevance.of(replace(chains, topics=(Topic(PERU),)))
        assert values[0] < values[1]

    def test_a_triple_is_worth_its_best_chain(self, tmp_path: Path) -> None:
        relevance = by_star(write_tiny_checkpoint(tmp_path), "capital", "currency")
        lima, sol, apart = Entity("lima", "Lima"), Entity("sol", "Sol"), Entity("apart", "Apart")
        facts = (
            Triple(PERU, "capital", lima),
            Triple(lima, "currency", sol),
            Triple(apart, "currency", Entity("z", "Z")),
        )
        given: Evidence[Any] = Evidence(
            Question("What?"), (Topic(PERU),), "triple", tuple(Scored(fact, 0.5) for fact in facts)
        )
        chains = to_chains(given)
        by_path = {str(i.value.relation_path): v for i, v in zip(chains.items, relevance.of(chains), strict=True)}
        capital, both = by_path["capital"], by_path["capital → currency"]
        values = relevance.of(given)
        assert values[:2].tolist() == pytest.approx([max(capital, both), both], abs=1e-5)
        assert values[2] == pytest.approx(min(capital, both, 0.0) - 1, abs=1e-5)

    def test_a_reranker_that_is_not_there_is_one_line(self, tmp_path: Path) -> None:
        with pytest.raises(RerankerUnavailableError, match="could not be loaded") as caught:
            load_reranker(str(tmp_path))
        assert "\n" not in str(caught.value)


class TestPart:
    def test_it_takes_either_kind_as_it_comes(self) -> None:
        assert read_recipe("similarity + fi").as_json()["resolved"] == ["similarity", "fi"]
        recipe = read_recipe("similarity + path-pooling + fi", ["fi.coarse=40"])
        assert recipe.as_json()["resolved"] == ["similarity", "chain → triple", "path-pooling", "fi"]
        assert recipe.parts["fi"] == FI(coarse=40)
        assert Recipe.of(recipe.as_json()) == recipe

    def test_it_stands_last(self) -> None:
        with pytest.raises(UsageError, match="fi changes the answer: put it last"):
            read_recipe("similarity + fi + path-pooling")

    def test_it_has_one_coarse_filter_and_no_other_fi_to_integrate(self) -> None:
        with pytest.raises(UsageError, match="expected one coarse filter, found model and reranker"):
            FI(model="a", reranker="b").check()
        assert FI(against="similarity").other_recipe() == read_recipe("similarity")
        with pytest.raises(UsageError, match=r"fi.against: expected a recipe without fi, found similarity \+ fi"):
            FI(against="similarity + fi").other_recipe()

    def test_groups_of_what_came_are_replaced(self) -> None:
        grouped = replace(evidence("a", "b"), groups=(0, 1))
        assert shown(filtered(grouped, reply=says("2"))[0]) == [("b", 0), ("a", 1)]


class TestSimpleFilters:
    def test_similarity_is_the_cosine_of_question_and_text(self) -> None:
        given = evidence("borders", "zzz", text="Peru borders")
        values = SimilarityRelevance(TextVectors(LetterEncoder())).of(given)
        assert values[0] > values[1]
        assert SimilarityRelevance(TextVectors(LetterEncoder())).of(evidence()).shape == (0,)

    def test_question_and_items_are_encoded_in_one_batch(self) -> None:
        encoder = LetterEncoder()
        SimilarityRelevance(TextVectors(encoder)).of(evidence("borders", "zzz", text="Peru borders"))
        assert encoder.batches == [3]

    def test_pagerank_prefers_what_is_near_the_topic(self) -> None:
        """a → b beside b → c and x → y, which no walk from a reaches; the chain of two steps is their mean."""
        a, b, c, x, y = map(Entity, "abcxy")
        triples = tuple(Scored(each, 1.0) for each in (Triple(x, "r", y), Triple(b, "r", c), Triple(a, "r", b)))
        given = Evidence(Question("?"), (Topic(a),), "triple", triples)
        far, on, near = PageRankRelevance().of(given)
        assert near > on > far == 0
        anywhere = PageRankRelevance().of(replace(given, topics=()))
        assert anywhere.sum() > 0
        chain = leads("r", c, topic=a, via=b)
        (whole,) = PageRankRelevance().of(evidence_of(Scored(chain, 1.0)))
        assert whole == pytest.approx(1 / 3)
        assert PageRankRelevance().of(replace(given, items=())).shape == (0,)
        bare = Chain(a, (ChainStep(RelationStep("r"), ()),), (c,))
        assert PageRankRelevance().of(evidence_of(Scored(bare, 1.0), Scored(chain, 0.5)))[0] == 0

    def test_the_part_takes_its_ways_by_name(self) -> None:
        assert read_recipe("similarity + filter", ["filter.by=pagerank"]).parts["filter"] == Filter(by="pagerank")
        with pytest.raises(
            UsageError, match="expected one of similarity, pagerank, reranker, star for by, found 'luck'"
        ):
            read_recipe("similarity + filter", ["filter.by=luck"])
        with pytest.raises(UsageError, match=r"give filter.reranker"):
            read_recipe("similarity + filter", ["filter.by=reranker"]).check()
        with pytest.raises(UsageError, match=r"give filter.checkpoint"):
            read_recipe("similarity + filter", ["filter.by=star"]).check()
