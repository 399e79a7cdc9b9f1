"""Write a stage into Neo4j: in batches into a running one, or with the offline importer into an embedded server.

Online, every step can be repeated: running the same load again repairs an interrupted one. In bulk, the graph grows in
an *incoming* server; once that is complete, its files replace those of the real one, which serves until then.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv

from ..engine import writing
from ..engine.errors import EmbeddedServerError
from ..engine.neo4j.bulk_import import DELIMITER, LIST_DELIMITER, ImportFile, ImportFiles
from ..engine.neo4j.catalogue import RelationInfo, read_catalogue
from ..engine.neo4j.gateway import Gateway, OpenTransaction
from ..engine.progress import Progress, ignore_progress
from ..engine.settings import LOAD_TIMEOUT_S
from ..engine.writing import BASE_LOAD, run_batches
from ..models.wording.answer_kinds import NO_KIND
from .stage import Stage

if TYPE_CHECKING:
    from ..engine.neo4j.embedded import EmbeddedServer
    from .loading import Load


def write_online(load: Load, gateway: Gateway, lock: OpenTransaction) -> int:
    """Write everything, the manifest's end last; return how many relations have no type of their own.

    The counts and signatures of the first load on a graph are those of the stage. Raises `DatabaseError` if the lock
    was lost: the load is then unfinished.
    """
    stage, manifest, is_first, batch_size = load.stage, load.manifest, load.plan.is_first, load.options.batch_size
    load.begin(gateway, "online", gateway if load.plan.replaces else None)
    known = () if is_first else gateway.run(read_catalogue()).relations
    if load.plan.replaces:
        _clear(load, gateway, known)
        known = ()
    rows = writing.make_catalogue_rows(stage.relations(), known, stage.relation_facts)
    writing.write_relations(gateway, rows, counted=is_first)
    if is_first:
        stage.add_signatures()
    literals, labels = _rows(stage, "results/literal_rows", batch_size), writing.make_load_labels(manifest.number)
    tell = _counter(load, "literals", manifest.num_literals)
    run_batches(gateway, "write_literals", "literals", literals, labels=labels, size=batch_size, done=tell)
    _write_entities(load, gateway)
    _write_triples(load, gateway, rows, {} if is_first else writing.count_relation_triples(gateway, rows))
    if not is_first:
        _refresh(load, gateway, rows, known)
    described = {each.name for each in known if (each.head, each.tail) != (NO_KIND, NO_KIND)}
    is_small = manifest.num_triples < sum(each.count for each in known)
    load.complete(gateway, {row.name for row in rows} - described if described and is_small else None)
    lock.check()
    writing.finish_load(gateway, manifest)
    return sum(row.stored_as is not None for row in rows)


def _rows(stage: Stage, name: str, size: int) -> Iterator[dict[str, Any]]:
    return (row for batch in stage.node_rows(name, size) for row in batch.to_pylist())


def _counter(load: Load, what: str, total: int) -> Callable[[int], None]:
    done = 0

    def tell(number: int) -> None:
        nonlocal done
        done += number
        load.progress(what, done, total)

    return tell


def _clear(load: Load, gateway: Gateway, known: Sequence[RelationInfo]) -> None:
    """Delete other loads' content; their manifests first, so that nobody takes the rest for a graph."""
    load.progress("deleting", 0, 1)
    gateway.run(writing.make_write_request("delete_other_loads", sha256=load.sha256))
    params, batch_size = writing.make_deletion_params(known, load.options.batch_size), load.options.batch_size
    gateway.execute(writing.make_write_request("delete_triples", **params))
    for label in ("Entity", "Literal"):
        gateway.execute(writing.make_write_request("delete_orphans", {"LABEL": label}, batch_size=batch_size))
    gateway.run(writing.make_write_request("set_relation_counts", counts=dict.fromkeys(params["numbers"], 0)))
    gateway.run(writing.make_write_request("delete_unused_relations"))
    load.progress("deleting", 1, 1)


def _write_entities(load: Load, gateway: Gateway) -> None:
    batch_size, number, tell = (
        load.options.batch_size,
        load.manifest.number,
        _counter(load, "entities", load.manifest.num_entities),
    )
    rows = _rows(load.stage, "results/entity_rows", batch_size)
    if number == BASE_LOAD:
        run_batches(gateway, "write_entities", "entities", rows, labels=[], size=batch_size, done=tell)
        return
    for batch in load.stage.node_rows("results/entity_rows", batch_size):
        known = writing.read_names(gateway, batch.column("id").to_pylist())
        named = []
        for row in batch.to_pylist():
            stated = writing.parse_stored_entity_names(row["name"], row["aliases"], row["name_tags"])
            named.append((row["id"], writing.add_names_stated_by_load(known.get(row["id"], ()), stated, number)))
        writing.write_names(gateway, named, number)
        tell(len(named))


def _write_triples(load: Load, gateway: Gateway, rows: Sequence[RelationInfo], present: Mapping[str, int]) -> None:
    number, batch_size = load.manifest.number, load.options.batch_size
    typed = [row.name for row in rows if row.stored_as is None]
    groups: tuple[tuple[str, list[str], Mapping[str, Any]], ...] = (
        (
            "create_triples",
            [name for name in typed if not present.get(name)],
            {"loads": None if number == BASE_LOAD else [number]},
        ),
        ("merge_triples", [name for name in typed if present.get(name)], {"load": number}),
        ("merge_related_triples", [row.name for row in rows if row.stored_as], {"load": number}),
    )
    tell = _counter(load, "triples", load.manifest.num_triples)
    for query, names, params in groups:
        for tail in ("Entity", "Literal"):
            if names and (tail == "Entity" or load.manifest.num_literals):
                triples = _triples(load.stage, names, tail == "Literal", batch_size)
                run_batches(gateway, query, "triples", triples, {"TAIL": tail}, size=batch_size, done=tell, **params)


def _triples(stage: Stage, relations: list[str], literals: bool, size: int) -> Iterator[tuple[str, ...]]:
    for batch in stage.rows("results/triple_rows", size, relations=relations, literals=literals):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _refresh(load: Load, gateway: Gateway, rows: Sequence[RelationInfo], known: Sequence[RelationInfo]) -> None:
    batch_size = load.options.batch_size
    load.progress("signatures", 0, load.manifest.num_entities)
    if load.manifest.number == BASE_LOAD:
        writing.refresh_signatures(gateway, "Entity", [*known, *rows], batch_size)
        writing.refresh_triple_counts(gateway, [*rows, *known])
    else:
        numbers = {relation.name: relation.number for relation in [*known, *rows]}
        ids = (row["id"] for row in _rows(load.stage, "results/entity_rows", batch_size))
        tell = _counter(load, "signatures", load.manifest.num_entities)
        run_batches(gateway, "refresh_signatures_of", "ids", ids, size=batch_size, done=tell, numbers=numbers)
        writing.refresh_triple_counts(gateway, rows)
    load.progress("signatures", load.manifest.num_entities, load.manifest.num_entities)


ROWS_A_BATCH = 100_000


def write_bulk(
    load: Load, instance: EmbeddedServer, incoming: EmbeddedServer, old: tuple[Gateway, OpenTransaction] | None
) -> int:
    """Write everything; at every moment the instance has either its old graph or the whole new one.

    `incoming` comes from `EmbeddedServer.loading`; `old` is the instance's graph and its lock, held until its server
    stops for the exchange. Returns how many relations have no type of their own.
    """
    manifest, progress = load.manifest, load.progress
    rows = writing.make_catalogue_rows(load.stage.relations(), (), load.stage.relation_facts)
    related = [row.name for row in rows if row.stored_as]
    files = write_import_files(load.stage, related, progress)
    load.stage.close()  # its memory is for the importer now
    found = files.num_nodes, files.num_relationships
    expected = manifest.num_entities + manifest.num_literals, manifest.num_triples
    if found != expected:
        raise EmbeddedServerError(
            f"the files of {manifest.source} have {found} nodes and triples, expected {expected}: the graph is left "
            "as it was; run the same command again"
        )
    incoming.import_graph(files, progress)
    shutil.rmtree(files.folder)
    incoming.start(progress=False)
    with Gateway(incoming.connection(LOAD_TIMEOUT_S)) as gateway:
        progress("indexing", 0, 1)
        load.begin(gateway, "bulk", old[0] if old else None)
        writing.write_relations(gateway, rows, counted=True)
        load.complete(gateway, None)
        writing.finish_load(gateway, manifest)
        progress("indexing", 1, 1)
    incoming.stop()
    if old:
        old[1].check()
    elif instance.has_graph:
        raise EmbeddedServerError(
            f"the server {instance.name!r} got a graph while {manifest.source} was loaded, and keeps it: run the "
            "same command again"
        )
    instance.adopt(incoming, progress=False, before_stop=old[1].release if old else lambda: None)
    return len(related)


def write_import_files(stage: Stage, related: list[str], progress: Progress = ignore_progress) -> ImportFiles:
    """Write the files of the importer; `related` are the relations without a type of their own."""
    folder = stage.folder / "import"
    folder.mkdir(exist_ok=True)
    progress("converting", 0, 2)
    stage.add_signatures()
    delimiter = _list_delimiter(stage)
    rows = stage.node_rows("importing/entities", ROWS_A_BATCH, delimiter=delimiter)
    entities = _write_file(stage, "importing/entities", folder / "entities.csv", rows)
    rows = stage.node_rows("importing/literals", ROWS_A_BATCH)
    literals = _write_file(stage, "importing/literals", folder / "literals.csv", rows)
    progress("converting", 1, 2)
    rows = stage.rows("importing/triples", ROWS_A_BATCH, related=related)
    triples = _write_file(stage, "importing/triples", folder / "triples.csv", rows)
    progress("converting", 2, 2)
    nodes = (("Entity", entities), ("Literal", literals)) if literals.num_rows else (("Entity", entities),)
    return ImportFiles(folder, nodes, (triples,), delimiter)


def _write_file(stage: Stage, name: str, path: Path, batches: Iterator[pa.RecordBatch]) -> ImportFile:
    """Write rows as neo4j-admin reads them: texts in quotes, nothing for what is absent."""
    first, num_rows = next(batches, None), 0
    if first is None:
        return ImportFile(path.name, 0)
    options = csv.WriteOptions(delimiter=DELIMITER)
    with stage.translate_errors(), csv.CSVWriter(path, first.schema, write_options=options) as writer:
        for batch in chain((first,), batches):
            writer.write_batch(batch)
            num_rows += batch.num_rows
    (extent,) = next(stage.rows(f"{name}_extent", 1)).to_pylist()
    return ImportFile(path.name, num_rows, **extent)


def _list_delimiter(stage: Stage) -> str:
    for delimiter in (LIST_DELIMITER, *map(chr, range(0xE000, 0xF900))):
        if not any(batch.num_rows for batch in stage.rows("importing/names_with", 1, text=delimiter)):
            return delimiter
    raise AssertionError("every character for private use is in a name")
