"""A Ray cluster of two nodes on the loopback, and a way to kill one of its workers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import psutil
import pytest

NUM_NODES = 2
PATIENCE_S = 120
PART = "ray::_Hand"


@pytest.fixture(scope="package")
def ray_address() -> Iterator[str]:
    """The address of a cluster of two nodes with a CPU each."""
    if not find_spec("ray"):
        pytest.skip("no Ray here: install the extra ray")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # Ray's name for nodes on the loopback alone
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        for _ in range(NUM_NODES):
            cluster.add_node(num_cpus=1, include_dashboard=False)
        assert cluster.address
        yield cluster.address
    finally:
        cluster.shutdown()


def workers(title: str) -> list[psutil.Process]:
    """Return Ray's workers with this title, of the clusters that this process started."""
    return [child for child in psutil.Process().children(recursive=True) if _has_title(child, title)]


def _has_title(process: psutil.Process, title: str) -> bool:
    try:
        return any(title in word for word in process.cmdline())
    except psutil.Error:
        return False


@contextmanager
def kill_worker(when: Callable[[], bool], title: str = PART) -> Iterator[list[int]]:
    """Kill one worker as soon as `when` holds; yield the list that gets its id."""
    killed: list[int] = []
    over = threading.Event()

    def wait_and_kill() -> None:
        until_s = time.monotonic() + PATIENCE_S
        while not over.is_set() and time.monotonic() < until_s:
            if when() and (found := workers(title)):
                found[0].kill()
                killed.append(found[0].pid)
                return
            over.wait(0.02)

    killer = threading.Thread(target=wait_and_kill)
    killer.start()
    try:
        yield killed
    finally:
        over.set()
        killer.join()
