"""Folders of documents: links that lead out of them, and very many files."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.loaders.formats.text import files_of
from lodestar.loaders.reading.files import RereadableFile


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


def test_links_are_followed_when_asked_for_and_never_round_and_round(notes: Path) -> None:
    found = names(files_of(str(notes), follow_links=True))
    assert found == ["a.txt", "c.txt", "d.txt", "out/deep.txt", "out/secret.txt", "sub/b.md"]


@pytest.mark.parametrize("follow_links", [False, True])
def test_links_to_themselves_and_to_nothing_are_no_documents(notes: Path, follow_links: bool) -> None:
    before = names(files_of(str(notes), follow_links=follow_links))
    for name, target in (("self.txt", "self.txt"), ("loop", "loop"), ("gone.txt", "/nowhere/gone.txt")):
        (notes / name).symlink_to(target)
    assert names(files_of(str(notes), follow_links=follow_links)) == before
