"""Text as a source: documents of every form, snippets, concepts, and triples among them."""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from lodestar.engine.errors import InputError, LodestarError, UsageError
from lodestar.engine.neo4j.graph import MENTIONED_IN, MENTIONED_WITH
from lodestar.loaders.formats.text import MAX_CONCEPTS, TextSource, snippets
from lodestar.loaders.formats.text_concepts import (
    GazetteerConceptFinder,
    GlinerConcepts,
    RecurringPhraseFinder,
    concept_id,
)

from tests.references.read_source import ReadSource, read_source

ASPIRIN = "Aspirin helps against headache.\n\nIn children Aspirin may cause Reye syndrome."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents = tmp_path / "notes"
    documents.mkdir()
    return documents


def concepts_in(path: Path, *names: str) -> str:
    listed = path.parent / "concepts.txt"
    listed.write_text("\n".join(names), encoding="utf-8")
    return str(listed)


def pairs(read: ReadSource) -> set[tuple[str, str]]:
    return {(head, tail) for head, relation, tail in read.triples if relation == MENTIONED_WITH}


def test_what_a_snippet_mentions_is_joined_both_ways_and_leads_to_it(folder: Path) -> None:
    (folder / "a.txt").write_text(ASPIRIN, encoding="utf-8")
    listed = concepts_in(folder, "aspirin", "headache", "Reye syndrome")
    read = read_source(TextSource(str(folder), concepts_path=listed, snippet_length=50, overlap=0))
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
    (folder / "b.txt").write_text(
        text + " Später fuhren sie über die Brücke nach Köln, weil es schön war.", encoding="latin-1"
    )
    (folder / "c.md").write_text(text, encoding="utf-16")
    page = f"<!DOCTYPE html><html><head><title>Bob</title><script>Bob()</script></head><p>{text}</p></html>"
    (folder / "d.html").write_text(page, encoding="utf-8")
    with gzip.open(folder / "e.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps({"id": 1, "text": text}) + "\n\n" + json.dumps({"contents": text}) + "\n")
    (folder / "picture.png").write_bytes(b"\x89PNG\0")
    listed = concepts_in(folder, "Müller", "Ann", "Zürich", "Bob")
    read = read_source(TextSource(str(folder), concepts_path=listed))
    assert set(read.names) == {"muller", "ann", "zurich"}
    assert read.counts["triple"] == 6 * (3 + 6)
    assert not read.rejects


@pytest.mark.parametrize(
    ("name", "content", "line", "reason"),
    [
        ("a.txt", bytes(range(256)) * 8, 1, "expected text, found bytes that no encoding of text explains"),
        ("a.txt", b"\0\0\0\0", 1, "expected text, found bytes that no encoding of text explains"),
        ("a.jsonl", b'{"text": "fine"}\n{"txt": 1}\n', 2, "expected a text called text, contents, content or body"),
        ("a.jsonl", b"[1]\n", 1, "expected a text called text, contents, content or body"),
        ("a.jsonl", b'{"text"', 1, "expected JSON, found a fault at character 8"),
    ],
)
def test_what_is_no_text_is_rejected(folder: Path, name: str, content: bytes, line: int, reason: str) -> None:
    (folder / name).write_bytes(content)
    assert (line, reason) in read_source(TextSource(str(folder / name))).rejects


@pytest.mark.parametrize("content", [b"", b" \n\t\n", b"<html><script>x()</script></html>"])
def test_a_document_without_words_is_counted(folder: Path, content: bytes) -> None:
    (folder / "a.txt").write_bytes(content)
    read = read_source(TextSource(str(folder)))
    assert read.counts == {"empty document": 1}


def test_a_folder_without_documents_says_what_was_expected(folder: Path) -> None:
    (folder / "a.pdf").write_bytes(b"%PDF")
    with pytest.raises(
        InputError, match=r"expected documents \(\.htm, \.html, \.jsonl, \.md, \.text, \.txt, each also"
    ):
        TextSource(str(folder))


def test_options_that_contradict_each_other(folder: Path) -> None:
    (folder / "a.txt").write_text(ASPIRIN, encoding="utf-8")
    with pytest.raises(UsageError, match=r"--overlap: expected less than --snippet-length \(40\), found 40"):
        TextSource(str(folder), snippet_length=40, overlap=40)
    with pytest.raises(UsageError, match="exclude each other"):
        TextSource(str(folder), pipeline="x", concepts_path="y")
    with pytest.raises(UsageError, match="exclude each other"):
        TextSource(str(folder), pipeline="x", gliner="y")
    with pytest.raises(UsageError, match="--labels: expected with --gliner"):
        TextSource(str(folder), labels=("drug",))


def test_a_line_of_megabytes_is_cut(folder: Path) -> None:
    (folder / "a.txt").write_text("x" * 3_000_000 + " aspirin headache", encoding="utf-8")
    listed = concepts_in(folder, "aspirin", "headache")
    read = read_source(TextSource(str(folder), concepts_path=listed, snippet_length=8_000, overlap=0))
    assert len(pairs(read)) == 2
    assert read.counts["snippet without concepts"] >= 3_000_000 // 8_000


def test_a_list_of_names_does_not_grow_with_its_square(folder: Path) -> None:
    names = [f"n{number}" for number in range(MAX_CONCEPTS + 5)]
    (folder / "a.txt").write_text(", ".join(names), encoding="utf-8")
    read = read_source(TextSource(str(folder), concepts_path=concepts_in(folder, *names)))
    assert len(pairs(read)) == MAX_CONCEPTS * (MAX_CONCEPTS - 1)
    assert read.counts[f"concept beyond {MAX_CONCEPTS} of a snippet"] == 5


def test_snippets_keep_every_word_and_their_length() -> None:
    text = "\n\n".join(f"Paragraph {number} has\tsome words. And more of them." for number in range(40))
    found = list(snippets(text, 120, 0))
    assert " ".join(found).split() == text.split()
    assert max(map(len, found)) <= 120
    assert list(snippets(text, 120, 0)) == found


def test_a_bracket_that_a_name_opens_is_closed() -> None:
    finder = GazetteerConceptFinder(["Naloxone (Suboxone)", "aspirin"], "")
    found = list(finder.find(["Give naloxone (Suboxone) at once", "Naloxone (Suboxone tablets)", "(or aspirin)"]))
    assert found == [["naloxone (Suboxone)"], ["Naloxone (Suboxone"], ["aspirin"]]


def test_listed_names_are_found_longest_first_whatever_their_case() -> None:
    finder = GazetteerConceptFinder(["Reye syndrome", "syndrome", "REYE", "café"], "")
    assert list(finder.find(["The REYE Syndrome is a syndrome, Café."])) == [["REYE Syndrome", "syndrome", "Café"]]


def test_phrases_recur_or_are_names() -> None:
    finder = RecurringPhraseFinder()
    texts = ["Red blood cells carry oxygen.", "The red blood cells of Marie Curie.", "However it rained once."]
    finder.learn(texts)
    assert list(finder.find(texts)) == [["Red blood cells"], ["red blood cells", "Marie Curie"], []]


@pytest.mark.parametrize(("concept", "id_"), [("  Zürich\nCity ", "zurich city"), ("a_b", "a b"), ("\0", "")])
def test_one_concept_has_one_id(concept: str, id_: str) -> None:
    assert concept_id(concept) == id_


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A spaCy pipeline that recognises two names, in a folder."""
    import spacy

    made = spacy.blank("en")
    made.add_pipe("entity_ruler").add_patterns(  # type: ignore[attr-defined]
        [{"label": "DRUG", "pattern": "Aspirin"}, {"label": "DISEASE", "pattern": "Reye syndrome"}]
    )
    path = tmp_path_factory.mktemp("spacy") / "drugs"
    made.to_disk(path)
    return str(path)


def test_a_spacy_pipeline_finds_its_entities(folder: Path, pipeline: str) -> None:
    (folder / "a.txt").write_text(ASPIRIN, encoding="utf-8")
    source = TextSource(str(folder), pipeline=pipeline)
    assert pairs(read_source(source)) == {("aspirin", "reye syndrome"), ("reye syndrome", "aspirin")}
    assert source.options()["pipeline"] == "en_pipeline 0.0.0"
    assert source.digest() != TextSource(str(folder)).digest()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("blank", "expected one that finds entities or noun chunks, it has sentencizer"),
        ("missing", "not installed; python -m spacy download"),
        ("folder", "expected the folder of a spaCy pipeline, found another one"),
    ],
)
def test_a_pipeline_that_finds_nothing_is_one_line(folder: Path, tmp_path: Path, made: str, message: str) -> None:
    import spacy

    (folder / "a.txt").write_text(ASPIRIN, encoding="utf-8")
    path = {"blank": tmp_path / "blank", "missing": Path("en_no_such_pipeline"), "folder": folder}[made]
    if made == "blank":
        blank = spacy.blank("en")
        blank.add_pipe("sentencizer")
        blank.to_disk(path)
    with pytest.raises(LodestarError, match=message):
        TextSource(str(folder), pipeline=str(path))


def test_without_gliner_or_its_model_it_is_one_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.txt").write_text(ASPIRIN, encoding="utf-8")
    monkeypatch.setitem(sys.modules, "gliner", None)
    with pytest.raises(UsageError, match="--gliner needs GLiNER, which is not installed: pip install gliner"):
        TextSource(str(folder), gliner="x")
    monkeypatch.setitem(sys.modules, "gliner", Names(max_len=9))
    with pytest.raises(InputError, match="expected weights as safetensors, found none"):
        TextSource(str(folder), gliner=str(folder))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UsageError, match=r"--gliner no/such\.model: cannot be loaded .*: give a folder"):
        TextSource(str(folder), gliner="no/such.model")


class Names(ModuleType):
    """In the place of the module `gliner`, whose models are too large for a test: names in capitals are entities, and
    as there only the first words of a text are read, with a warning that nobody sees."""

    def __init__(self, max_len: int) -> None:
        super().__init__("gliner")
        self.GLiNER = self
        self.config = SimpleNamespace(max_len=max_len)
        self.data_processor: SimpleNamespace | None = None
        self.read: list[str] = []

    def from_pretrained(self, folder: str, *, local_files_only: bool) -> Names:
        assert Path(folder).is_dir()
        assert local_files_only
        return self

    def inference(self, texts: list[str], labels: list[str], threshold: float) -> list[list[dict[str, object]]]:
        assert 0 < threshold < 1
        self.read += texts
        words = [re.findall(r"\w+(?:[-_]\w+)*|\S", text)[: self.config.max_len] for text in texts]
        return [[{"text": word, "label": labels[0]} for word in some if word[0].isupper()] for some in words]


def test_what_gliner_would_drop_is_read_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Names(max_len=8)
    monkeypatch.setitem(sys.modules, "gliner", model)
    (folder / "model.safetensors").write_bytes(b"")
    text = "then Aspirin came and it was good. later there was Reye and also, much later in it, Quinine"
    (folder / "a.txt").write_text(text, encoding="utf-8")
    source = TextSource(str(folder), gliner=str(folder), labels=("drug",))
    read = read_source(source)
    assert set(read.names) == {"aspirin", "reye", "quinine"}
    assert len(pairs(read)) == 6
    assert "".join(model.read) == text
    assert max(len(re.findall(r"\w+|\S", part)) for part in model.read) <= 8
    assert source.options()["labels"] == "drug"
    assert source.digest() != TextSource(str(folder), gliner=str(folder)).digest()


def test_what_its_encoder_would_drop_is_read_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script without blanks: one word of many pieces."""
    model = Names(max_len=384)
    model.data_processor = SimpleNamespace(
        transformer_tokenizer=lambda text, **_: {"input_ids": list(text.encode("utf-8"))}
    )
    monkeypatch.setitem(sys.modules, "gliner", model)
    (folder / "model.safetensors").write_bytes(b"")
    finder = GlinerConcepts(str(folder), ("drug",))
    text = "\u6771\u4eac" * 400
    assert "".join(finder.windows(text)) == text
    assert max(len(part.encode()) for part in finder.windows(text)) <= 512
    assert list(finder.windows(" ")) == []


def test_a_line_of_megabytes_without_a_blank_is_cut_before_it_is_weighed(folder: Path) -> None:
    path = folder / "a.jsonl"
    path.write_bytes(b'{"text": "aspirin ' + b"x" * 6_000_000 + b' headache aspirin"}\n')
    listed = concepts_in(folder, "aspirin", "headache")
    read = read_source(TextSource(str(path), concepts_path=listed, snippet_length=8_000, overlap=0))
    assert pairs(read) == {("aspirin", "headache"), ("headache", "aspirin")}
    assert read.counts["snippet without concepts"] >= 700


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "\u0410\u0441\u043f\u0438\u0440\u0438\u043d \u0438 \u041c\u043e\u0441\u043a\u0432\u0430.",
            ["\u0430\u0441\u043f\u0438\u0440\u0438\u043d", "\u043c\u043e\u0441\u043a\u0432\u0430"],
        ),
        ("L\u2019h\u00f4pital Saint-Louis \u00e0 Orl\u00e9ans.", ["orl\u00e9ans", "saint-louis"]),
        (
            "\u0391\u03b8\u03ae\u03bd\u03b1 \u03ba\u03b1\u03b9 \u03a3\u03c0\u03ac\u03c1\u03c4\u03b7",
            ["\u03b1\u03b8\u03b7\u03bd\u03b1", "\u03c3\u03c0\u03ac\u03c1\u03c4\u03b7"],
        ),
    ],
    ids=["russian", "french", "greek"],
)
def test_texts_in_other_languages(folder: Path, text: str, names: list[str]) -> None:
    (folder / "a.txt").write_text(text, encoding="utf-8")
    read = read_source(TextSource(str(folder), concepts_path=concepts_in(folder, *names)))
    assert len(read.names) == 2
    assert len(pairs(read)) == 2
    without = read_source(TextSource(str(folder)))
    assert not without.rejects
