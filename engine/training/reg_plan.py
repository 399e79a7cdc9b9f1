"""The training of ReG@Path's language model as the command line asks for it: its configuration, its errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...models.causal_lm import CausalLMError
from ...models.mined.pool import Pool
from ...models.reg.paths.vocabulary import Vocabulary
from ...models.reg.plans.checkpoint import PlanDescription
from ...models.reg.plans.config import PlanConfig
from ...models.reg.plans.train_plans import train_plans
from ...models.training.trainer import Watcher
from ..code_hash import code_sha256
from ..errors import EncoderError
from .reg_path import learning_paths
from .running import changed, training_in


def plan_config(changes: Sequence[str], *, model: str, rank: int | None, epochs: int | None, seed: int) -> PlanConfig:
    """Return the configuration with what the command line changes; raise `UsageError` for an unknown option."""
    wanted = [f"lora.rank={rank}"] if rank is not None else []
    return changed(PlanConfig(model), [*wanted, *changes], "train reg-path --model", epochs=epochs, seed=seed)


def trained_plans(
    config: PlanConfig,
    train_on: Sequence[Pool],
    choose_on: Sequence[Pool],
    vocabulary: Vocabulary,
    folder: Path,
    *,
    fresh: bool,
    watcher: Watcher,
) -> PlanDescription:
    """Train, or take a training up, and return the description of the checkpoint; one training at a time in a folder.

    Raises `EncoderError` for a language model that cannot be had, and what `learning_paths` and `training_in` raise.
    """
    with learning_paths(train_on, choose_on), training_in(folder, PlanDescription, fresh=fresh) as is_first:
        try:
            return train_plans(
                config,
                train_on,
                choose_on,
                vocabulary,
                folder,
                revision=code_sha256(),
                watcher=watcher if is_first else None,
            )
        except CausalLMError as error:
            raise EncoderError(str(error)) from error
