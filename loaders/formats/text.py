"""Read a folder of documents as a graph of concepts with snippets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations, tee
from pathlib import Path

from ...engine.errors import InputError, UsageError, translate_import_errors
from ...engine.neo4j.graph_requests import MENTIONED_IN, MENTIONED_WITH
from ...engine.writing import RelationMetadata
from ..reading import NOT_UTF8, SHOWN_BYTES, RereadableFile, read_json_records
from ..source import NO_ID, FileSource, StatementRow, concept_id, name_row, reject_row, triple_row
from .detecting import TEXT_FIELDS

_ENDINGS = {".txt", ".text", ".md", ".jsonl"}
_PACKED = ".gz"


def list_documents(path: str) -> list[RereadableFile]:
    """Return the file, or the documents of a folder and its subfolders by their suffix, in order.

    Links that lead out of the folder are not read. Raises `InputError` if there is no document, or a folder is
    unreadable.
    """
    if path == "-" or not Path(path).is_dir():
        return [RereadableFile(path)]
    root = Path(path).resolve()
    named = [Path(folder, name) for folder, _, names in os.walk(path, onerror=_refuse) for name in names]
    likely = (each for each in named if _ending(each.name) in _ENDINGS and each.is_file())
    found = sorted(each for each in likely if each.resolve().is_relative_to(root))
    if not found:
        endings = ", ".join(sorted(_ENDINGS))
        raise InputError(f"{path}: expected documents ({endings}, each also with {_PACKED}), found none in the folder")
    return [RereadableFile(str(each)) for each in found]


def _refuse(error: OSError) -> None:
    raise InputError(f"{error.filename}: cannot be read: {error.strerror or error}")


def read_documents(file: RereadableFile) -> Iterator[tuple[int, str, str]]:
    """Yield the first line and the text of each document: a line of JSON lines is one, otherwise the file.

    Of one that cannot be read, yield its start, and why.
    """
    if _ending(file.name) != ".jsonl":
        raw = file.read_whole("cut it into files")
        try:
            yield 1, raw.decode().replace("\0", " "), ""
        except UnicodeDecodeError as error:
            yield 1, raw[:SHOWN_BYTES].decode("utf-8", "replace"), NOT_UTF8.format(raw[error.start])
        return
    for line, record, fault in read_json_records(file):
        fields = record if isinstance(record, dict) else {}
        text = next((fields[name] for name in TEXT_FIELDS if name in fields), None)
        if isinstance(text, str):
            yield line, text.encode("utf-8", "replace").decode(), ""
        else:
            expected = f"expected a text called {', '.join(TEXT_FIELDS[:-1])} or {TEXT_FIELDS[-1]}"
            yield line, str(record), fault or expected


def _ending(name: str) -> str:
    return Path(name.lower().removesuffix(_PACKED)).suffix


def cut_snippets(text: str, length: int, overlap: int) -> Iterator[str]:
    """Yield the snippets of a document, at most `length` characters each, which begin with up to `overlap` characters
    of the one before.

    A snippet ends with a line where the next one does not fit, else with a word; a longer word is cut. White space
    becomes single blanks.
    """
    snippet: list[str] = []
    num_shared = 0
    for line in text.splitlines():
        words = [word[at : at + length] for word in line.split() for at in range(0, len(word), length)]
        if len(snippet) > num_shared and len(" ".join([*snippet, *words])) > length:
            yield " ".join(snippet)
            snippet = _last_words(snippet, overlap)
            num_shared = len(snippet)
        for word in words:
            if len(" ".join([*snippet, word])) > length:
                if len(snippet) > num_shared:
                    yield " ".join(snippet)
                snippet = _last_words(snippet, min(overlap, length - len(word) - 1))
                num_shared = len(snippet)
            snippet.append(word)
    if len(snippet) > num_shared:
        yield " ".join(snippet)


def _last_words(words: Sequence[str], max_chars: int) -> list[str]:
    num = 0
    while num < len(words) and len(" ".join(words[len(words) - num - 1 :])) <= max_chars:
        num += 1
    return list(words[len(words) - num :])


PIPELINE = "en_core_web_sm"
_SNIPPETS_AT_ONCE = 64


class ConceptFinder:
    """Named entities of a spaCy pipeline, installed or in a folder.

    The paper uses scispaCy's named entities (GRIL, appendix A) and calls the recogniser exchangeable. Raises
    `UsageError` if spaCy or the pipeline is not installed, or the pipeline finds no entities.
    """

    def __init__(self, name: str) -> None:
        with translate_import_errors("load text"):
            import spacy
        try:
            self._pipeline = spacy.load(name)
        except OSError as error:
            if Path(name).exists():
                raise InputError(f"{name}: expected the folder of a spaCy pipeline, found another one") from error
            raise UsageError(
                f"--pipeline {name}: not installed; python -m spacy download {name}, or name the folder of one"
            ) from error
        found = self._pipeline.pipe_names
        if not any("doc.ents" in self._pipeline.get_pipe_meta(each).assigns for each in found):
            has = ", ".join(found) or "nothing"
            raise UsageError(f"--pipeline {name}: expected one that finds named entities, it has {has}")
        meta = self._pipeline.meta
        self.options: Mapping[str, str] = {"pipeline": f"{meta['lang']}_{meta['name']} {meta['version']}"}

    def find(self, snippets: Iterable[str]) -> Iterator[list[str]]:
        """Yield the entities of each snippet, as they are spelled; one may occur twice."""
        for read in self._pipeline.pipe(snippets, batch_size=_SNIPPETS_AT_ONCE):
            yield [span.text for span in read.ents]


MAX_CONCEPTS = 40  # the most concepts of a snippet; pairs grow with its square


class TextSource(FileSource):
    """A folder of documents, or one file of them.

    Concepts of one snippet are `mentioned with` one another, a triple each way so that one relation path finds all of
    them, and `mentioned in` the snippet, which is a literal: the evidence for a pair is the snippets that both share.
    """

    kind = "text"
    unnamed_ids = NO_ID

    def __init__(self, path: str, pipeline: str = PIPELINE, snippet_length: int = 500, overlap: int = 50) -> None:
        if overlap >= snippet_length:
            raise UsageError(f"--overlap: expected less than --snippet-length ({snippet_length}), found {overlap}")
        self._cut = (snippet_length, overlap)
        self._concepts = ConceptFinder(pipeline)
        self._options = {"snippet_length": snippet_length, "overlap": overlap, **self._concepts.options}
        self.files = list_documents(path)
        self.names_file = None
        self.name = path.rstrip("/").rpartition("/")[2] if len(self.files) > 1 else self.files[0].name

    def relation_facts(self) -> Mapping[str, RelationMetadata]:
        return {MENTIONED_WITH: RelationMetadata(inverse=MENTIONED_WITH)}

    def _snippets(self, file: RereadableFile, faults: list[StatementRow]) -> Iterator[tuple[int, str]]:
        for line, text, fault in read_documents(file):
            if fault:
                faults.append(reject_row(line, fault, text))
            elif not text.split():
                faults.append(StatementRow(line, "empty document"))
            else:
                yield from ((line, snippet) for snippet in cut_snippets(text, *self._cut))

    def rows(self, file: RereadableFile) -> Iterator[StatementRow]:
        faults: list[StatementRow] = []
        places, texts = tee(self._snippets(file, faults))
        for (line, text), found in zip(places, self._concepts.find(each for _, each in texts), strict=True):
            yield from _rows_of(line, text, found)
            yield from faults
            faults.clear()
        yield from faults


def _rows_of(line: int, snippet: str, found: Sequence[str]) -> Iterator[StatementRow]:
    concepts = {id_: " ".join(concept.split()) for concept in reversed(found) if (id_ := concept_id(concept))}
    if not concepts:
        yield StatementRow(line, "snippet without concepts")
        return
    kept = list(reversed(concepts.items()))[:MAX_CONCEPTS]
    for id_, name in kept:
        yield name_row(line, id_, name)
        yield StatementRow(line, "triple", id_, MENTIONED_IN, snippet, True)
    for head, tail in permutations((id_ for id_, _ in kept), 2):
        yield triple_row(line, head, MENTIONED_WITH, tail)
    for _ in range(len(concepts) - len(kept)):
        yield StatementRow(line, f"concept beyond {MAX_CONCEPTS} of a snippet")
