"""TSV: a triple a line, and names in a file of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO

from ...engine.database.statements import HeadTriples
from ..writing.stored_names import Name
from .terms import tsv_id, tsv_literal, tsv_text

_BYTE_ORDER_MARK = "\ufeff"


class TsvTriples:
    """Writes head, relation and tail parted by tabs."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._lines = _Lines(stream)

    def add_triples(self, triples: HeadTriples) -> None:
        """Write the triples of a head; raise `InputError` for one that TSV cannot say."""
        head = tsv_id(triples.head)
        self._lines.write(
            f"{head}\t{tsv_text(relation)}\t{tsv_literal(tail, datatype, language) if is_literal else tsv_id(tail)}\n"
            for relation, tail, is_literal, datatype, language in triples.tails
        )

    def close(self) -> None:
        """Write nothing more."""


class TsvNames:
    """Writes an id and its names parted by tabs; which language a name is in goes unsaid."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._lines = _Lines(stream)

    def add_names(self, id_: str, names: Sequence[Name]) -> int:
        """Write the names of an entity, each text once; raise `InputError` for one that TSV cannot say."""
        texts = dict.fromkeys(name.text for name in names)
        self._lines.write(["\t".join(map(tsv_text, (id_, *texts))) + "\n"])
        return len(texts)

    def close(self) -> None:
        """Write nothing more."""


class _Lines:
    """Writes text; a byte order mark that begins it is doubled, since a reader takes one off."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._begun = False

    def write(self, lines: Iterable[str]) -> None:
        text = "".join(lines)
        if not self._begun and text.startswith(_BYTE_ORDER_MARK):
            text = _BYTE_ORDER_MARK + text
        self._begun = True
        self._stream.write(text.encode())
