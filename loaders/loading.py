"""Run one load from its source to the graph, or preview it from a sample of its source."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..engine.errors import GraphError, StorageError, UsageError
from ..engine.neo4j.catalogue import (
    GraphState,
    LoadManifest,
    read_catalogue,
    read_graph_state,
    read_loads,
)
from ..engine.neo4j.gateway import Gateway, OpenTransaction
from ..engine.progress import Progress, Say, ignore_progress
from ..engine.relations.describing import describe_from_source, store_descriptions
from ..engine.relations.kinds import refresh_end_kinds
from ..engine.settings import LOAD_TIMEOUT_S, Settings
from ..engine.whole_file import lock_file, translate_storage_errors
from ..engine.writing import BASE_LOAD, Manifest, check_graph_was_loaded, ensure_schema
from ..models.whole_file import make_private_folder
from .online import BATCH_SIZE, Complete, OnlineWriter
from .report import LoadReport
from .source import Source, Subset
from .stage import Stage, StageCounts, delete_abandoned_stages

if TYPE_CHECKING:
    from ..engine.neo4j.embedded import EmbeddedServer


# Bytes of the graph with its indexes, logs and import files; see docs/loading.md.
BYTES_A_TRIPLE = 180
BYTES_A_NODE = 1_100
BULK_FROM_TRIPLES = 300_000
"""Below this, the bulk writer's fixed costs (an import, a start of a server) exceed the online writer's time."""
Mode = Literal["new", "append", "replace"]
WriterChoice = Literal["auto", "bulk", "online"]


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How to load. `max_rejects` None is the format's own default; `staging` is a folder for intermediate files."""

    staging: Path = field(default_factory=lambda: Settings().home_dir / "staging")
    mode: Mode = "new"
    writer: WriterChoice = "auto"
    subset: Subset = field(default_factory=Subset)
    max_rejects: int | None = None
    batch_size: int = BATCH_SIZE
    force: bool = False


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """What a load does to the graph: the number it gets, and whether it replaces the graph's content."""

    number: int
    is_first: bool = False
    """Whether the graph has no load yet."""
    replaces: bool = False
    finished: LoadManifest | None = None
    """Whether this content is loaded already, so that there is nothing to do."""
    num_other_nodes: int = 0
    """The number of foreign nodes in the database, which stay."""


def load(
    source: Source, gateway: Gateway, options: LoadOptions | None = None, progress: Progress = ignore_progress
) -> LoadReport:
    """Load a source into a running Neo4j with the online writer; do nothing if this content is loaded already.

    Raises `InputError` for a fault of the source, before it writes anything.
    """
    run = _Load(source, options or LoadOptions(), progress)
    if run.options.writer == "bulk":
        raise UsageError("--writer bulk works on the files of an embedded server: leave out --uri, or load online")
    with load_lock(gateway) as lock:
        plan = run.plan(gateway)
        if plan.finished:
            return run.report_of(plan.finished)
        with run.staged() as (stage, counts):
            return run.write_online(_LockedGraph(gateway, lock), stage, counts, plan)


def load_embedded(
    source: Source,
    instance: EmbeddedServer,
    options: LoadOptions,
    progress: Progress = ignore_progress,
    say: Say = lambda _line: None,
) -> LoadReport:
    """Load a source into an embedded server with the faster writer; `say` is told which and why.

    The server runs afterwards, with either writer.
    """
    run = _Load(source, options, progress)
    with instance.loading() as incoming, ExitStack() as held:
        old = held.enter_context(_lock_graph(instance)) if instance.has_graph else None
        plan = run.plan(old.gateway if old else None)
        if plan.finished:
            return run.report_of(plan.finished)
        with run.staged() as (stage, counts):
            writer, reason = choose_writer(options, plan, counts)
            say(f"{writer} load: {reason}")
            check_room_for_graph(instance.home.folder, counts)
            if writer == "bulk":
                report = run.write_bulk(instance, incoming, old, stage, counts, plan)
                started = instance.start(progress=False)
                memory = f"heap {started.heap_mb:,} MB, page cache {started.pagecache_mb:,} MB"
                say(f"server: {memory} for a store of {instance.store_mb:,} MB")
                return report
            if old is None:
                old = held.enter_context(_lock_graph(instance))
                plan = run.plan(old.gateway)
                if plan.finished:
                    return run.report_of(plan.finished)
            return run.write_online(old, stage, counts, plan)


class _LockedGraph(NamedTuple):
    gateway: Gateway
    lock: OpenTransaction


class _Load:
    """One load: its source, and the steps that both ways into a graph share."""

    def __init__(self, source: Source, options: LoadOptions, progress: Progress) -> None:
        self.source = source
        self.options = options
        self.progress = progress
        self.started_s = time.monotonic()
        self.sha256 = content_sha256(source, options.subset)
        self.rejects_file = options.staging / f"{self.sha256[:16]}.rejects.tsv"

    def plan(self, gateway: Gateway | None) -> LoadPlan:
        """Return what the load does to a graph; None is a server without one."""
        if gateway is None:
            return plan_load(self.sha256, self.options, GraphState(0, 0, 0), ())
        state = gateway.run(read_graph_state())
        return plan_load(self.sha256, self.options, state, gateway.run(read_loads()) if state.num_loads else ())

    @contextmanager
    def staged(self) -> Iterator[tuple[Stage, StageCounts]]:
        """Convert the source; the stage is deleted at the end."""
        folder = self.options.staging / self.sha256[:16]
        make_staging(folder.parent)
        delete_abandoned_stages(folder.parent)
        with (
            lock_file(folder.with_suffix(".lock"), f"another load of {self.source.name} is under way"),
            Stage(folder) as stage,
        ):
            counts = stage.fill(
                self.source,
                subset=self.options.subset,
                max_rejects=_max_rejects(self.source, self.options),
                rejects_file=self.rejects_file,
                progress=self.progress,
            )
            try:
                yield stage, counts
            finally:
                stage.delete()

    def write_online(self, graph: _LockedGraph, stage: Stage, counts: StageCounts, plan: LoadPlan) -> LoadReport:
        manifest, complete = self._prepare(stage, counts, plan, "online", graph.gateway if plan.replaces else None)
        writer = OnlineWriter(graph.gateway, self.options.batch_size, self.progress)
        num_related = writer.write(
            stage, manifest, graph.lock, is_first=plan.is_first, replace=plan.replaces, complete=complete
        )
        return self._report(manifest, counts, num_related)

    def write_bulk(
        self,
        instance: EmbeddedServer,
        incoming: EmbeddedServer,
        old: _LockedGraph | None,
        stage: Stage,
        counts: StageCounts,
        plan: LoadPlan,
    ) -> LoadReport:
        from .bulk import BulkWriter  # a small load needs no Arrow files and no importer

        manifest, complete = self._prepare(stage, counts, plan, "bulk", old.gateway if old else None)
        writer = BulkWriter(self.progress)
        num_related = writer.write(stage, manifest, instance, incoming, old.lock if old else None, complete)
        return self._report(manifest, counts, num_related)

    def _prepare(
        self, stage: Stage, counts: StageCounts, plan: LoadPlan, writer: str, replaced: Gateway | None
    ) -> tuple[Manifest, Complete]:
        """Return the manifest, and what completes the graph once its triples are there.

        It brings in line what is known of what relations mean: what somebody said of those of the graph that is
        `replaced`, words of the source, kinds at their ends.
        """
        known = replaced.run(read_catalogue()).relations if replaced else ()
        said = [r for r in known if r.said_label or r.description or r.phrases]
        stated = stage.relation_words()

        def complete(gateway: Gateway, names: Collection[str] | None) -> None:
            store_descriptions(gateway, said)
            describe_from_source(gateway, stated)
            refresh_end_kinds(gateway, names)

        manifest = Manifest(
            sha256=self.sha256,
            number=plan.number,
            source=self.source.name,
            kind=self.source.kind,
            writer=writer,
            options=json.dumps({**self.source.options(), **self.options.subset.as_json()}, sort_keys=True),
            num_triples=counts.num_triples,
            num_entities=counts.num_entities,
            num_literals=counts.num_literals,
            num_relations=counts.num_relations,
            num_names=counts.num_names,
            num_duplicates=counts.num_duplicates,
            checksum=str(counts.checksum),
            replaces=plan.replaces,
            stated_words=json.dumps(stated, ensure_ascii=False) if stated else None,
        )
        return manifest, complete

    def report_of(self, finished: LoadManifest) -> LoadReport:
        return LoadReport.of_manifest(finished, time.monotonic() - self.started_s)

    def _report(self, manifest: Manifest, counts: StageCounts, num_related: int) -> LoadReport:
        return LoadReport.of(manifest, counts, num_related, time.monotonic() - self.started_s, str(self.rejects_file))


def _max_rejects(source: Source, options: LoadOptions) -> int:
    return source.max_rejects if options.max_rejects is None else options.max_rejects


def load_source(
    source: Source,
    settings: Settings,
    options: LoadOptions,
    progress: Progress = ignore_progress,
    say: Say = lambda _line: None,
    gateway: Gateway | None = None,
) -> LoadReport:
    """Load a source into the database that the settings name, or that a gateway leads to, and return the report."""
    from ..engine.neo4j.embedded import EmbeddedServer
    from ..engine.settings import loading_connection

    if gateway is not None:
        return load(source, gateway, options, progress)
    if not settings.uri:
        return load_embedded(source, EmbeddedServer.of(settings), options, progress, say)
    with Gateway(loading_connection(settings)) as opened:
        opened.version()
        return load(source, opened, options, progress)


def content_sha256(source: Source, subset: Subset) -> str:
    """Return the identity of a load: the hash of the source's content and of every option that changes the graph."""
    options = json.dumps(subset.as_json(), sort_keys=True)
    return hashlib.sha256(f"{source.kind}\n{source.digest()}\n{options}".encode()).hexdigest()


def plan_load(sha256: str, options: LoadOptions, state: GraphState, loads: tuple[LoadManifest, ...]) -> LoadPlan:
    """Return what this load does to a graph in this state.

    Raises `UsageError` if the graph holds something else and the mode does not say what to do with it,
    `GraphError` if an earlier load did not finish.
    """
    check_graph_was_loaded(state, loads)
    mine = next((load for load in loads if load.sha256 == sha256), None)
    others = [load for load in loads if load.sha256 != sha256]
    replaces = options.mode == "replace" or (mine is not None and not mine.finished and _was_replacing(mine))
    if mine and mine.deleting:
        raise GraphError(
            f"the load of {mine.source} is being deleted: run `lodestar load --delete {mine.number}` again"
        )
    if mine and mine.finished and not options.force and not (replaces and others):
        return LoadPlan(mine.number, finished=mine)
    if replaces:
        return LoadPlan(BASE_LOAD, is_first=not loads, replaces=bool(loads), num_other_nodes=state.num_other_nodes)
    state.check_version()
    if mine:
        return LoadPlan(mine.number, num_other_nodes=state.num_other_nodes)
    if unfinished := [load for load in others if not load.finished]:
        raise GraphError(
            f"the load of {unfinished[0].source} did not finish: run the same `lodestar load` again first, or give "
            "--replace to put this in its place"
        )
    if not others:
        return LoadPlan(BASE_LOAD, is_first=True, num_other_nodes=state.num_other_nodes)
    if options.mode == "append":
        return LoadPlan(max(load.number for load in others) + 1)
    held = f"{state.num_triples:,} triples of {others[-1].source}"
    raise UsageError(f"the graph holds {held}: give --append to add to them or --replace to load in their place")


def choose_writer(options: LoadOptions, plan: LoadPlan, counts: StageCounts) -> tuple[Literal["bulk", "online"], str]:
    """Return the writer for an embedded server and the reason; raise `UsageError` if the requested one cannot do it."""
    whole = plan.number == BASE_LOAD
    if options.writer == "bulk" and not whole:
        raise UsageError(
            "--writer bulk writes a graph of its own and cannot add to one: load online, or give --replace"
        )
    if plan.num_other_nodes:
        held = f"{plan.num_other_nodes:,} nodes that are not Lodestar's"
        if options.writer == "bulk":
            raise UsageError(
                f"--writer bulk would put the graph in the place of all that the database has, {held} too: load "
                "online, or name another server with --name"
            )
        return "online", f"the database has {held}, which stay"
    if options.writer != "auto":
        return options.writer, "as --writer says"
    if not whole:
        return "online", "it adds to the graph"
    if plan.replaces:
        return "bulk", "the old graph serves until the new one is complete"
    if counts.num_triples >= BULK_FROM_TRIPLES:
        return "bulk", f"a new graph of {counts.num_triples:,} triples"
    return "online", f"a new graph of less than {BULK_FROM_TRIPLES:,} triples"


@contextmanager
def load_lock(gateway: Gateway) -> Iterator[OpenTransaction]:
    """Hold the load lock; the yielded function tells whether it was lost.

    Raises `LoadInProgressError` if another load has it, `GraphError` if the database has no room for it.
    """
    ensure_schema(gateway, "load_lock")
    with gateway.hold_load_lock() as hold:
        yield hold


@contextmanager
def _lock_graph(instance: EmbeddedServer) -> Iterator[_LockedGraph]:
    """Start the server where it does not run, and keep other loads from its graph."""
    instance.start(progress=False)
    with Gateway(instance.connection(LOAD_TIMEOUT_S)) as gateway, load_lock(gateway) as lock:
        yield _LockedGraph(gateway, lock)


def _was_replacing(manifest: LoadManifest) -> bool:
    return bool(json.loads(manifest.options or "{}").get("replaces"))


def make_staging(folder: Path) -> None:
    """Create the folder for staging; raise `StorageError` if that fails."""
    with translate_storage_errors(folder):
        make_private_folder(folder)


def check_room_for_graph(folder: Path, counts: StageCounts) -> None:
    """Raise `StorageError` if the disk of `folder` has no room for a graph of this size."""
    existing = next(path for path in (folder, *folder.resolve().parents) if path.exists())
    needed_bytes = counts.num_triples * BYTES_A_TRIPLE + (counts.num_entities + counts.num_literals) * BYTES_A_NODE
    free_bytes = shutil.disk_usage(existing).free
    if free_bytes < needed_bytes:
        raise StorageError(
            f"{existing}: expected {needed_bytes / 1e9:,.1f} GB free for {counts.num_triples:,} triples, found "
            f"{free_bytes / 1e9:,.1f} GB: make room or name another LODESTAR_HOME"
        )


WHOLE_BYTES = 10_000_000
"""A smaller source is read to its end."""
SAMPLE_BATCHES = 4
"""Batches to sample from each file of a larger one, about 15 MB of text together."""
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Preview:
    """What a sample says about the whole. `share` is the sampled share of the source, by bytes."""

    source: str
    kind: str
    share: float
    categories: Mapping[str, int]
    """Statements of the sample by category."""
    num_relations: int
    num_entities: int
    num_values: int
    """Triples of the sample with a literal tail, because it looks like a value and has no name."""
    triples: tuple[tuple[str, str, str], ...]
    names: tuple[tuple[str, str], ...]
    estimated_triples: int
    writer: str

    def __str__(self) -> str:
        about = "" if self.share >= 1 else "about "
        lines = [
            f"{self.source}: {self.kind}, {self.share:.1%} of it read",
            "  found      " + ", ".join(f"{number:,} {name}" for name, number in sorted(self.categories.items())),
            f"  sample     {self.num_entities:,} entities, {self.num_relations:,} relations",
            *([f"  values     {self.num_values:,} tails, kept as literals"] if self.num_values else []),
            *(f"  triple     {' | '.join(triple)}" for triple in self.triples),
            *(f"  name       {id_} | {name}" for id_, name in self.names),
            f"  would load {about}{self.estimated_triples:,} triples by the {self.writer} writer",
        ]
        return "\n".join(lines)


def preview(source: Source, options: LoadOptions, *, online_only: bool = False) -> Preview:
    """Read a sample of a source and return what a full load would do.

    Counts are of the sample. The estimate scales by bytes, so that duplicates far apart are counted twice. Raises
    `InputError` as a load does.
    """
    make_staging(options.staging)
    with translate_storage_errors(options.staging):
        folder = TemporaryDirectory(prefix="preview-", dir=options.staging)
    with folder, Stage(Path(folder.name) / "stage") as stage:
        counts = stage.fill(
            source,
            subset=options.subset,
            max_rejects=_max_rejects(source, options),
            rejects_file=None,
            sample_batches=SAMPLE_BATCHES if (source.size_bytes or 0) > WHOLE_BYTES else None,
        )
        share = stage.share_read
        triples = next(stage.rows("results/sample_triples", SHOWN)).to_pylist()
        named = next(stage.rows("results/sample_names", SHOWN), None)
    estimated = round(counts.num_triples / share)
    bulk = not online_only and options.writer != "online" and options.mode != "append"
    writer = "bulk" if bulk and (estimated >= BULK_FROM_TRIPLES or options.writer == "bulk") else "online"
    return Preview(
        source=source.name,
        kind=source.kind,
        share=share,
        categories=counts.categories,
        num_relations=counts.num_relations,
        num_entities=counts.num_entities,
        num_values=counts.num_values,
        triples=tuple((row["head"], row["relation"], row["tail"]) for row in triples),
        names=tuple((row["id"], row["name"]) for row in named.to_pylist()) if named else (),
        estimated_triples=estimated,
        writer=writer,
    )
