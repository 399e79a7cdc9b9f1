"""Write a stage with the offline importer into an embedded server.

The graph grows in an *incoming* server beside the real one, which goes on serving its graph. Once the incoming one is
complete, its files replace the real one's.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import csv

from ..engine.errors import EmbeddedServerError
from ..engine.neo4j.bulk_import import DELIMITER, LIST_DELIMITER, ImportFile, ImportFiles
from ..engine.neo4j.gateway import Gateway, OpenTransaction
from ..engine.progress import Progress, ignore_progress
from ..engine.settings import LOAD_TIMEOUT_S
from ..engine.writing import finish_load, relation_rows, write_relations
from .stage import Stage

if TYPE_CHECKING:
    from ..engine.neo4j.embedded import EmbeddedServer
    from .loading import Load

ROWS_A_BATCH = 100_000


def write_bulk(
    load: Load, instance: EmbeddedServer, incoming: EmbeddedServer, old: tuple[Gateway, OpenTransaction] | None
) -> int:
    """Write everything; at every moment the instance has either its old graph or the whole new one.

    `incoming` comes from `EmbeddedServer.loading`; `old` is the instance's graph and its lock, held until its server
    stops for the exchange. Returns how many relations have no type of their own.
    """
    manifest, progress = load.manifest, load.progress
    rows = relation_rows(load.stage.relations(), (), load.stage.relation_facts)
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
        write_relations(gateway, rows, counted=True)
        load.complete(gateway, None)
        finish_load(gateway, manifest)
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
