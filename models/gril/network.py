"""GRIL's graph retriever (section 4.1, algorithm 1): L times attention over neighbours, growing, pruning, update.

score(c_ij) = Linear([h_i; h_j; h_rij; h_q]) of equation 3 is a sum of four terms, of which softmax over the neighbours
of one source cancels those of the source and of the question: read to the letter, no question changes what is found.
By default it is read as a perceptron with one hidden layer, `score="mlp"`; `"linear"` is the letter.

What else the paper leaves open, ours: texts' vectors are projected to the hidden size; W1, W2 and the score are shared
by all layers, W1 begins as the identity; a triple walked from its tail has a learned vector added to its relation's;
entities once kept stay kept and their edges are scored anew in each layer; of a question's edges in a layer that fall
under the threshold the `budget` best stay, for at a hub they all fall under it, and growing would end there; nothing is
walked from a literal. A triple's probability is the highest of any layer and direction, pruned or
not, so that there is something to learn from what is pruned; the entity's is noisy-or over its edges, and that of
topics 1. Pruned edges are not grown from and send no message.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .config import GrowOptions, Score
from .groups import among_best, group_noisy_or, group_softmax


@dataclass(frozen=True, slots=True)
class GrowInputs:
    """The subgraphs of some questions as one graph. questions, relations: unit vectors, (num, dimension). entities:
    (num_nodes, dimension), rows of unnamed nodes are not looked at. is_named, is_topic, is_literal, question_of:
    (num_nodes,). heads, relation_of, tails: (num_triples,) rows of these. grown_anyway: (num_nodes,) nodes that are
    kept once they are seen, whatever attention says: those on right paths, while they are learned."""

    questions: Tensor
    relations: Tensor
    entities: Tensor
    is_named: Tensor
    is_topic: Tensor
    is_literal: Tensor
    question_of: Tensor
    heads: Tensor
    relation_of: Tensor
    tails: Tensor
    grown_anyway: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """The edges of one layer, (num_edges,) each: the triple, whether it was walked from its tail, its attention, and
    whether it was kept."""

    triples: Tensor
    is_inverse: Tensor
    attention: Tensor
    is_kept: Tensor


@dataclass(frozen=True, slots=True)
class Grown:
    """probabilities: P, (num_triples,), 0 of triples that were not seen. is_seen, is_kept: (num_triples,). reached:
    (num_nodes,) probability of each entity; is_grown: (num_nodes,) topics and what was kept. entities: (num_nodes,
    hidden), updated."""

    probabilities: Tensor
    is_seen: Tensor
    is_kept: Tensor
    reached: Tensor
    is_grown: Tensor
    entities: Tensor
    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class _Edges:
    """The candidates of a layer: triples, walked from `sources` to `targets`."""

    triples: Tensor
    sources: Tensor
    targets: Tensor
    is_inverse: Tensor


class GraphRetriever(nn.Module):
    """dimension: of the text vectors. hidden: of entities, and units of the score."""

    def __init__(self, dimension: int, hidden: int, score: Score, options: GrowOptions) -> None:
        super().__init__()
        self.options = options
        self.score = score
        self.unnamed = nn.Parameter(torch.zeros(dimension))
        self.of_entity = nn.Linear(dimension, hidden)
        self.inverse = nn.Parameter(torch.zeros(dimension))
        units = 1 if score == "linear" else hidden
        self.score_source = nn.Linear(hidden, units)
        self.score_target = nn.Linear(hidden, units, bias=False)
        self.score_relation = nn.Linear(dimension, units, bias=False)
        self.score_question = nn.Linear(dimension, units, bias=False)
        self.score_out = nn.Linear(units, 1) if score == "mlp" else nn.Identity()
        self.update_own = nn.Linear(hidden, hidden, bias=False)
        self.update_neighbours = nn.Linear(hidden, hidden, bias=False)
        nn.init.eye_(self.update_own.weight)
        nn.init.normal_(self.inverse, std=0.05)

    def forward(self, inputs: GrowInputs) -> Grown:
        """Return what grew from the topics."""
        num_nodes, num_triples = len(inputs.is_topic), len(inputs.heads)
        entities = self.of_entity(torch.where(inputs.is_named[:, None], inputs.entities, self.unnamed))
        reached = inputs.is_topic.to(entities.dtype)
        is_grown = inputs.is_topic
        probabilities = entities.new_zeros(num_triples)
        is_seen = torch.zeros_like(inputs.heads, dtype=torch.bool)
        is_kept = torch.zeros_like(is_seen)
        layers: list[Layer] = []
        for _ in range(self.options.num_layers):
            edges = self._neighbours(inputs, is_grown)
            scores = self._scores(inputs, edges, entities)
            attention = group_softmax(scores, edges.sources, num_nodes)
            kept = self._kept(attention.detach(), edges, inputs)
            ways = attention * reached[edges.sources] if self.options.combine == "product" else attention
            probabilities = probabilities.scatter_reduce(0, edges.triples, ways, "amax")
            reached = torch.maximum(reached, group_noisy_or(ways, edges.targets, num_nodes))
            is_seen = is_seen.index_fill(0, edges.triples, True)
            is_kept = is_kept.index_fill(0, edges.triples[kept], True)
            if self.options.entity_update:
                entities = self._updated(entities, edges, attention * kept)
            is_grown = is_grown.index_fill(0, edges.targets[kept], True)
            if inputs.grown_anyway is not None:
                seen = torch.zeros_like(is_grown).index_fill(0, edges.targets, True)
                is_grown = is_grown | (seen & inputs.grown_anyway)
            layers.append(Layer(edges.triples, edges.is_inverse, attention, kept))
        return Grown(probabilities, is_seen, is_kept, reached, is_grown, entities, tuple(layers))

    def _neighbours(self, inputs: GrowInputs, is_grown: Tensor) -> _Edges:
        """Return every triple that leaves or enters what has grown; a self-loop is walked once."""
        walks = is_grown & ~inputs.is_literal
        along = torch.nonzero(walks[inputs.heads]).squeeze(1)
        against = torch.nonzero(walks[inputs.tails] & (inputs.heads != inputs.tails)).squeeze(1)
        triples = torch.cat([along, against])
        is_inverse = torch.arange(len(triples), device=triples.device) >= len(along)
        heads, tails = inputs.heads[triples], inputs.tails[triples]
        sources, targets = torch.where(is_inverse, tails, heads), torch.where(is_inverse, heads, tails)
        return _Edges(triples, sources, targets, is_inverse)

    def _scores(self, inputs: GrowInputs, edges: _Edges, entities: Tensor) -> Tensor:
        """Return score(c_ij), (num_edges,): each of the four parts is projected once, not once for each edge."""
        sources, source_of = torch.unique(edges.sources, return_inverse=True)
        targets, target_of = torch.unique(edges.targets, return_inverse=True)
        of_source = self.score_source(entities[sources])
        of_source = of_source + self.score_question(inputs.questions)[inputs.question_of[sources]]
        either_way = torch.cat(
            [self.score_relation(inputs.relations), self.score_relation(inputs.relations + self.inverse)]
        )
        relation_of = inputs.relation_of[edges.triples] + edges.is_inverse * len(inputs.relations)
        hidden = of_source.index_select(0, source_of)
        hidden = hidden + self.score_target(entities[targets]).index_select(0, target_of)
        hidden = hidden + either_way.index_select(0, relation_of)
        scores: Tensor = self.score_out(hidden if self.score == "linear" else hidden.relu())
        return scores.squeeze(1)

    def _kept(self, attention: Tensor, edges: _Edges, inputs: GrowInputs) -> Tensor:
        """Return which edges pruning leaves, (num_edges,)."""
        options = self.options
        if options.pruning == "none":
            return torch.ones_like(edges.is_inverse)
        if options.pruning == "top-k":
            return among_best(attention, edges.sources, len(inputs.is_topic), options.top_k)
        low = torch.nonzero(attention <= options.sigma).squeeze(1)
        questions = inputs.question_of[edges.sources[low]]
        left = among_best(attention[low], questions, len(inputs.questions), options.budget)
        return torch.ones_like(edges.is_inverse).index_fill(0, low[~left], False)

    def _updated(self, entities: Tensor, edges: _Edges, attention: Tensor) -> Tensor:
        """Return h'_i = W1 h_i + W2 Σ_j α_ji h_j (equation 4) of the entities that the edges lead to or from."""
        places, of = torch.unique(torch.cat([edges.targets, edges.sources]), return_inverse=True)
        messages = attention[:, None] * entities.index_select(0, edges.sources)
        heard = entities.new_zeros(len(places), entities.shape[1])
        heard = heard.index_add(0, of[: len(edges.targets)], messages)
        changed = self.update_own(entities.index_select(0, places)) + self.update_neighbours(heard)
        return entities.index_copy(0, places, changed)
