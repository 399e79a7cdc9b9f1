"""What STAR's objectives add up from a batch: each term against its formula, from the scores of the network."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from lodestar.models.star.batches import CachedTokenizer, dual_batch
from lodestar.models.star.config import DualOptions, PoolTrainingOptions
from lodestar.models.star.examples import ExampleSet, QuestionExample
from lodestar.models.star.networks import CrossAttentiveScorer, DualEncoder
from lodestar.models.star.objectives import (
    DualObjective,
    PoolObjective,
    compute_target_shares,
    iterate_continuations,
)
from lodestar.models.training.kind import TrainingOptions

from tests.made.mined_examples import example_set
from tests.made.tiny_checkpoint import tiny_backbone
from tests.unit.training.test_star_networks import learned, pool_objective


def dual_objective(**options: float) -> DualObjective:
    backbone = tiny_backbone()
    network = DualEncoder(backbone).eval()
    learned(network)
    train = [example_set(0, 2)]
    settings = replace(DualOptions(batch_size=4), **options)  # type: ignore[arg-type]
    return DualObjective(network, CachedTokenizer(backbone.tokenizer), train, [], settings, TrainingOptions())


def loss_of(objective: DualObjective) -> torch.Tensor:
    return objective.loss(objective.network, 0, (0, 1))


def compute_loss(examples: ExampleSet, example: QuestionExample, stop: torch.Tensor, extend: torch.Tensor) -> float:
    """−Σ t log softmax(stop) − .7 Σ_length Σ t log softmax(extend) of a question."""
    shares = compute_target_shares(example, "f1", 0.1)
    loss = -(torch.from_numpy(shares) * stop.log_softmax(0)).sum()
    for rows, beyond in iterate_continuations(examples.table, example.reachable, shares):
        loss -= 0.7 * (torch.from_numpy(beyond) * extend[torch.from_numpy(rows)].log_softmax(0)).sum()
    return float(loss)


def test_the_dual_loss_is_that_of_whole_paths_and_weighted_that_of_their_beginnings() -> None:
    """The mean over questions of −Σ t log softmax(stop) − .7 Σ_length Σ t log softmax(extend)."""
    objective = dual_objective(extend_weight=0.7)
    (examples,) = objective.train
    expected = []
    with torch.no_grad():
        for example in examples.examples:
            candidates = [example.reachable]
            stop, extend = objective.network(dual_batch(objective.texts, examples.table, [example], candidates))
            expected.append(compute_loss(examples, example, stop, extend))
        assert loss_of(objective).item() == pytest.approx(np.mean(expected), rel=1e-4)


def test_the_weights_of_paths_reach_the_contrastive_loss() -> None:
    """A path's weight falls from 1.8 to .2 with how often it is in its class, counted by hand."""
    options = PoolTrainingOptions(batch_size=8, temperature=0.5, w_min=0.2, w_max=1.8)
    examples = example_set(0, 2)
    asked = examples.examples[:-1]  # two questions for a capital, one for a currency
    train = [replace(examples, examples=asked)]
    stop = [[np.zeros(len(each.reachable), dtype=np.float32) for each in asked]]
    network = CrossAttentiveScorer(tiny_backbone()).eval()
    learned(network)
    texts = CachedTokenizer(tiny_backbone().tokenizer)
    objective = PoolObjective(network, texts, train, train, stop, options, TrainingOptions())
    right = [example.reachable.at(np.flatnonzero(example.positive)[:1]) for example in asked]
    weight_of = []
    for classes in ([each.paths.tolist() for each in right], [each.negatives.paths.tolist() for each in asked]):
        counts = Counter(path for paths in classes for path in paths)
        rarity = {path: 1 / count for path, count in counts.items()}
        least, most = min(rarity.values()), max(rarity.values())
        assert least < most
        weight_of.append({path: 0.2 + 1.6 * (each - least) / (most - least) for path, each in rarity.items()})
    expected = []
    for example, positive in zip(asked, right, strict=True):
        candidates = positive.concatenate(example.negatives)
        (logits,) = objective.score(train[0], [(example, candidates)])
        powers = np.exp(1 / (1 + np.exp(-logits)) / 0.5)
        against = sum(
            weight_of[1][path] * power for path, power in zip(candidates.paths[1:].tolist(), powers[1:], strict=True)
        )
        own = weight_of[0][int(candidates.paths[0])]
        expected.append(-own * np.log(powers[0] / (powers[0] + against)))
    with torch.no_grad():
        found = objective.loss(network, 0, (0, 1)).item()
    assert found == pytest.approx(np.mean(expected), rel=1e-4)


def test_a_question_without_a_path_to_an_answer_is_not_trained_on() -> None:
    """The loss of two questions, one of them lost, is that of the other alone."""
    backbone = tiny_backbone()
    networks = DualEncoder(backbone).eval(), CrossAttentiveScorer(tiny_backbone()).eval()
    texts, examples = CachedTokenizer(backbone.tokenizer), example_set(0, 1)
    first, second = examples.examples
    lost = replace(first, f1=np.zeros_like(first.f1), positive=np.zeros_like(first.positive))
    pools = PoolTrainingOptions(path_weights=False)
    losses: list[list[float]] = [[], []]
    for questions in ((lost, second), (second,)):
        train = [replace(examples, examples=questions)]
        stop = [[np.zeros(len(each.reachable), dtype=np.float32) for each in questions]]
        dual = DualObjective(networks[0], texts, train, [], DualOptions(), TrainingOptions())
        cross = PoolObjective(networks[1], texts, train, train, stop, pools, TrainingOptions())
        with torch.no_grad():
            losses[0].append(loss_of(dual).item())
            losses[1].append(cross.loss(cross.network, 0, (0, 1)).item())
    for both, alone in losses:
        assert both == pytest.approx(alone, rel=1e-4)


def test_a_network_with_a_scale_of_its_own_is_trained_on_it_whatever_the_temperature() -> None:
    """The score is τ times the stop score, so that e^(s / τ) has the network's scale."""
    losses = []
    for temperature in (0.05, 1.0):
        objective = pool_objective(PoolTrainingOptions(temperature=temperature), dual=True)
        objective.network.eval()
        with torch.no_grad():
            losses.append(objective.loss(objective.network, 0, (0, 1)).item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
