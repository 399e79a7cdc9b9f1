"""Read OBO: terms with their names, synonyms as aliases, `is_a` and other relationships, cross-references.

An instance is read like a term. A typedef's name and inverse are those of the relation; obsolete terms are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...engine.writing import RelationMetadata
from ..reading import RereadableFile
from ..source import FileSource, StatementRow, alias_row, name_row, reject_row, relation_comment_row, triple_row

_TAG = re.compile(r"(?P<tag>[\w-]+):\s*(?P<value>.*)")
_REST = re.compile(r"(?<!\\)(?:\s*\{[^{}]*\}\s*)?(?:\s+!.*)?$")  # qualifiers and the comment at the end of a line
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_LITERALS = {"def": "definition", "comment": "comment", "namespace": "namespace", "subset": "subset"}
_ENTITIES = {"is_a": "is_a", "xref": "xref", "instance_of": "instance_of", "replaced_by": "replaced_by"}


class OboSource(FileSource):
    kind = "obo"
    endings = (".obo",)
    names_from_ids = True

    def __init__(self, path: str) -> None:
        self._facts: dict[str, RelationMetadata] = {}
        super().__init__(path)

    def relation_facts(self) -> Mapping[str, RelationMetadata]:
        return self._facts

    def rows(self, file: RereadableFile) -> Iterator[StatementRow]:
        rejects: list[tuple[int, str, str]] = []
        kind, line, stanza = "", 0, []
        for batch in file.batches(lambda *reject: rejects.append(reject)):
            for line, text in zip(batch["line"].to_pylist(), map(str.strip, batch["text"].to_pylist()), strict=True):
                if text.startswith("["):
                    yield from self._of_stanza(kind, stanza)
                    kind, stanza = text.strip("[]"), []
                elif text and not text.startswith("!"):
                    if found := _TAG.fullmatch(text):
                        stanza.append((line, found["tag"], _REST.sub("", found["value"])))
                    else:
                        yield reject_row(line, "expected a tag and a value with a colon between", text)
            yield from (reject_row(*reject) for reject in rejects)
            rejects.clear()
        yield from self._of_stanza(kind, stanza)

    def _of_stanza(self, kind: str, stanza: list[tuple[int, str, str]]) -> Iterator[StatementRow]:
        tags = {tag: value for _, tag, value in stanza}
        id_ = tags.get("id", "")
        if not kind or not id_ or tags.get("is_obsolete") == "true":
            yield from (StatementRow(line, "obsolete term" if kind else "header") for line, _, _ in stanza)
            return
        if kind == "Typedef" and "inverse_of" in tags:
            self._facts[id_] = RelationMetadata(inverse=tags["inverse_of"])
        for line, tag, value in stanza:
            quoted = _QUOTED.match(value)
            text = re.sub(r"\\(.)", r"\1", quoted[1] if quoted else value)
            if tag == "name":
                yield name_row(line, id_, text)
            elif tag in ("synonym", "exact_synonym"):
                yield alias_row(line, id_, text)
            elif kind == "Typedef":
                yield relation_comment_row(line, id_, text) if tag == "def" else StatementRow(line, "axiom")
            elif tag in ("relationship", "property_value", "intersection_of"):
                yield _relationship(line, id_, value)
            elif tag in _ENTITIES:
                yield triple_row(line, id_, _ENTITIES[tag], value.split(" ")[0])
            elif tag in _LITERALS:
                yield StatementRow(line, "triple", id_, _LITERALS[tag], text, True)
            else:
                yield StatementRow(line, "id" if tag == "id" else "axiom")


def _relationship(line: int, id_: str, value: str) -> StatementRow:
    relation, _, target = value.partition(" ")
    if not target:
        return triple_row(line, id_, "is_a", relation)
    if quoted := _QUOTED.match(target):
        return StatementRow(line, "triple", id_, relation, quoted[1], True)
    return triple_row(line, id_, relation, target.split(" ")[0])
