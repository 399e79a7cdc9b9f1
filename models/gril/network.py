"""Grow a subgraph hop by hop, prune it and update its entities: GRIL's network.

score(c_ij) = Linear([h_i; h_j; h_rij; h_q]) of equation 3 is a sum of four terms. Softmax over one source's neighbours
cancels the terms of the source and of the question, so that to the letter the question has no influence. The default
`score="mlp"` is a perceptron with one hidden layer; `"linear"` is the letter.

Ours, as the paper leaves it open: text vectors are projected to the hidden size. W1, W2 and the score are shared by all
layers; W1 starts as the identity. An inverse step adds a learned vector to its relation's. Kept entities stay kept, and
their edges are scored anew in each layer. Of a question's edges below the threshold the `budget` best stay in each
layer: at a hub all are below it, and growth would stop. Literals are not expanded. A triple's probability is the
maximum over layers and directions, pruned or not, so that pruned edges get a gradient. An entity's is noisy-or over its
edges; a topic's is 1. Pruned edges are not expanded, send no message, and are no evidence.

Softmax over the edges of a source gives each of n right ones at most 1 / n, so that a relation of many answers looks
wrong. With `attention="relation"` an edge has exp(score) / Σ over the source's relations and directions of the highest
exp(score) among their edges: relations compete, the edges of one do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ..subgraphs import UNNAMED, UNREACHED, QuestionGraphs, hops_from
from ..text.vectors import TextVectors
from ..training.kind import Figures, TrainingOptions
from ..training.trainer import ShuffledObjective
from .config import ACCURACY, MAJORITY, GrowOptions, Score

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""Unit vectors of texts, (num_texts, dimension)."""
NEAR_ONE = 1.0 - 1e-6
"""Keeps log(1 − P) finite."""
CLAMP = 1e-6
"""An only neighbour has attention 1, whose logit is infinite, so that P is clamped. Ours."""
TRIPLES_PER_HOP = 5
"""The paper's: the reader gets 5 · c triples."""
NO_HOPS = 0
TIE_BREAK = 1e-3
"""Ties in accuracy go to the lower cross-entropy."""


@dataclass(frozen=True, slots=True)
class GrowInputs:
    """The subgraphs of some questions as one graph. questions, relations: unit vectors, (num, dimension). entities:
    (num_nodes, dimension), rows of unnamed nodes are ignored. is_named, is_topic, is_literal, question_of:
    (num_nodes,). heads, relation_of, tails: (num_triples,) rows of these. grown_anyway: (num_nodes,) nodes that are
    kept once seen, whatever their attention: those on right paths, in training.
    """

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
class SubgraphLayer:
    """The edges of one layer, (num_edges,) each: the triple, whether it is an inverse step, its attention, and whether
    pruning kept it.
    """

    triples: Tensor
    is_inverse: Tensor
    attention: Tensor
    is_kept: Tensor


@dataclass(frozen=True, slots=True)
class GrownSubgraph:
    """The grown subgraph. path_probability: P, (num_triples,), 0 for unseen triples. is_seen, is_kept:
    (num_triples,). entity_probability: (num_nodes,). is_grown: (num_nodes,) topics and kept entities.
    entities: (num_nodes, hidden), updated.
    """

    path_probability: Tensor
    is_seen: Tensor
    is_kept: Tensor
    entity_probability: Tensor
    is_grown: Tensor
    entities: Tensor
    layers: tuple[SubgraphLayer, ...]


@dataclass(frozen=True, slots=True)
class _Edges:
    """The candidate edges of a layer: triples, expanded from `sources` to `targets`."""

    triples: Tensor
    sources: Tensor
    targets: Tensor
    is_inverse: Tensor


class GraphRetriever(nn.Module):
    """dimension: of the text vectors. hidden: width of entities and of the score's hidden layer."""

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

    def forward(self, inputs: GrowInputs) -> GrownSubgraph:
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
        layers: list[SubgraphLayer] = []
        for _ in range(self.options.num_layers):
            edges = self._neighbours(inputs, is_grown)
            scores = self._scores(inputs, edges, entities)
            attention = self._attention(inputs, edges, scores)
            kept = self._prune(attention.detach(), edges, inputs)
            edge_probability = (
                attention * entity_probability[edges.sources] if self.options.combine == "product" else attention
            )
            path_probability = path_probability.scatter_reduce(0, edges.triples, edge_probability, "amax")
            entity_probability = torch.maximum(
                entity_probability, group_noisy_or(edge_probability, edges.targets, num_nodes)
            )
            is_seen = is_seen.index_fill(0, edges.triples, True)
            is_kept = is_kept.index_fill(0, edges.triples[kept], True)
            if self.options.entity_update:
                entities = self._update_entities(entities, edges, attention * kept)
            is_grown = is_grown.index_fill(0, edges.targets[kept], True)
            if inputs.grown_anyway is not None:
                seen = torch.zeros_like(is_grown).index_fill(0, edges.targets, True)
                is_grown = is_grown | (seen & inputs.grown_anyway)
            layers.append(SubgraphLayer(edges.triples, edges.is_inverse, attention, kept))
        return GrownSubgraph(path_probability, is_seen, is_kept, entity_probability, is_grown, entities, tuple(layers))

    def _neighbours(self, inputs: GrowInputs, is_grown: Tensor) -> _Edges:
        """Return every triple that leaves or enters the grown nodes; a self-loop counts once."""
        walks = is_grown & ~inputs.is_literal
        along = torch.nonzero(walks[inputs.heads]).squeeze(1)
        against = torch.nonzero(walks[inputs.tails] & (inputs.heads != inputs.tails)).squeeze(1)
        triples = torch.cat([along, against])
        is_inverse = torch.arange(len(triples), device=triples.device) >= len(along)
        heads, tails = inputs.heads[triples], inputs.tails[triples]
        sources, targets = torch.where(is_inverse, tails, heads), torch.where(is_inverse, heads, tails)
        return _Edges(triples, sources, targets, is_inverse)

    def _scores(self, inputs: GrowInputs, edges: _Edges, entities: Tensor) -> Tensor:
        """Return score(c_ij), (num_edges,). Each of the four parts is projected once, not once per edge."""
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
        return scores.squeeze(1).to(self.unnamed.dtype)

    def _attention(self, inputs: GrowInputs, edges: _Edges, scores: Tensor) -> Tensor:
        """Return the attention of each edge, (num_edges,), by the options."""
        num_nodes = len(inputs.is_topic)
        if self.options.attention == "triple":
            return group_softmax(scores, edges.sources, num_nodes)
        num_relations = 2 * len(inputs.relations)
        relation_of = inputs.relation_of[edges.triples] + edges.is_inverse * len(inputs.relations)
        keys, relation = torch.unique(edges.sources * num_relations + relation_of, return_inverse=True)
        highest = scores.new_full((len(keys),), float("-inf")).scatter_reduce(0, relation, scores, "amax")
        share = group_softmax(highest, keys // num_relations, num_nodes)
        return share[relation] * (scores - highest[relation]).exp()

    def _prune(self, attention: Tensor, edges: _Edges, inputs: GrowInputs) -> Tensor:
        """Return which edges survive pruning, (num_edges,)."""
        options = self.options
        if options.pruning == "none":
            return torch.ones_like(edges.is_inverse)
        if options.pruning == "top-k":
            return mark_best_of_groups(attention, edges.sources, len(inputs.is_topic), options.top_k)
        low = torch.nonzero(attention <= options.sigma).squeeze(1)
        questions = inputs.question_of[edges.sources[low]]
        survivors = mark_best_of_groups(attention[low], questions, len(inputs.questions), options.budget)
        return torch.ones_like(edges.is_inverse).index_fill(0, low[~survivors], False)

    def _update_entities(self, entities: Tensor, edges: _Edges, attention: Tensor) -> Tensor:
        """Return h'_i = W1 h_i + W2 Σ_j α_ji h_j (equation 4) for the entities at either end of the edges."""
        places, of = torch.unique(torch.cat([edges.targets, edges.sources]), return_inverse=True)
        messages = attention[:, None] * entities.index_select(0, edges.sources)
        received = entities.new_zeros(len(places), entities.shape[1])
        received = received.index_add(0, of[: len(edges.targets)], messages)
        changed = self.update_own(entities.index_select(0, places)) + self.update_neighbours(received)
        return entities.index_copy(0, places, changed.to(entities.dtype))


def group_softmax(scores: Tensor, groups: Tensor, num_groups: int) -> Tensor:
    """Return the softmax of each score within its group, (num_rows,)."""
    highest = scores.new_full((num_groups,), float("-inf")).scatter_reduce(0, groups, scores.detach(), "amax")
    powers = (scores - highest[groups]).exp()
    return powers / powers.new_zeros(num_groups).index_add(0, groups, powers)[groups]


def group_noisy_or(probabilities: Tensor, groups: Tensor, num_groups: int) -> Tensor:
    """Return 1 − Π (1 − P) over each group, (num_groups,); 0 for an empty group."""
    left = torch.log1p(-probabilities.clamp(max=NEAR_ONE))
    return 1 - left.new_zeros(num_groups).index_add(0, groups, left).exp()


def group_count(flags: Tensor, groups: Tensor, num_groups: int) -> Tensor:
    """Return how many rows of each group are flagged, (num_groups,) int64."""
    return flags.new_zeros(num_groups, dtype=torch.int64).index_add(0, groups, flags.long())


def mark_best_of_groups(values: Tensor, groups: Tensor, num_groups: int, top_k: int) -> Tensor:
    """Return which rows are among the `top_k` best of their group, (num_rows,); rows that tie with the last are
    included.
    """
    if not len(values) or not top_k:
        return torch.zeros_like(values, dtype=torch.bool)
    order = torch.argsort(values.detach(), descending=True)
    order = order[torch.argsort(groups[order], stable=True)]
    counts = group_count(torch.ones_like(groups), groups, num_groups)
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


class EncodedSubgraphs:
    """A set of subgraphs with the vectors of all their texts."""

    def __init__(self, graphs: QuestionGraphs, encode: Encode, device: torch.device) -> None:
        self.graphs = graphs
        self._device = device
        texts = graphs.texts
        self._questions = encode(texts.questions)
        self._relations = encode(texts.relations)
        self._entities = encode(texts.entities) if texts.entities else np.zeros((1, self._questions.shape[1]), "f4")
        self._on_path = mark_answer_path_nodes(graphs)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._questions.shape[1])

    @property
    def questions(self) -> Tensor:
        """The questions' vectors, (num_questions, dimension)."""
        return self._tensor(self._questions)

    def rows(self, questions: Sequence[int]) -> tuple[Ints, Ints]:
        """Return the rows of the nodes and of the triples of some questions, one question after another."""
        none = np.zeros(0, dtype=np.int64)
        nodes = [np.arange(span.start, span.stop) for span in map(self.graphs.nodes_of, questions)]
        triples = [np.arange(span.start, span.stop) for span in map(self.graphs.triples_of, questions)]
        return np.concatenate([none, *nodes]), np.concatenate([none, *triples])

    def inputs(self, questions: Sequence[int], *, supervised: bool = False) -> GrowInputs:
        """Return the whole subgraphs of some questions; `supervised` keeps expanding nodes on right paths."""
        graphs = self.graphs
        nodes, triples = self.rows(questions)
        sizes = [graphs.node_starts[each + 1] - graphs.node_starts[each] for each in questions]
        question_of = np.repeat(np.arange(len(questions)), sizes)
        relations, relation_of = np.unique(graphs.relation_of[triples], return_inverse=True)
        text_of = graphs.text_of[nodes]
        moved = np.repeat(
            np.cumsum([0, *sizes])[:-1] - graphs.node_starts[list(questions)],
            [graphs.triple_starts[each + 1] - graphs.triple_starts[each] for each in questions],
        )
        return GrowInputs(
            questions=self._tensor(self._questions[list(questions)]),
            relations=self._tensor(self._relations[relations]),
            entities=self._tensor(self._entities[np.maximum(text_of, 0)]),
            is_named=self._tensor(text_of != UNNAMED),
            is_topic=self._tensor(graphs.is_topic[nodes]),
            is_literal=self._tensor(graphs.is_literal[nodes]),
            question_of=self._tensor(question_of),
            heads=self._tensor(graphs.heads[triples] + moved),
            relation_of=self._tensor(relation_of),
            tails=self._tensor(graphs.tails[triples] + moved),
            grown_anyway=self._tensor(self._on_path[nodes]) if supervised else None,
        )

    def on_path(self, questions: Sequence[int]) -> Tensor:
        """Return which nodes of some questions are on right paths, as 0 and 1."""
        return self._tensor(self._on_path[self.rows(questions)[0]].astype(np.float32))

    def _tensor(self, values: npt.NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)


def mark_answer_path_nodes(graphs: QuestionGraphs) -> Bools:
    """Return which nodes are on a shortest path from a topic to an answer, (num_nodes,): the ends of right triples."""
    found = np.zeros(len(graphs.text_of), dtype=np.bool_)
    found[graphs.heads[graphs.is_positive]] = True
    found[graphs.tails[graphs.is_positive]] = True
    return found


class HopPredictor(nn.Module):
    """A perceptron over question vectors; class c − 1 stands for c hops. The width of the hidden layer is ours."""

    def __init__(self, dimension: int, hidden: int, max_hops: int) -> None:
        super().__init__()
        self.inner = nn.Linear(dimension, hidden)
        self.out = nn.Linear(hidden, max_hops)

    def forward(self, questions: Tensor) -> Tensor:
        """Return the logit of each number of hops, (num_questions, max_hops)."""
        logits: Tensor = self.out(self.inner(questions).relu())
        return logits

    @property
    def max_hops(self) -> int:
        """The largest number of hops it predicts."""
        return self.out.out_features


class HopModel:
    """Predicts the hops of questions from their texts; `vectors` must come from the encoder it was trained with."""

    def __init__(self, network: HopPredictor, vectors: TextVectors) -> None:
        self._network = network
        self._vectors = vectors

    @property
    def max_hops(self) -> int:
        """The largest number of hops it predicts."""
        return self._network.max_hops

    def logits(self, questions: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the logits of 1, 2, … hops for each question, (num_questions, max_hops)."""
        if not questions:
            return np.zeros((0, self.max_hops), dtype=np.float32)
        self._vectors.encode(questions)
        vectors = torch.stack([torch.from_numpy(self._vectors.sentence(each)) for each in questions])
        with torch.no_grad():
            logits: Tensor = self._network(vectors.to(self._network.out.weight.device))
        return logits.float().cpu().numpy()


def hops_to_answers(graphs: QuestionGraphs, max_hops: int) -> Ints:
    """Return the hops of each question, (num_questions,); `NO_HOPS` if no topic leads to an answer.

    The paper's: the shortest path between topics and answers. Ours, with several topics: the longest of each topic's
    shortest path to an answer, so that each topic's path has room; counted in triples, mediators included; at most
    `max_hops`.
    """
    found = []
    for question in range(len(graphs)):
        nodes, triples = graphs.nodes_of(question), graphs.triples_of(question)
        heads, tails = graphs.heads[triples] - nodes.start, graphs.tails[triples] - nodes.start
        farthest = NO_HOPS
        for topic in np.flatnonzero(graphs.is_topic[nodes]).tolist():
            hops = hops_from(heads, tails, graphs.is_literal[nodes], topic)
            reached = hops[graphs.is_answer[nodes] & (hops != UNREACHED)]
            farthest = max(farthest, int(reached.min(initial=max_hops)) if len(reached) else NO_HOPS)
        found.append(farthest)
    return np.array(found, dtype=np.int64)


class HopObjective(ShuffledObjective[HopPredictor, int]):
    """An `Objective`: cross-entropy over the questions with reachable answers."""

    def __init__(
        self,
        network: HopPredictor,
        train: Sequence[EncodedSubgraphs],
        dev: Sequence[EncodedSubgraphs],
        options: TrainingOptions,
        batch_size: int,
    ) -> None:
        self._train, self._dev = (_select_known_hops(sets, network.max_hops) for sets in (train, dev))
        super().__init__(network, range(len(self._train[1])), options, batch_size)

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean loss of a batch of questions."""
        batch = self.batch(step, shard)
        questions, hops = self._train
        with self.autocast():
            logits = network(questions[batch])
        return cross_entropy(logits.float(), hops[batch] - 1)

    def evaluate(self) -> Figures:
        """Return the accuracy on dev questions, and that of predicting the commonest number of hops."""
        questions, hops = self._dev
        if not len(hops) or not len(self._train[1]):
            return {ACCURACY: 0.0, MAJORITY: 0.0, "selection_metric": 0.0}
        with torch.no_grad():
            logits = self.network(questions)
            accuracy = float((logits.argmax(dim=1) + 1 == hops).float().mean())
            loss = float(cross_entropy(logits, hops - 1))
        commonest = torch.bincount(self._train[1]).argmax()
        majority = float((hops == commonest).float().mean())
        return {ACCURACY: accuracy, MAJORITY: majority, "selection_metric": accuracy - TIE_BREAK * loss}


def _select_known_hops(sets: Sequence[EncodedSubgraphs], max_hops: int) -> tuple[Tensor, Tensor]:
    """Return the vectors of the questions with known hops, and their hops."""
    hops = [torch.from_numpy(hops_to_answers(each.graphs, max_hops)) for each in sets]
    questions = torch.cat([each.questions[of != NO_HOPS] for each, of in zip(sets, hops, strict=True)])
    return questions, torch.cat([of[of != NO_HOPS] for of in hops]).to(questions.device)
