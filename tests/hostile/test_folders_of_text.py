"""Folders of documents that lead elsewhere, or are very many."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.e2e.conftest import Lodestar
from tests.made.pipelines import save_pipeline

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.database]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a document of its own, and links to what is somebody else's."""
    folder, outside = tmp_path / "notes", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "own.txt").write_text("Peru borders Chile.", encoding="utf-8")
    (outside / "secret.txt").write_text("Hush borders Secretium.", encoding="utf-8")
    (folder / "file.txt").symlink_to(outside / "secret.txt")
    (folder / "away").symlink_to(outside)
    (folder / "relative.txt").symlink_to("../outside/secret.txt")
    (folder / "hop.txt").symlink_to(folder / "away" / "secret.txt")
    (folder / "environ.txt").symlink_to("/proc/self/environ")
    (folder / "root").symlink_to("/")
    (folder / "self.txt").symlink_to("self.txt")
    (folder / "around").symlink_to(".")
    os.mkfifo(folder / "pipe.txt")
    return folder


@pytest.fixture
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_pipeline(tmp_path_factory.mktemp("spacy"), "Peru", "Chile", "Hush", "Secretium")


def test_nothing_outside_of_a_folder_is_read(lodestar: Lodestar, folder: Path, pipeline: str) -> None:
    ran = lodestar("load", "text", str(folder), "--pipeline", pipeline, "--dry-run", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["num_entities"] == 2
    assert "Secretium" not in ran.out
    assert "links out of the folder are not followed" in ran.err
