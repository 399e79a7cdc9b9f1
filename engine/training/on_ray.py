"""Train on the workers of a Ray cluster: Ray's `TorchTrainer` around the loop that torchrun runs on one machine.

Each rank reads what is learned from and joins the process group that Ray opened. When a worker is killed, Ray starts
all ranks again, which take up the training where it was saved last.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...models.training.description import ModelDescription, load_description
from ...models.training.kind import AnyKind
from ...models.training.loop import is_first_process
from ...models.training.trainer import TrainingCallbacks
from ..errors import LodestarError
from ..parallel import Workers, connect_to_ray
from .running import train_kind
from .sources import TrainingRequest

if TYPE_CHECKING:
    from ray.util.queue import Queue

MAX_FAILURES = 3
TellEpoch = Callable[[str, int, Mapping[str, float]], str]
"""Makes a line of a phase's name, an epoch from 0, and its figures."""
_OVER = None


def train_on_ray(
    kind: AnyKind, config: Any, request: TrainingRequest, tell_epoch: TellEpoch, workers: Workers
) -> ModelDescription:
    """Train like `train_kind` on as many ranks as there are workers, and return the description of the checkpoint.

    What the first rank says goes to `request.say`, and a line after each epoch. Raises the errors of `train_kind`, and
    `LodestarError` if workers are killed more than `MAX_FAILURES` times.
    """
    with connect_to_ray(workers.ray) as ray:
        from ray.train import FailureConfig, RunConfig, ScalingConfig, UserCallback
        from ray.train.torch import TorchTrainer
        from ray.train.v2.api.exceptions import TrainingFailedError
        from ray.util.queue import Queue

        class EndWhereRefused(UserCallback):
            """Ends a training that a rank refuses: it would refuse it again."""

            def after_exception(self, run_context: Any, worker_exceptions: Any) -> None:  # noqa: ARG002 - Ray's names
                if not refused.empty():
                    raise LodestarError("a rank has refused the training")

        said: Queue = Queue()
        refused: Queue = Queue()
        on_gpu = request.device.startswith("cuda")
        num = workers.count_on(ray, "GPU" if on_gpu else "CPU")
        folder, kept = str(Path.cwd()), request.folder.absolute().with_name(f".{request.folder.name}.ray")
        listener = threading.Thread(target=_listen, args=(said, request), daemon=True)
        listener.start()
        try:
            TorchTrainer(
                lambda: _train_rank(kind, config, request, tell_epoch, folder, said, refused),
                scaling_config=ScalingConfig(num_workers=num, use_gpu=on_gpu),
                run_config=RunConfig(
                    storage_path=str(kept),
                    failure_config=FailureConfig(max_failures=MAX_FAILURES),
                    callbacks=[EndWhereRefused()],  # type: ignore[list-item]
                ),
            ).fit()
        except TrainingFailedError as error:
            if not refused.empty():
                raise refused.get() from None
            raise LodestarError(
                f"--ray: workers ended {MAX_FAILURES + 1} times: Ray's logs say why; the same command goes on where it "
                "was saved"
            ) from error
        finally:
            said.put(_OVER)
            listener.join()
            shutil.rmtree(kept, ignore_errors=True)
    description: ModelDescription = load_description(request.folder, kind.description)[0]
    return description


def _say_nothing(line: str) -> None:
    """Say nothing: the first rank says it."""


def _listen(said: Queue, request: TrainingRequest) -> None:
    while (line := said.get()) is not _OVER:
        request.say(line)


def _train_rank(
    kind: AnyKind,
    config: Any,
    request: TrainingRequest,
    tell_epoch: TellEpoch,
    folder: str,
    said: Queue,
    refused: Queue,
) -> None:
    """Train as one rank, in the folder of the process that asked for it."""
    os.chdir(folder)
    say = said.put if is_first_process() else _say_nothing
    watcher = TrainingCallbacks(epoch=lambda *epoch: say(tell_epoch(*epoch)))
    try:
        train_kind(kind, config, replace(request, say=say), lambda: nullcontext(watcher))
    except LodestarError as error:
        refused.put(error)
        raise
