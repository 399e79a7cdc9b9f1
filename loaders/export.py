"""Export a graph to files: all triples in a total order, streamed.

N-Triples: absolute IRIs and labels of blank nodes are written as they are; other ids get a base, which a reader
removes. TSV: ids as they are, literals as in N-Triples.

Triples come as a head and some of its tails: (relation, tail, is_literal, datatype, language, loads).
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from heapq import merge
from io import BufferedWriter
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

from isal import igzip

from ..engine.data_model import XSD, escape_iri, format_literal_term
from ..engine.errors import GraphError, InputError, StorageError, UsageError
from ..engine.neo4j.catalogue import read_graph_state, stream_names, stream_triples
from ..engine.neo4j.gateway import Gateway
from ..engine.progress import Progress, format_count, ignore_progress
from ..engine.writing import EntityName, parse_stored_entity_names
from ..models import quote_line
from ..models.atomic_files import atomic_write
from .formats.triples import FREEBASE

Tails = Sequence[Sequence[Any]]
STDOUT = "-"
_PACKING_LEVEL = 2
_BUFFER_BYTES = 1 << 18


@contextmanager
def _open_atomic_outputs(*paths: str) -> Iterator[list[IO[bytes]]]:
    """Open files, gzip if their names end with ``.gz``; if the block succeeds all get their names, else none.

    ``-`` is standard output; a pipe, or another file that is not regular, is written directly. The same bytes give the
    same file. Raises `StorageError` when they cannot be written, `BrokenPipeError` when their reader has gone.
    """
    try:
        with ExitStack() as opened:
            files: list[Any] = [opened.enter_context(_open(path)) for path in paths]
            for place, path in enumerate(paths):
                if path.endswith(".gz"):
                    packer: Any = igzip.IGzipFile("", "wb", _PACKING_LEVEL, files[place], mtime=0)  # type: ignore[no-untyped-call]
                    files[place] = opened.enter_context(BufferedWriter(packer, _BUFFER_BYTES))
            yield files
    except BrokenPipeError:
        raise
    except OSError as error:
        shown = " and ".join("standard output" if path == STDOUT else path for path in paths)
        raise StorageError(f"{shown}: cannot be written: {error.strerror}") from error


@contextmanager
def _open(path: str) -> Iterator[IO[bytes]]:
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
    """The outcome of an export. `base` was put before ids that are not IRIs; None if no id needed it."""

    path: str
    format: str
    num_triples: int
    num_names: int
    base: str | None
    seconds: float

    def __str__(self) -> str:
        counts = {"triple": self.num_triples, "name": self.num_names}
        what = ", ".join(format_count(num, one) for one, num in counts.items() if num or one == "triple")
        return f"{what} in {self.seconds:.1f} s ({self.num_triples / max(self.seconds, 1e-3):,.0f} triples/s)"


_SUFFIXES = {".tsv": "tsv", ".txt": "tsv", ".nt": "ntriples"}


def _check(format_: str | None, base: str, **paths: str | None) -> str:
    path = str(paths["triples"])
    format_ = format_ or _SUFFIXES.get(Path(path.removesuffix(".gz")).suffix)
    if format_ is None and path != STDOUT:
        raise UsageError(f"{path}: expected a name that ends with {', '.join(_SUFFIXES)}, or a --format")
    if format_ == "ntriples" and paths["names"] is not None:
        raise UsageError("N-Triples has the names among the triples: leave out --names")
    taken: dict[Path, str] = {}
    for what, each in paths.items():
        if each and (other := taken.setdefault(Path(each).resolve(), what)) != what:
            raise UsageError(f"{other} and {what} cannot both go to {each}: give --{what} another file")
    if not _ABSOLUTE_IRI.fullmatch(base):
        raise UsageError(f"--base: expected an absolute IRI as {FREEBASE}, found {base!r}")
    return format_ or "tsv"


def export(
    gateway: Gateway,
    path: str = STDOUT,
    *,
    format: str | None = None,  # noqa: A002 - as the command line calls it
    names_path: str | None = None,
    base: str = FREEBASE,
    progress: Progress = ignore_progress,
) -> ExportReport:
    """Write the graph to files atomically; a path may be ``-``; without a format the suffix of `path` decides.

    Raises `GraphError` if there is no complete graph, `InputError` for content that the format cannot
    express, `UsageError` for contradicting options, `StorageError` for a file that cannot be written.
    """
    started_s = time.monotonic()
    format_ = _check(format, base, triples=path, names=names_path)
    state = gateway.run(read_graph_state())
    state.check()
    if unfinished := (*state.unfinished_loads, *state.deleting_loads):
        raise GraphError(
            f"the load of {unfinished[0]}, or its deletion, has not finished: wait for it, or run it again"
        )
    triples = ((head, tails, True) for head, tails in stream_triples(gateway))
    names = ((id_, names, False) for id_, names in stream_names(gateway))
    num_triples = num_names = 0
    with _open_atomic_outputs(*filter(None, (path, names_path))) as streams:
        statements: Iterator[tuple[str, Any, bool]] = triples
        writer: _NTriplesWriter | _TsvWriter = _TsvWriter(streams[0].write, streams[1].write if names_path else None)
        if format_ == "ntriples":  # names of an entity before its triples
            writer = _NTriplesWriter(streams[0].write, base)
            statements = merge(names, triples, key=itemgetter(0))
        elif names_path is not None:
            statements = chain(triples, names)
        found: Any
        for head, found, is_triples in statements:
            if is_triples:
                writer.add_triples(head, found)
                num_triples += len(found)
                progress("triples", num_triples, state.num_triples)
            else:
                num_names += writer.add_names(head, parse_stored_entity_names(*found))
    used = base if isinstance(writer, _NTriplesWriter) and writer.is_base_used else None
    seconds = time.monotonic() - started_s
    return ExportReport(path, format_, num_triples, num_names, used, seconds)


Write = Callable[[bytes], object]
_ABSOLUTE_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]+')
_BLANK_NODE = re.compile(r"_:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
_XSD_STRING = f"{XSD}string"
_NAME_RELATION = f"<{FREEBASE}type.object.name>"
_ALIAS_RELATION = f"<{FREEBASE}common.topic.alias>"
_KNOWN_RELATIONS = 10_000


def _literal(value: str, datatype: str | None, language: str | None) -> str:
    if language and not _LANGUAGE.fullmatch(language):
        found = f"found {quote_line(language)} with {quote_line(value)}"
        raise InputError(f"expected a language as `en` or `zh-Hans`, {found}")
    return format_literal_term(value, datatype, language)


class _NTriplesWriter:
    """Writes triples, and names as triples with a literal.

    An entity's only name is omitted if it equals the id. Raises `InputError` if some ids begin with the base and others
    need it: a reader would remove it from all of them.
    """

    def __init__(self, write: Write, base: str = FREEBASE) -> None:
        self._write = write
        self._base = base
        self._with_base = self._without = ""
        self._relation = lru_cache(_KNOWN_RELATIONS)(self._iri)

    @property
    def is_base_used(self) -> bool:
        return bool(self._without)

    def add_names(self, id_: str, names: Sequence[EntityName]) -> int:
        """Write the names of an entity; return how many."""
        if [(name.text, name.language, name.is_alias) for name in names] == [(id_, "", False)]:
            return 0
        node = self._node(id_)
        lines = dict.fromkeys(
            f"{node}\t{_ALIAS_RELATION if name.is_alias else _NAME_RELATION}\t"
            f"{_literal(name.text, None, name.language)}\t.\n"
            for name in names
        )
        self._write("".join(lines).encode())
        return len(lines)

    def add_triples(self, head: str, tails: Tails) -> None:
        node = self._node(head)
        lines = (
            f"{node}\t{self._relation(relation)}\t"
            f"{_literal(tail, datatype, language) if is_literal else self._node(tail)}\t.\n"
            for relation, tail, is_literal, datatype, language, _ in tails
        )
        self._write("".join(lines).encode())

    def _node(self, id_: str) -> str:
        return id_ if id_.startswith("_:") and _BLANK_NODE.fullmatch(id_) else self._iri(id_)

    def _iri(self, id_: str) -> str:
        is_iri = _ABSOLUTE_IRI.fullmatch(id_) is not None
        if not is_iri:
            self._without = self._without or id_
        elif id_.startswith(self._base):
            self._with_base = self._with_base or id_
        if self._with_base and self._without:
            raise InputError(
                f"the graph has ids like {quote_line(self._without)} and like {quote_line(self._with_base)}: "
                "give a --base that none of them begins with"
            )
        return f"<{id_}>" if is_iri else f"<{self._base}{escape_iri(id_)}>"


_NOT_IN_A_CELL = re.compile(r"[\t\n\r\0]|\A[ \ufeff]| \Z")
_CODE_POINT = r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})"
_LIKE_A_LITERAL = re.compile(
    rf"""
    "(?:[^"\\]|\\[tbnrf"'\\]|{_CODE_POINT})*"
    (?:@[A-Za-z]+(?:-[A-Za-z0-9]+)* | \^\^<(?:[^\x00-\x20<>"{{}}|^`\\]|{_CODE_POINT})+> | \^\^xsd:[A-Za-z]+)
    | (?!").*\^\^(?:https?://[^\ \t\r]+ | <https?://[^<>"\ \t\r]+> | xsd:[A-Za-z]+)
    """,
    re.DOTALL | re.VERBOSE,
)


class _TsvWriter:
    """Writes head, relation and tail, and apart from them ids with their names, without languages.

    Raises `InputError` for what TSV cannot express.
    """

    def __init__(self, write: Write, write_names: Write | None = None) -> None:
        self._write = write
        self._write_names = write_names or write

    def add_names(self, id_: str, names: Sequence[EntityName]) -> int:
        """Write the names of an entity; return how many."""
        texts = dict.fromkeys(name.text for name in names)
        self._write_names(("\t".join(map(_cell, (id_, *texts))) + "\n").encode())
        return len(texts)

    def add_triples(self, head: str, tails: Tails) -> None:
        cell = _entity_cell(head)
        lines = (
            f"{cell}\t{_cell(relation)}\t"
            # a plain literal is of xsd:string, since a quoted text without more may be an id
            f"{_literal(tail, of or (None if tag else _XSD_STRING), tag) if is_literal else _entity_cell(tail)}\n"
            for relation, tail, is_literal, of, tag, _ in tails
        )
        self._write("".join(lines).encode())


def _cell(text: str) -> str:
    if _NOT_IN_A_CELL.search(text):
        what = f"the tab, line end or outer space of {quote_line(text)}"
        raise InputError(f"TSV cannot have {what}: use --format ntriples")
    return text


def _entity_cell(id_: str) -> str:
    if _LIKE_A_LITERAL.fullmatch(id_):
        raise InputError(f"TSV would make a literal of the entity {quote_line(id_)}: use --format ntriples")
    return _cell(id_)
