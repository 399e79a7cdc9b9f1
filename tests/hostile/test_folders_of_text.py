"""Folders of documents that lead elsewhere, or are very many."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.e2e.conftest import Lodestar

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


def test_nothing_outside_of_a_folder_is_read(lodestar: Lodestar, folder: Path, tmp_path: Path) -> None:
    concepts = tmp_path / "concepts.list"
    concepts.write_text("Peru\nChile\nHush\nSecretium\n", encoding="utf-8")
    ran = lodestar("load", "text", str(folder), "--concepts", str(concepts), "--dry-run", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["num_entities"] == 2
    assert "Secretium" not in ran.out
    assert "6 links" in ran.err
    assert "--follow-links" in ran.err


def test_a_folder_that_is_a_link_itself_is_read(lodestar: Lodestar, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    ran = lodestar("load", "text", str(tmp_path / "link"), "--dry-run", "--json")
    assert ran.code == 0, ran.err
    assert "6 links" in ran.err


def test_each_of_very_many_files_is_looked_at_a_few_times(
    lodestar: Lodestar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    num_files, num_calls = 400, 0
    for number in range(num_files):
        (tmp_path / f"{number}.txt").write_text(f"Peru borders Chile, number {number}.", encoding="utf-8")
    stat = Path.stat

    def counted(self: Path, **options: bool) -> os.stat_result:
        nonlocal num_calls
        num_calls += tmp_path in self.parents
        return stat(self, **options)

    monkeypatch.setattr(Path, "stat", counted)
    ran = lodestar("load", "text", str(tmp_path), "--dry-run")
    assert ran.code == 0, ran.err
    assert num_calls <= 10 * num_files
