"""Train ReG@Path's decoder and read its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ..mined import PooledQuestion, PoolFile, supervision_of
from ..reg_triple.network import Encode
from ..similarity import mask_topic
from ..training.checkpoint import check_checkpoint, read_weights, translate_read_errors, write_weights
from ..training.kind import Inputs, Outcome, Phase, Training
from ..training.loop import ShuffledObjective, TrainingResult
from ..training.objective import Figures, NothingToLearnError, TrainingOptions
from ..training.trainer import fit_calibration
from .config import FIGURES, PART, PathConfig, PathDescription
from .network import PathDecoder, RelationTokens


def read_path_decoder(folder: Path, device: str = "cpu") -> tuple[PathDescription, PathDecoder]:
    """Return a checkpoint after checking its hashes; raise `BadCheckpointError` if one is damaged."""
    description = check_checkpoint(folder, PathDescription, lambda _: (PART,))
    with translate_read_errors(folder):
        network = PathDecoder(description.dimension, description.hidden)
        network.load_state_dict(read_weights(folder / PART))
    return description, network.eval().to(torch.device(device))


@dataclass(frozen=True, slots=True)
class PathExample:
    """A question, by its id, with candidate paths from one of its topics. topic: its name. masked: the question without
    it.
    """

    question: str
    text: str
    topic: str
    masked: str
    paths: tuple[tuple[str, ...], ...]
    is_right: tuple[bool, ...]


Pair = tuple[PathExample, tuple[str, ...]]
"""A path for a question."""


def examples_of(pools: Sequence[PoolFile], vocabulary: RelationTokens) -> list[PathExample]:
    """Return the training examples of pools: for each question and topic, the chains that leave it."""
    return [
        example
        for pool in pools
        for question in pool.questions
        for example in _examples(question, vocabulary)
        if any(example.is_right)
    ]


def _examples(question: PooledQuestion, vocabulary: RelationTokens) -> Iterator[PathExample]:
    right = set(question.supervision)
    for topic in question.topics:
        chains = [chain for chain in question.chains if chain.kind != "answer" and chain.start == topic]
        known = [chain for chain in chains if vocabulary.knows(chain.steps)]
        if known:
            name = known[0].names[0]
            paths = tuple(chain.steps for chain in known)
            is_right = tuple(chain in right for chain in known)
            yield PathExample(question.id, question.text, name, mask_topic(question.text, name), paths, is_right)


class PathObjective(ShuffledObjective[nn.Module, Pair]):
    """An `Objective`: each right path of a question is an example."""

    def __init__(
        self,
        network: nn.Module,
        train: Sequence[PathExample],
        dev: Sequence[PathExample],
        training: TrainingOptions,
        batch_size: int,
    ) -> None:
        pairs: list[Pair] = [
            (example, path)
            for example in train
            for path, right in zip(example.paths, example.is_right, strict=True)
            if right
        ]
        if not pairs or not dev:
            raise NothingToLearnError(
                f"no question to {'choose by' if pairs else 'learn from'} has a path from a topic to an answer"
            )
        super().__init__(network, pairs, training, batch_size)
        self._dev = list(dev)

    def log_likelihoods(self, network: nn.Module, pairs: Sequence[Pair]) -> Tensor:
        """Return the log-probability of each path as a whole one, (num_pairs,)."""
        raise NotImplementedError

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean negative log-likelihood of a batch of paths."""
        with self.autocast():
            likelihoods = self.log_likelihoods(network, self.batch(step, shard))
        return -likelihoods.float().mean()

    def evaluate(self) -> Figures:
        """Return the figures on dev."""
        found: list[float] = []
        first: dict[str, tuple[float, bool]] = {}
        for example, scores in self.iterate_scores():
            found += [score for score, right in zip(scores, example.is_right, strict=True) if right]
            best = int(np.argmax(scores))
            mine = (scores[best], example.is_right[best])
            first[example.question] = max(first.get(example.question, mine), mine)
        likelihood = float(np.mean(found))
        figures = (likelihood, float(np.mean([right for _, right in first.values()])))
        return dict(zip(FIGURES, figures, strict=True)) | {"selection_metric": likelihood}

    def iterate_scores(self) -> Iterator[tuple[PathExample, list[float]]]:
        """Yield the log-probabilities of each dev example's candidates as whole paths."""
        with torch.no_grad():
            for example in self._dev:
                pairs = [(example, path) for path in example.paths]
                yield example, self.log_likelihoods(self.network, pairs).tolist()

    def calibration_pairs(self) -> list[tuple[float, float]]:
        """Return score and correctness of each dev example's likeliest candidate."""
        best = [(example, scores, int(np.argmax(scores))) for example, scores in self.iterate_scores()]
        return [(scores[at], float(example.is_right[at])) for example, scores, at in best]


class DecoderObjective(PathObjective):
    """Trains the small decoder on an encoder's vectors of questions and relations, each encoded once."""

    def __init__(
        self,
        network: nn.Module,
        train: Sequence[PathExample],
        dev: Sequence[PathExample],
        vocabulary: RelationTokens,
        encode: Encode,
        config: PathConfig,
    ) -> None:
        super().__init__(network, train, dev, config.training, config.batch_size)
        self._vocabulary = vocabulary
        texts = list(dict.fromkeys(example.masked for example in (*train, *dev)))
        device = next(network.parameters()).device
        self._row = {text: row for row, text in enumerate(texts)}
        self._questions = torch.from_numpy(encode(texts)).to(device)
        self._tokens = torch.from_numpy(encode(vocabulary.texts)).to(device)

    def log_likelihoods(self, network: nn.Module, pairs: Sequence[Pair]) -> Tensor:
        """Return the decoder's log-likelihoods."""
        rows = torch.tensor([self._row[example.masked] for example, _ in pairs]).to(self._questions.device)
        written = torch.from_numpy(self._vocabulary.encode_paths([path for _, path in pairs])).to(rows.device)
        whole: Tensor = network(self._questions[rows], self._tokens, written)[1]
        return whole


PHASE = "path decoder"


def decoder_training(config: PathConfig, inputs: Inputs[PoolFile]) -> Training:
    """Return the training of the decoder. `inputs.beside`: the `RelationTokens` of the graph's relations."""
    vocabulary: RelationTokens = inputs.beside
    encode = inputs.vectors_of(config.encoder).encoder.encode
    learned: list[tuple[DecoderObjective, int]] = []

    def objective() -> DecoderObjective:
        dimension = encode(vocabulary.texts[:1]).shape[1]
        network = PathDecoder(dimension, config.hidden).to(torch.device(inputs.device))
        train, dev = (examples_of(pools, vocabulary) for pools in (inputs.train, inputs.dev))
        learned.append((DecoderObjective(network, train, dev, vocabulary, encode, config), dimension))
        return learned[0][0]

    def outcome(_trained: Mapping[str, TrainingResult]) -> Outcome:
        objective, dimension = learned[0]
        fields = {"encoder": config.encoder, "dimension": dimension, "hidden": config.hidden, "phrases": config.phrases}
        parts = {PART: partial(write_weights, objective.network.state_dict())}
        return Outcome(parts, fit_calibration(objective.calibration_pairs()), fields)

    depends_on = {key: value for key, value in config.as_json().items() if key != "training"}
    return Training(
        [Phase(PHASE, PART, config.training, depends_on, objective)],
        outcome,
        identity={"supervision": supervision_of(inputs.train)},
    )
