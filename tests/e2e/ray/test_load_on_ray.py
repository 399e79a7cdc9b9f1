"""Pieces of large files parsed on two nodes: the stage of a load in sequence, also if a worker is killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.parallel import Workers
from lodestar.loaders.stage import pieces

from tests.e2e.ray.conftest import kill_worker
from tests.unit.loaders.test_pieces import staged, write_shards

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def test_the_stage_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ray_address: str) -> None:
    source = write_shards(tmp_path)
    in_sequence = staged(source, tmp_path, None)
    monkeypatch.setattr(pieces, "APART_FROM_BYTES", 1)
    monkeypatch.setattr(pieces, "SPAN_BYTES", 900)
    with kill_worker(lambda: True) as killed:
        on_ray = staged(source, tmp_path, Workers(2, ray_address).map)
    assert killed, "no worker was there to be killed: nothing was tested"
    assert on_ray == in_sequence
