"""Export a graph to files: all triples in a total order, streamed.

N-Triples: absolute IRIs and labels of blank nodes are written as they are; other ids get a base, which a reader
removes. TSV: ids as they are; a literal as `value^^datatype` if that is unambiguous, else as in N-Triples.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
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
    aliases: Sequence[str] | None
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
    return Request(template("stream_names"), {}, lambda rows: EntityNames(*rows[0]))


STDOUT = "-"
_PACKING_LEVEL = 2
_BUFFER_BYTES = 1 << 18


@contextmanager
def open_atomic_outputs(*paths: str) -> Iterator[list[IO[bytes]]]:
    """Open files, gzip if their names end with ``.gz``; if the block succeeds all get their names, else none.

    ``-`` is standard output; a pipe, or another file that is not regular, is written directly. The same bytes give the
    same file. Raises `StorageError` when they cannot be written, `BrokenPipeError` when their reader has gone.
    """
    try:
        with ExitStack() as opened:
            files = [opened.enter_context(_open(path)) for path in paths]
            packed = [path.endswith(".gz") for path in paths]
            yield [
                opened.enter_context(_pack(file)) if pack else file for file, pack in zip(files, packed, strict=True)
            ]
    except BrokenPipeError:
        raise
    except OSError as error:
        shown = " and ".join("standard output" if path == STDOUT else path for path in paths)
        raise StorageError(f"{shown}: cannot be written: {error.strerror}") from error


def _pack(file: IO[bytes]) -> BufferedWriter:
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
            file.flush()
            os.fsync(file.fileno())


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


_SUFFIXES = {".tsv": "tsv", ".txt": "tsv", ".nt": "ntriples"}


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
        format_ = self.format or _SUFFIXES.get(Path(self.path.removesuffix(".gz")).suffix)
        if format_ is None and self.path != STDOUT:
            raise UsageError(f"{self.path}: expected a name that ends with {', '.join(_SUFFIXES)}, or a --format")
        if format_ == "ntriples" and self.names_path is not None:
            raise UsageError("N-Triples has the names among the triples: leave out --names")
        places = {"": self.path, "names": self.names_path, "phrases": self.phrases_path}
        taken: dict[Path, str] = {}
        for what, path in places.items():
            if path and (other := taken.setdefault(Path(path).resolve(), what)) != what:
                raise UsageError(
                    f"{other or 'triples'} and {what} cannot both go to {places[other]}: give --{what} another file"
                )
        if not _ABSOLUTE_IRI.fullmatch(self.base):
            raise UsageError(f"--base: expected an absolute IRI as {FREEBASE}, found {self.base!r}")
        return format_ or "tsv"


def export(request: ExportRequest, gateway: Gateway, progress: Progress = ignore_progress) -> ExportReport:
    """Write the graph to files atomically.

    Raises `GraphError` if there is no complete graph, `InputError` for content that the format cannot
    express, `UsageError` for contradicting options, `StorageError` for a file that cannot be written.
    """
    started_s = time.monotonic()
    format_ = request.resolve_format()
    state = read_full_state(gateway)
    state.check()
    if unfinished := (*state.unfinished_loads, *state.deleting_loads):
        what = "is under way: wait until it is done" if state.under_way else "did not finish: run it again"
        raise GraphError(f"the load of {unfinished[0]}, or its deletion, {what}")
    relations = gateway.run(read_catalogue()).relations
    statements: Iterator[HeadTriples | EntityNames] = gateway.stream(stream_triples(relations), fetch_size=CHUNK_SIZE)
    paths = [path for path in (request.path, request.names_path, request.phrases_path) if path is not None]
    num_triples = num_names = 0
    with open_atomic_outputs(*paths) as streams:
        names = gateway.stream(stream_names(), fetch_size=CHUNK_SIZE)
        writer: NTriplesWriter | TsvWriter
        if format_ == "ntriples":  # names of an entity before its triples
            writer = NTriplesWriter(streams[0].write, request.base)
            statements = merge(names, statements, key=itemgetter(0))
        elif request.names_path is not None:
            writer = TsvWriter(streams[0].write, streams[1].write)
            statements = chain(statements, names)
        else:
            writer = TsvWriter(streams[0].write)
        if request.phrases_path is not None:
            streams[-1].write("".join(format_descriptions(relations)).encode())
        for statement in statements:
            if isinstance(statement, HeadTriples):
                writer.add_triples(statement)
                num_triples += len(statement.tails)
                progress("triples", num_triples, state.num_triples)
            else:
                num_names += writer.add_names(statement.id, parse_name_properties(*statement[1:]))
    return ExportReport(
        path=request.path,
        format=format_,
        num_triples=num_triples,
        num_names=num_names,
        names_path=request.names_path,
        num_phrases=sum(len(relation.phrases) for relation in relations) if request.phrases_path else 0,
        phrases_path=request.phrases_path,
        base=request.base if isinstance(writer, NTriplesWriter) and writer.is_base_used else None,
        seconds=time.monotonic() - started_s,
    )


Write = Callable[[bytes], object]
_ABSOLUTE_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]+')
_BLANK_NODE = re.compile(r"_:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
NAME_RELATION = f"<{FREEBASE}type.object.name>"
ALIAS_RELATION = f"<{FREEBASE}common.topic.alias>"
_KNOWN_RELATIONS = 10_000


def _quote_term(text: str) -> str:
    return repr(text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…")


def _literal(value: str, datatype: str | None, language: str | None) -> str:
    """Return the term of a literal; raise `InputError` for a language that is no language tag."""
    if language and not _LANGUAGE.fullmatch(language):
        raise InputError(
            f"expected a language as `en` or `zh-Hans`, found {_quote_term(language)} with {_quote_term(value)}"
        )
    return literal_term(value, datatype, language)


class NTriplesWriter:
    """Writes triples, and names as triples with a literal; a name that is also among the entity's triples once.

    An entity's only name is omitted if it equals the id. Raises `InputError` if some ids begin with the base and others
    need it: a reader would remove it from all of them.
    """

    def __init__(self, write: Write, base: str = FREEBASE) -> None:
        self._write = write
        self._base = base
        self._with_base = self._without = ""
        self._relation = lru_cache(_KNOWN_RELATIONS)(self._iri)
        self._named = ""
        self._name_lines: dict[str, None] = {}

    @property
    def is_base_used(self) -> bool:
        """Whether any id needed the base."""
        return bool(self._without)

    def add_names(self, id_: str, names: Sequence[Name]) -> int:
        """Write the names of an entity; return how many."""
        if [(name.text, name.language, name.is_alias) for name in names] == [(id_, "", False)]:
            return 0
        node = self._node(id_)
        lines = [
            f"{node}\t{ALIAS_RELATION if name.is_alias else NAME_RELATION}\t"
            f"{_literal(name.text, None, name.language)}\t.\n"
            for name in names
        ]
        self._named, self._name_lines = id_, dict.fromkeys(lines)
        self._write("".join(self._name_lines).encode())
        return len(self._name_lines)

    def add_triples(self, triples: HeadTriples) -> None:
        """Write the triples of a head."""
        head, known = self._node(triples.head), self._name_lines if self._named == triples.head else ()
        lines = [
            f"{head}\t{self._relation(relation)}\t"
            f"{_literal(tail, datatype, language) if is_literal else self._node(tail)}\t.\n"
            for relation, tail, is_literal, datatype, language, _ in triples.tails
        ]
        self._write("".join(line for line in lines if line not in known).encode())

    def _node(self, id_: str) -> str:
        """Return the term of an entity: an IRI, or a blank node if the id is a label of one."""
        return id_ if id_.startswith("_:") and _BLANK_NODE.fullmatch(id_) else self._iri(id_)

    def _iri(self, id_: str) -> str:
        is_iri = _ABSOLUTE_IRI.fullmatch(id_) is not None
        if not is_iri:
            self._without = self._without or id_
        elif id_.startswith(self._base):
            self._with_base = self._with_base or id_
        if self._with_base and self._without:
            raise InputError(
                f"the graph has ids like {_quote_term(self._without)} and like {_quote_term(self._with_base)}: "
                "give a --base that none of them begins with"
            )
        return f"<{id_}>" if is_iri else f"<{self._base}{iri_text(id_)}>"


_NOT_IN_A_CELL = re.compile(r"[\t\n\r\0]|\A[ \ufeff]| \Z")
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


class TsvWriter:
    """Writes head, relation and tail, and apart from them ids with their names, without languages.

    Raises `InputError` for what TSV cannot express.
    """

    def __init__(self, write: Write, write_names: Write | None = None) -> None:
        self._write = write
        self._write_names = write_names or write

    def add_names(self, id_: str, names: Sequence[Name]) -> int:
        """Write the names of an entity; return how many."""
        texts = dict.fromkeys(name.text for name in names)
        self._write_names(("\t".join(map(_cell, (id_, *texts))) + "\n").encode())
        return len(texts)

    def add_triples(self, triples: HeadTriples) -> None:
        """Write the triples of a head."""
        head = _entity_cell(triples.head)
        lines = (
            f"{head}\t{_cell(relation)}\t"
            f"{_literal_cell(tail, datatype, language) if is_literal else _entity_cell(tail)}\n"
            for relation, tail, is_literal, datatype, language, _ in triples.tails
        )
        self._write("".join(lines).encode())


def _cell(text: str) -> str:
    if _NOT_IN_A_CELL.search(text):
        raise InputError(
            f"TSV cannot have the tab, line end or outer space of {_quote_term(text)}: use --format ntriples"
        )
    return text


def _entity_cell(id_: str) -> str:
    if _LIKE_A_LITERAL.fullmatch(id_):
        raise InputError(f"TSV would make a literal of the entity {_quote_term(id_)}: use --format ntriples")
    return _cell(id_)


def _literal_cell(value: str, datatype: str | None, language: str | None) -> str:
    """Return ``value^^datatype`` where that is unambiguous, else the literal's term; a plain one is of xsd:string,
    since a quoted text without more may be an id.
    """
    datatype = datatype or (None if language else XSD_STRING)
    is_plain = datatype and not value.startswith('"') and not _NOT_IN_A_CELL.search(value)
    if is_plain and not language and _HTTP_IRI.fullmatch(datatype or ""):
        return f"{value}^^{datatype}"
    return _literal(value, datatype, language)
