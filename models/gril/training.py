"""Train GRIL: its retriever, its predictor of hops, and both with a reader, jointly (section 4.3); open its checkpoint.

The retriever alone learns by binary cross-entropy over the entities on right paths. Ours: the mean is over a question's
seen entities without its topics, then over questions. The selection metric is the recall of right triples within the
most triples a reader gets.

The joint loss is −log P_φψ(a | G_s, q), minimised in the reader φ and the bridge ψ (equation 6); the retriever θ
minimises it plus −log P_θ(G_s | q), with φ and ψ fixed (equation 7). Both share their first term: its gradient in φ and
ψ is that of equation 6, its gradient in θ flows through the soft token, and the second term depends on θ alone. So one
backward pass gives both. Trained separately, without the token, the retriever has neither term. Ours: log P_θ(G_s | q)
is the mean of log P over the triples that the reader gets, weighted by `prior_weight`. These are the 5 · c most
probable, c predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy, cross_entropy

from ..calibration import fit_calibration
from ..causal_lm import CausalLMError
from ..kinds import (
    BadCheckpointError,
    CheckpointOpenOptions,
    TrainingOptions,
    Writer,
    check_checkpoint,
    load_network,
    translate_read_errors,
    write_weights,
)
from ..reg.triples import (
    TIE_BREAK,
    Encode,
    EncodedGraphs,
    GraphInputs,
    TripleObjective,
    compute_mean_figures,
    compute_triple_figures,
    concatenate_spans,
)
from ..subgraphs import UNREACHED, QuestionGraphs, compute_hops_from_topic, join_graphs
from ..text.vectors import memoise_encoder
from ..training import Figures, Objective, TrainingFolder
from . import (
    ACCURACY,
    CHOOSE_AT,
    F1,
    HITS,
    MAJORITY,
    RECALL_AT,
    RETRIEVER_FIGURES,
    GrilConfig,
    GrilDescription,
    JointOptions,
)
from .network import (
    CLAMP,
    TRIPLES_PER_HOP,
    Bools,
    Floats,
    GraphRetriever,
    GraphTokenNetwork,
    GrilModel,
    GrownSubgraph,
    HopModel,
    HopPredictor,
    Ints,
    logit,
    sample_triple_mask,
)
from .readers import (
    JointReader,
    ReaderModel,
    ReaderOutput,
    ReaderPassage,
    ReaderQuestion,
    make_reader,
    write_reader,
)

NetworkT = TypeVar("NetworkT", bound=nn.Module)
CALIBRATED = 100
"""The number of best triples per dev question that calibration uses."""
NO_HOPS = 0
HOP_BATCH = 32


class EncodedSubgraphs(EncodedGraphs):
    """A set of subgraphs with the vectors of all their texts, whose questions are read whole."""

    def __init__(self, graphs: QuestionGraphs, encode: Encode, device: torch.device) -> None:
        super().__init__(graphs, encode, 0, device)
        self._on_path = np.zeros(len(graphs.text_of), dtype=np.bool_)  # a shortest path from a topic to an answer
        for ends in (graphs.heads, graphs.tails):
            self._on_path[ends[graphs.is_positive]] = True

    @property
    def questions(self) -> Tensor:
        """The questions' vectors, (num_questions, dimension)."""
        return torch.from_numpy(self._questions).to(self.device)

    def nodes(self, questions: Sequence[int]) -> Ints:
        """Return the rows of the nodes of some questions, one question after another."""
        return concatenate_spans(map(self.graphs.nodes_of, questions))

    def grow_inputs(self, questions: Sequence[int], *, supervised: bool = False) -> GraphInputs:
        """Return the whole subgraphs of some questions; `supervised` keeps expanding nodes on right paths."""
        inputs = self.inputs(questions, self.rows(questions), self.nodes(questions))
        return replace(inputs, grown_anyway=self.on_path(questions).bool()) if supervised else inputs

    def on_path(self, questions: Sequence[int]) -> Tensor:
        """Return which nodes of some questions are on right paths, as 0 and 1."""
        return torch.from_numpy(self._on_path[self.nodes(questions)].astype(np.float32)).to(self.device)


def compute_entity_supervision_loss(grown: GrownSubgraph, inputs: GraphInputs, on_path: Tensor) -> Tensor:
    """Return the loss of a batch, a scalar.

    on_path: (num_nodes,) 1 for entities on a shortest path from a topic to an answer. Unseen entities do not count, as
    no gradient could change their probability.
    """
    num_questions = len(inputs.questions)
    seen = torch.zeros_like(inputs.is_topic)
    seen = seen.index_fill(0, inputs.heads[grown.is_seen], True).index_fill(0, inputs.tails[grown.is_seen], True)
    seen = seen & ~inputs.is_topic
    with torch.autocast(on_path.device.type, enabled=False):
        losses = binary_cross_entropy(grown.entity_probability.clamp(CLAMP, 1 - CLAMP), on_path, reduction="none")
    losses = losses * seen
    questions = inputs.node_question
    total = losses.new_zeros(num_questions).index_add(0, questions, losses)
    count = losses.new_zeros(num_questions).index_add(0, questions, seen.to(losses.dtype))
    return (total / count.clamp(min=1)).mean()


class RetrieverObjective(TripleObjective):
    """Grows the subgraphs; chooses by dev questions with a right triple in theirs."""

    def loss(self, batch: Sequence[int]) -> Tensor:
        inputs = self.train.grow_inputs(batch, supervised=True)
        return compute_entity_supervision_loss(self.network(inputs), inputs, self.train.on_path(batch))

    def evaluate(self) -> Figures:
        return compute_mean_retriever_figures(self.iterate_scores())

    def iterate_scores(self) -> Iterator[tuple[Floats, Bools]]:
        """Yield the logits of each dev question's triples, −∞ of pruned ones, and which are right."""
        graphs = self.dev.graphs
        with torch.no_grad():
            for question in range(len(graphs)):
                grown = self.network(self.dev.grow_inputs([question]))
                scores = logit(grown.path_probability).masked_fill(~grown.is_kept, float("-inf"))
                yield scores.float().cpu().numpy(), graphs.is_positive[graphs.triples_of(question)]

    def make_calibration_pairs(self) -> list[tuple[float, float]]:
        """Return score and correctness of each dev question's best triples that were kept."""
        found: list[tuple[float, float]] = []
        for scores, right in self.iterate_scores():
            best = np.argsort(-scores, kind="stable")[: min(CALIBRATED, int(np.isfinite(scores).sum()))]
            found += zip(scores[best].tolist(), right[best].astype(float).tolist(), strict=True)
        return found


def compute_mean_retriever_figures(scored: Iterable[tuple[Floats, Bools]]) -> Figures:
    """Return `RETRIEVER_FIGURES` over questions with right triples, and the selection metric."""
    found = [compute_triple_figures(scores, right, RECALL_AT) for scores, right in scored if right.any()]
    return compute_mean_figures(RETRIEVER_FIGURES, found, CHOOSE_AT)


def compute_hops_to_answers(graphs: QuestionGraphs, max_hops: int) -> Ints:
    """Return the hops of each question, (num_questions,); `NO_HOPS` if no topic leads to an answer.

    The paper's: the shortest path between topics and answers. Ours, with several topics: the longest of each topic's
    shortest path to an answer, so that each topic's path has room; counted in triples, mediators included; at most
    `max_hops`.
    """
    found = []
    for question in range(len(graphs)):
        (heads, tails), nodes = graphs.ends_of(question), graphs.nodes_of(question)
        farthest = NO_HOPS
        for topic in np.flatnonzero(graphs.is_topic[nodes]).tolist():
            hops = compute_hops_from_topic(heads, tails, graphs.is_literal[nodes], topic)
            reached = hops[graphs.is_answer[nodes] & (hops != UNREACHED)]
            farthest = max(farthest, int(reached.min(initial=max_hops)) if len(reached) else NO_HOPS)
        found.append(farthest)
    return np.array(found, dtype=np.int64)


class HopObjective(Objective[HopPredictor, int]):
    """Cross-entropy over the questions with reachable answers."""

    def __init__(
        self,
        network: HopPredictor,
        train: EncodedSubgraphs,
        dev: EncodedSubgraphs,
        options: TrainingOptions,
    ) -> None:
        self._train, self._dev = (_select_known_hops(each, network.max_hops) for each in (train, dev))
        super().__init__(network, range(len(self._train[1])), options, HOP_BATCH)

    def loss(self, batch: Sequence[int]) -> Tensor:
        questions, hops = self._train
        return cross_entropy(self.network(questions[batch]).float(), hops[batch] - 1)

    def evaluate(self) -> Figures:
        """Return the accuracy on dev questions, and that of predicting the commonest number of hops."""
        questions, hops = self._dev
        if not len(hops) or not len(self._train[1]):
            return {ACCURACY: 0.0, MAJORITY: 0.0, "selection_metric": 0.0}
        with torch.no_grad():
            logits = self.network(questions).float()
            accuracy = float((logits.argmax(dim=1) + 1 == hops).float().mean())
            loss = float(cross_entropy(logits, hops - 1))
        commonest = torch.bincount(self._train[1]).argmax()
        majority = float((hops == commonest).float().mean())
        return {ACCURACY: accuracy, MAJORITY: majority, "selection_metric": accuracy - TIE_BREAK * loss}


def _select_known_hops(encoded: EncodedSubgraphs, max_hops: int) -> tuple[Tensor, Tensor]:
    hops = torch.from_numpy(compute_hops_to_answers(encoded.graphs, max_hops)).to(encoded.device)
    return encoded.questions[hops != NO_HOPS], hops[hops != NO_HOPS]


class _Given(NamedTuple):
    """What the reader gets of some questions: the grown subgraph with its inputs, the questions with their graph
    tokens, and the rows of the triples of each.
    """

    grown: GrownSubgraph
    inputs: GraphInputs
    questions: list[ReaderQuestion]
    tokens: Tensor | None
    rows: list[Ints]


class JointNetwork(nn.Module):
    """Retriever θ, bridge ψ and reader φ."""

    def __init__(
        self,
        retriever: GraphRetriever,
        bridge: GraphTokenNetwork,
        reader: JointReader,
        options: JointOptions,
    ) -> None:
        super().__init__()
        self.retriever, self.bridge = retriever, bridge
        self.reader: Any = reader
        self.options = options

    def losses(
        self, encoded: EncodedSubgraphs, questions: Sequence[int], num_triples: Sequence[int]
    ) -> dict[str, Tensor]:
        """Return the parts of the loss of some questions. num_triples: given to the reader, per question."""
        options = self.options
        given = self.give(encoded, questions, num_triples)
        losses = {
            "reading": self.reader.loss(given.questions, given.tokens),
            "graph": compute_entity_supervision_loss(given.grown, given.inputs, encoded.on_path(questions)),
        }
        if options.token and options.prior_weight:
            chosen = torch.from_numpy(np.isin(encoded.rows(questions), np.concatenate(given.rows)))
            prior = -given.grown.path_probability[chosen.to(given.grown.is_seen.device)].clamp(min=CLAMP).log()
            losses["prior"] = options.prior_weight * prior.sum() / max(len(prior), 1)
        return losses

    def outputs(
        self, encoded: EncodedSubgraphs, questions: Sequence[int], num_triples: Sequence[int]
    ) -> list[ReaderOutput]:
        given = self.give(encoded, questions, num_triples)
        return self.reader.outputs(given.questions, given.tokens)

    def trained_weights(self) -> dict[str, Tensor]:
        """Return the weights that training changes, not copies; of a LoRA only its factors."""
        parts = {"retriever": self.retriever.state_dict(), "bridge": self.bridge.state_dict()}
        parts["reader"] = dict(self.reader.trained_weights())
        return {f"{name}.{key}": weight for name, part in parts.items() for key, weight in part.items()}

    def give(self, encoded: EncodedSubgraphs, questions: Sequence[int], num_triples: Sequence[int]) -> _Given:
        inputs = encoded.grow_inputs(questions, supervised=self.training)
        tokens = None
        with torch.autocast(encoded.device.type, enabled=False):  # the reader alone computes in another precision
            grown = self.retriever(inputs)
            if self.options.token:
                mask = sample_triple_mask(grown, self.retriever.options.temperature, is_sampled=self.training)
                tokens = self.bridge(grown, inputs, mask)
        rows = choose_reader_triples(grown, encoded, questions, num_triples)
        asked = [_ask_reader(encoded, question, each) for question, each in zip(questions, rows, strict=True)]
        return _Given(grown, inputs, asked, tokens, rows)


def _ask_reader(encoded: EncodedSubgraphs, question: int, rows: Ints) -> ReaderQuestion:
    graphs, nodes = encoded.graphs, encoded.graphs.nodes_of(question)
    passage, candidates = build_passage(encoded, question, rows)
    right = graphs.text_of[nodes][graphs.is_answer[nodes]].tolist()
    answers = tuple(dict.fromkeys(graphs.texts.entities[place] for place in right if place >= 0))
    return ReaderQuestion(passage, tuple(graphs.is_answer[candidates].tolist()), len(right), answers)


def choose_reader_triples(
    grown: GrownSubgraph, encoded: EncodedSubgraphs, questions: Sequence[int], num_triples: Sequence[int]
) -> list[Ints]:
    """Return, for each question, the rows of the triples that the reader gets: the most probable that were kept."""
    scores = grown.path_probability.masked_fill(~grown.is_kept, -1).detach().cpu().numpy()
    spans = [encoded.graphs.triples_of(question) for question in questions]
    starts = np.cumsum([0, *(span.stop - span.start for span in spans)])
    given: list[Ints] = []
    for span, (start, after), number in zip(spans, pairwise(starts), num_triples, strict=True):
        order = np.argsort(-scores[start:after], kind="stable")[:number]
        given.append(order[scores[start:after][order] >= 0] + span.start)
    return given


def build_passage(encoded: EncodedSubgraphs, question: int, rows: Ints) -> tuple[ReaderPassage, Ints]:
    """Return a question's passage, and the node of each candidate: the named ends of the triples except topics."""
    graphs = encoded.graphs
    texts = graphs.texts
    nodes = np.unique(np.concatenate([graphs.heads[rows], graphs.tails[rows]]))
    names = tuple(texts.entities[place] if place >= 0 else None for place in graphs.text_of[nodes].tolist())
    heads, tails = (np.searchsorted(nodes, ends[rows]).tolist() for ends in (graphs.heads, graphs.tails))
    relations = [texts.relations[place] for place in graphs.relation_of[rows].tolist()]
    may = [place for place, name in enumerate(names) if name is not None and not graphs.is_topic[nodes[place]]]
    triples = tuple(zip(heads, relations, tails, strict=True))
    return ReaderPassage(texts.questions[question], names, triples, tuple(may)), nodes[may]


class JointObjective(Objective[JointNetwork, int]):
    """Figures cover all dev questions with an answer in their subgraph, found or not."""

    def __init__(
        self,
        network: JointNetwork,
        hops: HopPredictor,
        train: EncodedSubgraphs,
        dev: EncodedSubgraphs,
        config: GrilConfig,
    ) -> None:
        self._train, self._dev = train, dev
        self._num_triples, self._num_dev_triples = (predict_triple_counts(hops, each) for each in (train, dev))
        super().__init__(network, _answerable_questions(train), config.joint_training, config.batch_size)

    def pretrained(self) -> Iterable[Tensor]:
        return self.network.reader.pretrained_parameters()

    def weights(self) -> Mapping[str, Tensor]:
        return self.network.trained_weights()

    def loss(self, batch: Sequence[int]) -> Tensor:
        losses = self.network.losses(self._train, batch, [self._num_triples[each] for each in batch])
        return torch.stack(list(losses.values())).sum()

    def evaluate(self) -> Figures:
        """Return Hits@1 and F1 on dev."""
        asked, numbers = _answerable_questions(self._dev), self._num_dev_triples
        found: list[ReaderOutput] = []
        with torch.no_grad():
            for start in range(0, len(asked), self.batch_size):
                batch = asked[start : start + self.batch_size]
                found += self.network.outputs(self._dev, batch, [numbers[each] for each in batch])
        hits = sum(any(right[:1]) for right, _ in found) / max(len(found), 1)
        f1 = sum(2 * sum(right) / (len(right) + number) for right, number in found) / max(len(found), 1)
        return {HITS: hits, F1: f1, "selection_metric": hits + TIE_BREAK * f1}


def _answerable_questions(encoded: EncodedSubgraphs) -> list[int]:
    graphs = encoded.graphs
    return [each for each in range(len(graphs)) if graphs.is_answer[graphs.nodes_of(each)].any()]


def predict_triple_counts(hops: HopPredictor, encoded: EncodedSubgraphs) -> list[int]:
    with torch.no_grad():
        predicted = hops(encoded.questions).argmax(dim=1) + 1
    return [TRIPLES_PER_HOP * c for c in predicted.tolist()]


def fit(
    config: GrilConfig, train: Sequence[QuestionGraphs], dev: Sequence[QuestionGraphs], out: TrainingFolder
) -> GrilDescription:
    """Train the retriever by graph supervision, the hop predictor, and, with a reader, all jointly."""
    device = torch.device(out.device)
    encode = memoise_encoder(out.vectors_of(config.encoder).encoder.encode)
    learned, chosen = (EncodedSubgraphs(join_graphs(sets), encode, device) for sets in (train, dev))
    dimension = learned.dimension
    options = asdict(config)
    depends_on = {key: options[key] for key in ("encoder", "hidden", "max_hops", "batch_size", "grow", "subgraph")}
    torch.manual_seed(config.training.seed)
    retriever = GraphRetriever(dimension, config.hidden, config.grow).to(device)
    growing = RetrieverObjective(retriever, learned, chosen, config)
    out.train("graph retriever", "retriever", growing, depends_on)
    torch.manual_seed(config.hop_training.seed)
    hops = HopPredictor(dimension, config.hidden, config.max_hops).to(device)
    out.train("hops", "hops", HopObjective(hops, learned, chosen, config.hop_training), depends_on)
    parts: dict[str, Writer] = {
        "retriever": partial(write_weights, retriever.state_dict()),
        "hops": partial(write_weights, hops.state_dict()),
    }
    reader_width = None
    if config.joint.reader:
        torch.manual_seed(config.joint_training.seed)
        reader = make_reader(config.joint, out.device)
        bridge = GraphTokenNetwork(config.hidden, config.joint.inner, reader.width)
        network = JointNetwork(retriever, bridge, reader, config.joint).to(device)
        objective = JointObjective(network, hops, learned, chosen, config)
        out.train("reader", "reader", objective, {key: options[key] for key in options if key != "joint_training"})
        parts |= {"bridge": partial(write_weights, bridge.state_dict()), "reader": partial(write_reader, reader)}
        reader_width = reader.width
    scored = fit_calibration(growing.make_calibration_pairs())
    return out.write(parts, scored, dimension=dimension, reader_width=reader_width)


class GrilCheckpoint:
    """An open checkpoint: retriever, hop predictor and reader, each read at first use.

    Each raises `BadCheckpointError` for a damaged file; `reader` also for a checkpoint without one.
    """

    def __init__(self, folder: Path, opening: CheckpointOpenOptions) -> None:
        self._folder = folder
        self._opening = opening
        self.description = check_checkpoint(folder, GrilDescription)

    @cached_property
    def retriever(self) -> GrilModel:
        said, config = self.description, self.description.config
        network = GraphRetriever(said.dimension, config.hidden, config.grow)
        bridge = None
        if said.reader_width and config.joint.token:
            bridge = self._load(GraphTokenNetwork(config.hidden, config.joint.inner, said.reader_width), "bridge")
        return GrilModel(said, self._load(network, "retriever"), self._opening.vectors_of(said), bridge)

    @cached_property
    def hops(self) -> HopModel:
        said = self.description
        network = HopPredictor(said.dimension, said.config.hidden, said.config.max_hops)
        return HopModel(self._load(network, "hops"), self._opening.vectors_of(said))

    @cached_property
    def reader(self) -> ReaderModel:
        options = self.description.config.joint
        if self.description.reader_width is None:
            raise BadCheckpointError(
                f"{self._folder}: expected a checkpoint with a reader, found only a retriever: train one with "
                "`lodestar train gril --set joint.reader=all-MiniLM-L6-v2`"
            )
        try:
            with translate_read_errors(self._folder):
                reader = make_reader(options, self._opening.device, self._folder / "reader")
        except CausalLMError as error:
            raise BadCheckpointError(f"{self._folder}: {error}") from error
        return ReaderModel(options, reader.to(torch.device(self._opening.device)))

    def _load(self, network: NetworkT, part: str) -> NetworkT:
        return load_network(network, self._folder / part, self._opening.device)


open_model = GrilCheckpoint
