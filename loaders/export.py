"""Export a graph to files: all triples in a total order, streamed.

N-Triples: absolute IRIs and labels of blank nodes are written as they are; other ids get a base, which a reader
removes. TSV: ids as they are; a literal as `value^^datatype` if that is unambiguous, else as in N-Triples.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from heapq import merge
from io import BufferedWriter, RawIOBase
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import IO, NamedTuple, cast

from isal import igzip

from ..engine.errors import GraphError, InputError, StorageError, UsageError
from ..engine.neo4j import Request, Row, template
from ..engine.neo4j.catalogue import RelationInfo, read_catalogue, read_full_state
from ..engine.neo4j.gateway import Gateway
from ..engine.progress import Progress, ignore_progress
from ..engine.relations.describing import format_descriptions
from ..engine.values import iri_text, literal_term
from ..engine.writing import Name, parse_name_properties
from ..models import SHOWN_CHARS
from ..models.whole_file import atomic_write
from .formats.freebase import FREEBASE
from .report import number_of

CHUNK_SIZE = 200
"""Triples per row, and a good number of rows to fetch at a time; a hub arrives in chunks of their product."""


class StatedTail(NamedTuple):
    """The tail of a triple: an entity by its id, or a literal by its value."""

    relation: str
    tail: str
    is_literal: bool = False
    datatype: str | None = None
    language: str | None = None
    loads: Sequence[int] = ()
    """The numbers of the loads that state the triple."""


class HeadTriples(NamedTuple):
    """Some triples of one head, in order; more of the same head may follow."""

    head: str
    tails: tuple[StatedTail, ...]


class EntityNames(NamedTuple):
    """The name properties of an entity in the graph."""

    id: str
    name: str
    aliases: tuple[str, ...]
    name_tags: str | None


def stream_triples(relations: Iterable[RelationInfo]) -> Request[HeadTriples]:
    """Stream all triples of the catalogue's relations."""

    def decode(rows: Sequence[Row]) -> HeadTriples:
        head, triples = rows[0]
        return HeadTriples(head, tuple(StatedTail(*triple) for triple in triples))

    ranks = {name: rank for rank, name in enumerate(sorted(relation.name for relation in relations))}
    return Request(template("stream_triples"), {"ranks": ranks, "chunk_size": CHUNK_SIZE}, decode)


def stream_names() -> Request[EntityNames]:
    """Stream the named entities with all their names."""

    def decode(rows: Sequence[Row]) -> EntityNames:
        id_, name, aliases, tags = rows[0]
        return EntityNames(id_, name, tuple(aliases or ()), tags)

    return Request(template("stream_names"), {}, decode)


STDOUT = "-"
_PACKING_LEVEL = 2
_BUFFER_BYTES = 1 << 18


@contextmanager
def open_atomic_outputs(*paths: str) -> Iterator[list[IO[bytes]]]:
    """Open files, gzip if their names end with ``.gz``; if the block succeeds all get their names, else none.

    ``-`` is standard output; a pipe, or another file that is not regular, is written directly. The same bytes give the
    same file. Raises `StorageError` when they cannot be written, `BrokenPipeError` when their reader has gone.
    """
    streams: list[IO[bytes]] = []
    try:
        with ExitStack() as opened:
            files = [opened.enter_context(_open(path)) for path in paths]
            streams += [_pack(file) if path.endswith(".gz") else file for path, file in zip(paths, files, strict=True)]
            yield streams
            for stream, file in zip(streams, files, strict=True):
                stream.flush() if stream is file else stream.close()
                file.flush()
    except BaseException as error:
        for stream in streams:
            with suppress(OSError, ValueError):
                stream.close()
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            shown = " and ".join("standard output" if path == STDOUT else path for path in paths)
            raise StorageError(f"{shown}: cannot be written: {error.strerror}") from error
        raise


def _pack(file: IO[bytes]) -> IO[bytes]:
    packer = igzip.IGzipFile("", "wb", compresslevel=_PACKING_LEVEL, fileobj=file, mtime=0)  # type: ignore[no-untyped-call]
    return BufferedWriter(cast(RawIOBase, packer), _BUFFER_BYTES)


@contextmanager
def _open(path: str) -> Iterator[IO[bytes]]:
    """Open a file; a regular one gets its name at the end of the block, when it is on the disk."""
    target = Path(path).resolve()
    if path == STDOUT:
        if sys.stdout is None:
            raise StorageError("standard output is closed: give a file to write to")
        with open(sys.stdout.fileno(), "wb", closefd=False) as file:
            yield file
    elif target.exists() and not target.is_file() and not target.is_dir():
        with target.open("wb") as file:
            yield file
    else:
        with atomic_write(target) as draft, draft.open("wb", _BUFFER_BYTES) as file:
            yield file
            os.fsync(file.fileno())


FORMATS = ("tsv", "ntriples")
_SUFFIXES = {".tsv": "tsv", ".txt": "tsv", ".nt": "ntriples"}


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The outcome of an export."""

    path: str
    format: str
    num_triples: int
    num_names: int
    names_path: str | None
    num_phrases: int
    phrases_path: str | None
    base: str | None
    """The base put before ids that are not IRIs; None if no id needed it."""
    seconds: float

    def __str__(self) -> str:
        what = number_of(self.num_triples, "triple", "triples")
        if self.num_names:
            what += f", {number_of(self.num_names, 'name', 'names')}"
        if self.num_phrases:
            what += f", {number_of(self.num_phrases, 'phrase', 'phrases')}"
        return f"{what} in {self.seconds:.1f} s ({self.num_triples / max(self.seconds, 1e-3):,.0f} triples/s)"


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What to export, and where to: a path may be ``-``; if `format` is None, the suffix of `path` decides."""

    path: str = STDOUT
    format: str | None = None
    names_path: str | None = None
    phrases_path: str | None = None
    base: str = FREEBASE

    def resolve_format(self) -> str:
        """Return the format; raise `UsageError` if it is unclear or contradicts other options."""
        format_ = self.format or format_of(self.path)
        if format_ not in FORMATS:
            raise UsageError(f"expected one of the formats {', '.join(FORMATS)}, found {format_!r}")
        if format_ == "ntriples" and self.names_path is not None:
            raise UsageError("N-Triples has the names among the triples: leave out --names")
        places = {"": self.path, "names": self.names_path, "phrases": self.phrases_path}
        taken: dict[Path, str] = {}
        for what, path in places.items():
            if path and (other := taken.setdefault(Path(path).resolve(), what)) != what:
                raise UsageError(
                    f"{other or 'triples'} and {what} cannot both go to {places[other]}: give --{what} another file"
                )
        if not is_absolute_iri(self.base):
            raise UsageError(f"--base: expected an absolute IRI as {FREEBASE}, found {self.base!r}")
        return format_


def format_of(path: str) -> str:
    """Return the format of a file by its name; ``-`` is TSV."""
    if path == STDOUT:
        return "tsv"
    name = path.removesuffix(".gz")
    for suffix, format_ in _SUFFIXES.items():
        if name.endswith(suffix):
            return format_
    raise UsageError(f"{path}: expected a name that ends with {', '.join(_SUFFIXES)}, or a --format")


def export(request: ExportRequest, gateway: Gateway, progress: Progress = ignore_progress) -> ExportReport:
    """Write the graph to files atomically.

    Raises `GraphError` if there is no complete graph, `InputError` for content that the format cannot
    express, `UsageError` for contradicting options, `StorageError` for a file that cannot be written.
    """
    started_s = time.monotonic()
    format_ = request.resolve_format()
    total = _num_triples(gateway)
    relations = gateway.run(read_catalogue()).relations
    triples = gateway.stream(stream_triples(relations), fetch_size=CHUNK_SIZE)
    paths = [path for path in (request.path, request.names_path, request.phrases_path) if path is not None]
    num_triples = num_names = 0
    base = None
    with open_atomic_outputs(*paths) as streams:
        triple_writer: NTriplesWriter | TsvTripleWriter
        name_writer: NTriplesWriter | TsvNameWriter | None
        if format_ == "ntriples":
            triple_writer = name_writer = NTriplesWriter(streams[0], request.base)
        else:
            triple_writer = TsvTripleWriter(streams[0])
            name_writer = TsvNameWriter(streams[1]) if request.names_path is not None else None
        if request.phrases_path is not None:
            streams[-1].write("".join(format_descriptions(relations)).encode())
        for statement in _in_order(triples, gateway, format_, with_names=name_writer is not None):
            if isinstance(statement, HeadTriples):
                triple_writer.add_triples(statement)
                num_triples += len(statement.tails)
                progress("triples", num_triples, total)
            elif name_writer:
                names = parse_name_properties(statement.name, statement.aliases, statement.name_tags)
                num_names += name_writer.add_names(statement.id, names)
        base = triple_writer.base if isinstance(triple_writer, NTriplesWriter) else None
    return ExportReport(
        path=request.path,
        format=format_,
        num_triples=num_triples,
        num_names=num_names,
        names_path=request.names_path,
        num_phrases=sum(len(relation.phrases) for relation in relations) if request.phrases_path else 0,
        phrases_path=request.phrases_path,
        base=base,
        seconds=time.monotonic() - started_s,
    )


def _num_triples(gateway: Gateway) -> int:
    """Return how many triples to export; raise if there is no complete graph."""
    state = read_full_state(gateway)
    state.check()
    if unfinished := (*state.unfinished_loads, *state.deleting_loads):
        what = "is under way: wait until it is done" if state.under_way else "did not finish: run it again"
        raise GraphError(f"the load of {unfinished[0]}, or its deletion, {what}")
    return state.num_triples


def _in_order(
    triples: Iterator[HeadTriples], gateway: Gateway, format_: str, *, with_names: bool
) -> Iterator[HeadTriples | EntityNames]:
    """Return the statements in the format's order: N-Triples has an entity's names before its triples, others last."""
    if not with_names:
        return triples
    names = gateway.stream(stream_names(), fetch_size=CHUNK_SIZE)
    if format_ == "ntriples":
        return merge(names, triples, key=itemgetter(0))
    return chain(triples, names)


_ABSOLUTE_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]+')
_BLANK_NODE = re.compile(r"_:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")

_NOT_IN_A_CELL = re.compile(r"[\t\n\r\0]|\A | \Z")
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
            f"TSV cannot have the tab, line end or outer space of {_quote_term(text)}: use --format ntriples"
        )
    return text


def check_tsv_id(id_: str) -> str:
    """Return an entity's id; raise `InputError` if a reader would take it for a literal."""
    if _LIKE_A_LITERAL.fullmatch(id_):
        raise InputError(f"TSV would make a literal of the entity {_quote_term(id_)}: use --format ntriples")
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

    An entity's only name is omitted if it equals the id. Raises `InputError` if some ids begin with
    the base and others need it.
    """

    def __init__(self, stream: IO[bytes], base: str = FREEBASE) -> None:
        self._stream = stream
        self._iris = IriMapper(base)
        self._relation = lru_cache(_KNOWN_RELATIONS)(self._iris.iri)
        self._named = ""
        self._name_lines: dict[str, None] = {}

    @property
    def base(self) -> str | None:
        """The base put before ids; None if all were IRIs."""
        return self._iris.base if self._iris.is_base_used else None

    def add_names(self, id_: str, names: Sequence[Name]) -> int:
        if [(name.text, name.language, name.is_alias) for name in names] == [(id_, "", False)]:
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
            for relation, tail, is_literal, datatype, language, _ in triples.tails
        ]
        if self._named == triples.head:
            lines = [line for line in lines if line not in self._name_lines]
        self._stream.write("".join(lines).encode())


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
            for relation, tail, is_literal, datatype, language, _ in triples.tails
        )


class TsvNameWriter:
    """Writes an id and its names, separated by tabs, without languages."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._lines = _Lines(stream)

    def add_names(self, id_: str, names: Sequence[Name]) -> int:
        texts = dict.fromkeys(name.text for name in names)
        self._lines.write(["\t".join(map(check_tsv_text, (id_, *texts))) + "\n"])
        return len(texts)


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
