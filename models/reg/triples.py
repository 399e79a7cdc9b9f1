"""Score every triple of a question's subgraph: ReG@Triple, and the objective that ReG's subgraph scorers share.

The first layer is linear in the question, the relation and the two nodes. Each is projected once, not once per triple,
and a triple's hidden layer is the sum of its four projections.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from ..calibration import fit_calibration
from ..kinds import CheckpointOpenOptions, check_checkpoint, load_network, write_weights
from ..mined import supervision_of
from ..placement import move_batch
from ..subgraphs import UNNAMED, Bools, Floats, Ints, QuestionGraphs, distance_encoding, encoding_width
from ..text.vectors import LRUCache, TextVectors, encode_each_once
from ..training import Figures, NothingToLearnError, Objective, TrainingFolder
from . import FIGURES, RECALL_AT, TripleConfig, TripleDescription

Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""Unit vectors of texts, (num_texts, dimension)."""


def to_tensor(device: torch.device, values: npt.NDArray[np.generic]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).to(device)


def to_tensors(device: torch.device, arrays: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, Tensor]:
    tensors = [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays.values()]
    return dict(zip(arrays, move_batch(tensors, device), strict=True))


class EncodedGraphs:
    """A set of subgraphs with the vectors of all their texts, each encoded once, and their distance encodings."""

    def __init__(self, graphs: QuestionGraphs, encode: Encode, num_rounds: int, device: torch.device) -> None:
        self.graphs = graphs
        self._device = device
        self._tensor = partial(to_tensor, device)
        texts = graphs.texts
        self._questions = encode(texts.questions)
        self._relations = encode(texts.relations)
        self._entities = encode(texts.entities) if texts.entities else np.zeros((1, self._questions.shape[1]), "f4")
        self._distances: Floats = distance_encoding(graphs.heads, graphs.tails, graphs.is_topic, num_rounds)

    @property
    def dimension(self) -> int:
        return int(self._questions.shape[1])

    def inputs(self, questions: Sequence[int], rows: Sequence[Ints]) -> TripleInputs:
        """Return some triples of some questions; `rows` has those of each question."""
        chosen = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        nodes = np.unique(np.concatenate([self.graphs.heads[chosen], self.graphs.tails[chosen]]))
        return TripleInputs(
            **self.vectors_and_triples(questions, nodes, chosen),
            distances=self._tensor(self._distances[nodes]),
            question_of=self._tensor(np.repeat(np.arange(len(rows)), [len(each) for each in rows])),
        )

    def vectors_and_triples(self, questions: Sequence[int], nodes: Ints, triples: Ints) -> dict[str, Tensor]:
        """Return what the inputs of all networks have of some questions: the vectors of their texts, and the triples
        between these nodes.
        """
        graphs = self.graphs
        relations, relation_of = np.unique(graphs.relation_of[triples], return_inverse=True)
        text_of = graphs.text_of[nodes]
        order = np.argsort(nodes)
        arrays = {
            "questions": self._questions[list(questions)],
            "relations": self._relations[relations],
            "entities": self._entities[np.maximum(text_of, 0)],
            "is_named": text_of != UNNAMED,
            "heads": order[np.searchsorted(nodes, graphs.heads[triples], sorter=order)],
            "relation_of": relation_of,
            "tails": order[np.searchsorted(nodes, graphs.tails[triples], sorter=order)],
        }
        return to_tensors(self._device, arrays)

    def labels(self, rows: Sequence[Ints]) -> Tensor:
        """Return which of the triples are right, as 0 and 1."""
        chosen = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        return self._tensor(self.graphs.is_positive[chosen].astype(np.float32))

    def rows(self, question: int) -> Ints:
        span = self.graphs.triples_of(question)
        return np.arange(span.start, span.stop)


BLOCK = 512
"""Triples per block: few enough for a processor's cache."""


@dataclass(frozen=True, slots=True)
class TripleInputs:
    """The triples of some questions. questions, relations: unit vectors, (num, dimension). entities: (num_nodes,
    dimension), rows of unnamed nodes are ignored. is_named: (num_nodes,). distances: (num_nodes, width). question_of,
    heads, relation_of, tails: (num_triples,) rows of these.
    """

    questions: Tensor
    relations: Tensor
    entities: Tensor
    is_named: Tensor
    distances: Tensor
    question_of: Tensor
    heads: Tensor
    relation_of: Tensor
    tails: Tensor


class TripleScorer(nn.Module):
    """dimension: of the text vectors. distance_width: of the encodings. hidden: units of the one hidden layer."""

    def __init__(self, dimension: int, distance_width: int, hidden: int) -> None:
        super().__init__()
        self.unnamed = nn.Parameter(torch.zeros(dimension))
        self.of_question = nn.Linear(dimension, hidden)
        self.of_head = nn.Linear(dimension, hidden, bias=False)
        self.of_relation = nn.Linear(dimension, hidden, bias=False)
        self.of_tail = nn.Linear(dimension, hidden, bias=False)
        self.of_head_distance = nn.Linear(distance_width, hidden, bias=False)
        self.of_tail_distance = nn.Linear(distance_width, hidden, bias=False)
        self.out = nn.Linear(hidden, 1)

    def forward(self, inputs: TripleInputs) -> Tensor:
        """Return the logit of each triple, (num_triples,)."""
        heads, head_of = torch.unique(inputs.heads, return_inverse=True)
        tails, tail_of = torch.unique(inputs.tails, return_inverse=True)
        return self.score_projected(
            self.of_question(inputs.questions),
            self.of_relation(inputs.relations),
            self._nodes(self.of_head, inputs, heads) + self.of_head_distance(inputs.distances[heads]),
            self._nodes(self.of_tail, inputs, tails) + self.of_tail_distance(inputs.distances[tails]),
            replace(inputs, heads=head_of, tails=tail_of),
        )

    def _nodes(self, layer: nn.Linear, inputs: TripleInputs, nodes: Tensor) -> Tensor:
        """Return a layer's projection of nodes, (num_nodes, hidden); text vectors get no gradient."""
        is_named = inputs.is_named[nodes][:, None]
        return torch.where(is_named, layer(inputs.entities[nodes]), layer(self.unnamed))

    def score_projected(
        self, questions: Tensor, relations: Tensor, heads: Tensor, tails: Tensor, inputs: TripleInputs
    ) -> Tensor:
        """Return the logits from the projections, (num, hidden) each, block by block."""
        logits = [self.out.bias.new_zeros(0)]
        for rows in _blocks(len(inputs.heads)):
            hidden = heads.index_select(0, inputs.heads[rows])
            hidden += tails.index_select(0, inputs.tails[rows])
            hidden += relations.index_select(0, inputs.relation_of[rows])
            hidden += questions.index_select(0, inputs.question_of[rows])
            logits.append(self.out(hidden.relu_()).squeeze(1))
        return torch.cat(logits)


def _blocks(size: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, size, BLOCK))


MAX_KEPT = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class TripleColumns:
    """The subgraphs of a batch of questions as one graph; nodes and triples are numbered across the batch.

    questions, relations: their texts. names: the text of each node, None for an unnamed one. is_topic: (num_nodes,).
    heads, tails: (num_triples,) nodes. relation_of, question_of: (num_triples,) places in `relations`, `questions`.
    """

    questions: Sequence[str]
    relations: Sequence[str]
    names: Sequence[str | None]
    is_topic: Bools
    heads: Ints
    relation_of: Ints
    tails: Ints
    question_of: Ints


def columns_as_inputs(columns: TripleColumns, vectors: TextVectors, device: torch.device) -> dict[str, Tensor]:
    """Return what the inputs of all networks have of the columns: the vectors of their texts, and the triples."""
    arrays = {
        "questions": vectors.stack(columns.questions),
        "relations": vectors.stack(columns.relations, lasting=True),
        "entities": vectors.stack([name or "" for name in columns.names], lasting=True),
        "is_named": np.array([name is not None for name in columns.names], dtype=np.bool_),
        "heads": columns.heads,
        "relation_of": columns.relation_of,
        "tails": columns.tails,
    }
    return to_tensors(device, arrays)


class SubgraphModel:
    """An open checkpoint. Threads take turns; `vectors` must come from its training's encoder."""

    def __init__(self, description: Any, network: Any, vectors: TextVectors) -> None:
        self.description = description
        self._network = network
        self._vectors = vectors
        self._device = network.unnamed.device
        self._tensor = partial(to_tensor, self._device)
        self._turn = threading.RLock()


class TripleModel(SubgraphModel):
    """Scores triples with a checkpoint."""

    def __init__(self, description: TripleDescription, network: TripleScorer, vectors: TextVectors) -> None:
        super().__init__(description, network, vectors)
        self._of_relations: LRUCache[str, Tensor] = LRUCache(MAX_KEPT)
        self._of_entities: LRUCache[str, Tensor] = LRUCache(MAX_KEPT)

    def score(self, columns: TripleColumns) -> npt.NDArray[np.float32]:
        """Return the logit of each triple, (num_triples,)."""
        if not len(columns.heads):
            return np.zeros(0, dtype=np.float32)
        network = self._network
        with self._turn, torch.no_grad():
            distances = self._tensor(
                distance_encoding(columns.heads, columns.tails, columns.is_topic, self.description.config.num_rounds)
            )
            names = list(dict.fromkeys(columns.names))
            place = {name: number for number, name in enumerate(names)}
            text_of = self._tensor(np.array([place[name] for name in columns.names]))
            unnamed = torch.stack([network.of_head(network.unnamed), network.of_tail(network.unnamed)])
            entities = self._projections(self._of_entities, names, self._project_entities, unnamed)
            none = network.unnamed[:0]
            inputs = TripleInputs(
                *(none, none, none, none),
                distances,
                *map(self._tensor, (columns.question_of, columns.heads, columns.relation_of, columns.tails)),
            )
            scores = network.score_projected(
                network.of_question(self._tensor(self._vectors.stack(columns.questions))),
                self._projections(self._of_relations, columns.relations, network.of_relation),
                entities[text_of, 0] + network.of_head_distance(distances),
                entities[text_of, 1] + network.of_tail_distance(distances),
                inputs,
            )
            found: Floats = scores.float().cpu().numpy()
            return found

    def _project_entities(self, vectors: Tensor) -> Tensor:
        """Return the projections as head and as tail, (num_names, 2, hidden)."""
        return torch.stack([self._network.of_head(vectors), self._network.of_tail(vectors)], dim=1)

    def _projections(
        self,
        kept: LRUCache[str, Tensor],
        texts: Sequence[str | None],
        project: Callable[[Tensor], Tensor],
        unnamed: Tensor | None = None,
    ) -> Tensor:
        """Return what is projected of each text, kept from before or projected now, (num_texts, …)."""
        missing = [text for text in dict.fromkeys(texts) if text is not None and text not in kept]
        found: dict[str | None, Tensor] = {None: unnamed} if unnamed is not None else {}
        if missing:
            vectors = self._tensor(self._vectors.stack(missing, lasting=True))
            found |= zip(missing, project(vectors), strict=True)
        rows = torch.stack([found[text] if text in found else kept[text or ""] for text in texts])
        for text in missing:
            kept[text] = found[text]
        return rows


CHOOSE_AT = 100
TIE_BREAK = 1e-3
"""Weight of the figure by which ties in the selection metric are broken."""
CALIBRATED = 100
"""The number of best triples per dev question that calibration uses."""


class TripleObjective(Objective[nn.Module, tuple[int, int]]):
    """Trains on questions with a right triple in their subgraph, by the place of the set and the number in it.

    train, dev: `EncodedGraphs`. config: has `training` and `batch_size`; `num_negatives` for `draw`.
    """

    def __init__(self, network: nn.Module, train: Sequence[Any], dev: Sequence[Any], config: Any) -> None:
        questions = [
            (place, question)
            for place, graphs in enumerate(each.graphs for each in train)
            for question in range(len(graphs))
            if graphs.is_positive[graphs.triples_of(question)].any()
        ]
        if not questions:
            raise NothingToLearnError("no question to learn from has an answer in its subgraph")
        super().__init__(network, questions, config.training, config.batch_size)
        self.train, self._dev, self._config = train, dev, config

    def logits_and_labels(self, place: int, questions: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return the logits of the right triples and of some wrong ones of some questions of a set, and which are
        right. place: of the set.
        """
        encoded = self.train[place]
        rows = []
        for question in questions:
            span = encoded.graphs.triples_of(question)
            right = encoded.graphs.is_positive[span]
            negatives = self.draw(place, question, np.flatnonzero(~right))
            rows.append(span.start + np.concatenate([np.flatnonzero(right), negatives]))
        return self.network(encoded.inputs(questions, rows)), encoded.labels(rows)

    def triple_scores(self, inputs: TripleInputs) -> Tensor:
        """Return the logit of each triple of a question."""
        logits: Tensor = self.network(inputs)
        return logits

    def loss(self, batch: Sequence[tuple[int, int]]) -> Tensor:
        logits, labels = [], []
        for place in sorted({place for place, _ in batch}):
            with self.autocast():
                of_set, right = self.logits_and_labels(place, [question for of, question in batch if of == place])
            logits.append(of_set.float())
            labels.append(right)
        return binary_cross_entropy_with_logits(torch.cat(logits), torch.cat(labels))

    def evaluate(self) -> Figures:
        """Return the means of `FIGURES` over questions with right triples, and the selection metric."""
        found = [
            [*triple_figures(scores, right), *compute_answer_recall(graphs, question, scores)]
            for graphs, question, scores in self.iterate_scores()
            if (right := graphs.is_positive[graphs.triples_of(question)]).any()
        ]
        return mean_figures(FIGURES, found, CHOOSE_AT)

    def iterate_scores(self) -> Iterator[tuple[QuestionGraphs, int, npt.NDArray[np.float32]]]:
        """Yield the scores of each dev question's triples."""
        with torch.no_grad():
            for encoded in self._dev:
                for question in range(len(encoded.graphs)):
                    inputs = encoded.inputs([question], [encoded.rows(question)])
                    yield encoded.graphs, question, self.triple_scores(inputs).cpu().numpy()

    def draw(self, place: int, question: int, wrong: Ints) -> Ints:
        """Return a question's negatives of this epoch, ascending."""
        chance = np.random.default_rng((self.training.seed, self.epoch, place, question))
        drawn: Ints = np.sort(chance.choice(wrong, min(self._config.num_negatives, len(wrong)), replace=False))
        return drawn


def fit(
    config: TripleConfig, train: Sequence[QuestionGraphs], dev: Sequence[QuestionGraphs], out: TrainingFolder
) -> TripleDescription:
    learned, chosen = encode_sets(config, train, dev, out)
    torch.manual_seed(config.training.seed)
    network = TripleScorer(learned[0].dimension, encoding_width(config.num_rounds), config.hidden).to(out.device)
    objective = TripleObjective(network, learned, chosen, config)
    description: TripleDescription = fit_scorer("triple scorer", "mlp", objective, config, out)
    return description


def encode_sets(
    config: Any, train: Sequence[QuestionGraphs], dev: Sequence[QuestionGraphs], out: TrainingFolder
) -> tuple[list[EncodedGraphs], list[EncodedGraphs]]:
    encode, device = encode_each_once(out.vectors_of(config.encoder).encoder.encode), torch.device(out.device)
    learned, chosen = (
        [EncodedGraphs(graphs, encode, config.num_rounds, device) for graphs in sets] for sets in (train, dev)
    )
    return learned, chosen


def fit_scorer(name: str, part: str, objective: TripleObjective, config: Any, out: TrainingFolder, **own: Any) -> Any:
    """Train a network over subgraphs, and write the checkpoint. part: its folder. own: fields of its description."""
    options = asdict(config)
    out.train(name, part, objective, {key: value for key, value in options.items() if key != "training"})
    return out.write(
        {part: partial(write_weights, objective.network.state_dict())},
        fit_calibration(
            calibration_pairs(
                (scores, graphs.is_positive[graphs.triples_of(question)])
                for graphs, question, scores in objective.iterate_scores()
            )
        ),
        dimension=objective.train[0].dimension,
        supervision=supervision_of([each.graphs for each in objective.train]),
        **own,
    )


def open_model(folder: Path, opening: CheckpointOpenOptions) -> TripleModel:
    """Return the scorer of a checkpoint; raise `BadCheckpointError` if a file is damaged."""
    description = check_checkpoint(folder, TripleDescription)
    config = description.config
    network = TripleScorer(description.dimension, encoding_width(config.num_rounds), config.hidden)
    return TripleModel(
        description, load_network(network, folder / "mlp", opening.device), opening.vectors_of(description)
    )


def mean_figures(names: Sequence[str], found: Sequence[Sequence[float]], choose_at: int) -> Figures:
    """Return the means over questions, and the selection metric: recall at `choose_at`, then average precision."""
    if not found:
        raise NothingToLearnError("no question to choose by has an answer in its subgraph")
    figures = dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))
    return figures | {"selection_metric": figures[f"recall_at_{choose_at}"] + TIE_BREAK * figures["average_precision"]}


def triple_figures(scores: Floats, right: Bools, recall_at: Sequence[int] = RECALL_AT) -> list[float]:
    """Return recall among the best k, for each k, and average precision of a question with right triples.

    The earlier of equal scores is first; what was pruned, with a score of −∞, is not found.
    """
    order = np.argsort(-scores, kind="stable")
    ranks = np.flatnonzero(right[order] & np.isfinite(scores[order])) + 1
    precisions = np.arange(1, len(ranks) + 1) / ranks
    return [float(each) / int(right.sum()) for each in (*((ranks <= k).sum() for k in recall_at), precisions.sum())]


def compute_answer_recall(graphs: QuestionGraphs, question: int, scores: Floats) -> list[float]:
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


def calibration_pairs(scored: Iterable[tuple[Floats, Bools]]) -> list[tuple[float, float]]:
    """Return score and correctness of each question's best triples. scored: of all its triples."""
    found: list[tuple[float, float]] = []
    for scores, right in scored:
        best = np.argsort(-scores, kind="stable")[: min(CALIBRATED, int(np.isfinite(scores).sum()))]
        found += zip(scores[best].tolist(), right[best].astype(float).tolist(), strict=True)
    return found


def _ends(heads: Ints, tails: Ints, rows: Ints) -> Ints:
    ends: Ints = np.concatenate([heads[rows], tails[rows]])
    return ends
