"""What is not there is not said to be deleted."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from lodestar.engine.cli.db import command


def test_a_server_that_is_not_there_is_not_deleted(tmp_path: Path) -> None:
    ran = CliRunner().invoke(command, ["reset", "--name", "nope", "--json"], env={"LODESTAR_HOME": str(tmp_path)})
    assert ran.exit_code == 0
    assert "nope: there is no such server, nothing deleted" in ran.stderr
    assert json.loads(ran.stdout) == {"name": "nope", "deleted": None}
