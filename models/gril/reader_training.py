"""Train GRIL and its reader jointly.

The loss is −log P_φψ(a | G_s, q), minimised in the reader φ and the bridge ψ (equation 6); the retriever θ minimises it
plus −log P_θ(G_s | q), with φ and ψ fixed (equation 7). Both share their first term: its gradient in φ and ψ is that of
equation 6, its gradient in θ flows through the soft token, and the second term depends on θ alone. So one backward pass
gives both.

Ours: log P_θ(G_s | q) is the mean of log P over the triples that the reader gets, weighted by `prior_weight`. These are
the 5 · c most probable, c predicted, or a fixed number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..training.kind import Figures, ParameterGroup
from ..training.trainer import ShuffledObjective
from .config import F1, HITS, GrilConfig, JointOptions
from .network import CLAMP, TRIPLES_PER_HOP, EncodedSubgraphs, GraphRetriever, GrowInputs, GrownSubgraph, HopPredictor
from .objective import graph_supervision
from .passages import Bools, Floats, JointReader, Passage, ReaderOutput, ReaderQuestion, ReaderTarget
from .scoring import Bridge, mask_of

Ints = npt.NDArray[np.int64]


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


TIE_BREAK = 1e-3
"""Ties in Hits@1 go to the better F1."""
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


def is_answer(scores: Floats, share: float) -> Bools:
    """Return which candidates are answers: those with at least this fraction of the best one's probability."""
    is_predicted: Bools = (scores > 0) & (scores >= share * scores.max(initial=0.0))
    return is_predicted


def mean_f1_at(share: float, found: Sequence[ReaderOutput]) -> float:
    """Return the mean F1 of the answers at a fraction."""
    figures = []
    for each in found:
        is_predicted = is_answer(each.scores, share)
        figures.append(
            2 * int((is_predicted & each.is_right).sum()) / max(int(is_predicted.sum()) + each.num_answers, 1)
        )
    return float(np.mean(figures)) if figures else 0.0
