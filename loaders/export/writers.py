"""Write triples as TSV, N-Triples or parquet.

N-Triples: absolute IRIs and labels of blank nodes are written as they are; other ids get a base, which a reader
removes. TSV: ids as they are; a literal as `value^^datatype` if that is unambiguous, else as in N-Triples.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import IO, Any

import pyarrow as pa
from pyarrow import parquet

from ...engine.errors import InputError
from ...engine.neo4j.whole_graph import HeadTriples
from ...engine.values import iri_text, literal_term
from ...engine.writing.records import Name
from ...models.message_text import SHOWN_CHARS
from ..formats.freebase import FREEBASE

_ABSOLUTE_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]+')
_BLANK_NODE = re.compile(r"_:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")

_NOT_IN_A_CELL = re.compile(r"[\t\n\r\0]")
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
_HTTP_IRI = re.compile(r'https?://(?:(?!\^\^)[^\x00-\x20<>"{}|`\\])+')
_CODE_POINT = r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})"
_LIKE_A_LITERAL = re.compile(
    rf"""
    "(?:[^"\\]|\\[tbnrf"'\\]|{_CODE_POINT})*"
    (?:@[A-Za-z]+(?:-[A-Za-z0-9]+)* | \^\^<(?:[^\x00-\x20<>"{{}}|^`\\]|{_CODE_POINT})+> | \^\^xsd:[A-Za-z]+)
    | (?!").*\^\^(?:https?://[^\ \t\r]+ | <https?://[^<>"\ \t\r]+> | xsd:[A-Za-z]+)
    """,
    re.DOTALL | re.VERBOSE,
)


def is_absolute_iri(id_: str) -> bool:
    """Return whether this is an IRI with a scheme, without characters that an IRI cannot have."""
    return _ABSOLUTE_IRI.fullmatch(id_) is not None


class IriMapper:
    """Ids as IRIs; `base` is put before ids that are not IRIs.

    Raises `InputError` if other ids already begin with the base: a reader would remove it from all of them.
    """

    def __init__(self, base: str) -> None:
        self.base = base
        self._with_base = ""
        self._without = ""

    @property
    def is_base_used(self) -> bool:
        """Whether any id needed the base."""
        return bool(self._without)

    def iri(self, id_: str) -> str:
        """Return the IRI, in angle brackets, of an entity or a relation."""
        if not is_absolute_iri(id_):
            if not self._without:
                self._without = id_
                self._check()
            return f"<{self.base}{iri_text(id_)}>"
        if not self._with_base and id_.startswith(self.base):
            self._with_base = id_
            self._check()
        return f"<{id_}>"

    def node(self, id_: str) -> str:
        """Return the term of an entity: an IRI, or a blank node if the id is a label of one."""
        return id_ if id_.startswith("_:") and _BLANK_NODE.fullmatch(id_) else self.iri(id_)

    def _check(self) -> None:
        if self._with_base and self._without:
            raise InputError(
                f"the graph has ids like {_quote_term(self._without)} and like {_quote_term(self._with_base)}: "
                "give a --base that none of them begins with"
            )


def ntriples_literal(value: str, datatype: str | None = None, language: str | None = None) -> str:
    """Return the term of a literal; raise `InputError` for a language that is no language tag."""
    if language and not _LANGUAGE.fullmatch(language):
        raise InputError(
            f"expected a language as `en` or `zh-Hans`, found {_quote_term(language)} with {_quote_term(value)}"
        )
    return literal_term(value, datatype, language)


def check_tsv_text(text: str) -> str:
    """Return a relation or a name; raise `InputError` if it does not fit into a column."""
    if _NOT_IN_A_CELL.search(text):
        raise InputError(
            f"TSV cannot have the tab or line end in {_quote_term(text)}: use --format ntriples or parquet"
        )
    return text


def check_tsv_id(id_: str) -> str:
    """Return an entity's id; raise `InputError` if a reader would take it for a literal."""
    if _LIKE_A_LITERAL.fullmatch(id_):
        raise InputError(f"TSV would make a literal of the entity {_quote_term(id_)}: use --format ntriples or parquet")
    return check_tsv_text(id_)


def tsv_literal(value: str, datatype: str | None = None, language: str | None = None) -> str:
    """Return the cell of a literal; one without datatype and language is of xsd:string, which is the same.

    A quoted text without more is not a literal in TSV: some graphs have such ids.
    """
    datatype = datatype or (None if language else XSD_STRING)
    plain = datatype and not language and not value.startswith('"') and not _NOT_IN_A_CELL.search(value)
    if plain and datatype and _HTTP_IRI.fullmatch(datatype):
        return f"{value}^^{datatype}"
    return ntriples_literal(value, datatype, language)


def _quote_term(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…")


NAME_RELATION = f"<{FREEBASE}type.object.name>"
ALIAS_RELATION = f"<{FREEBASE}common.topic.alias>"

_KNOWN_RELATIONS = 10_000


class NTriplesWriter:
    """Writes triples, and names as triples with a literal; a name that is also among the entity's triples is written
    once.

    An entity's only name is omitted if it equals the id, unless `id_names`. Raises `InputError` if some ids begin with
    the base and others need it.
    """

    def __init__(self, stream: IO[bytes], base: str = FREEBASE, *, id_names: bool = False) -> None:
        self._stream = stream
        self._iris = IriMapper(base)
        self._id_names = id_names
        self._relation = lru_cache(_KNOWN_RELATIONS)(self._iris.iri)
        self._named = ""
        self._name_lines: dict[str, None] = {}

    @property
    def base(self) -> str | None:
        """The base put before ids; None if all were IRIs."""
        return self._iris.base if self._iris.is_base_used else None

    def add_names(self, id_: str, names: Sequence[Name]) -> int:
        if not self._id_names and _is_id_again(id_, names):
            return 0
        node = self._iris.node(id_)
        lines = [
            f"{node}\t{ALIAS_RELATION if name.is_alias else NAME_RELATION}\t"
            f"{ntriples_literal(name.text, language=name.language)}\t.\n"
            for name in names
        ]
        self._named, self._name_lines = id_, dict.fromkeys(lines)
        self._stream.write("".join(self._name_lines).encode())
        return len(self._name_lines)

    def add_triples(self, triples: HeadTriples) -> None:
        """Write the triples of a head."""
        node, relation_iri = self._iris.node, self._relation
        head = node(triples.head)
        lines = [
            f"{head}\t{relation_iri(relation)}\t"
            f"{ntriples_literal(tail, datatype, language) if is_literal else node(tail)}\t.\n"
            for relation, tail, is_literal, datatype, language in triples.tails
        ]
        if self._named == triples.head:
            lines = [line for line in lines if line not in self._name_lines]
        self._stream.write("".join(lines).encode())

    def close(self) -> None:
        """Do nothing: everything is written."""


def _is_id_again(id_: str, names: Sequence[Name]) -> bool:
    if len(names) != 1:
        return False
    (name,) = names
    return name.text == id_ and not name.language and not name.is_alias


_BYTE_ORDER_MARK = "\ufeff"


class TsvTripleWriter:
    """Writes head, relation and tail, separated by tabs."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._lines = _Lines(stream)

    def add_triples(self, triples: HeadTriples) -> None:
        """Write the triples of a head; raise `InputError` for one that TSV cannot express."""
        head = check_tsv_id(triples.head)
        self._lines.write(
            f"{head}\t{check_tsv_text(relation)}\t"
            f"{tsv_literal(tail, datatype, language) if is_literal else check_tsv_id(tail)}\n"
            for relation, tail, is_literal, datatype, language in triples.tails
        )

    def close(self) -> None:
        """Do nothing: everything is written."""


class TsvNameWriter:
    """Writes an id and its names, separated by tabs, without languages."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._lines = _Lines(stream)

    def add_names(self, id_: str, names: Sequence[Name]) -> int:
        texts = dict.fromkeys(name.text for name in names)
        self._lines.write(["\t".join(map(check_tsv_text, (id_, *texts))) + "\n"])
        return len(texts)

    def close(self) -> None:
        """Do nothing: everything is written."""


class _Lines:
    """Writes text; an initial byte order mark is doubled, since a reader removes one."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._begun = False

    def write(self, lines: Iterable[str]) -> None:
        text = "".join(lines)
        if not self._begun and text.startswith(_BYTE_ORDER_MARK):
            text = _BYTE_ORDER_MARK + text
        self._begun = True
        self._stream.write(text.encode())


ROWS_A_GROUP = 1 << 16

TRIPLES = pa.schema(
    [
        pa.field("head", pa.string(), nullable=False),
        pa.field("relation", pa.string(), nullable=False),
        pa.field("tail", pa.string(), nullable=False),
        pa.field("is_literal", pa.bool_(), nullable=False),
        pa.field("datatype", pa.string()),
        pa.field("language", pa.string()),
    ]
)
NAMES = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("language", pa.string()),
        pa.field("is_alias", pa.bool_(), nullable=False),
    ]
)


class ParquetTripleWriter:
    """Writes head, relation, tail (a literal's value), whether it is a literal, its datatype and its language."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._rows = _Rows(stream, TRIPLES)

    def add_triples(self, triples: HeadTriples) -> None:
        """Write the triples of a head."""
        self._rows.add([(triples.head, *tail) for tail in triples.tails])

    def close(self) -> None:
        self._rows.close()


class ParquetNameWriter:
    """Writes id, name, its language and whether it is an alias, in the entity's order."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._rows = _Rows(stream, NAMES)

    def add_names(self, id_: str, names: Sequence[Name]) -> int:
        self._rows.add([(id_, name.text, name.language or None, name.is_alias) for name in names])
        return len(names)

    def close(self) -> None:
        self._rows.close()


class _Rows:
    """Collects rows into row groups."""

    def __init__(self, stream: IO[bytes], schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = parquet.ParquetWriter(stream, schema, compression="zstd")
        self._waiting: list[tuple[Any, ...]] = []

    def add(self, rows: list[tuple[Any, ...]]) -> None:
        self._waiting += rows
        if len(self._waiting) >= ROWS_A_GROUP:
            self._write()

    def close(self) -> None:
        if self._waiting:
            self._write()
        self._writer.close()

    def _write(self) -> None:
        columns = zip(*self._waiting, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._waiting = []
