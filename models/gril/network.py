"""Grow a subgraph hop by hop, prune it and update its entities: GRIL's network.

score(c_ij) = Linear([h_i; h_j; h_rij; h_q]) of equation 3 is a sum of four terms. Softmax over one source's neighbours
cancels the terms of the source and of the question, so that to the letter the question has no influence. Ours is a
perceptron with one hidden layer.

Ours, as the paper leaves it open: text vectors are projected to the hidden size. W1, W2 and the score are shared by all
layers; W1 starts as the identity. An inverse step adds a learned vector to its relation's. Kept entities stay kept, and
their edges are scored anew in each layer. Of a question's edges below the threshold the `budget` best stay in each
layer: at a hub all are below it, and growth would stop. Literals are not expanded. An edge's probability is the product
of attention along its path. A triple's is the maximum over layers and directions, pruned or not, so that pruned edges
get a gradient. An entity's is noisy-or over its edges; a topic's is 1. Pruned edges are not expanded, send no message,
and are no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..reg.triples import GraphInputs, SubgraphModel, TripleScores
from ..subgraphs import QuestionGraphs
from ..text.vectors import TextVectors
from . import GrilDescription, GrowOptions

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
NEAR_ONE = 1.0 - 1e-6
"""Keeps log(1 − P) finite."""
CLAMP = 1e-6
"""An only neighbour has attention 1, whose logit is infinite, so that P is clamped. Ours."""
TINY = 1e-9
"""Keeps a sum above 0."""
TRIPLES_PER_HOP = 5
"""The paper's: the reader gets 5 · c triples."""


@dataclass(frozen=True, slots=True)
class GrownSubgraph:
    """The grown subgraph. path_probability: P, (num_triples,), 0 for unseen triples. is_seen, is_kept:
    (num_triples,). entity_probability: (num_nodes,).
    entities: (num_nodes, hidden), updated.
    """

    path_probability: Tensor
    is_seen: Tensor
    is_kept: Tensor
    entity_probability: Tensor
    entities: Tensor


@dataclass(frozen=True, slots=True)
class _Edges:
    triples: Tensor
    sources: Tensor
    targets: Tensor
    is_inverse: Tensor


class GraphRetriever(nn.Module):
    """dimension: of the text vectors. hidden: width of entities and of the score's hidden layer."""

    def __init__(self, dimension: int, hidden: int, options: GrowOptions) -> None:
        super().__init__()
        self.options = options
        self.unnamed = nn.Parameter(torch.zeros(dimension))
        self.of_entity = nn.Linear(dimension, hidden)
        self.inverse = nn.Parameter(torch.zeros(dimension))
        self.score_source = nn.Linear(hidden, hidden)
        self.score_target = nn.Linear(hidden, hidden, bias=False)
        self.score_relation = nn.Linear(dimension, hidden, bias=False)
        self.score_question = nn.Linear(dimension, hidden, bias=False)
        self.score_out = nn.Linear(hidden, 1)
        self.update_own = nn.Linear(hidden, hidden, bias=False)
        self.update_neighbours = nn.Linear(hidden, hidden, bias=False)
        nn.init.eye_(self.update_own.weight)
        nn.init.normal_(self.inverse, std=0.05)

    def forward(self, inputs: GraphInputs) -> GrownSubgraph:
        """Return the subgraph grown from the topics."""
        num_nodes, num_triples = len(inputs.is_topic), len(inputs.heads)
        entities = self.of_entity(torch.where(inputs.is_named[:, None], inputs.entities, self.unnamed)).to(
            self.unnamed.dtype
        )
        entity_probability = inputs.is_topic.to(entities.dtype)
        is_grown = inputs.is_topic
        path_probability = entities.new_zeros(num_triples)
        is_seen = torch.zeros_like(inputs.heads, dtype=torch.bool)
        is_kept = torch.zeros_like(is_seen)
        for _ in range(self.options.num_layers):
            edges = self._neighbours(inputs, is_grown)
            scores = self._scores(inputs, edges, entities)
            attention = group_softmax(scores, edges.sources, num_nodes)
            kept = self._prune(attention.detach(), edges, inputs)
            edge_probability = attention * entity_probability[edges.sources]
            path_probability = path_probability.scatter_reduce(0, edges.triples, edge_probability, "amax")
            entity_probability = torch.maximum(
                entity_probability, group_noisy_or(edge_probability, edges.targets, num_nodes)
            )
            is_seen = is_seen.index_fill(0, edges.triples, True)
            is_kept = is_kept.index_fill(0, edges.triples[kept], True)
            entities = self._update_entities(entities, edges, attention * kept)
            is_grown = is_grown.index_fill(0, edges.targets[kept], True)
            if inputs.grown_anyway is not None:
                seen = torch.zeros_like(is_grown).index_fill(0, edges.targets, True)
                is_grown = is_grown | (seen & inputs.grown_anyway)
        return GrownSubgraph(path_probability, is_seen, is_kept, entity_probability, entities)

    def _neighbours(self, inputs: GraphInputs, is_grown: Tensor) -> _Edges:
        walks = is_grown & ~inputs.is_literal
        along = torch.nonzero(walks[inputs.heads]).squeeze(1)
        against = torch.nonzero(walks[inputs.tails] & (inputs.heads != inputs.tails)).squeeze(1)
        triples = torch.cat([along, against])
        is_inverse = torch.arange(len(triples), device=triples.device) >= len(along)
        heads, tails = inputs.heads[triples], inputs.tails[triples]
        sources, targets = torch.where(is_inverse, tails, heads), torch.where(is_inverse, heads, tails)
        return _Edges(triples, sources, targets, is_inverse)

    def _scores(self, inputs: GraphInputs, edges: _Edges, entities: Tensor) -> Tensor:
        """Return score(c_ij), (num_edges,). Each of the four parts is projected once, not once per edge."""
        sources, source_of = torch.unique(edges.sources, return_inverse=True)
        targets, target_of = torch.unique(edges.targets, return_inverse=True)
        of_source = self.score_source(entities[sources])
        of_source = of_source + self.score_question(inputs.questions)[inputs.node_question[sources]]
        either_way = torch.cat(
            [self.score_relation(inputs.relations), self.score_relation(inputs.relations + self.inverse)]
        )
        relation_of = inputs.relation_of[edges.triples] + edges.is_inverse * len(inputs.relations)
        hidden = of_source.index_select(0, source_of)
        hidden = hidden + self.score_target(entities[targets]).index_select(0, target_of)
        hidden = hidden + either_way.index_select(0, relation_of)
        scores: Tensor = self.score_out(hidden.relu())
        return scores.squeeze(1).to(self.unnamed.dtype)

    def _prune(self, attention: Tensor, edges: _Edges, inputs: GraphInputs) -> Tensor:
        low = torch.nonzero(attention <= self.options.sigma).squeeze(1)
        questions = inputs.node_question[edges.sources[low]]
        survivors = mark_best_of_groups(attention[low], questions, len(inputs.questions), self.options.budget)
        return torch.ones_like(edges.is_inverse).index_fill(0, low[~survivors], False)

    def _update_entities(self, entities: Tensor, edges: _Edges, attention: Tensor) -> Tensor:
        """Return h'_i = W1 h_i + W2 Σ_j α_ji h_j (equation 4) for the entities at either end of the edges."""
        places, of = torch.unique(torch.cat([edges.targets, edges.sources]), return_inverse=True)
        messages = attention[:, None] * entities.index_select(0, edges.sources)
        received = entities.new_zeros(len(places), entities.shape[1])
        received = received.index_add(0, of[: len(edges.targets)], messages)
        changed = self.update_own(entities.index_select(0, places)) + self.update_neighbours(received)
        return entities.index_copy(0, places, changed.to(entities.dtype))


def group_softmax(scores: Tensor, groups: Tensor, num_groups: int, weights: Tensor | float = 1.0) -> Tensor:
    """Return the softmax of each score within its group, (num_rows,), its powers times their weights."""
    highest = scores.new_full((num_groups,), float("-inf")).scatter_reduce(0, groups, scores.detach(), "amax")
    powers = weights * (scores - highest[groups]).exp()
    return powers / powers.new_zeros(num_groups).index_add(0, groups, powers).clamp(min=TINY)[groups]


def group_noisy_or(probabilities: Tensor, groups: Tensor, num_groups: int) -> Tensor:
    """Return 1 − Π (1 − P) over each group, (num_groups,); 0 for an empty group."""
    left = torch.log1p(-probabilities.clamp(max=NEAR_ONE))
    return 1 - left.new_zeros(num_groups).index_add(0, groups, left).exp()


def mark_best_of_groups(values: Tensor, groups: Tensor, num_groups: int, top_k: int) -> Tensor:
    """Return which rows are among the `top_k` best of their group, (num_rows,); rows that tie with the last are
    included.
    """
    if not len(values) or not top_k:
        return torch.zeros_like(values, dtype=torch.bool)
    order = torch.argsort(values.detach(), descending=True)
    order = order[torch.argsort(groups[order], stable=True)]
    counts = torch.bincount(groups, minlength=num_groups)
    starts = counts.cumsum(0) - counts
    last = order[(starts + counts.clamp(max=top_k) - 1).clamp(min=0)]
    return values >= values[last][groups]


def logit(probabilities: Tensor) -> Tensor:
    """Return log P / (1 − P), of P clamped to [`CLAMP`, 1 − `CLAMP`]."""
    clamped = probabilities.clamp(CLAMP, 1 - CLAMP)
    return clamped.log() - torch.log1p(-clamped)


def concrete_mask(probabilities: Tensor, temperature: float, noise: Tensor | None = None) -> Tensor:
    """Return M = σ((log ε / (1 − ε) + log P / (1 − P)) / τ), shaped as `probabilities`.

    noise: ε ~ Uniform(0, 1), one per probability. None, at inference: ε = ½, the median, so that M is deterministic.
    Deviations: P and ε are clamped; the inference rule is ours.
    """
    drawn = 0.0 if noise is None else logit(noise)
    return torch.sigmoid((drawn + logit(probabilities)) / temperature)


class HopPredictor(nn.Module):
    """A perceptron over question vectors; class c − 1 stands for c hops. The width of the hidden layer is ours."""

    def __init__(self, dimension: int, hidden: int, max_hops: int) -> None:
        super().__init__()
        self.inner = nn.Linear(dimension, hidden)
        self.out = nn.Linear(hidden, max_hops)
        self.max_hops = max_hops

    def forward(self, questions: Tensor) -> Tensor:
        """Return the logit of each number of hops, (num_questions, max_hops)."""
        return self.out(self.inner(questions).relu())


class HopModel:
    """Predicts the hops of questions from their texts; `vectors` must come from the encoder it was trained with."""

    def __init__(self, network: HopPredictor, vectors: TextVectors) -> None:
        self._network = network
        self._vectors = vectors
        self.max_hops = network.max_hops

    def logits(self, questions: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the logits of 1, 2, … hops for each question, (num_questions, max_hops)."""
        vectors = torch.from_numpy(self._vectors.stack(questions))
        with torch.no_grad():
            logits: Tensor = self._network(vectors.to(self._network.out.weight.device))
        return logits.float().cpu().numpy()


class GraphTokenNetwork(nn.Module):
    """The graph token h_GT = MLP(Σ_i A_i h'_i) for the reader (section 4.2).

    A = softmax over a question's entities of a graph convolution's score, h' updated by the retriever. The mask M of
    equation 5 enters twice, so that the reader's gradient reaches the retriever: it weighs the messages m of the
    convolution, and A. Ours: the convolution adds the M-weighted mean of the neighbours, in both directions, to the
    entity's own vector. An entity's share in A is weighted by the highest M that leads to it, 1 for a topic. Unreached
    entities have no share. The MLP is G-Retriever's: one hidden sigmoid layer.

    hidden: width of the retriever's entities. inner: of the MLP. width: of the reader's embeddings."""

    def __init__(self, hidden: int, inner: int, width: int) -> None:
        super().__init__()
        self.own = nn.Linear(hidden, 1)
        self.neighbours = nn.Linear(hidden, 1, bias=False)
        self.inner = nn.Linear(hidden, inner)
        self.out = nn.Linear(inner, width)

    def forward(self, grown: GrownSubgraph, inputs: GraphInputs, mask: Tensor) -> Tensor:
        """Return the graph token of each question, (num_questions, width). mask: M, (num_triples,)."""
        shares = self.shares(grown, inputs, mask)
        pooled = grown.entities.new_zeros(len(inputs.questions), grown.entities.shape[1])
        pooled = pooled.index_add(0, inputs.node_question, shares[:, None] * grown.entities)
        return self.out(torch.sigmoid(self.inner(pooled)))

    def shares(self, grown: GrownSubgraph, inputs: GraphInputs, mask: Tensor) -> Tensor:
        """Return A, (num_nodes,), which sums to 1 over each question with a topic."""
        entities, seen = grown.entities, grown.is_seen
        ends = torch.cat([inputs.heads[seen], inputs.tails[seen]])
        others = torch.cat([inputs.tails[seen], inputs.heads[seen]])
        weights = torch.cat([mask[seen], mask[seen]])
        own = self.own(entities).squeeze(1)
        messages = torch.zeros_like(own).index_add(0, ends, weights * self.neighbours(entities).squeeze(1)[others])
        total = torch.zeros_like(own).index_add(0, ends, weights)
        scores = own + messages / total.clamp(min=TINY)
        weight = inputs.is_topic.to(own.dtype).scatter_reduce(0, ends, weights, "amax")
        return group_softmax(scores, inputs.node_question, len(inputs.questions), weight)


def sample_triple_mask(grown: GrownSubgraph, temperature: float, *, is_sampled: bool) -> Tensor:
    """Return M over all triples, 0 for unseen ones: sampled in training, the median at inference."""
    noise = torch.rand_like(grown.path_probability) if is_sampled else None
    return concrete_mask(grown.path_probability, temperature, noise) * grown.is_seen


class GrilModel(SubgraphModel):
    """Grows subgraphs with a checkpoint. bridge: of its reader, if that takes graph tokens."""

    def __init__(
        self,
        description: GrilDescription,
        network: GraphRetriever,
        vectors: TextVectors,
        bridge: GraphTokenNetwork | None = None,
    ) -> None:
        super().__init__(description, network, vectors)
        self._bridge = bridge

    def score(self, graphs: QuestionGraphs) -> TripleScores:
        with self._turn, torch.no_grad():
            inputs = self.inputs(graphs)
            grown = self._network(inputs)
            tokens: list[list[float]] = [[] for _ in range(len(graphs))]
            if self._bridge is not None:
                mask = sample_triple_mask(grown, self.description.config.grow.temperature, is_sampled=False)
                tokens = self._bridge(grown, inputs, mask).float().cpu().tolist()
            scores = logit(grown.path_probability).float().cpu().numpy()
            return scores, grown.is_kept.cpu().numpy(), tuple(map(tuple, tokens))
