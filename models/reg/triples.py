"""Score every triple of a question's subgraph: ReG@Triple, and the objective that ReG's subgraph scorers share.

The first layer is linear in the question, the relation, the two nodes and (ours) the product of the vectors of question
and relation, by which what the question says of a relation is learned from few. Each is projected once, not once per
triple, and a triple's hidden layer is the sum of its projections.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from ..calibration import fit_calibration, fit_logistic_regression
from ..kinds import CheckpointOpenOptions, check_checkpoint, load_network, write_weights
from ..mined_files import describe_supervision
from ..placement import move_batch
from ..subgraphs import (
    UNNAMED,
    Bools,
    Floats,
    Ints,
    QuestionGraphs,
    compute_distance_encoding,
    compute_encoding_width,
    compute_hops_from_topic,
    join_graphs,
    mark_triples_beside,
)
from ..text.vectors import TextVectors, memoise_encoder
from ..training import Figures, NothingToLearnError, Objective, TrainingFolder
from . import FIGURES, RECALL_AT, TripleConfig, TripleDescription

Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""Unit vectors of texts, (num_texts, dimension)."""


@dataclass(frozen=True, slots=True)
class GraphInputs:
    """The subgraphs of some questions as one graph, or some of their triples.

    questions, relations: unit vectors, (num, dimension). entities: (num_nodes, dimension), rows of unnamed nodes are
    ignored. is_named, is_topic, is_literal, node_question: (num_nodes,). distances: (num_nodes, width). heads,
    relation_of, tails, question_of: (num_triples,) rows of these. grown_anyway: (num_nodes,) nodes that GRIL keeps once
    seen, whatever their attention: those on right paths, in training.
    """

    questions: Tensor
    relations: Tensor
    entities: Tensor
    is_named: Tensor
    is_topic: Tensor
    is_literal: Tensor
    node_question: Tensor
    distances: Tensor
    heads: Tensor
    relation_of: Tensor
    tails: Tensor
    question_of: Tensor
    grown_anyway: Tensor | None = None


def _to_inputs(device: torch.device, arrays: Mapping[str, npt.NDArray[np.generic]]) -> GraphInputs:
    tensors = [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays.values()]
    return GraphInputs(**dict(zip(arrays, move_batch(tensors, device), strict=True)))


class EncodedGraphs:
    """A set of subgraphs with the vectors of all their texts, each encoded once, and their distance encodings."""

    def __init__(
        self,
        graphs: QuestionGraphs,
        encode: Encode,
        num_rounds: int,
        device: torch.device,
        questions: Floats | None = None,
    ) -> None:
        self.graphs = graphs
        self.device = device
        texts = graphs.texts
        self._questions = encode(texts.questions) if questions is None else questions
        self._relations = encode(texts.relations)
        self._entities = encode(texts.entities) if texts.entities else np.zeros((1, self._questions.shape[1]), "f4")
        self._distances: Floats = compute_distance_encoding(graphs.heads, graphs.tails, graphs.is_topic, num_rounds)

    @property
    def question_vectors(self) -> Floats:
        return self._questions

    @property
    def dimension(self) -> int:
        return int(self._questions.shape[1])

    def rows(self, questions: Sequence[int]) -> Ints:
        """Return the rows of all triples of some questions, one question after another."""
        return concatenate_spans(map(self.graphs.triples_of, questions))

    def inputs(self, questions: Sequence[int], rows: Ints, nodes: Ints | None = None) -> GraphInputs:
        """Return some triples of some questions, with their ends or with these nodes."""
        graphs = self.graphs
        if nodes is None:
            nodes = np.unique(np.concatenate([graphs.heads[rows], graphs.tails[rows]]))
        relations, relation_of = np.unique(graphs.relation_of[rows], return_inverse=True)
        text_of, order = graphs.text_of[nodes], np.argsort(nodes)
        place = np.zeros(len(graphs), dtype=np.int64)
        place[list(questions)] = np.arange(len(questions))
        arrays = {
            "questions": self._questions[list(questions)],
            "relations": self._relations[relations],
            "entities": self._entities[np.maximum(text_of, 0)],
            "is_named": text_of != UNNAMED,
            "is_topic": graphs.is_topic[nodes],
            "is_literal": graphs.is_literal[nodes],
            "node_question": place[np.searchsorted(graphs.node_starts, nodes, side="right") - 1],
            "distances": self._distances[nodes],
            "heads": order[np.searchsorted(nodes, graphs.heads[rows], sorter=order)],
            "relation_of": relation_of,
            "tails": order[np.searchsorted(nodes, graphs.tails[rows], sorter=order)],
            "question_of": place[np.searchsorted(graphs.triple_starts, rows, side="right") - 1],
        }
        return _to_inputs(self.device, arrays)

    def labels(self, rows: Ints) -> Tensor:
        """Return which of the triples are right, as 0 and 1."""
        return torch.from_numpy(self.graphs.is_positive[rows].astype(np.float32)).to(self.device)


def concatenate_spans(spans: Iterable[slice]) -> Ints:
    parts = [np.arange(span.start, span.stop) for span in spans]
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


BLOCK = 512
"""Triples per block: few enough for a processor's cache."""
MAX_LENGTH = 4
"""Triples of the longest chain that is told from shorter ones."""
LENGTH_PENALTY = 0.03
"""A tenth of it is on how frequent a length is. Our own choice, by dev questions of FB15k-237 and MetaQA."""


class LengthPredictor(nn.Module):
    """Says how many triples long the chain of a question is, by its vector: a logistic regression for each length. Our
    own: the paper has no stop."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.odds = nn.Linear(dimension, MAX_LENGTH).requires_grad_(requires_grad=False)
        self.odds.weight.zero_()
        self.odds.bias.zero_()

    def fit(self, questions: Floats, has_length: Bools) -> None:
        """questions: unit vectors, (num_questions, dimension). has_length: whether a right chain of a question has one,
        two, … triples, (num_questions, MAX_LENGTH); none where nothing is known. If it never is, all are as probable.
        """
        is_known = has_length.any(axis=1)
        x, known = questions[is_known].astype(np.float64), has_length[is_known].astype(np.float64)
        weights = np.full(len(known), 1 / max(len(known), 1))
        for place, is_so in enumerate(known.T if len(known) else ()):
            found = fit_logistic_regression(x, is_so, weights, LENGTH_PENALTY, intercept_penalty=LENGTH_PENALTY / 10)
            self.odds.weight[place] = torch.from_numpy(found[:-1]).to(self.odds.weight)
            self.odds.bias[place] = float(found[-1])

    def forward(self, questions: Tensor) -> Tensor:
        """Return the probability of each length, (num_questions, MAX_LENGTH)."""
        shares: Tensor = self.odds(questions).sigmoid()
        return shares / shares.sum(dim=1, keepdim=True)


class TripleScorer(nn.Module):
    """dimension: of the text vectors. distance_width: of the encodings. hidden: units of the one hidden layer."""

    def __init__(self, dimension: int, distance_width: int, hidden: int) -> None:
        super().__init__()
        self.unnamed = nn.Parameter(torch.zeros(dimension))
        self.of_question = nn.Linear(dimension, hidden)
        self.of_head = nn.Linear(dimension, hidden, bias=False)
        self.of_relation = nn.Linear(dimension, hidden, bias=False)
        self.of_match = nn.Linear(dimension, hidden, bias=False)
        self.of_tail = nn.Linear(dimension, hidden, bias=False)
        self.of_head_distance = nn.Linear(distance_width, hidden, bias=False)
        self.of_tail_distance = nn.Linear(distance_width, hidden, bias=False)
        self.out = nn.Linear(hidden, 1)
        self.length = LengthPredictor(dimension)

    def forward(self, inputs: GraphInputs) -> Tensor:
        """Return the logit of each triple, (num_triples,), block by block."""
        heads, head_of = torch.unique(inputs.heads, return_inverse=True)
        tails, tail_of = torch.unique(inputs.tails, return_inverse=True)
        num_relations = len(inputs.relations)
        pairs, pair_of = torch.unique(inputs.question_of * num_relations + inputs.relation_of, return_inverse=True)
        asked = self._pairs(inputs, pairs // num_relations, pairs % num_relations)
        of_heads = self._nodes(self.of_head, inputs, heads) + self.of_head_distance(inputs.distances[heads])
        of_tails = self._nodes(self.of_tail, inputs, tails) + self.of_tail_distance(inputs.distances[tails])
        logits = [self.out.bias.new_zeros(0)]
        for start in range(0, len(head_of), BLOCK):
            rows = slice(start, start + BLOCK)
            hidden = of_heads.index_select(0, head_of[rows])
            hidden += of_tails.index_select(0, tail_of[rows])
            hidden += asked.index_select(0, pair_of[rows])
            logits.append(self.out(hidden.relu_()).squeeze(1))
        return torch.cat(logits)

    def _pairs(self, inputs: GraphInputs, questions: Tensor, relations: Tensor) -> Tensor:
        """Return the projections of questions with relations, (num_pairs, hidden)."""
        match = self.of_match(inputs.questions[questions] * inputs.relations[relations])
        of_questions, of_relations = self.of_question(inputs.questions), self.of_relation(inputs.relations)
        projected: Tensor = of_questions[questions] + of_relations[relations] + match
        return projected

    def _nodes(self, layer: nn.Linear, inputs: GraphInputs, nodes: Tensor) -> Tensor:
        """Return a layer's projection of nodes, (num_nodes, hidden); text vectors get no gradient."""
        is_named = inputs.is_named[nodes][:, None]
        return torch.where(is_named, layer(inputs.entities[nodes]), layer(self.unnamed))


TripleScores = tuple[Floats, Bools | None, Sequence[tuple[float, ...]]]
"""The logit of each triple, which ones can be kept (None: all), and what is told of each question: the probability of
each length of its chain, of GRIL its graph token, if there are."""


class SubgraphModel:
    """An open checkpoint that scores triples. Threads take turns; `vectors` must come from its training's encoder."""

    def __init__(self, description: Any, network: Any, vectors: TextVectors) -> None:
        self.description = description
        self._network = network
        self._vectors = vectors
        self._device = network.unnamed.device
        self._turn = threading.RLock()

    def score(self, graphs: QuestionGraphs) -> TripleScores:
        if not len(graphs.heads):
            return np.zeros(0, dtype=np.float32), None, ()
        with self._turn, torch.no_grad():
            inputs = self.inputs(graphs)
            told = self._network.length(inputs.questions).tolist()
            return self._network(inputs).float().cpu().numpy(), None, tuple(map(tuple, told))

    def inputs(self, graphs: QuestionGraphs) -> GraphInputs:
        """Return whole subgraphs; the vectors of questions are not kept from run to run."""
        num_rounds = getattr(self.description.config, "num_rounds", 0)
        lasting = partial(self._vectors.stack, lasting=True)
        encoded = EncodedGraphs(graphs, lasting, num_rounds, self._device, self._vectors.stack(graphs.texts.questions))
        return encoded.inputs(range(len(graphs)), np.arange(len(graphs.heads)), np.arange(len(graphs.text_of)))


CHOOSE_AT = 100
TIE_BREAK = 1e-3
"""Weight of the figure by which ties in the selection metric are broken."""
BESIDE = 5 / 6
"""Share of the negatives that have an end in common with a right triple or a topic (ours)."""


class TripleObjective(Objective[Any, int]):
    """Trains on questions with a right triple in their subgraph, by their numbers.

    config: has `training` and `batch_size`; `num_negatives` for `draw`.
    """

    def __init__(self, network: nn.Module, train: Any, dev: Any, config: Any) -> None:
        graphs = train.graphs
        questions = [each for each in range(len(graphs)) if graphs.is_positive[graphs.triples_of(each)].any()]
        if not questions:
            raise NothingToLearnError("no question to learn from has an answer in its subgraph")
        super().__init__(network, questions, config.training, config.batch_size)
        self.train, self.dev, self._config = train, dev, config

    @cached_property
    def is_beside(self) -> Bools:
        """Which triples to learn from are beside right ones, (num_triples,)."""
        return _mark_beside(self.train.graphs)

    def logits_and_labels(self, questions: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return the logits of the right triples and of some wrong ones of some questions, and which are right."""
        rows = []
        for question in questions:
            span = self.train.graphs.triples_of(question)
            right = self.train.graphs.is_positive[span]
            is_beside = self.is_beside[span]
            beside = self.draw(question, np.flatnonzero(~right & is_beside), BESIDE)
            others = self.draw(question, np.flatnonzero(~right & ~is_beside), 1 - BESIDE)
            rows.append(span.start + np.concatenate([np.flatnonzero(right), beside, others]))
        chosen = np.concatenate(rows)
        return self.network(self.train.inputs(questions, chosen)), self.train.labels(chosen)

    def loss(self, batch: Sequence[int]) -> Tensor:
        logits, right = self.logits_and_labels(batch)
        return binary_cross_entropy_with_logits(logits.float(), right)

    def evaluate(self) -> Figures:
        """Return the means of `FIGURES` over questions with right triples, and the selection metric."""
        found = [
            [*compute_triple_figures(scores, right), *_compute_answer_recall(self.dev.graphs, question, scores)]
            for question, (scores, right) in enumerate(self.iterate_scores())
            if right.any()
        ]
        return compute_mean_figures(FIGURES, found, CHOOSE_AT)

    def iterate_scores(self) -> Iterator[tuple[Floats, Bools]]:
        """Yield the scores of each dev question's triples, and which are right."""
        graphs = self.dev.graphs
        with torch.no_grad():
            for question in range(len(graphs)):
                scores = self.network(self.dev.inputs([question], self.dev.rows([question])))
                yield scores.float().cpu().numpy(), graphs.is_positive[graphs.triples_of(question)]

    def draw(self, question: int, wrong: Ints, share: float = 1) -> Ints:
        """Return a question's negatives of this epoch, ascending; share: of `num_negatives`."""
        chance = np.random.default_rng((self.training.seed, self.epoch, question))
        most = round(share * self._config.num_negatives)
        return np.sort(chance.choice(wrong, min(most, len(wrong)), replace=False))

    def make_calibration_pairs(self) -> list[tuple[float, float]]:
        """Return score and correctness of the dev triples beside right ones: a chain asks what goes on a right way."""
        scores = np.concatenate([scores for scores, _ in self.iterate_scores()])
        beside = _mark_beside(self.dev.graphs)
        right = self.dev.graphs.is_positive[beside].astype(float)
        return list(zip(scores[beside].tolist(), right.tolist(), strict=True))


def _mark_beside(graphs: QuestionGraphs) -> Bools:
    return mark_triples_beside(graphs.heads, graphs.tails, graphs.is_positive, graphs.is_topic)


def fit(
    config: TripleConfig, train: Sequence[QuestionGraphs], dev: Sequence[QuestionGraphs], out: TrainingFolder
) -> TripleDescription:
    learned, chosen = encode_subgraph_sets(config, train, dev, out)
    torch.manual_seed(config.training.seed)
    network = _new_scorer(config, learned.dimension).to(out.device)
    objective = TripleObjective(network, learned, chosen, config)
    return fit_scorer("triple scorer", objective, config, train, out)


def _new_scorer(config: TripleConfig, dimension: int) -> TripleScorer:
    return TripleScorer(dimension, compute_encoding_width(config.num_rounds), config.hidden)


def encode_subgraph_sets(
    config: Any, train: Sequence[QuestionGraphs], dev: Sequence[QuestionGraphs], out: TrainingFolder
) -> tuple[EncodedGraphs, EncodedGraphs]:
    encode, device = memoise_encoder(out.vectors_of(config.encoder).encoder.encode), torch.device(out.device)
    learned, chosen = (EncodedGraphs(join_graphs(sets), encode, config.num_rounds, device) for sets in (train, dev))
    return learned, chosen


def fit_scorer(
    name: str,
    objective: TripleObjective,
    config: Any,
    train: Sequence[QuestionGraphs],
    out: TrainingFolder,
    **own: Any,
) -> Any:
    """Train a network over subgraphs, and write the checkpoint. own: fields of its description."""
    (part,) = out.kind.description.parts
    learned = objective.train
    objective.network.length.fit(learned.question_vectors, find_chain_lengths(learned.graphs))
    out.train(name, part, objective, {key: value for key, value in asdict(config).items() if key != "training"})
    return out.write(
        {part: partial(write_weights, objective.network.state_dict())},
        fit_calibration(objective.make_calibration_pairs()),
        dimension=objective.train.dimension,
        supervision=describe_supervision(train),
        **own,
    )


def find_chain_lengths(graphs: QuestionGraphs) -> Bools:
    """Return whether a right chain of a question has 1, 2, … `MAX_LENGTH` triples, (num_questions, MAX_LENGTH).

    Where no chains were given it is the number of right triples from a topic to most answers, of several topics the
    most.
    """
    found = np.zeros((len(graphs), MAX_LENGTH + 1), dtype=np.bool_)
    for question in range(len(graphs)):
        lengths = graphs.texts.chain_lengths[question] or (_count_hops_to_answers(graphs, question),)
        found[question, np.minimum(lengths, MAX_LENGTH)] = True
    return found[:, 1:]


def _count_hops_to_answers(graphs: QuestionGraphs, question: int) -> int:
    (heads, tails), nodes = graphs.ends_of(question), graphs.nodes_of(question)
    right, longest = graphs.is_positive[graphs.triples_of(question)], 0
    for topic in np.flatnonzero(graphs.is_topic[nodes]).tolist():
        hops = compute_hops_from_topic(heads[right], tails[right], graphs.is_literal[nodes], topic)
        reached = hops[graphs.is_answer[nodes] & (hops > 0)]
        longest = max(longest, int(np.bincount(reached, minlength=1).argmax()))
    return longest


def open_scorer(
    folder: Path, opening: CheckpointOpenOptions, kind: type[TripleDescription], network_of: Callable[[Any], nn.Module]
) -> SubgraphModel:
    """Return the scorer of a checkpoint; raise `BadCheckpointError` if a file is damaged."""
    description = check_checkpoint(folder, kind)
    network = load_network(network_of(description), folder / kind.parts[0], opening.device)
    return SubgraphModel(description, network, opening.vectors_of(description))


def open_model(folder: Path, opening: CheckpointOpenOptions) -> SubgraphModel:
    return open_scorer(folder, opening, TripleDescription, lambda said: _new_scorer(said.config, said.dimension))


def compute_mean_figures(names: Sequence[str], found: Sequence[Sequence[float]], choose_at: int) -> Figures:
    """Return the means over questions, and the selection metric: recall at `choose_at`, then average precision."""
    if not found:
        raise NothingToLearnError("no question to choose by has an answer in its subgraph")
    figures = dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))
    return figures | {"selection_metric": figures[f"recall_at_{choose_at}"] + TIE_BREAK * figures["average_precision"]}


def compute_triple_figures(scores: Floats, right: Bools, recall_at: Sequence[int] = RECALL_AT) -> list[float]:
    """Return recall among the best k, for each k, and average precision of a question with right triples.

    The earlier of equal scores is first; what was pruned, with a score of −∞, is not found.
    """
    order = np.argsort(-scores, kind="stable")
    ranks = np.flatnonzero(right[order] & np.isfinite(scores[order])) + 1
    precisions = np.arange(1, len(ranks) + 1) / ranks
    return [float(each) / int(right.sum()) for each in (*((ranks <= k).sum() for k in recall_at), precisions.sum())]


def _compute_answer_recall(graphs: QuestionGraphs, question: int, scores: Floats) -> list[float]:
    """Return the recall of a question's answers by its best k triples, for each k; 0 if it has none."""
    answers = list(graphs.texts.answers[question].values())
    if not answers:
        return [0.0] * len(RECALL_AT)
    span, first = graphs.triples_of(question), int(graphs.node_starts[question])
    order = np.argsort(-scores, kind="stable")
    return [
        float(np.isin(answers, _ends(graphs.heads[span], graphs.tails[span], order[:k]) - first).mean())
        for k in RECALL_AT
    ]


def _ends(heads: Ints, tails: Ints, rows: Ints) -> Ints:
    return np.concatenate([heads[rows], tails[rows]])
