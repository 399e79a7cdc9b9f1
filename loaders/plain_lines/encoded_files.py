"""Encoded triples of a source, in files, until its terms have numbers.

A block's terms are its own, so what is kept of a triple is three positions; the same term comes once a block. Reading
them again is a walk over both files side by side, in which the memory holds one block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from ..rows import RowStream
from .encoding import EncodedTriples

_TERMS = pa.schema([("code", pa.int64()), ("text", pa.string())])
_TRIPLES = pa.schema([("head", pa.int32()), ("relation", pa.int32()), ("tail", pa.int32())])
NUMBERED = pa.schema(
    [
        (name, kind)
        for term, number in (("head", pa.uint32()), ("relation", pa.int32()), ("tail", pa.uint32()))
        for name, kind in ((term, number), (f"{term}_hash", pa.int64()))
    ]
)


class EncodedFiles:
    """Triples, entities and relations of blocks in three files of Arrow's. Use it as a context manager while adding."""

    def __init__(self, folder: Path) -> None:
        self.num_triples = 0
        self._paths = {name: folder / f"encoded_{name}.arrow" for name in ("entities", "relations", "triples")}
        self._sizes: dict[str, list[int]] = {"entities": [], "relations": []}
        """How many terms each block has."""
        self._written: dict[str, int] = {"entities": 0, "relations": 0}
        self._open = ExitStack()
        self._writers: dict[str, pa.RecordBatchStreamWriter] = {}

    def __enter__(self) -> Self:
        for name, path in self._paths.items():
            file = self._open.enter_context(pa.OSFile(str(path), "wb"))
            schema = _TRIPLES if name == "triples" else _TERMS
            self._writers[name] = self._open.enter_context(pa.ipc.new_stream(file, schema))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._writers.clear()
        with suppress(OSError) if kind else nullcontext():  # what went wrong first is what is said
            self._open.close()

    def add(self, triples: EncodedTriples) -> None:
        """Write the triples of one block."""
        if not len(triples):
            return
        columns = [pa.array(triples.head_codes), pa.array(triples.relation_codes), pa.array(triples.tail_codes)]
        self._writers["triples"].write_batch(pa.record_batch(columns, schema=_TRIPLES))
        for name, terms in (("entities", triples.entities), ("relations", triples.relations)):
            first = self._written[name]
            codes = pa.array(np.arange(first, first + len(terms)))
            self._writers[name].write_batch(pa.record_batch([codes, terms], schema=_TERMS))
            self._sizes[name].append(len(terms))
            self._written[name] += len(terms)
        self.num_triples += len(triples)

    def entities(self) -> pa.RecordBatchReader:
        """Return the terms of heads and tails: a number (`code`) in the order they were added in, and their `text`."""
        return self._opened("entities")

    def relations(self) -> pa.RecordBatchReader:
        """Return the terms of relations, as `entities` does."""
        return self._opened("relations")

    def numbered(
        self, entities: Iterable[pa.RecordBatch], relations: Iterable[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the triples as `NUMBERED`: by the numbers of their terms, with the hashes of these.

        `entities` and `relations` give `number` and `hash` of all terms in the order of their codes.
        """
        blocks = zip(
            self._opened("triples"),
            _in_blocks(entities, self._sizes["entities"]),
            _in_blocks(relations, self._sizes["relations"]),
            strict=True,
        )
        for triples, of_entities, of_relations in blocks:
            columns = []
            for at, terms in enumerate((of_entities, of_relations, of_entities)):
                codes = triples.column(at).to_numpy()
                columns += [pa.array(terms.column(name).to_numpy()[codes]) for name in ("number", "hash")]
            yield pa.record_batch(columns, schema=NUMBERED)

    def delete(self) -> None:
        """Delete the files."""
        for path in self._paths.values():
            path.unlink()

    def _opened(self, name: str) -> pa.RecordBatchReader:
        return pa.ipc.open_stream(pa.OSFile(str(self._paths[name])))  # mapped, it would all count as memory


def _in_blocks(batches: Iterable[pa.RecordBatch], sizes: Iterable[int]) -> Iterator[pa.Table]:
    """Yield the rows in tables of these sizes."""
    rows = RowStream(pa.Table.from_batches([batch]) for batch in batches)
    return map(rows.take, sizes)
