"""A recipe or a run that came from somewhere runs no code that nobody consented to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Lodestar

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.database]

QUESTION = "What is the capital of Peru?"


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that leaves a mark where it is imported."""
    mark = tmp_path / "imported"
    (tmp_path / "strangers_module.py").write_text(
        f"import pathlib\npathlib.Path({str(mark)!r}).touch()\nfrom tests.fakes.own_part import Reversed\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "strangers_module", raising=False)
    return mark


def recipe(folder: Path) -> Path:
    path = folder / "received.toml"
    path.write_text(
        'stages = "similarity + trap"\n[similarity]\nmax_hop = 1\n[parts]\ntrap = "strangers_module:Reversed"\n',
        encoding="utf-8",
    )
    return path


def test_a_received_recipe_is_not_loaded_without_consent(lodestar: Lodestar, tmp_path: Path, trap: Path) -> None:
    path = str(recipe(tmp_path))
    for verb in (("ask",), ("ask", "--paths-only")):
        ran = lodestar(*verb, QUESTION, "--recipe", path)
        assert (ran.code, len(ran.err.splitlines())) == (2, 1)
        assert "its part trap is the code strangers_module:Reversed" in ran.err
    assert lodestar("ask", QUESTION, "--set", "parts.x=strangers_module:Reversed").code == 2
    assert not trap.exists()
    assert lodestar("ask", QUESTION, "--recipe", path, "--allow-parts").code == 0
    assert trap.exists()
