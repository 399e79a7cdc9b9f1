"""The training of ReG@Path's language model, from candidate pools to a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ...language.lora import adapter_weights, fingerprint, load_language_model, with_lora
from ...mined.pool import Pool
from ...training.calibration import fitted
from ...training.card import model_card
from ...training.checkpoint import write_weights
from ...training.loop import Trained
from ...training.trainer import Phase, Result, Trainer, Watcher, trained_in
from ..paths.learning import NAMES, examples_of
from ..paths.train_paths import supervision_of, trained_on
from ..paths.vocabulary import Vocabulary
from .checkpoint import PART, PlanDescription
from .config import PlanConfig
from .learning import PlanObjective
from .text import PlanText

PHASE = "path writer"


def train_plans(
    config: PlanConfig,
    train_on: Sequence[Pool],
    choose_on: Sequence[Pool],
    vocabulary: Vocabulary,
    folder: Path,
    *,
    revision: str = "",
    watcher: Watcher | None = None,
) -> PlanDescription:
    """Train a LoRA, write the checkpoint to `folder`, and return its description. vocabulary: of the graph's relations.

    See `trained_in`: it is taken up where it was stopped, and replaces no other training. Raises `CausalLMError` for a
    language model that cannot be had.
    """
    made: list[tuple[PlanObjective, str]] = []
    device = "cuda" if torch.cuda.is_available() else "cpu"

    def objective() -> PlanObjective:
        model = load_language_model(config.model, device=device)
        known = fingerprint(model)
        text = PlanText(model.tokenizer, vocabulary)
        train, dev = (examples_of(pools, vocabulary) for pools in (train_on, choose_on))
        torch.manual_seed(config.training.seed)
        made.append((PlanObjective(with_lora(model, config.lora), train, dev, text, config), known))
        return made[0][0]

    options = config.as_json()
    asked: dict[str, Any] = {
        "config": options,
        "train": tuple(map(trained_on, train_on)),
        "dev": tuple(map(trained_on, choose_on)),
        "supervision": supervision_of(train_on),
    }

    def result(trained: Mapping[str, Trained]) -> Result[PlanDescription]:
        learned, known = made[0]
        description = PlanDescription(
            **asked,
            model=config.model,
            model_fingerprint=known,
            lora=config.lora,
            calibration=fitted(learned.calibration_pairs()),
            figures={name: each.history[each.best_epoch] for name, each in trained.items()},
            seconds={name: each.seconds for name, each in trained.items()},
            revision=revision,
        )
        weights = partial(write_weights, adapter_weights(learned.network))
        return Result(description, {PART: weights}, _card(description, trained))

    depends_on = {key: value for key, value in options.items() if key != "training"}
    data = {"train": [pool.sha256 for pool in train_on], "dev": [pool.sha256 for pool in choose_on]}
    phase = Phase(PHASE, PART, config.training, depends_on, objective)
    return trained_in(folder, Trainer(PlanDescription, asked, data, [phase], result), watcher or Watcher())


def _card(description: PlanDescription, trained: Mapping[str, Trained]) -> str:
    about = (
        "Writes relation paths that lead from a question's topic to its answers, after ReG@Path: a LoRA of rank "
        f"{description.lora.rank} on `{description.model}`, which is not in this folder; supervision: "
        f"{description.supervision}.",
        "Use it with `lodestar ask --recipe reg-path --checkpoint FOLDER`, on the graph it was trained on. The figures "
        "below are the mean log-likelihood of the right paths of dev questions, and the share of dev questions of "
        f"whose candidates, at most {description.config['num_candidates']}, a right one is the likeliest.",
    )
    return model_card("ReG path writer", about, description, trained, NAMES, {})
