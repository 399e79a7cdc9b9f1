"""Train ReG@Entity and read its checkpoint.

The right entities are those of right triples.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ..reg_triple.network import EncodedGraphs, TripleInputs
from ..reg_triple.training import SubgraphObjective
from ..subgraphs import encoding_width
from ..training.checkpoint import check_checkpoint, read_weights, translate_read_errors
from .config import PART, EntityConfig, EntityDescription
from .network import EntityScorer, node_questions, triple_logits


def read_entity_scorer(folder: Path, device: str = "cpu") -> tuple[EntityDescription, EntityScorer]:
    """Return a checkpoint after checking its hashes; raise `BadCheckpointError` if one is damaged."""
    description = check_checkpoint(folder, EntityDescription, lambda _: (PART,))
    with translate_read_errors(folder):
        network = EntityScorer(
            description.dimension,
            encoding_width(description.num_rounds),
            description.hidden,
            description.num_layers,
            description.degrees,
        )
        network.load_state_dict(read_weights(folder / PART))
    return description, network.eval().to(torch.device(device))


class EntityObjective(SubgraphObjective):
    """An `Objective`. Messages pass through a question's whole subgraph; the loss covers its right and some wrong
    entities.
    """

    def __init__(
        self, network: EntityScorer, train: Sequence[EncodedGraphs], dev: Sequence[EncodedGraphs], config: EntityConfig
    ) -> None:
        super().__init__(network, train, dev, config.training, config.batch_size)
        self._num_negatives = config.num_negatives

    def logits_and_labels(
        self, network: nn.Module, encoded: EncodedGraphs, place: int, questions: Sequence[int]
    ) -> tuple[Tensor, Tensor]:
        """Return the logits of some entities of the questions, and which are right."""
        rows = [np.arange(span.start, span.stop) for span in map(encoded.graphs.triples_of, questions)]
        inputs = encoded.inputs(questions, rows)
        is_right = right_entities(inputs, encoded.labels(rows))
        asked = node_questions(inputs).cpu().numpy()
        right = is_right.cpu().numpy()
        chosen = []
        for number, question in enumerate(questions):
            wrong = np.flatnonzero((asked == number) & ~right)
            num_drawn = min(self._num_negatives, len(wrong))
            wrong = self.generator(place, question).choice(wrong, num_drawn, replace=False)
            chosen += [np.flatnonzero((asked == number) & right), np.sort(wrong)]
        nodes = torch.from_numpy(np.concatenate(chosen)).to(inputs.heads.device)
        return network(inputs)[nodes], is_right[nodes].float()

    def triple_scores(self, inputs: TripleInputs) -> Tensor:
        """Return the scores of a question's triples."""
        return triple_logits(self.network(inputs), inputs)


def right_entities(inputs: TripleInputs, labels: Tensor) -> Tensor:
    """Return which nodes are head or tail of a right triple, (num_nodes,)."""
    found = torch.zeros(len(inputs.is_named), dtype=torch.bool).to(labels.device)
    is_right = labels > 0
    found[inputs.heads[is_right]] = True
    found[inputs.tails[is_right]] = True
    return found


def degree_histogram(sets: Sequence[EncodedGraphs]) -> tuple[int, ...]:
    """Return how many nodes of the graphs take part in 0, 1, 2 … triples, at either end; a self-loop counts twice."""
    counts = [
        np.bincount(np.concatenate([each.graphs.heads, each.graphs.tails]), minlength=len(each.graphs.text_of))
        for each in sets
    ]
    return tuple(np.bincount(np.concatenate(counts)).tolist())
