"""Look after a loaded graph: check it, refresh it after other programs, delete a load, add or remove lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from ..engine.errors import GraphError, InputError
from ..engine.neo4j import Request, Row, split_into_requests, template
from ..engine.neo4j.catalogue import (
    GRAPH_VERSION,
    LoadManifest,
    RelationInfo,
    count_signature_mismatches,
    read_catalogue,
    read_full_state,
    read_graph_revision,
    read_graph_state,
    read_loads,
    read_relation_counts,
)
from ..engine.neo4j.gateway import Gateway
from ..engine.progress import Progress, ignore_progress
from ..engine.relations.describing import describe_from_source, read_source_descriptions, remove_descriptions
from ..engine.relations.kinds import refresh_end_kinds
from ..engine.writing import (
    MAX_CHARS,
    Name,
    add_typed_values,
    await_indexes,
    build_search_terms,
    check_graph_was_loaded,
    ensure_schema,
    find_typed_values,
    labels_of,
    make_name_row,
    make_write_request,
    parse_name_properties,
    refresh_counts,
    relation_rows,
    remove_load_names,
    write_relations,
)
from ..engine.writing.changing import (
    MAX_TRIPLES,
    ChangeReport,
    LiteralValue,
    Stated,
    add_triples,
    check_loads_complete,
    remove_triples,
)
from .export import HeadTriples, stream_triples
from .loading import load_lock
from .online import BATCH_SIZE
from .parsers import prepare_parser
from .reading.lines import LINES
from .report import number_of
from .source import ROWS, LineFile, Source, record_batches
from .stage import query


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked, and one clause per fault."""

    num_loads: int
    num_triples: int
    num_entities: int
    faults: tuple[str, ...]


VERIFY_TRIES = 3


def verify(gateway: Gateway, progress: Progress = ignore_progress) -> Verification:
    """Count everything in the graph again and compare it with the catalogue, the signatures and the manifests.

    A graph that others changed meanwhile is compared once more: what is read last is not of the same moment.
    """
    for tried in range(1, VERIFY_TRIES + 1):
        before = gateway.run(read_graph_revision())
        found = _compare(gateway, progress)
        if not found.faults or gateway.run(read_graph_revision()) == before:
            return found
        if tried == VERIFY_TRIES:
            said = "the graph is written to while it is checked: check it again when that has ended"
            return replace(found, faults=(said,))
    raise AssertionError("the last try returns")


def _compare(gateway: Gateway, progress: Progress) -> Verification:
    state = read_full_state(gateway)
    loads = gateway.run(read_loads())
    catalogue = gateway.run(read_catalogue())
    faults = []
    if not loads:
        faults.append("the graph has no manifest of a load: it was not written by lodestar")
    if not state.has_entity_id:
        faults.append("the constraint entity_id is missing")
    if not state.has_entity_names:
        faults.append("the name index entity_names is missing or not filled yet")
    counts = gateway.execute(read_relation_counts())
    faults.extend(
        f"the catalogue says {relation.count:,} triples of {relation.name}, the graph has {found:,}"
        for relation in catalogue.relations
        if (found := counts.pop(relation.name, 0)) != relation.count
    )
    faults.extend(f"{name} has {found:,} triples and is not in the catalogue" for name, found in counts.items())
    if wrong := gateway.execute(count_signature_mismatches()):
        faults.append(f"{wrong:,} entities have a relation signature that disagrees with their triples")
    progress("checking", 0, state.num_triples)
    heads = gateway.stream(stream_triples(catalogue.relations))
    stated = checksum_loads(_report_progress(heads, state.num_triples, progress))
    for load in loads:
        if not load.finished and state.under_way:
            faults.append(f"load {load.number} ({load.source}), or its deletion, is under way: verify when it is done")
        else:
            faults.extend(_faults_of_load(load, *stated.get(load.number, (0, 0))))
    return Verification(len(loads), state.num_triples, state.num_entities, tuple(faults))


def _faults_of_load(load: LoadManifest, num_triples: int, checksum: int) -> Iterator[str]:
    name = f"load {load.number} ({load.source})"
    if not load.finished:
        yield f"{name} did not finish: run the same `lodestar load` again"
    elif num_triples != load.num_triples:
        yield f"{name} has {num_triples:,} triples in the graph, its manifest says {load.num_triples:,}"
    elif str(checksum) != load.checksum:
        yield f"{name} has as many triples as its manifest says, but not the same ones"


def checksum_loads(heads: Iterable[HeadTriples]) -> dict[int, tuple[int, int]]:
    """Return the number and the checksum of each load's triples."""
    with duckdb.connect() as connection:
        connection.execute(query("reading/macros"))
        rows = ((head, *triple) for head, triples in heads for triple in triples)
        reader = pa.RecordBatchReader.from_batches(_TRIPLES, record_batches(rows, _TRIPLES))
        connection.register("streamed", reader)
        return {load: (count, sum_) for load, count, sum_ in connection.execute(query("numbering/checksum")).fetchall()}


def _report_progress(heads: Iterable[HeadTriples], total: int, progress: Progress) -> Iterator[HeadTriples]:
    """Yield the input, and report progress."""
    done = 0
    for head in heads:
        yield head
        done += len(head.tails)
        progress("checking", min(done, total), total)
    progress("checking", total, total)


_TRIPLES = pa.schema(
    [
        *map(ROWS.field, ("head", "relation", "tail", "is_literal", "datatype", "language")),
        pa.field("loads", pa.list_(pa.int64())),
    ]
)


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What was not right: numbers are those of before."""

    num_triples: int
    num_signatures: int
    """Entities whose relation signature disagreed with their triples."""
    num_names: int
    """Entities whose names were not written as Lodestar writes them."""
    new_relations: tuple[str, ...]
    removed_relations: tuple[str, ...]
    counts: tuple[str, ...]
    """Relations whose number of triples the catalogue had wrong."""
    loads: tuple[str, ...]
    """What changed in the manifest of each load, in words."""

    def __str__(self) -> str:
        parts = [
            f"{number_of(self.num_signatures, 'signature', 'signatures')}" if self.num_signatures else "",
            f"names of {number_of(self.num_names, 'entity', 'entities')}" if self.num_names else "",
            f"{number_of(len(self.counts), 'count', 'counts')} of relations" if self.counts else "",
            f"new in the catalogue: {', '.join(self.new_relations)}" if self.new_relations else "",
            f"no more in the catalogue: {', '.join(self.removed_relations)}" if self.removed_relations else "",
            *self.loads,
        ]
        found = "; ".join(filter(None, parts))
        return f"{number_of(self.num_triples, 'triple', 'triples')}: {found or 'all was right'}"


def refresh(gateway: Gateway, progress: Progress = ignore_progress) -> RefreshReport:
    """Bring all that Lodestar derives in line with the triples and names that the graph has now.

    Relationship types between entities that the catalogue lacks become relations; entities with an id that have never
    been loaded become entities of the graph. Triples without `loads` count to the base load. Safe to run again after an
    interruption. Raises `GraphError` for a graph that is not whole, `LoadInProgressError` while a load runs.
    """
    with load_lock(gateway) as lock:
        loads, state = gateway.run(read_loads()), gateway.run(read_graph_state())
        check_graph_was_loaded(state, loads)
        check_loads_complete(loads)
        if not loads:
            state.check()
        ensure_schema(gateway)
        progress("refreshing", 0, _STEPS)
        before = gateway.run(read_catalogue()).relations
        counts = gateway.execute(read_relation_counts())
        new = _add_relations(gateway, counts, before)
        gateway.execute(make_write_request("adopt_entities", batch_size=BATCH_SIZE))
        progress("refreshing", 1, _STEPS)
        num_signatures = gateway.execute(count_signature_mismatches())
        known = {relation.name: relation.number for relation in gateway.run(read_catalogue()).relations}
        gateway.execute(
            make_write_request("refresh_signatures", {"LABEL": "Entity"}, numbers=known, batch_size=BATCH_SIZE)
        )
        gateway.run(make_write_request("refresh_relation_counts", counts=counts))
        gateway.run(make_write_request("delete_unused_relations"))
        progress("refreshing", 2, _STEPS)
        gateway.execute(make_write_request("clear_search_names", batch_size=BATCH_SIZE))
        num_names = rewrite_names(gateway)
        progress("refreshing", 3, _STEPS)
        relations = gateway.run(read_catalogue()).relations
        names = {relation.name for relation in relations}
        changed = _refresh_manifests(gateway, loads, relations)
        describe_from_source(gateway)
        refresh_end_kinds(gateway)
        lock.check()
        await_indexes(gateway)
        progress("refreshing", _STEPS, _STEPS)
    return RefreshReport(
        num_triples=sum(counts.values()),
        num_signatures=num_signatures,
        num_names=num_names,
        new_relations=new,
        removed_relations=tuple(relation.name for relation in before if relation.name not in names),
        counts=tuple(r.name for r in before if r.name in names and counts.get(r.name, 0) != r.count),
        loads=changed,
    )


_STEPS = 4


def _add_relations(gateway: Gateway, counts: dict[str, int], known: Sequence[RelationInfo]) -> tuple[str, ...]:
    """Put the relations that the catalogue lacks into it; return their names."""
    new = sorted(counts.keys() - {relation.name for relation in known})
    staged = [(place, name, counts[name]) for place, name in enumerate(new)]
    write_relations(gateway, relation_rows(staged, known, {}))
    return tuple(new)


def _refresh_manifests(
    gateway: Gateway, loads: Sequence[LoadManifest], relations: Sequence[RelationInfo]
) -> tuple[str, ...]:
    """Write what the loads state now; every manifest counts the change, so that readers see it."""
    stated = checksum_loads(gateway.stream(stream_triples(relations)))
    rows, changed = [], []
    for load in loads:
        num_triples, checksum = stated.get(load.number, (0, 0))
        rows.append({"sha256": load.sha256, "num_triples": num_triples, "checksum": str(checksum)})
        if (num_triples, str(checksum)) != (load.num_triples, load.checksum):
            changed.append(
                f"load {load.number} ({load.source}) has {num_triples:,} triples, {load.num_triples:,} before"
            )
    gateway.run(make_write_request("write_changed_loads", loads=rows))
    return tuple(changed)


def rewrite_names(gateway: Gateway) -> int:
    """Bring the properties of all names in line with name and aliases; return how many entities were rewritten.

    The caller holds the load lock.
    """
    num_written = 0
    after = ""
    while page := gateway.run(_read_names(after, BATCH_SIZE)):
        after = page[-1][0]
        sound = [(id_, names) for id_, names in page if names.are_written]
        rows: Iterable[dict[str, object]]
        rows = ({"id": id_, "search_names": build_search_terms(names.texts)} for id_, names in sound)
        for some in split_into_requests(rows, BATCH_SIZE, lambda row: len(str(row))):
            num_written += gateway.run(_write(some))
        rows = (_mend(id_, names) for id_, names in page if not names.are_written)
        for some in split_into_requests(rows, BATCH_SIZE, lambda row: len(str(row))):
            gateway.run(make_write_request("write_entities", entities=add_typed_values(some), labels=[]))
            num_written += len(some)
    return num_written


def upgrade(gateway: Gateway, *, batch_size: int = BATCH_SIZE, progress: Progress = ignore_progress) -> int:
    """Give a graph of the version before what this one has: typed values, and their indexes.

    Returns the number of typed values. Safe to run again after an interruption. Raises `GraphError` for a graph of
    another version.
    """
    with load_lock(gateway) as lock:
        state = gateway.run(read_graph_state())
        if state.graph_version != GRAPH_VERSION - 1:
            state.check_version()
        ensure_schema(gateway)
        num_done, num_typed = 0, 0
        for label in ("Literal", "Entity"):
            after = ""
            while page := gateway.run(_read_texts(label, after, batch_size)):
                after = page[-1][0]
                typed = find_typed_values([(text, datatype) for _, text, datatype in page])
                rows = [{"id": row[0], **of} for row, of in zip(page, typed, strict=True) if any(of.values())]
                if rows:
                    gateway.run(make_write_request("write_typed_values", {"LABEL": label}, rows=rows))
                num_done, num_typed = num_done + len(page), num_typed + len(rows)
                progress("upgrading", num_done, state.num_literals + state.num_entities)
        lock.check()
        await_indexes(gateway)
        gateway.run(make_write_request("finish_upgrade", version=GRAPH_VERSION))
    return num_typed


def _read_texts(label: str, after: str, limit: int) -> Request[list[tuple[str, str, str | None]]]:
    params = {"after": after, "limit": limit, "max_chars": MAX_CHARS}
    return Request(template("read_texts"), params, lambda rows: [(*row,) for row in rows], {"LABEL": label})


class _Stored(NamedTuple):
    """The names of an entity as they stand in the graph."""

    texts: list[str]
    tags: str | None
    are_written: bool
    """Whether they are as Lodestar writes them: texts, with a tag for each or none."""


def _read_names(after: str, limit: int) -> Request[list[tuple[str, _Stored]]]:
    def decode(rows: Sequence[Row]) -> list[tuple[str, _Stored]]:
        return [(id_, _read_stored(name, aliases, tags)) for id_, name, aliases, tags in rows]

    return Request(template("read_named_entities"), {"after": after, "limit": limit}, decode)


def _read_stored(name: object, aliases: object, tags: str | None) -> _Stored:
    others = aliases if isinstance(aliases, list) else [] if aliases is None else [aliases]
    texts = [str(text) for text in (name, *others)]
    as_text = isinstance(aliases, list | type(None)) and all(isinstance(text, str) for text in (name, *others))
    return _Stored(texts, tags, as_text and (tags is None or len(tags.split(" ")) == len(texts)))


def _mend(id_: str, names: _Stored) -> dict[str, Any]:
    return make_name_row(id_, [Name(text, is_alias=place > 0) for place, text in enumerate(names.texts)])


def _write(rows: Sequence[Mapping[str, object]]) -> Request[int]:
    return Request(template("write_search_names"), {"entities": list(rows)}, lambda found: found[0][0])


@dataclass(frozen=True, slots=True)
class UnloadReport:
    """What was deleted and what is left."""

    source: str
    number: int
    num_triples_deleted: int
    num_triples: int
    num_entities: int


def unload(gateway: Gateway, which: str, progress: Progress = ignore_progress) -> UnloadReport:
    """Delete the load with this number, source name or beginning of the SHA-256.

    If interrupted, the load stays listed as unfinished until it is deleted again. Raises `GraphError` if none
    or several match.
    """
    with load_lock(gateway) as lock:
        loads = gateway.run(read_loads())
        manifest = find_load(loads, which)
        before = gateway.run(read_graph_state())
        gateway.run(make_write_request("begin_unload", sha256=manifest.sha256))
        progress("deleting", 0, 4)
        mark = _mark(gateway, manifest.number)
        of_entities, of_nodes = mark or "Entity", [mark] if mark else ["Entity", "Literal"]
        catalogue = gateway.run(read_catalogue()).relations
        known: dict[str, Any] = {"numbers": {relation.name: relation.number for relation in catalogue}}
        params = known | {"load": manifest.number, "batch_size": BATCH_SIZE}
        gateway.execute(make_write_request("unload_triples", {"LABEL": of_entities}, **params))
        progress("deleting", 1, 4)
        _unload_names(gateway, manifest.number, of_entities)
        progress("deleting", 2, 4)
        for label in of_nodes:
            gateway.execute(make_write_request("delete_orphans", {"LABEL": label}, batch_size=BATCH_SIZE))
        refresh_counts(gateway, catalogue)
        progress("deleting", 3, 4)
        gateway.execute(
            make_write_request("refresh_signatures", {"LABEL": of_entities}, **known, batch_size=BATCH_SIZE)
        )
        gateway.run(make_write_request("delete_unused_relations"))
        remove_descriptions(gateway, gateway.run(read_catalogue()), (), "source")  # what the deleted load said
        stated = gateway.run(read_source_descriptions(manifest.sha256))
        describe_from_source(gateway, stated)
        refresh_end_kinds(gateway)
        if mark:
            gateway.execute(make_write_request("unmark_load", {"LABEL": mark}, batch_size=BATCH_SIZE))
        lock.check()
        gateway.run(make_write_request("finish_unload", sha256=manifest.sha256))
        progress("deleting", 4, 4)
        after = gateway.run(read_graph_state())
    return UnloadReport(
        source=manifest.source,
        number=manifest.number,
        num_triples_deleted=before.num_triples - after.num_triples,
        num_triples=after.num_triples,
        num_entities=after.num_entities,
    )


def find_load(loads: Sequence[LoadManifest], which: str) -> LoadManifest:
    """Return the matching load; raise `GraphError` unless exactly one matches."""
    found = [
        load
        for load in loads
        if which in (str(load.number), load.source) or (len(which) >= 6 and load.sha256.startswith(which))
    ]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"{load.number} ({load.source})" for load in found or loads) or "none"
    problem = f"several loads are called {which!r}" if found else f"the graph has no load {which!r}"
    raise GraphError(f"{problem}: give the number of one of {listed}")


def _mark(gateway: Gateway, load: int) -> str | None:
    """Return the label of what the load states; None for the base load."""
    return next((label for label in labels_of(load) if gateway.run(_count_marked(label))), None)


def _unload_names(gateway: Gateway, load: int, label: str) -> None:
    names = gateway.stream(_stream_names_of(label))
    changed = (make_name_row(id_, rest) for id_, known in names if (rest := remove_load_names(known, load)) != known)
    for batch in split_into_requests(changed, BATCH_SIZE, lambda row: len(str(row))):
        gateway.run(make_write_request("write_entities", entities=add_typed_values(batch), labels=[]))


def _count_marked(label: str) -> Request[int]:
    return Request(template("count_marked"), {}, lambda rows: int(rows[0][0]), {"LABEL": label})


def _stream_names_of(label: str) -> Request[tuple[str, tuple[Name, ...]]]:
    def decode(rows: Sequence[Row]) -> tuple[str, tuple[Name, ...]]:
        id_, name, aliases, tags = rows[0]
        return id_, parse_name_properties(name, aliases, tags)

    return Request(template("stream_names_of"), {}, decode, {"LABEL": label})


def add_lines(source: Source, gateway: Gateway) -> ChangeReport:
    """Add the triples and names of a source of lines as one change; raise `InputError` with the place of a bad line."""
    triples, names = read_lines(source)
    return add_triples(gateway, triples, names)


def remove_lines(source: Source, gateway: Gateway, *, missing_ok: bool = False) -> ChangeReport:
    return remove_triples(gateway, read_lines(source)[0], missing_ok=missing_ok)


def read_lines(source: Source) -> tuple[list[Stated], dict[str, list[Name]]]:
    """Return the triples and the names that a source of lines states; raise `InputError` for a line it cannot read."""
    triples: list[Stated] = []
    said: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for part in source.parts():
        for row in _rows(part):
            match row["category"]:
                case "triple":
                    value = LiteralValue(row["tail"], row["datatype"], row["language"])
                    triples.append((row["head"], row["relation"], value if row["is_literal"] else row["tail"]))
                case "name":
                    said[row["head"]].append(row)
                case "reject":
                    raise InputError(f"{source.name}:{row['line']}: {row['reason']}: nothing was changed")
        if len(triples) > MAX_TRIPLES:
            raise InputError(
                f"{source.name}: expected at most {MAX_TRIPLES:,} triples, found more: name the format, as in "
                f"`lodestar load {source.kind} - --append`"
            )
    return triples, {id_: _order_names(rows, source.languages) for id_, rows in said.items()}


def _order_names(rows: list[dict[str, Any]], languages: Sequence[str]) -> list[Name]:
    """Return the names of an entity: names before aliases, then by language as the source prefers them."""
    ranks = {language: rank for rank, language in enumerate(languages)}
    rows = sorted(rows, key=lambda row: (row["tag"] == "alias", ranks.get((row["language"] or "").lower(), len(ranks))))
    return [
        Name(row["tail"], row["language"] or "", is_alias=row["tag"] == "alias" or (place > 0 and row["tag"] is None))
        for place, row in enumerate(rows)
    ]


def _rows(part: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(part, LineFile):
        yield from (row for batch in part.batches for row in batch.to_pylist())
        return
    rejects: list[dict[str, Any]] = []

    def reject(line: int, reason: str, _: str) -> None:
        rejects.append({"line": line, "category": "reject", "reason": reason})

    with duckdb.connect(config={"threads": 1}) as connection:
        text = prepare_parser(connection, part.parser, part.parameters)
        connection.register("lines", pa.Table.from_batches(list(part.file.batches(reject)), LINES))
        rows = connection.sql(text).to_arrow_table().to_pylist()
    yield from sorted([*rejects, *rows], key=lambda row: row["line"])
