"""ReG@Entity as it is trained: messages between all entities of a subgraph, each scaled by the degrees of training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ..distances import encoding_width
from ..learning import SubgraphObjective
from ..training import Scorer, Sets
from .checkpoint import EntityDescription
from .config import EntityConfig
from .learning import EntityObjective, degree_histogram
from .network import EntityScorer


def _objective(config: EntityConfig, train: Sets, dev: Sets, device: torch.device) -> EntityObjective:
    width, degrees = encoding_width(config.num_rounds), degree_histogram(train)
    network = EntityScorer(train[0].dimension, width, config.hidden, config.num_layers, degrees).to(device)
    return EntityObjective(network, train, dev, config)


def _own(config: EntityConfig, learned: SubgraphObjective) -> Mapping[str, Any]:
    return {"num_layers": config.num_layers, "degrees": degree_histogram(learned.train)}


ENTITIES = Scorer(
    EntityDescription,
    EntityConfig(),
    "entity scorer",
    (
        "Scores the entities of a question's subgraph, after ReG@Entity (principal neighbourhood aggregation over text "
        "embeddings and directional distance encodings). Encoder: `{encoder}`, not trained; supervision: "
        "{supervision}.",
        "Use it with `lodestar ask --recipe reg-entity --checkpoint FOLDER`, on the graph it was trained on. A triple "
        "is worth the mean of its two entities. The figures below are the share of right triples, and of right "
        "answers, among the best k of each dev question.",
    ),
    _objective,
    _own,
)
