"""An import of a package that is missing ends in one line that names the extra."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from lodestar.engine.cli.start import check_installation
from lodestar.engine.errors import (
    MissingExtraError,
    find_extra,
    format_install_command,
    translate_import_errors,
)
from lodestar.engine.settings import Settings


def test_a_missing_package_names_its_extra() -> None:
    with pytest.raises(MissingExtraError) as raised, translate_import_errors("the reranker x"):
        raise ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")
    assert str(raised.value) == (
        f"the reranker x needs torch, which is not installed; the extra `train` brings it: {format_install_command('train')}"
    )
    assert (find_extra("haystack"), find_extra("faiss"), find_extra("llama_index")) == (
        "haystack",
        "index",
        "llama-index",
    )
    with pytest.raises(ModuleNotFoundError, match="mine"), translate_import_errors():
        raise ModuleNotFoundError("No module named 'mine'", name="mine")


@pytest.mark.parametrize(
    ("came", "place"),
    [
        ('{"url": "file:///my%20checkout", "dir_info": {"editable": true}}', "-e '/my checkout[train]'"),
        (
            '{"url": "file:///dist/lodestar_kg-0.2.0-py3-none-any.whl"}',
            "'/dist/lodestar_kg-0.2.0-py3-none-any.whl[train]'",
        ),
        (None, "'lodestar-kg[train]'"),
    ],
)
def test_the_command_installs_from_where_it_came(monkeypatch: pytest.MonkeyPatch, came: str | None, place: str) -> None:
    monkeypatch.setattr("lodestar.engine.errors.distribution", lambda _: SimpleNamespace(read_text=lambda _: came))
    assert format_install_command("train").endswith(f" install {place}")
    assert format_install_command("train").startswith(sys.executable)
    monkeypatch.setattr("lodestar.engine.errors.find_spec", lambda _: None)
    assert format_install_command("train") == f"uv pip install --python {sys.executable} {place}"


@pytest.mark.parametrize("wheels", [{"faiss-cpu"}, {"faiss-cpu", "faiss-gpu-cu12"}])
def test_both_wheels_of_faiss_are_told_by_doctor(monkeypatch: pytest.MonkeyPatch, wheels: set[str]) -> None:
    """`lodestar[all,gpu]` brings both, and no package can forbid another."""
    monkeypatch.setattr("lodestar.engine.errors._is_installed", lambda name: name in wheels)
    found = [each for each in check_installation(Settings(uri="bolt://127.0.0.1:1")) if each.part == "faiss"]
    assert [each.level for each in found] == ["missing"] * (len(wheels) - 1)
    assert all("uninstall both" in each.found and "gpu" in each.found for each in found)
