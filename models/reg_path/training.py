"""Train the LoRA that writes relation paths, and read its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ..language.causal_lm import CausalLMError
from ..language.lora import (
    ModelAndTokenizer,
    adapter_weights,
    add_lora,
    fingerprint,
    load_language_model,
    restore_adapter,
)
from ..mined import PooledQuestion, PoolFile, supervision_of
from ..training.checkpoint import check_checkpoint, read_weights, translate_read_errors, write_weights
from ..training.kind import BadCheckpointError, Figures, Inputs, NothingToLearnError, Outcome, Phase, Training
from ..training.trainer import ShuffledObjective, TrainingResult, fit_calibration
from .kind import FIGURES, PART, PathConfig, PathDescription
from .writing import PathTokenizer, RelationTokens, log_probabilities


def read_path_writer(
    folder: Path, model: str = "", device: str = "cpu"
) -> tuple[PathDescription, ModelAndTokenizer, nn.Module]:
    """Return a checkpoint after checking every file, with its language model and the network with the LoRA.

    model: where the language model is, if it has moved. Raises `BadCheckpointError` for a damaged checkpoint, or a
    language model that is unavailable or another one.
    """
    description = check_checkpoint(folder, PathDescription, lambda _: (PART,))
    try:
        base = load_language_model(model or description.model, device=device, fetch=bool(model))
        if fingerprint(base) != description.model_fingerprint:
            raise BadCheckpointError(
                f"{folder}: the language model in {base.name} is not the one that this LoRA was trained on: name that "
                "one with --set reg-path.model=FOLDER, or train again"
            )
        network = add_lora(base, description.lora)
    except CausalLMError as error:
        raise BadCheckpointError(f"{folder}: {error}") from error
    with translate_read_errors(folder):
        restore_adapter(network, read_weights(folder / PART))
    return description, base, network.eval()


@dataclass(frozen=True, slots=True)
class PathExample:
    """A question, by its id, with candidate paths from one of its topics. topic: its name."""

    question: str
    text: str
    topic: str
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
            paths = tuple(chain.steps for chain in known)
            is_right = tuple(chain in right for chain in known)
            yield PathExample(question.id, question.text, known[0].names[0], paths, is_right)


def limit_candidates(example: PathExample, most: int) -> PathExample:
    """Return an example with at most this many candidates, its right ones first."""
    order = sorted(range(len(example.paths)), key=lambda number: not example.is_right[number])[:most]
    return replace(
        example,
        paths=tuple(example.paths[number] for number in order),
        is_right=tuple(example.is_right[number] for number in order),
    )


class PathObjective(ShuffledObjective[nn.Module, Pair]):
    """An `Objective` that trains and saves only the LoRA: each right path of a question is an example."""

    def __init__(
        self,
        network: nn.Module,
        train: Sequence[PathExample],
        dev: Sequence[PathExample],
        text: PathTokenizer,
        config: PathConfig,
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
        super().__init__(network, pairs, config.training, config.batch_size)
        self._dev = [limit_candidates(each, config.num_candidates) for each in dev]
        self._text = text

    def get_weights(self) -> Mapping[str, Tensor]:
        """Return the LoRA's weights."""
        return adapter_weights(self.network)

    def log_likelihoods(self, network: nn.Module, pairs: Sequence[Pair]) -> Tensor:
        """Return the log-probability of each path as a whole one, (num_pairs,), batch by batch."""
        text, size = self._text, self.batch_size
        found = []
        for start in range(0, len(pairs), size):
            batch = pairs[start : start + size]
            prompts = [text.prompt(example.text, example.topic) for example, _ in batch]
            paths = [text.path(path) for _, path in batch]
            found.append(log_probabilities(network, prompts, paths, text.end, text.padding)[1])
        return torch.cat(found)

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


PHASE = "path writer"


def path_training(config: PathConfig, inputs: Inputs[PoolFile]) -> Training:
    """Return the training of the LoRA. `inputs.beside`: the `RelationTokens` of the graph's relations.

    Its objective raises `CausalLMError` if the language model cannot be loaded.
    """
    vocabulary: RelationTokens = inputs.beside
    learned: list[tuple[PathObjective, str]] = []

    def objective() -> PathObjective:
        model = load_language_model(config.model, device=inputs.device)
        known = fingerprint(model)
        text = PathTokenizer(model.tokenizer, vocabulary)
        train, dev = (examples_of(pools, vocabulary) for pools in (inputs.train, inputs.dev))
        learned.append((PathObjective(add_lora(model, config.lora), train, dev, text, config), known))
        return learned[0][0]

    def outcome(_trained: Mapping[str, TrainingResult]) -> Outcome:
        objective, known = learned[0]
        fields = {"model": config.model, "model_fingerprint": known, "lora": config.lora}
        parts = {PART: partial(write_weights, adapter_weights(objective.network))}
        return Outcome(parts, fit_calibration(objective.calibration_pairs()), fields)

    depends_on = {key: value for key, value in config.as_json().items() if key != "training"}
    return Training(
        [Phase(PHASE, PART, config.training, depends_on, objective)],
        outcome,
        identity={"supervision": supervision_of(inputs.train)},
    )
