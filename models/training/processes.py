"""A process group where torchrun started several processes; one process else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed


@contextmanager
def process_group() -> Iterator[bool]:
    """Join the group that torchrun describes in the environment, if it does; yield whether this process is its first.

    On GPUs each process takes the one of its local rank.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        yield True
        return
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    torch.distributed.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield torch.distributed.get_rank() == 0
    finally:
        torch.distributed.destroy_process_group()


def is_first_process() -> bool:
    """Whether this is the first of the processes that torchrun started, or the only one."""
    return int(os.environ.get("RANK", "0")) == 0


def shard() -> tuple[int, int]:
    """Return this process's rank and the number of ranks; (0, 1) outside of a process group."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def wait_for_all() -> None:
    """Return when every process of the group is here; at once outside of one."""
    if shard()[1] > 1:
        torch.distributed.barrier()
