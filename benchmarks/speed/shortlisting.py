"""What shortlists paths in a benchmark: the dual encoder of a checkpoint."""

from __future__ import annotations

from lodestar.models.star.config import DualOptions
from lodestar.models.star.examples import ExampleSet, Floats
from lodestar.models.star.networks import Checkpoint
from lodestar.models.star.objectives import DualObjective
from lodestar.models.training.kind import TrainingOptions


def stop_scores(checkpoint: Checkpoint, examples: ExampleSet) -> list[Floats]:
    """Return the score of stopping at each path of each example, (num_paths,) each."""
    dual = DualObjective(checkpoint.dual, checkpoint.dual_texts, [], [], DualOptions(), TrainingOptions())
    return [stop for _, stop in dual.iterate_stop_scores(examples)]
