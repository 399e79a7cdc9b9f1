"""Options of `lodestar explain` that cannot be meant."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from lodestar.engine.cli.explain import command


@pytest.mark.parametrize("top_k", ["0", "-3"])
def test_at_least_one_path_is_explained(top_k: str) -> None:
    ran = CliRunner().invoke(command, ["--top-k", top_k, "What is the capital of Peru?"])
    assert ran.exit_code == 2
    assert "--top-k" in ran.stderr
