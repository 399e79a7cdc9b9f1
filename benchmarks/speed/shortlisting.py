"""What shortlists paths in a benchmark: the dual encoder of a checkpoint."""

from __future__ import annotations

from lodestar.models.kinds import TrainingOptions
from lodestar.models.star import DualOptions
from lodestar.models.star.network import Checkpoint, Floats
from lodestar.models.star.training import DualObjective, ExampleSet


def stop_scores(checkpoint: Checkpoint, examples: ExampleSet) -> list[Floats]:
    """Return the score of stopping at each path of each example, (num_paths,) each."""
    dual = DualObjective(checkpoint.dual, checkpoint.dual_texts, [], [], DualOptions(), TrainingOptions())
    return [stop for _, stop in dual.iterate_stop_scores(examples)]
