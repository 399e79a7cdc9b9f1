"""Write a stage with the offline importer into an embedded server.

The graph grows in an *incoming* server beside the real one, which goes on serving its graph. Once the incoming one is
complete, its files replace the real one's.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from ..engine.errors import EmbeddedServerError
from ..engine.neo4j.bulk_import import LIST_DELIMITER, ImportFile, ImportFiles, ImportFileWriter
from ..engine.neo4j.gateway import Gateway, OpenTransaction
from ..engine.progress import Progress, ignore_progress
from ..engine.settings import LOAD_TIMEOUT_S
from ..engine.writing import (
    Manifest,
    begin_load,
    count_untyped_relations,
    finish_load,
    relation_rows,
    write_relations,
)
from .online import Complete
from .stage import Stage, relation_table, with_signatures

if TYPE_CHECKING:
    from ..engine.neo4j.embedded import EmbeddedServer

NODES_A_BATCH = 100_000
TRIPLES_A_BATCH = 250_000
_INT_COLUMNS = {"signature_relations": "int[]", "signature_counts": "int[]", "degree": "int"}
"""The types of signatures for the importer."""


class BulkWriter:
    """Writes a stage into an embedded server in place of its graph."""

    def __init__(self, progress: Progress = ignore_progress) -> None:
        self._progress = progress

    def write(
        self,
        stage: Stage,
        manifest: Manifest,
        instance: EmbeddedServer,
        incoming: EmbeddedServer,
        old: OpenTransaction | None,
        complete: Complete = lambda _gateway, _new: None,
    ) -> int:
        """Write everything; at every moment the instance has either its old graph or the whole new one.

        `incoming` comes from `EmbeddedServer.loading`; `old` is the lock of the instance's graph, held until its server
        stops for the exchange. `complete` is called with all triples imported, before the load counts as finished.
        Returns how many relations have no type of their own.
        """
        rows = relation_rows(stage.relations(), (), stage.relation_facts)
        files = self.write_files(stage, relation_table(rows), has_literals=manifest.num_literals > 0)
        stage.close()  # its memory is for the importer now
        _check(files, manifest)
        incoming.import_graph(files, self._progress)
        shutil.rmtree(files.folder)
        incoming.start(progress=False)
        with Gateway(incoming.connection(LOAD_TIMEOUT_S)) as gateway:
            self._progress("indexing", 0, 1)
            begin_load(gateway, manifest)
            write_relations(gateway, rows, counted=True)
            complete(gateway, None)
            finish_load(gateway, manifest)
            self._progress("indexing", 1, 1)
        incoming.stop()
        if old:
            old.check()
        elif instance.has_graph:
            raise EmbeddedServerError(
                f"the server {instance.name!r} got a graph while {manifest.source} was loaded, and keeps it: run the "
                "same command again"
            )
        instance.adopt(incoming, progress=False, before_stop=old.release if old else lambda: None)
        return count_untyped_relations(rows)

    def write_files(self, stage: Stage, relations: pa.Table, *, has_literals: bool) -> ImportFiles:
        folder = stage.folder / "import"
        folder.mkdir(exist_ok=True)
        self._progress("converting", 0, 2)
        delimiter = _list_delimiter(stage)
        with ThreadPoolExecutor(1) as beside:  # either leaves a core idle for a part of its time
            triples = beside.submit(_write_triples, stage, folder, relations)
            entities = with_signatures(stage.rows("results/entity_names", NODES_A_BATCH), stage, relations)
            nodes = [("Entity", _write_tables(folder / "entities.csv", map(_name_types, entities), delimiter))]
            if has_literals:
                literals = map(_as_table, stage.rows("results/literal_nodes", NODES_A_BATCH))
                nodes += [("Literal", _write_tables(folder / "literals.csv", literals))]
            self._progress("converting", 1, 2)
            relationships = triples.result()
        self._progress("converting", 2, 2)
        return ImportFiles(folder, tuple(nodes), relationships, delimiter)


def _write_triples(stage: Stage, folder: Path, relations: pa.Table) -> tuple[ImportFile, ...]:
    tables = {"relation_row": relations}
    typed = stage.rows("results/relationships", TRIPLES_A_BATCH, tables=tables)
    related = stage.rows("results/related", TRIPLES_A_BATCH, tables=tables)
    files = (
        _write_tables(folder / "triples.csv", _with_types(typed, relations)),
        _write_tables(folder / "related.csv", map(_as_table, related)),
    )
    return tuple(file for file in files if file.num_rows)


def _write_tables(path: Path, tables: Iterable[pa.Table], list_delimiter: str = LIST_DELIMITER) -> ImportFile:
    with ImportFileWriter(path, list_delimiter) as writer:
        for table in tables:
            writer.write(table)
    return writer.written


def _as_table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _name_types(table: pa.Table) -> pa.Table:
    names = (f"{name}:{_INT_COLUMNS[name]}" if name in _INT_COLUMNS else name for name in table.column_names)
    return table.rename_columns(list(names))


def _with_types(triples: Iterable[pa.RecordBatch], relations: pa.Table) -> Iterator[pa.Table]:
    """Yield the triples with their relationship types as a dictionary: types are long and repeat."""
    types = relations.sort_by("staged").column("type").combine_chunks()
    for batch in triples:
        rows = pa.array(batch.column("relation").to_numpy() - 1)  # a stage numbers its relations from 1
        column = pa.DictionaryArray.from_arrays(rows, types)
        yield _as_table(batch.drop_columns("relation").append_column(":TYPE", column))


def _list_delimiter(stage: Stage) -> str:
    """Return a character that no name has: the usual one, or the first free private-use one."""
    for delimiter in (LIST_DELIMITER, *map(chr, range(0xE000, 0xF900))):
        if not any(batch.num_rows for batch in stage.rows("results/names_with", 1, text=delimiter)):
            return delimiter
    raise AssertionError("every character for private use is in a name")


def _check(files: ImportFiles, manifest: Manifest) -> None:
    """Raise `EmbeddedServerError` if the files do not have what the stage has; the importer counts again."""
    found = files.num_nodes, files.num_relationships
    expected = manifest.num_entities + manifest.num_literals, manifest.num_triples
    if found != expected:
        raise EmbeddedServerError(
            f"the files of {manifest.source} have {found} nodes and triples, expected {expected}: the graph is left "
            "as it was; run the same command again"
        )
