"""`lodestar train --ray` on two nodes: the weights of torchrun's ranks, also if one rank is killed in between."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.e2e.conftest import Lodestar
from tests.e2e.ray.conftest import RANK, kill_worker, read_logs
from tests.e2e.training.test_train_cli import command, under_way
from tests.made.mined_examples import mined_file, tiny_encoder

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """The environment of a training; no graph is needed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LODESTAR_", "NEO4J_"))}
    return kept | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    mined_file(tmp_path / "train.jsonl.gz", 0, 6)
    mined_file(tmp_path / "dev.jsonl", 8, 12)
    tiny_encoder(tmp_path / "encoder")
    return tmp_path


def test_two_ranks_learn_what_those_of_torchrun_do(
    lodestar: Lodestar, environment: dict[str, str], data: Path, ray_address: str
) -> None:
    by_torchrun, on_ray = data / "torchrun", data / "ray"
    ranks = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "lodestar"]
    subprocess.run([*ranks, *command(data, by_torchrun)], env=environment, check=True, capture_output=True)
    with kill_worker(lambda: under_way(on_ray, "dual") >= (0, 2), RANK) as killed:
        ran = lodestar(*command(data, on_ray), "--ray", ray_address, "--workers", "2")
    assert ran.code == 0, ran.err
    assert killed, "no rank was there to be killed: nothing was tested"
    assert "epoch 2:" in ran.err
    networks = sorted(path.relative_to(by_torchrun) for path in by_torchrun.rglob("model.safetensors"))
    assert len(networks) > 1
    for network in networks:
        one, two = load_file(by_torchrun / network), load_file(on_ray / network)
        assert one.keys() == two.keys()
        assert all(torch.equal(weights, two[name]) for name, weights in one.items()), network
    assert not list(data.glob(".ray.ray"))


def test_what_a_rank_refuses_is_one_line_at_once(lodestar: Lodestar, data: Path, ray_address: str) -> None:
    train = str(data / "train.jsonl.gz")
    asked = ("train", "star", "--dataset", train, "--dev", train, "--out", str(data / "star"))
    before = count_decisions()
    plain, on_ray = lodestar(*asked), lodestar(*asked, "--ray", ray_address)
    assert on_ray.code == plain.code != 0
    assert on_ray.err.splitlines()[-1:] == plain.err.splitlines()[-1:]
    assert count_decisions() - before == Counter(RAISE=1)


def count_decisions() -> Counter[str]:
    """Return how often Ray has decided to start the ranks again or to end, by the logs of its trainings."""
    return Counter(re.findall(r"\[FailurePolicy\] (\w+)", read_logs("ray-train-app-controller*.log")))
