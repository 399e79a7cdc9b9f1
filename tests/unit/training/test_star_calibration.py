"""What STAR's probabilities are fitted on, and what a checkpoint for any graph is."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lodestar.engine.retrieval.scoring import PathQuery
from lodestar.engine.retrieval.star import StarScorer
from lodestar.engine.values import Entity, RelationPath, RelationStep, Topic
from lodestar.models.calibration import fit_calibration
from lodestar.models.kinds import TrainingOptions
from lodestar.models.mined import words_of
from lodestar.models.star import KIND, DualOptions, StarConfig
from lodestar.models.star.network import StarModel, read_checkpoint
from lodestar.models.star.training import mark_remaining_paths, relations_of

from tests.made.mined_examples import MINING, example_set, mined, tiny_encoder
from tests.made.trainings import train_sets


def test_without_the_relations_that_lead_to_its_answers() -> None:
    examples = example_set(0, 1)
    example = examples.examples[0]
    left = [
        examples.table.written[path] for path in example.reachable.paths[mark_remaining_paths(example, examples.table)]
    ]
    assert left == [
        ("currency_used",), ("currency_used", "^currency_used"), ("borders",), ("borders", "borders"), ("treaty → ^signed",),
    ]  # fmt: skip
    assert relations_of(("a → ^b", "^c")) == {"a", "b", "c"}


@pytest.mark.parametrize("best", [0.3, 0.5, 0.8])
def test_without_the_relations_of_a_path_that_is_half_right_or_as_right_as_the_best(best: float) -> None:
    examples = example_set(0, 1)
    example = examples.examples[0]
    paths = [examples.table.written[path] for path in example.reachable.paths]
    f1 = np.array([best if path == ("borders",) else 0.0 for path in paths], dtype=np.float32)
    changed = replace(example, f1=f1, positive=np.zeros_like(example.positive))
    left = mark_remaining_paths(changed, examples.table)
    assert left.tolist() == ["borders" not in relations_of(path) for path in paths]


def test_probabilities_are_lower_where_some_have_no_answer() -> None:
    scored = [(3.0, 1.0), (2.0, 1.0), (1.0, 0.0), (0.0, 0.0), (2.5, 0.0)]
    assert fit_calibration(scored) == pytest.approx(fit_calibration(scored, [0.2] * 5))
    answered, all_ = fit_calibration(scored[:4]), fit_calibration(scored)

    def probability(fitted: tuple[float, float], score: float) -> float:
        return 1 / (1 + math.exp(-(fitted[0] * score + fitted[1])))

    assert all(probability(all_, score) < probability(answered, score) for score in (2.0, 2.5, 3.0))


def trained(folder: Path, *, any_graph: bool = False) -> Path:
    encoder = str(tiny_encoder(folder / "encoder"))
    config = StarConfig(
        scorer="similarity",
        encoder=encoder,
        dual=DualOptions(batch_size=3),
        dual_training=TrainingOptions(epochs=1),
    )
    train_sets(KIND, config, [mined(folder, 0, 3)], [mined(folder, 3, 5)], folder / "star", any_graph=any_graph)
    return folder / "star"


def test_nothing_is_learned_by_what_a_relation_is_numbered_or_called(tmp_path: Path) -> None:
    model = StarModel(read_checkpoint(trained(tmp_path)))
    words = words_of(MINING)
    renamed = {f"r{number}": words[name] for number, name in enumerate(sorted(words, reverse=True))}
    topic = Topic(Entity("p", "Peru"), mention="Peru", matched_name="Peru")
    scores = [
        StarScorer(known, model)
        .score(
            [
                PathQuery(
                    "Which currency is used in Peru?",
                    (topic,) * len(names),
                    tuple(RelationPath((RelationStep(name),)) for name in names),
                    (0.0,) * len(names),
                )
            ]
        )[0]
        .stop
        for known, names in ((words, sorted(words, reverse=True)), (renamed, list(renamed)))
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)
