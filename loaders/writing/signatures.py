"""Relation signatures from sorted rows: what Neo4j would compute node by node, in one pass over columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa


def signatures(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield tables (node, signature_relations, signature_counts, degree) from rows (node, relation, num_triples).

    Rows come sorted by node, then relation, where the relation is a catalogue number: positive for triples that leave
    the node, negative for those that enter it. Nodes come in the same order; a node's rows may lie in several batches.
    """
    rest: pa.Table | None = None
    for batch in rows:
        if not batch.num_rows:
            continue
        table = pa.Table.from_batches([batch])
        if rest is not None:
            table = pa.concat_tables([rest, table]).combine_chunks()
        nodes = table.column("node").to_numpy()
        whole = int(np.searchsorted(nodes, nodes[-1], side="left"))  # the last node may go on in the next batch
        if whole:
            yield _grouped(table.slice(0, whole))
        rest = table.slice(whole)
    if rest is not None:
        yield _grouped(rest)


def _grouped(table: pa.Table) -> pa.Table:
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
