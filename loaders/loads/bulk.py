"""Write a stage with the offline importer into an embedded server.

The graph grows in an *incoming* server beside the real one, which goes on serving its graph. Once the incoming one is
complete, its files replace the real one's.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ...engine.errors import EmbeddedServerError
from ...engine.neo4j.bulk_import import LIST_DELIMITER, ImportFile, ImportFiles, ImportFileWriter
from ...engine.neo4j.catalogue import read_graph_state
from ...engine.neo4j.gateway import Gateway, OpenTransaction
from ...engine.progress import Progress, ignore_progress
from ...engine.settings import LOAD_TIMEOUT_S
from ...engine.writing.records import (
    Manifest,
    RelationFacts,
    RelationRow,
    begin_load,
    count_untyped_relations,
    finish_load,
    make_write_request,
    relation_rows,
    write_relations,
)
from ..source import RowStream
from ..stage import Stage

if TYPE_CHECKING:
    from ...engine.neo4j.embedded import EmbeddedServer


def build_signature_tables(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield tables (node, signature_relations, signature_counts, degree) from rows (node, relation, num_triples).

    Rows are sorted by node, then relation, which is a catalogue number: positive for triples that leave the node,
    negative for those that enter it. The output has the same node order; a node's rows may span batches.
    """
    rest: pa.Table | None = None
    for batch in rows:
        if not batch.num_rows:
            continue
        table = pa.Table.from_batches([batch])
        if rest is not None:
            table = pa.concat_tables([rest, table]).combine_chunks()
        nodes = table.column("node").to_numpy()
        whole = int(np.searchsorted(nodes, nodes[-1], side="left"))  # the last node may continue in the next batch
        if whole:
            yield _group_rows(table.slice(0, whole))
        rest = table.slice(whole)
    if rest is not None:
        yield _group_rows(rest)


def _group_rows(table: pa.Table) -> pa.Table:
    nodes = table.column("node").to_numpy()
    starts = np.flatnonzero(np.append(True, nodes[1:] != nodes[:-1]))
    offsets = pa.array(np.append(starts, len(nodes)).astype(np.int32))
    counts = table.column("num_triples").to_numpy()
    relations = table.column("relation").combine_chunks()
    return pa.table(
        {
            "node": pa.array(nodes[starts]),
            "signature_relations": _lists(offsets, relations),
            "signature_counts": _lists(offsets, table.column("num_triples").combine_chunks()),
            "degree": pa.array(np.add.reduceat(counts, starts)),
        }
    )


def _lists(offsets: pa.Array, values: pa.Array | pa.ChunkedArray) -> pa.ListArray:
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks)
    return pa.ListArray.from_arrays(offsets, values)


NODES_A_BATCH = 100_000
TRIPLES_A_BATCH = 250_000
SIGNATURE_ROWS_A_BATCH = 500_000

_IMPORTED = {
    "signature_relations": "signature_relations:int[]",
    "signature_counts": "signature_counts:int[]",
    "degree": "degree:int",
}
"""The columns of signatures for neo4j-admin's import."""


class BulkWriter:
    """Writes a stage into an embedded server in place of its graph."""

    def __init__(self, progress: Progress = ignore_progress) -> None:
        self._progress = progress

    def write(
        self,
        stage: Stage,
        manifest: Manifest,
        facts: Mapping[str, RelationFacts],
        instance: EmbeddedServer,
        incoming: EmbeddedServer,
        old: OpenTransaction | None,
        complete: Callable[[Gateway], None] = lambda _: None,
    ) -> int:
        """Write everything; at every moment the instance has either its old graph or the whole new one.

        `incoming` comes from `EmbeddedServer.loading`; `old` is the lock of the instance's graph, held until its server
        stops for the exchange. `complete` is called with all triples imported, before the load counts as finished.
        Returns how many relations have no type of their own.
        """
        staged = stage.relations()
        rows = relation_rows(staged, (), facts)
        files = self.write_files(stage, relation_table(rows), has_literals=manifest.num_literals > 0)
        stage.close()  # its memory is for the importer now
        if files.num_relationships != manifest.num_triples:
            raise EmbeddedServerError(
                f"the files have {files.num_relationships:,} triples of {manifest.num_triples:,} of "
                f"{manifest.source}: the graph is left as it was; run the same command again"
            )
        incoming.import_graph(files, self._progress)
        shutil.rmtree(files.folder)
        incoming.start(progress=False)
        with Gateway(incoming.connection(LOAD_TIMEOUT_S)) as gateway:
            self._progress("indexing", 0, 1)
            begin_load(gateway, manifest)
            write_relations(gateway, rows)
            counts = {name: num_triples for _, name, num_triples in staged}
            gateway.run(make_write_request("set_relation_counts", counts=counts))
            _check(gateway, manifest)
            complete(gateway)
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
            triples = beside.submit(self._write_triples, stage, folder, relations)
            if stage.is_short_of_memory:
                wait((triples,))
            nodes = [("Entity", self._write_entities(stage, folder / "entities.csv", relations, delimiter))]
            if has_literals:
                literals = map(_as_table, stage.rows("results/literal_nodes", NODES_A_BATCH))
                nodes += [("Literal", _write_tables(folder / "literals.csv", literals))]
            self._progress("converting", 1, 2)
            relationships = triples.result()
        self._progress("converting", 2, 2)
        return ImportFiles(folder, tuple(nodes), relationships, delimiter)

    def _write_triples(self, stage: Stage, folder: Path, relations: pa.Table) -> tuple[ImportFile, ...]:
        tables = {"relation_row": relations}
        typed = stage.rows("results/relationships", TRIPLES_A_BATCH, tables=tables)
        related = stage.rows("results/related", TRIPLES_A_BATCH, tables=tables)
        files = (
            _write_tables(folder / "triples.csv", _with_types(typed, relations)),
            _write_tables(folder / "related.csv", map(_as_table, related)),
        )
        return tuple(file for file in files if file.num_rows)

    def _write_entities(self, stage: Stage, path: Path, relations: pa.Table, delimiter: str) -> ImportFile:
        """Write the entities; names and signatures have the same order, by node."""
        names = stage.rows("results/entity_names", NODES_A_BATCH)
        rows = stage.rows("results/signature_rows", SIGNATURE_ROWS_A_BATCH, tables={"relation_row": relations})
        with ImportFileWriter(path, delimiter) as writer:
            for table in _join_columns(names, build_signature_tables(rows)):
                writer.write(table)
        return writer.written


def _write_tables(path: Path, tables: Iterable[pa.Table]) -> ImportFile:
    """Write tables without lists to a file."""
    with ImportFileWriter(path) as writer:
        for table in tables:
            writer.write(table)
    return writer.written


def _as_table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


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


def _join_columns(names: Iterator[pa.RecordBatch], signed: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield names and signatures of the same nodes as one table."""
    signatures_of = RowStream(signed)
    for batch in names:
        signature = signatures_of.take(batch.num_rows)
        table = _as_table(batch)
        for column, name in _IMPORTED.items():
            table = table.append_column(name, signature.column(column))
        yield table


def _check(gateway: Gateway, manifest: Manifest) -> None:
    """Raise `EmbeddedServerError` if the import does not match the stage."""
    state = gateway.run(read_graph_state())
    found, expected = (state.num_entities, state.num_literals), (manifest.num_entities, manifest.num_literals)
    if found != expected:
        raise EmbeddedServerError(
            f"the import of {manifest.source} has {found} entities and literals, expected {expected}: "
            "the graph is left as it was; run the same command again"
        )


def relation_table(rows: list[RelationRow]) -> pa.Table:
    """Return the rows as the queries of the stage join them."""
    return pa.table(
        {
            "staged": pa.array([row.staged for row in rows], pa.int32()),
            "number": pa.array([row.number for row in rows], pa.int32()),
            "name": pa.array([row.name for row in rows], pa.string()),
            "type": pa.array([row.type for row in rows], pa.string()),
            "is_related": pa.array([row.stored_as is not None for row in rows], pa.bool_()),
        }
    )
