"""TSV: one triple a line, head, relation and tail parted by tabs; names in a file of their own.

The names file has an id and a name a line. Further columns and further lines for the same id are aliases. Without a
names file the ids are the names, as in graphs that have no other; with one, an id it does not name is an unnamed
mediator.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from ..engine.errors import InputError
from .source import RelationFacts, SourceName, SourceTriple
from .textfile import TextFile

NUM_COLUMNS = 3


class TsvSource:
    """A TSV file of triples (``-`` is standard input) and, optionally, one of names; both gzip or plain."""

    kind = "tsv"

    def __init__(self, path: str, names_path: str | None = None) -> None:
        if path == names_path == "-":
            raise InputError("stdin: expected triples or names, asked to be both")
        self._file = TextFile(path)
        self._names = TextFile(names_path) if names_path is not None else None
        self._reading = self._file
        self.name = self._file.name

    @property
    def place(self) -> str:
        """File and line of what was read last."""
        return self._reading.place

    def digest(self) -> str:
        """Return the hash of both files."""
        parts = [self.kind, self._file.digest(), self._names.digest() if self._names else ""]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def triples(self) -> Iterator[SourceTriple]:
        """Yield one triple a line; raise `InputError` for a line that is none."""
        self._reading = file = self._file
        num_triples = 0
        for line in file.lines():
            columns = line.split("\t")
            if len(columns) != NUM_COLUMNS:
                raise file.fault(
                    f"expected head, relation and tail parted by tabs, found {_columns(len(columns))}", line
                )
            num_triples += 1
            yield SourceTriple(*columns)
        if not num_triples:
            raise InputError(f"{file.shown}: expected triples, found only empty lines")

    def names(self) -> Iterator[SourceName]:
        """Yield the names of the names file, in which an empty name says nothing; without a file, ids are names."""
        if self._names is None:
            ids = dict.fromkeys(id_ for triple in self.triples() for id_ in (triple.head, triple.tail))
            yield from (SourceName(id_, id_) for id_ in ids)
            return
        self._reading = file = self._names
        for line in file.lines():
            id_, *names = line.split("\t")
            if not names:
                raise file.fault("expected an id and a name parted by a tab, found 1 column", line)
            for name in names:
                if name:
                    yield SourceName(id_, name)

    def relation_facts(self) -> Mapping[str, RelationFacts]:
        """Return nothing: a TSV file says nothing about its relations."""
        return {}


def _columns(number: int) -> str:
    return "1 column" if number == 1 else f"{number} columns"
