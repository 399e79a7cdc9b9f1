"""The objectives of GRIL: its retriever, its predictor of hops, and both with a reader, jointly (section 4.3).

The retriever alone learns by binary cross-entropy over the entities on right paths. Ours: the mean is over a question's
seen entities without its topics, then over questions. The selection metric is the recall of right triples within the
most triples a reader gets.

The joint loss is −log P_φψ(a | G_s, q), minimised in the reader φ and the bridge ψ (equation 6); the retriever θ
minimises it plus −log P_θ(G_s | q), with φ and ψ fixed (equation 7). Both share their first term: its gradient in φ and
ψ is that of equation 6, its gradient in θ flows through the soft token, and the second term depends on θ alone. So one
backward pass gives both. Ours: log P_θ(G_s | q) is the mean of log P over the triples that the reader gets, weighted by
`prior_weight`. These are the 5 · c most probable, c predicted, or a fixed number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy, cross_entropy

from ..reg_triple.network import to_tensor
from ..subgraphs import UNNAMED, UNREACHED, QuestionGraphs, hops_from
from ..training.kind import Figures, NothingToLearnError, ParameterGroup, TrainingOptions
from ..training.trainer import ShuffledObjective
from .kind import (
    ACCURACY,
    CHOOSE_AT,
    F1,
    HITS,
    MAJORITY,
    RECALL_AT,
    RETRIEVER_FIGURES,
    GrilConfig,
    JointOptions,
)
from .network import (
    CLAMP,
    TRIPLES_PER_HOP,
    Bools,
    Bridge,
    Floats,
    GraphRetriever,
    GrowInputs,
    GrownSubgraph,
    HopPredictor,
    Ints,
    logit,
    mask_of,
)
from .readers import JointReader, Passage, ReaderOutput, ReaderQuestion, ReaderTarget, is_answer

Encode = Callable[[Sequence[str]], Floats]
"""Unit vectors of texts, (num_texts, dimension)."""
NO_HOPS = 0
TIE_BREAK = 1e-3
"""Weight of the figure by which ties in the selection metric are broken."""


class EncodedSubgraphs:
    """A set of subgraphs with the vectors of all their texts."""

    def __init__(self, graphs: QuestionGraphs, encode: Encode, device: torch.device) -> None:
        self.graphs = graphs
        self._tensor = partial(to_tensor, device)
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


def mark_answer_path_nodes(graphs: QuestionGraphs) -> Bools:
    """Return which nodes are on a shortest path from a topic to an answer, (num_nodes,): the ends of right triples."""
    found = np.zeros(len(graphs.text_of), dtype=np.bool_)
    found[graphs.heads[graphs.is_positive]] = True
    found[graphs.tails[graphs.is_positive]] = True
    return found


def graph_supervision(grown: GrownSubgraph, inputs: GrowInputs, on_path: Tensor) -> Tensor:
    """Return the loss of a batch, a scalar.

    on_path: (num_nodes,) 1 for entities on a shortest path from a topic to an answer. Unseen entities do not count, as
    no gradient could change their probability.
    """
    num_questions = len(inputs.questions)
    seen = torch.zeros_like(inputs.is_topic)
    seen = seen.index_fill(0, inputs.heads[grown.is_seen], True).index_fill(0, inputs.tails[grown.is_seen], True)
    seen = seen & ~inputs.is_topic
    losses = binary_cross_entropy(grown.entity_probability.clamp(CLAMP, 1 - CLAMP), on_path, reduction="none") * seen
    questions = inputs.question_of
    total = losses.new_zeros(num_questions).index_add(0, questions, losses)
    count = losses.new_zeros(num_questions).index_add(0, questions, seen.to(losses.dtype))
    return (total / count.clamp(min=1)).mean()


class RetrieverObjective(ShuffledObjective[GraphRetriever, tuple[int, int]]):
    """An `Objective`. Questions without a right triple in their subgraph are skipped in training and on dev."""

    def __init__(
        self,
        network: GraphRetriever,
        train: Sequence[EncodedSubgraphs],
        dev: Sequence[EncodedSubgraphs],
        config: GrilConfig,
    ) -> None:
        questions = [
            (place, question)
            for place, each in enumerate(train)
            for question in range(len(each.graphs))
            if each.graphs.is_positive[each.graphs.triples_of(question)].any()
        ]
        if not questions:
            raise NothingToLearnError("no question to learn from has an answer in its subgraph")
        super().__init__(network, questions, config.training, config.batch_size)
        self._train, self._dev = train, dev

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean loss of a batch of questions."""
        batch = self.batch(step, shard)
        losses = []
        for place, encoded in enumerate(self._train):
            chosen = [question for of, question in batch if of == place]
            if chosen:
                inputs = encoded.inputs(chosen, supervised=True)
                with self.autocast():
                    grown = network(inputs)
                losses.append(graph_supervision(grown, inputs, encoded.on_path(chosen)) * len(chosen))
        return torch.stack(losses).sum() / len(batch)

    def evaluate(self) -> Figures:
        """Return recall on dev."""
        return figures_of(list(self.iterate_logits()))

    def iterate_logits(self) -> Iterator[tuple[Floats, Bools]]:
        """Yield the logits of each dev question's triples, and which are right."""
        yield from score_triples(self.network, self._dev)


def score_triples(network: GraphRetriever, sets: Sequence[EncodedSubgraphs]) -> Iterator[tuple[Floats, Bools]]:
    """Yield the logits of each question's triples, −∞ of pruned ones, and which are right."""
    with torch.no_grad():
        for encoded in sets:
            for question in range(len(encoded.graphs)):
                grown = network(encoded.inputs([question]))
                scores = logit(grown.path_probability).masked_fill(~grown.is_kept, float("-inf")).cpu().numpy()
                yield scores, encoded.graphs.is_positive[encoded.graphs.triples_of(question)]


def figures_of(scored: Sequence[tuple[Floats, Bools]]) -> Figures:
    """Return `RETRIEVER_FIGURES` over questions with right triples, and the selection metric."""
    found = [retriever_figures(scores, right) for scores, right in scored if right.any()]
    if not found:
        raise NothingToLearnError("no question to choose by has an answer in its subgraph")
    figures = dict(zip(RETRIEVER_FIGURES, np.mean(found, axis=0).tolist(), strict=True))
    return figures | {"selection_metric": figures[f"recall_at_{CHOOSE_AT}"] + TIE_BREAK * figures["average_precision"]}


def retriever_figures(scores: Floats, right: Bools) -> list[float]:
    """Return `RETRIEVER_FIGURES` of a question with right triples; the earlier of equal scores ranks higher.

    What is pruned, with a score of −∞, is not found.
    """
    order = np.argsort(-scores, kind="stable")
    ranks = np.flatnonzero(right[order] & np.isfinite(scores[order])) + 1
    precisions = np.arange(1, len(ranks) + 1) / ranks
    return [float(each) / int(right.sum()) for each in (*((ranks <= k).sum() for k in RECALL_AT), precisions.sum())]


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


@dataclass(frozen=True, slots=True)
class JointOutcome:
    """The outcome of a batch: the grown subgraph, the reader's questions with their graph tokens, and the parts of the
    loss.
    """

    grown: GrownSubgraph
    reader_questions: list[ReaderQuestion]
    tokens: Tensor | None
    losses: dict[str, Tensor]

    @property
    def loss(self) -> Tensor:
        """The sum of all parts."""
        return torch.stack(list(self.losses.values())).sum()


class JointNetwork(nn.Module):
    """Retriever θ, bridge ψ and reader φ. wanted: reader targets by question id."""

    def __init__(
        self,
        retriever: GraphRetriever,
        bridge: Bridge,
        reader: JointReader,
        options: JointOptions,
        wanted: Mapping[str, ReaderTarget] | None = None,
    ) -> None:
        super().__init__()
        self.retriever, self.bridge = retriever, bridge
        self.reader: Any = reader
        self.options = options
        self._wanted = wanted or {}

    def forward(
        self,
        encoded: EncodedSubgraphs,
        questions: Sequence[int],
        num_triples: Sequence[int],
        precision: torch.dtype | None = None,
    ) -> JointOutcome:
        """Return the outcome of some questions, with its loss. num_triples: given to the reader, per question."""
        options = self.options
        grown, inputs, reader_questions, tokens, given_rows = self._build_questions(encoded, questions, num_triples)
        losses = {"reading": self.reader.loss(reader_questions, tokens, precision)}
        if options.graph_supervision:
            losses["graph"] = graph_supervision(grown, inputs, encoded.on_path(questions))
        if options.prior_weight:
            _, triples = encoded.rows(questions)
            chosen = torch.from_numpy(np.isin(triples, np.concatenate(given_rows))).to(grown.entity_probability.device)
            prior = -grown.path_probability[chosen].clamp(min=CLAMP).log()
            losses["prior"] = options.prior_weight * prior.sum() / max(len(prior), 1)
        return JointOutcome(grown, reader_questions, tokens, losses)

    def outputs(
        self,
        encoded: EncodedSubgraphs,
        questions: Sequence[int],
        num_triples: Sequence[int],
        precision: torch.dtype | None = None,
    ) -> list[ReaderOutput]:
        """Return the reader's output for some questions."""
        _, _, reader_questions, tokens, _ = self._build_questions(encoded, questions, num_triples)
        found: list[ReaderOutput] = self.reader.outputs(reader_questions, tokens, precision)
        return found

    def trained_weights(self) -> dict[str, Tensor]:
        """Return the weights that training changes, not copies."""
        parts = {"retriever": self.retriever.state_dict(), "bridge": self.bridge.state_dict()}
        parts["reader"] = dict(self.reader.trained_weights())
        return {f"{name}.{key}": weight for name, part in parts.items() for key, weight in part.items()}

    def _build_questions(
        self, encoded: EncodedSubgraphs, questions: Sequence[int], num_triples: Sequence[int]
    ) -> tuple[GrownSubgraph, GrowInputs, list[ReaderQuestion], Tensor | None, list[Ints]]:
        inputs = encoded.inputs(questions, supervised=self.training and self.options.graph_supervision)
        grown = self.retriever(inputs)
        tokens = None
        if self.options.token:
            mask = mask_of(grown, self.retriever.options.temperature, is_sampled=self.training)
            tokens = self.bridge(grown, inputs, mask)
        given_rows = choose_triples(grown, encoded, questions, num_triples)
        reader_questions = [
            self.build_question(encoded, question, rows) for question, rows in zip(questions, given_rows, strict=True)
        ]
        return grown, inputs, reader_questions, tokens, given_rows

    def build_question(self, encoded: EncodedSubgraphs, question: int, rows: Ints) -> ReaderQuestion:
        """Return a question with the passage its reader gets."""
        graphs = encoded.graphs
        passage, nodes = build_passage(encoded, question, rows)
        is_answer = graphs.is_answer[graphs.nodes_of(question)]
        wanted = self._wanted.get(graphs.texts.ids[question])
        if wanted is None:
            texts = graphs.text_of[graphs.nodes_of(question)][is_answer].tolist()
            wanted = ReaderTarget(tuple(dict.fromkeys(graphs.texts.entities[place] for place in texts if place >= 0)))
        passage = replace(passage, options=wanted.options)
        return ReaderQuestion(passage, tuple(graphs.is_answer[nodes].tolist()), int(is_answer.sum()), wanted)


def choose_triples(
    grown: GrownSubgraph, encoded: EncodedSubgraphs, questions: Sequence[int], num_triples: Sequence[int]
) -> list[Ints]:
    """Return, for each question, the rows of the triples that the reader gets: the most probable that were kept."""
    probabilities = grown.path_probability.detach().cpu().numpy()
    kept = grown.is_kept.cpu().numpy()
    given: list[Ints] = []
    start = 0
    for question, number in zip(questions, num_triples, strict=True):
        span = encoded.graphs.triples_of(question)
        after = start + span.stop - span.start
        rows = np.flatnonzero(kept[start:after])
        best = rows[np.argsort(-probabilities[start:after][rows], kind="stable")[:number]]
        given.append(best + span.start)
        start = after
    return given


def build_passage(encoded: EncodedSubgraphs, question: int, rows: Ints) -> tuple[Passage, Ints]:
    """Return a question's passage, and the node of each candidate: the named ends of the triples except topics."""
    graphs = encoded.graphs
    texts = graphs.texts
    nodes = np.unique(np.concatenate([graphs.heads[rows], graphs.tails[rows]]))
    names = tuple(texts.entities[place] if place >= 0 else None for place in graphs.text_of[nodes].tolist())
    heads, tails = (np.searchsorted(nodes, ends[rows]).tolist() for ends in (graphs.heads, graphs.tails))
    relations = [texts.relations[place] for place in graphs.relation_of[rows].tolist()]
    may = [place for place, name in enumerate(names) if name is not None and not graphs.is_topic[nodes[place]]]
    triples = tuple(zip(heads, relations, tails, strict=True))
    return Passage(texts.questions[question], names, triples, tuple(may)), nodes[may]


SHARES: tuple[float, ...] = tuple(np.linspace(0.05, 1.0, 20).tolist())
"""Fractions of the best candidate's probability from which another candidate is an answer, too; dev decides."""


class JointObjective(ShuffledObjective[JointNetwork, tuple[int, int]]):
    """An `Objective`. Figures cover all dev questions with an answer in their subgraph, found or not; in the open
    domain all that have a subgraph.
    """

    def __init__(
        self,
        network: JointNetwork,
        hops: HopPredictor,
        train: Sequence[EncodedSubgraphs],
        dev: Sequence[EncodedSubgraphs],
        config: GrilConfig,
    ) -> None:
        self._train, self._dev, self._config = train, dev, config
        self._numbers = {id(each): numbers_of_triples(hops, each, config) for each in (*train, *dev)}
        questions = [(place, question) for place, each in enumerate(train) for question in self._select_questions(each)]
        super().__init__(network, questions, config.joint_training, config.batch_size)

    def groups(self) -> list[ParameterGroup]:
        """Return the reader's pretrained parameters, and all other parameters, which are new."""
        inside = {id(parameter) for parameter in self.network.reader.pretrained_parameters()}
        learning = [p for p in self.network.parameters() if p.requires_grad]
        parts = [[p for p in learning if (id(p) in inside) is within] for within in (True, False)]
        rates = (self.training.learning_rate, self.training.head_learning_rate)
        return [ParameterGroup(part, rate) for part, rate in zip(parts, rates, strict=True)]

    def get_weights(self) -> Mapping[str, Tensor]:
        """Return the trained weights; of a LoRA only its factors."""
        return self.network.trained_weights()

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean loss of a batch of questions."""
        batch = self.batch(step, shard)
        losses = []
        for place, encoded in enumerate(self._train):
            chosen = [question for of, question in batch if of == place]
            if chosen:
                numbers = [self._numbers[id(encoded)][each] for each in chosen]
                read = network(encoded, chosen, numbers, self.training.dtype)
                losses.append(read.loss * len(chosen))
        return torch.stack(losses).sum() / len(batch)

    def evaluate(self) -> Figures:
        """Return Hits@1 and F1 on dev, F1 at the best of `SHARES`."""
        found = self.outputs()
        hits = float(np.mean([is_best_right(each.scores, each.is_right) for each in found])) if found else 0.0
        f1: float = max(mean_f1_at(share, found) for share in SHARES)
        return {HITS: hits, F1: f1, "selection_metric": hits + TIE_BREAK * f1}

    def best_share(self) -> float:
        """Return the one of `SHARES` with the best F1 on dev; ties go to the highest."""
        found = self.outputs()
        best: float = max(SHARES, key=lambda share: (mean_f1_at(share, found), share))
        return best

    def outputs(self) -> list[ReaderOutput]:
        """Return the reader's output for each dev question."""
        found: list[ReaderOutput] = []
        size = self._config.batch_size
        with torch.no_grad():
            for encoded in self._dev:
                selected = self._select_questions(encoded)
                for batch in (selected[start : start + size] for start in range(0, len(selected), size)):
                    numbers = [self._numbers[id(encoded)][each] for each in batch]
                    found += self.network.outputs(encoded, batch, numbers, self.training.dtype)
        return found

    def _select_questions(self, encoded: EncodedSubgraphs) -> list[int]:
        """Return the questions to train and evaluate on: multiple-choice ones, and those with an answer in their
        subgraph.
        """
        return list(range(len(encoded.graphs))) if self._config.joint.open_domain else answerable_questions(encoded)


def answerable_questions(encoded: EncodedSubgraphs) -> list[int]:
    """Return the questions that have an answer in their subgraph."""
    graphs = encoded.graphs
    return [each for each in range(len(graphs)) if graphs.is_answer[graphs.nodes_of(each)].any()]


def numbers_of_triples(hops: HopPredictor, encoded: EncodedSubgraphs, config: GrilConfig) -> list[int]:
    """Return how many triples the reader gets for each question."""
    if config.joint.num_triples:
        return [config.joint.num_triples] * len(encoded.graphs)
    with torch.no_grad():
        predicted = hops(encoded.questions).argmax(dim=1) + 1
    return [TRIPLES_PER_HOP * c for c in predicted.tolist()]


def is_best_right(scores: Floats, right: Bools) -> bool:
    """Return whether the best candidate is right; False if it is not in the text."""
    return bool(len(scores) and scores.max() > 0 and right[scores.argmax()])


def mean_f1_at(share: float, found: Sequence[ReaderOutput]) -> float:
    """Return the mean F1 of the answers at a fraction."""
    figures = []
    for each in found:
        is_predicted = is_answer(each.scores, share)
        figures.append(
            2 * int((is_predicted & each.is_right).sum()) / max(int(is_predicted.sum()) + each.num_answers, 1)
        )
    return float(np.mean(figures)) if figures else 0.0
