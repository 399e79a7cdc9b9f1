"""Folders of documents: links that lead out of them, and very many files."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.loaders.formats.text import files_of
from lodestar.loaders.reading import RereadableFile


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder, outside = tmp_path / "notes", tmp_path / "outside"
    (folder / "sub").mkdir(parents=True)
    outside.mkdir()
    for path in (folder / "a.txt", folder / "sub" / "b.md", outside / "secret.txt", outside / "deep.txt"):
        path.write_text("Peru borders Chile.", encoding="utf-8")
    (folder / "c.txt").symlink_to(outside / "secret.txt")
    (folder / "d.txt").symlink_to(folder / "a.txt")
    (folder / "out").symlink_to(outside)
    (folder / "sub" / "around").symlink_to(folder)
    return folder


def names(files: list[RereadableFile]) -> list[str]:
    return sorted(file.shown.rpartition("notes/")[2] for file in files)


def test_links_to_themselves_to_nothing_and_out_of_the_folder_are_no_documents(notes: Path) -> None:
    for name, target in (("self.txt", "self.txt"), ("loop", "loop"), ("gone.txt", "/nowhere/gone.txt")):
        (notes / name).symlink_to(target)
    assert names(files_of(str(notes))) == ["a.txt", "d.txt", "sub/b.md"]
