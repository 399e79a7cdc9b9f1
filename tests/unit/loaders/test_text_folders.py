"""Folders of documents: links that lead out of them, and very many files."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from lodestar.engine.errors import InputError
from lodestar.loaders.formats.text import files_of
from lodestar.loaders.reading.byte_file import RereadableFile


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


def test_a_folder_that_two_links_lead_to_is_read_once(notes: Path) -> None:
    (notes / "zout").symlink_to(notes.parent / "outside")
    found = names(files_of(str(notes), follow_links=True))
    assert [each.rpartition("/")[2] for each in found].count("deep.txt") == 1


def test_a_folder_that_cannot_be_read_is_said(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def refused(path: str) -> Iterator[os.DirEntry[str]]:
        if str(path).endswith("sub"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(InputError, match="sub: cannot be read: Permission denied"):
        files_of(str(notes))
