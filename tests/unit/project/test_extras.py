"""An import of a package that is missing ends in one line that names the extra."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest
from lodestar.engine.errors import (
    EXTRAS,
    MissingExtraError,
    make_missing_extra_error,
    require_extra,
    translate_import_errors,
)

from tests.places import ROOT


def test_the_table_is_what_pyproject_says() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["optional-dependencies"]
    assert {extra.name for extra in EXTRAS} == set(declared) - {"all"}
    for extra in EXTRAS:
        told = {re.split(r"[;>\[]", each)[0].strip() for each in declared[extra.name]}
        assert set(extra.distributions) == {name for name in told if not name.startswith("lodestar-kg")}


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(MissingExtraError) as raised, translate_import_errors("the reranker x"):
        raise ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")
    assert str(raised.value) == (
        "the reranker x needs torch, which is not installed; the extra `train` brings it: "
        "pip install 'lodestar-kg[train]'"
    )
    assert make_missing_extra_error(ModuleNotFoundError("No module named 'mine'", name="mine")) is None
    with pytest.raises(ModuleNotFoundError, match="mine"), translate_import_errors():
        raise ModuleNotFoundError("No module named 'mine'", name="mine")


def test_an_extra_is_required_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lodestar.engine.errors._is_installed", lambda name: name != "peft")
    require_extra("train", "this")
    with pytest.raises(MissingExtraError, match=r"a LoRA needs peft.*lodestar-kg\[lora\]"):
        require_extra("lora", "a LoRA")


def test_a_kind_of_model_is_described_without_pytorch() -> None:
    describe = "import sys; from lodestar.models.kinds import KINDS, load_kind; [*map(load_kind, KINDS)]"
    ran = subprocess.run(
        [sys.executable, "-c", f"{describe}; print('torch' in sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.strip() == "False"
