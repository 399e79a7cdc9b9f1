"""Text as a source: folders, documents of every form, concepts, and triples among them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from lodestar.engine.neo4j.graph_requests import MENTIONED_IN, MENTIONED_WITH
from lodestar.loaders.formats.text import TextSource, list_documents
from lodestar.loaders.reading import NOT_UTF8, RereadableFile

from tests.made.pipelines import save_pipeline
from tests.references.read_source import ReadSource, read_source

ASPIRIN = "Aspirin helps against headache.\n\nIn children Aspirin may cause Reye syndrome."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents = tmp_path / "notes"
    documents.mkdir()
    return documents


def concepts_in(path: Path, *names: str) -> str:
    return save_pipeline(path.parent, *names)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_pipeline(tmp_path_factory.mktemp("spacy"), "Aspirin", "headache", "Reye syndrome")


def pairs(read: ReadSource) -> set[tuple[str, str]]:
    return {(head, tail) for head, relation, tail in read.triples if relation == MENTIONED_WITH}


def test_what_a_snippet_mentions_is_joined_both_ways_and_leads_to_it(folder: Path) -> None:
    (folder / "a.txt").write_text(ASPIRIN, encoding="utf-8")
    listed = concepts_in(folder, "aspirin", "headache", "Reye syndrome")
    read = read_source(TextSource(str(folder), pipeline=listed, snippet_length=50, overlap=0))
    assert pairs(read) == {
        ("aspirin", "headache"), ("headache", "aspirin"), ("aspirin", "reye syndrome"), ("reye syndrome", "aspirin"),
    }  # fmt: skip
    assert {(head, tail) for head, relation, tail in read.triples if relation == MENTIONED_IN} == {
        ("aspirin", "Aspirin helps against headache."), ("headache", "Aspirin helps against headache."),
        ("aspirin", "In children Aspirin may cause Reye syndrome."),
        ("reye syndrome", "In children Aspirin may cause Reye syndrome."),
    }  # fmt: skip
    assert read.names == {"aspirin": ["Aspirin"], "headache": ["headache"], "reye syndrome": ["Reye syndrome"]}
    assert not read.rejects


def test_documents_of_every_form_say_the_same(folder: Path) -> None:
    text = "Müller met Ann in Zürich."
    (folder / "a.txt").write_text(text, encoding="utf-8")
    (folder / "c.md").write_text(text, encoding="utf-16")
    with gzip.open(folder / "e.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps({"id": 1, "text": text}) + "\n\n" + json.dumps({"contents": text}) + "\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\0")
    listed = concepts_in(folder, "Müller", "Ann", "Zürich", "Bob")
    read = read_source(TextSource(str(folder), pipeline=listed))
    assert set(read.names) == {"muller", "ann", "zurich"}
    assert read.counts["triple"] == 9 * 4
    assert not read.rejects


@pytest.mark.parametrize(
    ("name", "content", "line", "reason"),
    [
        ("a.txt", bytes(range(256)) * 8, 1, NOT_UTF8.format(0x80)),
        ("a.jsonl", b'{"text": "fine"}\n{"txt": 1}\n', 2, "expected a text called text, contents, content or body"),
        ("a.jsonl", b"[1]\n", 1, "expected a text called text, contents, content or body"),
        ("a.jsonl", b'{"text"', 1, "expected JSON, found a fault at character 8"),
    ],
)
def test_what_is_no_text_is_rejected(
    folder: Path, pipeline: str, name: str, content: bytes, line: int, reason: str
) -> None:
    (folder / name).write_bytes(content)
    assert (line, reason) in read_source(TextSource(str(folder / name), pipeline)).rejects


def test_a_line_of_megabytes_is_cut(folder: Path) -> None:
    (folder / "a.txt").write_text("x" * 3_000_000 + " aspirin headache", encoding="utf-8")
    listed = concepts_in(folder, "aspirin", "headache")
    read = read_source(TextSource(str(folder), pipeline=listed, snippet_length=8_000, overlap=0))
    assert len(pairs(read)) == 2
    assert read.counts["snippet without concepts"] >= 3_000_000 // 8_000


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
    assert names(list_documents(str(notes))) == ["a.txt", "d.txt", "sub/b.md"]
