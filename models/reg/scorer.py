"""ReG@Triple as it is trained: a perceptron over each triple's texts and distances."""

from __future__ import annotations

import torch

from .checkpoint import TripleDescription
from .config import TripleConfig
from .distances import encoding_width
from .learning import TripleObjective
from .network import TripleScorer
from .training import Scorer, Sets


def _objective(config: TripleConfig, train: Sets, dev: Sets, device: torch.device) -> TripleObjective:
    network = TripleScorer(train[0].dimension, encoding_width(config.num_rounds), config.hidden).to(device)
    return TripleObjective(network, train, dev, config)


TRIPLES = Scorer(
    TripleDescription,
    TripleConfig(),
    "triple scorer",
    (
        "Scores the triples of a question's subgraph, after ReG@Triple (an MLP over text embeddings and directional "
        "distance encodings). Encoder: `{encoder}`, not trained; supervision: {supervision}.",
        "Use it with `lodestar ask --recipe reg-triple --checkpoint FOLDER`, on the graph it was trained on. The "
        "figures below are the share of right triples among the best k of each dev question.",
    ),
    _objective,
)
