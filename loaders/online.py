"""Write a stage into a running Neo4j, in batches of one transaction each.

Every step can be repeated: running the same load again repairs an interrupted one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..engine import writing
from ..engine.neo4j.catalogue import RelationInfo, read_catalogue
from ..engine.neo4j.gateway import Gateway, OpenTransaction
from ..engine.writing import BASE_LOAD, BATCH_SIZE, run_batches
from ..models.wording.kinds import NO_KIND

if TYPE_CHECKING:
    from .loading import Load
    from .stage import Stage


def write_online(load: Load, gateway: Gateway, lock: OpenTransaction, batch_size: int = BATCH_SIZE) -> int:
    """Write everything, the manifest's end last; return how many relations have no type of their own.

    The counts and signatures of the first load on a graph are those of the stage. Raises `DatabaseError` if the lock
    was lost: the load is then unfinished.
    """
    stage, manifest, is_first = load.stage, load.manifest, load.plan.is_first
    load.begin(gateway, "online", gateway if load.plan.replaces else None)
    known = () if is_first else gateway.run(read_catalogue()).relations
    if load.plan.replaces:
        _clear(load, gateway, known, batch_size)
        known = ()
    rows = writing.relation_rows(stage.relations(), known, stage.relation_facts)
    writing.write_relations(gateway, rows, counted=is_first)
    if is_first:
        stage.add_signatures()
    literals, labels = _rows(stage, "results/literal_rows", batch_size), writing.labels_of(manifest.number)
    tell = _counter(load, "literals", manifest.num_literals)
    run_batches(gateway, "write_literals", "literals", literals, labels=labels, size=batch_size, done=tell)
    _write_entities(load, gateway, batch_size)
    _write_triples(load, gateway, rows, {} if is_first else writing.count_in_graph(gateway, rows), batch_size)
    if not is_first:
        _refresh(load, gateway, rows, known, batch_size)
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


def _clear(load: Load, gateway: Gateway, known: Sequence[RelationInfo], batch_size: int) -> None:
    """Delete other loads' content; their manifests first, so that nobody takes the rest for a graph."""
    load.progress("deleting", 0, 1)
    gateway.run(writing.make_write_request("delete_other_loads", sha256=load.sha256))
    numbers = {relation.name: relation.number for relation in known}
    gateway.execute(writing.make_write_request("delete_triples", numbers=numbers, batch_size=batch_size))
    for label in ("Entity", "Literal"):
        gateway.execute(writing.make_write_request("delete_orphans", {"LABEL": label}, batch_size=batch_size))
    gateway.run(writing.make_write_request("set_relation_counts", counts=dict.fromkeys(numbers, 0)))
    gateway.run(writing.make_write_request("delete_unused_relations"))
    load.progress("deleting", 1, 1)


def _write_entities(load: Load, gateway: Gateway, batch_size: int) -> None:
    number, tell = load.manifest.number, _counter(load, "entities", load.manifest.num_entities)
    rows = _rows(load.stage, "results/entity_rows", batch_size)
    if number == BASE_LOAD:
        run_batches(gateway, "write_entities", "entities", rows, labels=[], size=batch_size, done=tell)
        return
    for batch in load.stage.node_rows("results/entity_rows", batch_size):
        known = writing.read_names(gateway, batch.column("id").to_pylist())
        named = []
        for row in batch.to_pylist():
            stated = writing.parse_name_properties(row["name"], row["aliases"], row["name_tags"])
            named.append((row["id"], writing.add_load_names(known.get(row["id"], ()), stated, number)))
        writing.write_names(gateway, named, number)
        tell(len(named))


def _write_triples(
    load: Load, gateway: Gateway, rows: Sequence[RelationInfo], present: Mapping[str, int], batch_size: int
) -> None:
    number = load.manifest.number
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


def _refresh(
    load: Load, gateway: Gateway, rows: Sequence[RelationInfo], known: Sequence[RelationInfo], batch_size: int
) -> None:
    load.progress("signatures", 0, load.manifest.num_entities)
    if load.manifest.number == BASE_LOAD:
        writing.refresh_signatures(gateway, "Entity", [*known, *rows], batch_size)
        writing.refresh_counts(gateway, [*rows, *known])
    else:
        numbers = {relation.name: relation.number for relation in [*known, *rows]}
        ids = (row["id"] for row in _rows(load.stage, "results/entity_rows", batch_size))
        tell = _counter(load, "signatures", load.manifest.num_entities)
        run_batches(gateway, "refresh_signatures_of", "ids", ids, size=batch_size, done=tell, numbers=numbers)
        writing.refresh_counts(gateway, rows)
    load.progress("signatures", load.manifest.num_entities, load.manifest.num_entities)
