"""What STAR's objectives add up from a batch: each term against its formula, from the scores of the network."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from lodestar.models.kinds import TrainingOptions
from lodestar.models.star import DualTrainingOptions, PoolTrainingOptions
from lodestar.models.star.network import CachedTokenizer, CrossAttentiveScorer, DualEncoder
from lodestar.models.star.training import (
    ContrastivePoolObjective,
    ExampleSet,
    ListwiseDualObjective,
    QuestionExample,
    compute_target_shares,
    iterate_continuation_shares,
    make_dual_batch,
)

from tests.made.mined_examples import example_set
from tests.made.tiny_checkpoint import tiny_backbone
from tests.unit.training.test_star_networks import learned


def dual_objective(**options: float) -> ListwiseDualObjective:
    backbone = tiny_backbone()
    network = DualEncoder(backbone).eval()
    learned(network)
    train = example_set(0, 2)
    settings = replace(DualTrainingOptions(batch_size=4), **options)
    return ListwiseDualObjective(
        network, CachedTokenizer(backbone.tokenizer), train, train, settings, TrainingOptions()
    )


def loss_of(objective: ListwiseDualObjective) -> torch.Tensor:
    return objective.loss(objective.batches(0)[0])


def compute_loss(examples: ExampleSet, example: QuestionExample, stop: torch.Tensor, extend: torch.Tensor) -> float:
    """−Σ t log softmax(stop) − .7 Σ_length Σ t log softmax(extend) of a question."""
    shares = compute_target_shares(example, 0.1)
    loss = -(torch.from_numpy(shares) * stop.log_softmax(0)).sum()
    for rows, beyond in iterate_continuation_shares(examples.table, example.reachable, shares):
        loss -= 0.7 * (torch.from_numpy(beyond) * extend[torch.from_numpy(rows)].log_softmax(0)).sum()
    return float(loss)


def test_the_dual_loss_is_that_of_whole_paths_and_weighted_that_of_their_beginnings() -> None:
    """The mean over questions of −Σ t log softmax(stop) − .7 Σ_length Σ t log softmax(extend)."""
    objective = dual_objective(extend_weight=0.7)
    examples = objective.train
    expected = []
    with torch.no_grad():
        for example in examples.examples:
            candidates = [example.reachable]
            stop, extend = objective.network(make_dual_batch(objective.texts, examples.table, [example], candidates))
            expected.append(compute_loss(examples, example, stop, extend))
        assert loss_of(objective).item() == pytest.approx(np.mean(expected), rel=1e-4)


def test_the_weights_of_paths_reach_the_contrastive_loss() -> None:
    """A path's weight falls from 1.8 to .2 with how often it is in its class, of both classes together, counted by hand."""
    options = PoolTrainingOptions(batch_size=8, temperature=0.5, w_min=0.2, w_max=1.8)
    examples = example_set(0, 2)
    asked = examples.examples[:-1]  # two questions for a capital, one for a currency
    train = replace(examples, examples=asked)
    stop = [np.zeros(len(each.reachable), dtype=np.float32) for each in asked]
    network = CrossAttentiveScorer(tiny_backbone()).eval()
    learned(network)
    texts = CachedTokenizer(tiny_backbone().tokenizer)
    objective = ContrastivePoolObjective(network, texts, train, train, stop, options, TrainingOptions())
    right = [example.reachable[np.flatnonzero(example.positive)[:1]] for example in asked]
    rarity = []
    for classes in ([each[:, 0].tolist() for each in right], [each.negatives[:, 0].tolist() for each in asked]):
        counts = Counter(path for paths in classes for path in paths)
        rarity.append({path: counts.total() / count for path, count in counts.items()})
    least, most = (of(value for each in rarity for value in each.values()) for of in (min, max))
    weight_of = [{path: 0.2 + 1.6 * (raw - least) / (most - least) for path, raw in each.items()} for each in rarity]
    expected = []
    for example, positive in zip(asked, right, strict=True):
        candidates = np.concatenate([positive, example.negatives])
        (logits,) = objective.score(train, [(example, candidates)])
        powers = np.exp(1 / (1 + np.exp(-logits)) / 0.5)
        against = sum(
            weight_of[1][path] * power for path, power in zip(candidates[1:, 0].tolist(), powers[1:], strict=True)
        )
        own = weight_of[0][int(candidates[0, 0])]
        expected.append(-own * np.log(powers[0] / (powers[0] + against)))
    with torch.no_grad():
        found = objective.loss(objective.batches(0)[0]).item()
    assert found == pytest.approx(np.mean(expected), rel=1e-4)
