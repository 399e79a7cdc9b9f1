"""Export a graph, or one load of it, to files: all triples in a total order, streamed."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from heapq import merge
from io import BufferedWriter, RawIOBase
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from isal import igzip

from ...engine.errors import GraphError, StorageError, UsageError
from ...engine.neo4j.catalogue import read_catalogue, read_full_state, read_loads
from ...engine.neo4j.gateway import Gateway
from ...engine.neo4j.whole_graph import (
    CHUNK_SIZE,
    EntityNames,
    HeadTriples,
    relation_ranks,
    stream_names,
    stream_triples,
)
from ...engine.progress import Progress, ignore_progress
from ...engine.relations.describing import format_descriptions
from ...engine.writing.records import parse_name_properties
from ...models.whole_file import atomic_write
from ..formats.freebase import FREEBASE
from ..loads.report import number_of
from .writers import (
    NTriplesWriter,
    ParquetNameWriter,
    ParquetTripleWriter,
    TsvNameWriter,
    TsvTripleWriter,
    is_absolute_iri,
)

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


STDOUT = "-"
_PACKING_LEVEL = 2
_BUFFER_BYTES = 1 << 18


class Output:
    """A file that is written, packed with gzip if asked; what was written to `stream` is counted and hashed."""

    def __init__(self, file: IO[bytes], *, packed: bool) -> None:
        self._counted = _CountingFile(file)
        packer = (
            igzip.IGzipFile("", "wb", compresslevel=_PACKING_LEVEL, fileobj=self._counted, mtime=0) if packed else None
        )  # type: ignore[no-untyped-call]
        self.stream = BufferedWriter(cast(RawIOBase, packer or self._counted), _BUFFER_BYTES)

    @property
    def size_bytes(self) -> int:
        return self._counted.size_bytes

    @property
    def sha256(self) -> str:
        """The SHA-256 of the file so far, in hexadecimal."""
        return self._counted.hash.hexdigest()


@contextmanager
def open_atomic_outputs(*paths: str) -> Iterator[list[Output]]:
    """Open files, gzip if their names end with ``.gz``; if the block succeeds all get their names, else none.

    ``-`` is standard output; a pipe, or another file that is not regular, is written directly. The same bytes give the
    same file. Raises `StorageError` when they cannot be written, `BrokenPipeError` when their reader has gone.
    """
    outputs: list[Output] = []
    try:
        with ExitStack() as opened:
            files = [opened.enter_context(_open(path)) for path in paths]
            outputs += [Output(file, packed=path.endswith(".gz")) for path, file in zip(paths, files, strict=True)]
            yield outputs
            for output in outputs:
                output.stream.close()
            for file in files:
                file.flush()
    except BaseException as error:
        for output in outputs:
            with suppress(OSError, ValueError):
                output.stream.close()
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            shown = " and ".join("standard output" if path == STDOUT else path for path in paths)
            raise StorageError(f"{shown}: cannot be written: {error.strerror}") from error
        raise


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
        with atomic_write(target) as draft, draft.open("wb") as file:
            yield file
            os.fsync(file.fileno())


class _CountingFile(RawIOBase):
    """Passes bytes on to a file; closing it leaves the file open."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.size_bytes = 0
        self.hash = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size_bytes

    def write(self, data: ReadableBuffer) -> int:
        view = memoryview(data)
        self._file.write(view)
        self.hash.update(view)
        self.size_bytes += view.nbytes
        return view.nbytes


FORMATS = ("tsv", "ntriples", "parquet")
_SUFFIXES = {".tsv": "tsv", ".txt": "tsv", ".nt": "ntriples", ".parquet": "parquet"}


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The outcome of an export."""

    path: str
    format: str
    num_triples: int
    size_bytes: int
    sha256: str
    num_names: int
    names_path: str | None
    names_size_bytes: int
    names_sha256: str | None
    num_phrases: int
    phrases_path: str | None
    base: str | None
    """The base put before ids that are not IRIs; None if no id needed it."""
    seconds: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        what = number_of(self.num_triples, "triple", "triples")
        if self.num_names:
            what += f", {number_of(self.num_names, 'name', 'names')}"
        if self.num_phrases:
            what += f", {number_of(self.num_phrases, 'phrase', 'phrases')}"
        size = _size(self.size_bytes + self.names_size_bytes)
        return f"{what}, {size} in {self.seconds:.1f} s ({self.num_triples / max(self.seconds, 1e-3):,.0f} triples/s)"


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What to export, and where to: a path may be ``-``; if `format` is None, the suffix of `path` decides."""

    path: str = STDOUT
    format: str | None = None
    names_path: str | None = None
    phrases_path: str | None = None
    base: str = FREEBASE
    id_names: bool = False
    load: int | None = None

    def resolve_format(self) -> str:
        """Return the format; raise `UsageError` if it is unclear or contradicts other options."""
        format_ = self.format or format_of(self.path)
        if format_ not in FORMATS:
            raise UsageError(f"expected one of the formats {', '.join(FORMATS)}, found {format_!r}")
        if format_ == "ntriples" and self.names_path is not None:
            raise UsageError("N-Triples has the names among the triples: leave out --names")
        if format_ == "parquet" and any(path and path.endswith(".gz") for path in (self.path, self.names_path)):
            raise UsageError("parquet is compressed already: give a name without .gz")
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
    """Write the graph, or one load of it, to files atomically.

    Raises `GraphError` if there is no complete graph, `InputError` for content that the format cannot
    express, `UsageError` for contradicting options, `StorageError` for a file that cannot be written.
    """
    started_s = time.monotonic()
    format_ = request.resolve_format()
    total = _num_triples(gateway, request.load)
    relations = gateway.run(read_catalogue()).relations
    ranks = relation_ranks(relation.name for relation in relations)
    triples = gateway.stream(stream_triples(ranks, request.load), fetch_size=CHUNK_SIZE)
    paths = [path for path in (request.path, request.names_path, request.phrases_path) if path is not None]
    num_triples = num_names = 0
    with open_atomic_outputs(*paths) as outputs:
        triple_writer, name_writer = _writers(format_, outputs, request)
        if request.phrases_path is not None:
            outputs[-1].stream.write("".join(format_descriptions(relations)).encode())
        for statement in _in_order(triples, gateway, format_, with_names=name_writer is not None):
            if isinstance(statement, HeadTriples):
                triple_writer.add_triples(statement)
                num_triples += len(statement.tails)
                progress("triples", num_triples, total)
            elif name_writer:
                names = parse_name_properties(statement.name, statement.aliases, statement.name_tags)
                stated = [name for name in names if request.load is None or request.load in name.loads]
                num_names += name_writer.add_names(statement.id, stated) if stated else 0
        triple_writer.close()
        if name_writer:
            name_writer.close()
    names_output = outputs[1] if request.names_path is not None else None
    return ExportReport(
        path=request.path,
        format=format_,
        num_triples=num_triples,
        size_bytes=outputs[0].size_bytes,
        sha256=outputs[0].sha256,
        num_names=num_names,
        names_path=request.names_path,
        names_size_bytes=names_output.size_bytes if names_output else 0,
        names_sha256=names_output.sha256 if names_output else None,
        num_phrases=sum(len(relation.phrases) for relation in relations) if request.phrases_path else 0,
        phrases_path=request.phrases_path,
        base=triple_writer.base if isinstance(triple_writer, NTriplesWriter) else None,
        seconds=time.monotonic() - started_s,
    )


def _num_triples(gateway: Gateway, load: int | None) -> int:
    """Return how many triples to export; raise if there is no complete graph or no such load."""
    state = read_full_state(gateway)
    state.check()
    unfinished = (*state.unfinished_loads, *state.deleting_loads)
    if load is None and unfinished and state.under_way:
        raise GraphError(
            f"the load of {unfinished[0]}, or its deletion, is under way: wait until it is done, or export one that is "
            "finished with --load"
        )
    if load is None and unfinished:
        raise GraphError(
            f"the load of {unfinished[0]}, or its deletion, did not finish: run it again, or export one that did "
            "finish with --load"
        )
    if load is None:
        return state.num_triples
    loads = gateway.run(read_loads())
    finished = {found.number: found.num_triples for found in loads if found.finished and not found.deleting}
    if load not in finished:
        known = ", ".join(map(str, finished)) or "none"
        raise UsageError(
            f"--load: expected the number of a finished load ({known}), found {load}: see `lodestar load --list`"
        )
    return finished[load]


def _writers(format_: str, outputs: Sequence[Output], request: ExportRequest) -> tuple[Any, Any]:
    """Return a writer of triples, and one of names or None."""
    stream, *more = (output.stream for output in outputs)
    names = more[0] if request.names_path is not None else None
    if format_ == "ntriples":
        writer = NTriplesWriter(stream, request.base, id_names=request.id_names)
        return writer, writer
    if format_ == "tsv":
        return TsvTripleWriter(stream), TsvNameWriter(names) if names else None
    return ParquetTripleWriter(stream), ParquetNameWriter(names) if names else None


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


def _size(size_bytes: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.1f} {unit}"
    return f"{size_bytes} bytes"
