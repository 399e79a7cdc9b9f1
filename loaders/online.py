"""Write a stage into a running Neo4j, in batches of one transaction each.

Every step can be repeated: running the same load again repairs an interrupted one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ..engine.neo4j import Request, split_into_requests, template
from ..engine.neo4j.catalogue import RelationInfo, read_catalogue
from ..engine.neo4j.gateway import Gateway, OpenTransaction
from ..engine.progress import Progress, ignore_progress
from ..engine.writing import (
    BASE_LOAD,
    Manifest,
    Name,
    RelationRow,
    add_load_names,
    add_typed_values,
    begin_load,
    count_in_graph,
    count_untyped_relations,
    finish_load,
    labels_of,
    make_name_row,
    make_write_request,
    parse_name_properties,
    refresh_counts,
    relation_rows,
    write_relations,
)
from ..models.wording.kinds import NO_KIND
from .source import split_by_bytes
from .stage import Stage, relation_table, with_signatures

BATCH_SIZE = 10_000
Complete = Callable[[Gateway, Collection[str] | None], None]
"""Completes a graph whose triples are there; the names are those of relations to look at, None for all."""


class OnlineWriter:
    """Writes a stage through a gateway, beside or in place of the graph's content."""

    def __init__(self, gateway: Gateway, batch_size: int = BATCH_SIZE, progress: Progress = ignore_progress) -> None:
        self._gateway = gateway
        self._batch_size = batch_size
        self._progress = progress

    def write(
        self,
        stage: Stage,
        manifest: Manifest,
        lock: OpenTransaction,
        *,
        is_first: bool = False,
        replace: bool = False,
        complete: Complete = lambda _gateway, _new: None,
    ) -> int:
        """Write everything, the manifest's end last; return how many relations have no type of their own.

        is_first: whether no load has begun on this graph, so that counts and signatures are those of the stage.
        `complete` is called with all triples written, before the load counts as finished; of a load that adds the
        smaller part, with the names of relations of which nothing is known yet. Raises `DatabaseError` if the
        lock was lost: the load is then unfinished.
        """
        begin_load(self._gateway, manifest)
        known = () if is_first else self._gateway.run(read_catalogue()).relations
        if replace:
            self._clear(manifest, known)
            known = ()
        rows = relation_rows(stage.relations(), known, stage.relation_facts)
        write_relations(self._gateway, rows, counted=is_first)
        self._write_literals(stage, manifest)
        self._write_entities(stage, manifest, rows if is_first else ())
        self._write_triples(stage, manifest, rows, is_first=is_first)
        if not is_first:
            self._refresh(stage, manifest, rows, known)
        described = {each.name for each in known if (each.head, each.tail) != (NO_KIND, NO_KIND)}
        is_small = manifest.num_triples < sum(each.count for each in known)
        complete(self._gateway, {row.name for row in rows} - described if described and is_small else None)
        lock.check()
        finish_load(self._gateway, manifest)
        return count_untyped_relations(rows)

    def _clear(self, manifest: Manifest, known: Sequence[RelationInfo]) -> None:
        """Delete other loads' content; their manifests first, so that nobody takes the rest for a graph."""
        self._progress("deleting", 0, 1)
        self._gateway.run(make_write_request("delete_other_loads", sha256=manifest.sha256))
        numbers = {relation.name: relation.number for relation in known}
        self._gateway.execute(make_write_request("delete_triples", numbers=numbers, batch_size=self._batch_size))
        for label in ("Entity", "Literal"):
            self._gateway.execute(make_write_request("delete_orphans", {"LABEL": label}, batch_size=self._batch_size))
        self._gateway.run(make_write_request("refresh_relation_counts", counts={}))
        self._gateway.run(make_write_request("delete_unused_relations"))
        self._progress("deleting", 1, 1)

    def _write_entities(self, stage: Stage, manifest: Manifest, signed: Sequence[RelationRow]) -> None:
        """Write the entities, with the signatures that they have by these relations."""
        done = 0
        batches: Iterable[pa.RecordBatch | pa.Table] = stage.rows("results/entity_rows", self._batch_size)
        if signed:
            batches = with_signatures(batches, stage, relation_table(signed))
        for batch in split_by_bytes(batches):
            rows = batch.to_pylist()
            if manifest.number != BASE_LOAD:
                rows = self._with_names_of_the_graph(rows, manifest.number)
            self._gateway.run(make_write_request("write_entities", entities=rows, labels=labels_of(manifest.number)))
            done += len(rows)
            self._progress("entities", done, manifest.num_entities)

    def _with_names_of_the_graph(self, rows: Sequence[Mapping[str, Any]], load: int) -> list[dict[str, Any]]:
        known = self._gateway.run(_read_names([row["id"] for row in rows]))
        merged = []
        for row in rows:
            stated = parse_name_properties(row["name"], row["aliases"], row["name_tags"])
            merged.append(make_name_row(row["id"], add_load_names(known.get(row["id"], ()), stated, load)))
        return add_typed_values(merged)

    def _write_literals(self, stage: Stage, manifest: Manifest) -> None:
        done, labels = 0, labels_of(manifest.number)
        for batch in split_by_bytes(stage.rows("results/literal_rows", self._batch_size)):
            self._gateway.run(make_write_request("write_literals", literals=batch.to_pylist(), labels=labels))
            done += batch.num_rows
            self._progress("literals", done, manifest.num_literals)

    def _write_triples(self, stage: Stage, manifest: Manifest, rows: Sequence[RelationRow], *, is_first: bool) -> None:
        """Create the triples of relations that are new to the graph; merge the others, which is slower."""
        present = {} if is_first else count_in_graph(self._gateway, rows)
        loads = None if manifest.number == BASE_LOAD else [manifest.number]
        typed = [row for row in rows if row.stored_as is None]
        groups: tuple[tuple[str, list[RelationRow], Mapping[str, Any]], ...] = (
            ("create_triples", [row for row in typed if not present.get(row.name)], {"loads": loads}),
            ("merge_triples", [row for row in typed if present.get(row.name)], {"load": manifest.number}),
            ("merge_related_triples", [row for row in rows if row.stored_as], {"load": manifest.number}),
        )
        done = 0
        for query, group, params in groups:
            for tail in ("Entity", "Literal"):
                if not group or (tail == "Literal" and not manifest.num_literals):
                    continue
                triples = self._triples(stage, [row.staged for row in group], tail == "Literal")
                for batch in split_into_requests(triples, self._batch_size, lambda triple: sum(map(len, triple))):
                    self._gateway.run(make_write_request(query, {"TAIL": tail}, triples=batch, **params))
                    done += len(batch)
                    self._progress("triples", done, manifest.num_triples)

    def _triples(self, stage: Stage, staged: list[int], literals: bool) -> Iterable[Sequence[str]]:
        for batch in stage.rows("results/triple_rows", self._batch_size, relations=staged, literals=literals):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _refresh(
        self, stage: Stage, manifest: Manifest, rows: Sequence[RelationRow], known: Sequence[RelationInfo]
    ) -> None:
        """Bring signatures and counts in line with the graph, whatever an interrupted load left."""
        numbers = {row.name: row.number for row in rows} | {relation.name: relation.number for relation in known}
        done = 0
        self._progress("signatures", 0, manifest.num_entities)
        if manifest.number == BASE_LOAD:
            self._gateway.execute(
                make_write_request(
                    "refresh_signatures", {"LABEL": "Entity"}, numbers=numbers, batch_size=self._batch_size
                )
            )
            refresh_counts(self._gateway, [*rows, *known])
        else:
            for batch in split_by_bytes(stage.rows("results/entity_rows", self._batch_size)):
                ids = batch.column("id").to_pylist()
                self._gateway.run(make_write_request("refresh_signatures_of", ids=ids, numbers=numbers))
                done += len(ids)
                self._progress("signatures", done, manifest.num_entities)
            refresh_counts(self._gateway, rows)
        self._progress("signatures", manifest.num_entities, manifest.num_entities)


def _read_names(ids: Sequence[str]) -> Request[dict[str, tuple[Name, ...]]]:
    return Request(
        template("read_names"),
        {"ids": list(ids)},
        lambda rows: {id_: parse_name_properties(name, aliases, tags) for id_, name, aliases, tags in rows},
    )
