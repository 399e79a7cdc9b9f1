"""The trainings of the adapter and of STAR's scorer that come with Lodestar, on a handful of questions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.pretraining import star, training
from benchmarks.pretraining.corpus import Example, Step, is_for_choosing, merge_by_question

STEPS = [Step(name, domain="film") for name in ("director", "writer", "budget", "country")]


def example(question: str, *places: int) -> Example:
    path = tuple(STEPS[place] for place in places)
    return Example("wikisql", "films", question, ("Ember",), path, tuple(s for s in STEPS if s not in path))


EXAMPLES = [example("who made Ember", 0), example("who made Ember", 1), example("what did Ember cost", 2)]


@pytest.mark.parametrize("module", [training, star])
def test_a_step_gives_a_loss_that_can_be_learned_from(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "BATCH", 4)
    torch.manual_seed(0)
    encoder = training.Encoder(training.ENCODER, "cpu")
    draws = training.Draws(EXAMPLES, encoder, 0, 2)
    if module is star:
        reader = star.Reader("cpu")
        loss, _ = star.compute_loss(reader, star.Batches(draws, reader.texts)[1])
        learned = reader.lora.parameters()
    else:
        loss, _ = training.compute_loss(encoder, training.Batches(draws, encoder)[1])
        learned = encoder.lora.parameters()
    loss.backward()
    assert max(float(each.grad.abs().max()) for each in learned if each.grad is not None) > 0
    wrong = {path for seed in range(9) for path in draws.draw_wrong_paths(0, np.random.default_rng(seed))}
    assert wrong.isdisjoint({EXAMPLES[0].path, EXAMPLES[1].path})  # what else the question asks for is right, too
    assert (STEPS[2],) in wrong


def test_a_question_is_judged_by_all_that_it_asks_for() -> None:
    (both, cost) = merge_by_question(EXAMPLES)
    assert set(both.path) == set(STEPS[:2])
    assert set(both.others) == set(STEPS[2:])
    assert cost.path == (STEPS[2],)


def test_whole_knowledge_graphs_are_never_for_choosing() -> None:
    shares = [is_for_choosing(f"tables:{number}") for number in range(2_000)]
    assert 0.07 < np.mean(shares) < 0.13
    assert not is_for_choosing("wikidata")
