"""Export a graph, or one load of it, to files: all triples in a total order, streamed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from heapq import merge
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

from ...engine.errors import GraphError, UsageError
from ...engine.neo4j.catalogue import read_catalogue, read_full_state, read_loads
from ...engine.neo4j.gateway import Gateway
from ...engine.neo4j.statements import (
    CHUNK_SIZE,
    EntityNames,
    HeadTriples,
    relation_ranks,
    stream_names,
    stream_triples,
)
from ...engine.progress import Progress, ignore_progress
from ...engine.relations.describing import format_descriptions
from ...engine.writing.names import Name, parse_name_properties
from ..formats.freebase import FREEBASE
from ..loads.report import number_of
from .output import STDOUT, Output, open_atomic_outputs
from .writers import NTriplesWriter, TsvNameWriter, TsvTripleWriter, is_absolute_iri

FORMATS = ("tsv", "ntriples", "parquet")
_SUFFIXES = {".tsv": "tsv", ".txt": "tsv", ".nt": "ntriples", ".parquet": "parquet"}


class TripleWriter(Protocol):
    """Writes triples in one format, in the order of its input."""

    def add_triples(self, triples: HeadTriples) -> None:
        """Write some triples of one head."""
        ...

    def close(self) -> None:
        """Write the rest."""
        ...


class NameWriter(Protocol):
    """Writes names in one format, in the order of its input."""

    def add_names(self, id_: str, names: Sequence[Name]) -> int:
        """Write the names of an entity; return how many it wrote."""
        ...

    def close(self) -> None:
        """Write the rest."""
        ...


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
        """Return the report as plain data for JSON."""
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
    relations = gateway.fetch(read_catalogue()).relations
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
    state = gateway.run(read_full_state())
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
    loads = gateway.fetch(read_loads())
    finished = {found.number: found.num_triples for found in loads if found.finished and not found.deleting}
    if load not in finished:
        known = ", ".join(map(str, finished)) or "none"
        raise UsageError(
            f"--load: expected the number of a finished load ({known}), found {load}: see `lodestar stats`"
        )
    return finished[load]


def _writers(format_: str, outputs: Sequence[Output], request: ExportRequest) -> tuple[TripleWriter, NameWriter | None]:
    """Return a writer of triples and, if names are requested, a writer of names."""
    stream, *more = (output.stream for output in outputs)
    names = more[0] if request.names_path is not None else None
    if format_ == "ntriples":
        writer = NTriplesWriter(stream, request.base, id_names=request.id_names)
        return writer, writer
    if format_ == "tsv":
        return TsvTripleWriter(stream), TsvNameWriter(names) if names else None
    from .writers import ParquetNameWriter, ParquetTripleWriter

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
