"""Score every entity of a question's subgraph: ReG@Entity.

ReG, appendix D.3: PNA scores entities by equation 34, and a triple's score is the mean of its two entities' scores.

Deviations: messages go both ways along triples, and carry the words of their relation, which the paper's do not;
without them only names could match what the question asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.nn import PNAConv

from ..kinds import CheckpointOpenOptions
from ..subgraphs import QuestionGraphs, compute_encoding_width
from ..training import TrainingFolder
from . import EntityConfig, EntityDescription
from .triples import (
    GraphInputs,
    LengthPredictor,
    SubgraphModel,
    TripleObjective,
    encode_subgraph_sets,
    fit_scorer,
    open_scorer,
)

AGGREGATORS = ("mean", "min", "max", "std")
SCALERS = ("identity", "amplification", "attenuation")
"""Scale a message by log(degree + 1) over its mean in the training graphs, and by the inverse (equation 5)."""


class EntityScorer(nn.Module):
    """dimension: of the text vectors. distance_width: of the encodings. hidden: units of a layer. degrees: how many
    nodes of the training graphs are in 0, 1, 2 … triples.
    """

    def __init__(
        self, dimension: int, distance_width: int, hidden: int, num_layers: int, degrees: Sequence[int]
    ) -> None:
        super().__init__()
        self.unnamed = nn.Parameter(torch.zeros(dimension))
        self.of_question = nn.Linear(dimension, hidden)
        self.of_entity = nn.Linear(dimension, hidden, bias=False)
        self.of_distance = nn.Linear(distance_width, hidden, bias=False)
        self.of_relation = nn.Linear(dimension, hidden)
        self.of_inverse = nn.Linear(dimension, hidden)
        self.of_question_in_relation = nn.Linear(dimension, hidden, bias=False)
        histogram = torch.tensor(list(degrees), dtype=torch.long)
        self.layers = nn.ModuleList(
            PNAConv(hidden, hidden, list(AGGREGATORS), list(SCALERS), histogram, edge_dim=hidden)
            for _ in range(num_layers)
        )
        self.out = nn.Linear(hidden, 1)
        self.length = LengthPredictor(dimension)

    def nodes(self, inputs: GraphInputs) -> Tensor:
        """Return the logit of each node, (num_nodes,)."""
        entities = torch.where(inputs.is_named[:, None], inputs.entities, self.unnamed)
        nodes = self.of_entity(entities) + self.of_distance(inputs.distances)
        nodes = nodes + self.of_question(inputs.questions)[inputs.node_question]
        edges = torch.stack([torch.cat([inputs.heads, inputs.tails]), torch.cat([inputs.tails, inputs.heads])])
        both_ways = (self.of_relation(inputs.relations), self.of_inverse(inputs.relations))
        messages = torch.cat([projected[inputs.relation_of] for projected in both_ways])
        asked = self.of_question_in_relation(inputs.questions)[inputs.question_of].repeat(2, 1)
        messages = torch.relu(messages * (1 + asked))
        for layer in self.layers:
            nodes = nodes + layer(torch.relu(nodes), edges, messages)
        return self.out(torch.relu(nodes)).squeeze(1)

    def forward(self, inputs: GraphInputs) -> Tensor:
        """Return the logits of triples, (num_triples,): the means of their two entities'."""
        of_nodes = self.nodes(inputs)
        return (of_nodes[inputs.heads] + of_nodes[inputs.tails]) / 2


def open_model(folder: Path, opening: CheckpointOpenOptions) -> SubgraphModel:
    """Return the scorer of a checkpoint; raise `BadCheckpointError` if a file is damaged."""
    return open_scorer(
        folder, opening, EntityDescription, lambda said: _new_scorer(said.config, said.dimension, said.degrees)
    )


def _new_scorer(config: EntityConfig, dimension: int, degrees: Sequence[int]) -> EntityScorer:
    """Return an untrained network. dimension: of the text vectors. degrees: see `_degree_histogram`."""
    return EntityScorer(dimension, compute_encoding_width(config.num_rounds), config.hidden, config.num_layers, degrees)


def fit(
    config: EntityConfig, train: Sequence[QuestionGraphs], dev: Sequence[QuestionGraphs], out: TrainingFolder
) -> EntityDescription:
    learned, chosen = encode_subgraph_sets(config, train, dev, out)
    degrees = _degree_histogram(learned.graphs)
    torch.manual_seed(config.training.seed)
    objective = EntityObjective(_new_scorer(config, learned.dimension, degrees).to(out.device), learned, chosen, config)
    return fit_scorer("entity scorer", objective, config, train, out, degrees=degrees)


class EntityObjective(TripleObjective):
    """Messages pass through a question's whole subgraph; the loss covers its right and some wrong entities."""

    def logits_and_labels(self, questions: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return the logits of some entities of the questions, and which are right."""
        rows = self.train.rows(questions)
        inputs = self.train.inputs(questions, rows)
        is_right = _right_entities(inputs, self.train.labels(rows))
        asked, right = inputs.node_question.cpu().numpy(), is_right.cpu().numpy()
        chosen = []
        for number, question in enumerate(questions):
            wrong = self.draw(question, np.flatnonzero((asked == number) & ~right))
            chosen += [np.flatnonzero((asked == number) & right), wrong]
        nodes = torch.from_numpy(np.concatenate(chosen)).to(inputs.heads.device)
        return self.network.nodes(inputs)[nodes], is_right[nodes].float()


def _right_entities(inputs: GraphInputs, labels: Tensor) -> Tensor:
    """Return which nodes are head or tail of a right triple, (num_nodes,)."""
    found = torch.zeros(len(inputs.is_named), dtype=torch.bool).to(labels.device)
    is_right = labels > 0
    found[inputs.heads[is_right]] = True
    found[inputs.tails[is_right]] = True
    return found


def _degree_histogram(graphs: QuestionGraphs) -> tuple[int, ...]:
    """Return how many nodes of the graphs take part in 0, 1, 2 … triples, at either end; a self-loop counts twice."""
    degrees = np.bincount(np.concatenate([graphs.heads, graphs.tails]), minlength=len(graphs.text_of))
    return tuple(np.bincount(degrees).tolist())
