"""Text as a knowledge graph: concepts, and which of them a snippet mentions together (GRIL, appendix A)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, tee

from ....engine.database.snippets import MENTIONED_IN, MENTIONED_WITH
from ....engine.errors import UsageError
from ...reading.byte_file import ByteFile
from ...rows import StatementRow, name_row, reject_row, row_batches, triple_row
from ...source import NO_ID, Part, RelationFacts, RowPart
from ..file_source import FileSource
from .concepts import ConceptFinder, ListedConcepts, RecurringPhrases, SpacyConcepts, concept_id
from .documents import documents, files_of
from .gliner_concepts import LABELS, GlinerConcepts
from .snippets import snippets

MAX_CONCEPTS = 40
"""Of a snippet; pairs grow with its square."""

Snippet = tuple[int, str]
"""The line that its document starts on, and the text."""


class TextSource(FileSource):
    """A folder of documents, or one file of them.

    A snippet's concepts are `mentioned with` one another, a triple each way so that one relation path has all of them,
    and `mentioned in` the snippet, which is a literal: what two of them rest on are the snippets that both have.
    """

    kind = "text"
    unnamed_ids = NO_ID

    def __init__(
        self,
        path: str,
        pipeline: str | None = None,
        concepts_path: str | None = None,
        snippet_length: int = 500,
        overlap: int = 50,
        gliner: str | None = None,
        labels: Sequence[str] = (),
        *,
        follow_links: bool = False,
    ) -> None:
        if overlap >= snippet_length:
            raise UsageError(f"--overlap: expected less than --snippet-length ({snippet_length}), found {overlap}")
        if sum(map(bool, (pipeline, concepts_path, gliner))) > 1:
            raise UsageError("--pipeline, --gliner and --concepts exclude each other: give one of them")
        if labels and not gliner:
            raise UsageError("--labels: expected with --gliner, which looks for them")
        self.max_rejects = 0
        self.languages: Sequence[str] = ()
        self._files = files_of(path, follow_links=follow_links)
        self._cut = (snippet_length, overlap)
        self._concepts = _finder(pipeline, concepts_path, gliner, labels)
        super().__init__(self._files)
        self.name = path.rstrip("/").rpartition("/")[2] if len(self._files) > 1 else self._files[0].name

    def options(self) -> Mapping[str, object]:
        """Return how text is cut, and what finds its concepts."""
        return {"snippet_length": self._cut[0], "overlap": self._cut[1], **self._concepts.options}

    def relation_facts(self) -> Mapping[str, RelationFacts]:
        """Return that being mentioned together goes both ways."""
        return {MENTIONED_WITH: RelationFacts(inverse=MENTIONED_WITH)}

    def parts(self) -> Iterator[Part]:
        """Yield a part a file."""
        if self._concepts.learns:
            self._concepts.learn(text for file in self._files for _, text in self._snippets(file, []))
        for file in self._files:
            yield RowPart(file.shown, row_batches(self._rows(file)))

    def _snippets(self, file: ByteFile, faults: list[StatementRow]) -> Iterator[Snippet]:
        """Yield the snippets of a file; what cannot be read, and documents without words, go to `faults`."""
        for document in documents(file):
            if document.fault:
                faults.append(reject_row(document.line, document.fault, document.text))
                continue
            empty = True
            for text in snippets(document.text, *self._cut):
                empty = False
                yield document.line, text
            if empty:
                faults.append(StatementRow(document.line, "empty document"))

    def _rows(self, file: ByteFile) -> Iterator[StatementRow]:
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


def _finder(
    pipeline: str | None, concepts_path: str | None, gliner: str | None, labels: Sequence[str]
) -> ConceptFinder:
    if pipeline:
        return SpacyConcepts(pipeline)
    if gliner:
        return GlinerConcepts(gliner, labels or LABELS)
    if concepts_path:
        file = ByteFile(concepts_path)
        names = [line for document in documents(file) for line in document.text.splitlines()]
        return ListedConcepts(names, file.digest())
    return RecurringPhrases()
