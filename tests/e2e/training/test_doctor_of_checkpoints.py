"""`lodestar doctor --checkpoint` examines a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.neo4j.catalogue import read_catalogue
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.models.kinds import TrainingOptions

from tests.e2e.conftest import Lodestar
from tests.made.every_kind import lesson, teach


@pytest.mark.usefixtures("engine")
def test_a_checkpoint_is_examined(lodestar: Lodestar, gateway: Gateway, tmp_path: Path) -> None:
    name = "reader"
    here = gateway.run(read_catalogue()).vocabulary
    few = TrainingOptions(epochs=1, learning_rate=1e-3, head_learning_rate=1e-2)
    folder, elsewhere = tmp_path / name, tmp_path / "elsewhere"
    teach(lesson(name, here), folder, few)
    examined = lodestar("doctor", "--checkpoint", str(folder)).out
    (line,) = [line for line in examined.splitlines() if "checkpoint" in line]
    assert line.startswith("✓"), line
    assert f"{name}, " in line
    assert line.endswith(", on this graph")
    teach(lesson(name), elsewhere, few)
    assert f"✗ checkpoint      {name}, " in lodestar("doctor", "--checkpoint", str(elsewhere)).out
    damaged = next(path for path in sorted(folder.rglob("*")) if path.suffix == ".safetensors")
    with damaged.open("ab") as file:
        file.write(b"x")
    ran = lodestar("doctor", "--checkpoint", str(folder))
    assert ran.code == 1
    assert "not the file that was written" in ran.out
    assert "Traceback" not in ran.out + ran.err
