"""Run one load from its source to the graph, or preview it from a sample of its source, and report what it did."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import islice, starmap
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, Self

from ..engine.errors import GraphError, StorageError, UsageError
from ..engine.file_access import lock_file, translate_storage_errors
from ..engine.neo4j import catalogue
from ..engine.neo4j.catalogue import LABEL_SEPARATOR, GraphState, LoadManifest
from ..engine.neo4j.gateway import Gateway, OpenTransaction
from ..engine.progress import Progress, Say, format_count, ignore_progress
from ..engine.relations import refresh_end_kinds
from ..engine.relations.descriptions import add_source_descriptions, store_descriptions
from ..engine.settings import LOAD_TIMEOUT_S, Settings, make_connection
from ..engine.writing import (
    BASE_LOAD,
    BATCH_SIZE,
    begin_load,
    check_graph_was_loaded,
    ensure_schema,
    make_relation_label,
)
from ..models import quote_line
from ..models.atomic_files import make_private_folder
from ..models.wording import make_question
from .source import Source, Subset
from .stage import Stage, StageCounts, delete_abandoned_stages
from .writers import write_bulk, write_online

if TYPE_CHECKING:
    from ..engine.neo4j.embedded import EmbeddedServer


# Bytes of the graph with its indexes, logs and import files; see docs/loading.md.
_BYTES_A_TRIPLE = 180
_BYTES_A_NODE = 1_100
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
    number: int
    is_first: bool = False  # whether the graph has no load yet
    replaces: bool = False
    finished: LoadManifest | None = None  # of this content, which is loaded already: there is nothing to do
    num_other_nodes: int = 0  # the number of foreign nodes in the database, which stay


class Load:
    """One load: its source, what it does to the graph, and its stage, which either writer puts there."""

    plan: LoadPlan
    stage: Stage
    counts: StageCounts

    def __init__(self, source: Source, options: LoadOptions, progress: Progress) -> None:
        self.source = source
        self.options = options
        self.progress = progress
        content = f"{source.kind}\n{source.digest()}\n{json.dumps(options.subset.as_json(), sort_keys=True)}"
        self.sha256 = hashlib.sha256(content.encode()).hexdigest()
        """The identity of the load: of the source's content and of every option that changes the graph."""
        self._started_s = time.monotonic()
        self._rejects_file = options.staging / f"{self.sha256[:16]}.rejects.tsv"
        self._said: list[catalogue.RelationInfo] = []

    def make_plan(self, gateway: Gateway | None) -> LoadReport | None:
        """Find out what the load does to a graph, None for a server without one; return its report if it is there."""
        state = gateway.run(catalogue.read_graph_state()) if gateway else GraphState(0, 0, 0)
        loads = gateway.run(catalogue.read_loads()) if gateway and state.num_loads else ()
        self.plan = _plan_load(self.sha256, self.options, state, loads)
        return LoadReport.of_manifest(self.plan.finished, self._seconds()) if self.plan.finished else None

    @contextmanager
    def staged(self) -> Iterator[None]:
        """Convert the source; the stage is deleted at the end."""
        folder = self.options.staging / self.sha256[:16]
        with translate_storage_errors(folder.parent):
            make_private_folder(folder.parent)
        delete_abandoned_stages(folder.parent)
        with (
            lock_file(folder.with_suffix(".lock"), f"another load of {self.source.name} is under way"),
            Stage(folder) as self.stage,
        ):
            self.counts = self.stage.fill(
                self.source, self.options.subset, self.options.max_rejects, self._rejects_file, self.progress
            )
            self._words = self.stage.relation_words()
            yield

    @property
    def manifest(self) -> LoadManifest:
        names = ("num_triples", "num_entities", "num_literals", "num_relations", "num_names", "num_duplicates")
        return LoadManifest(
            sha256=self.sha256,
            number=self.plan.number,
            source=self.source.name,
            kind=self.source.kind,
            options=json.dumps({**self.source.options(), **self.options.subset.as_json()}, sort_keys=True),
            checksum=str(self.counts.checksum),
            **{name: getattr(self.counts, name) for name in names},
        )

    def begin(self, gateway: Gateway, writer: str, replaced: Gateway | None) -> None:
        """Make the schema and the unfinished manifest; keep what somebody said of the relations that are replaced."""
        known = replaced.run(catalogue.read_catalogue()).relations if replaced else ()
        self._said = [r for r in known if r.said_label or r.description or r.phrases]
        words = json.dumps(self._words, ensure_ascii=False) if self._words else None
        ensure_schema(gateway)
        begin_load(gateway, replace(self.manifest, writer=writer), replaces=self.plan.replaces, stated_words=words)

    def complete(self, gateway: Gateway, names: Collection[str] | None) -> None:
        """Say what relations mean, all or those named, in a graph whose triples are there: by somebody's words, by
        those of the source, by the kinds at their ends.
        """
        store_descriptions(gateway, self._said)
        add_source_descriptions(gateway, self._words)
        refresh_end_kinds(gateway, names)

    def report(self, writer: str, num_related: int) -> LoadReport:
        manifest = replace(self.manifest, writer=writer)
        labels = {name: texts[0] for name, texts, _ in self._words if texts}
        rejects, left_out = str(self._rejects_file), self.source.left_out
        return LoadReport.of(manifest, self.counts, num_related, self._seconds(), rejects, labels, left_out)

    def _seconds(self) -> float:
        return time.monotonic() - self._started_s


def load(
    source: Source, gateway: Gateway, options: LoadOptions | None = None, progress: Progress = ignore_progress
) -> LoadReport:
    """Load a source into a running Neo4j with the online writer; do nothing if this content is loaded already.

    Raises `InputError` for a fault of the source, before it writes anything.
    """
    run = Load(source, options or LoadOptions(), progress)
    if run.options.writer == "bulk":
        raise UsageError("--writer bulk works on the files of an embedded server: leave out --uri, or load online")
    with load_lock(gateway) as lock:
        if report := run.make_plan(gateway):
            return report
        with run.staged():
            return run.report("online", write_online(run, gateway, lock))


def load_into_embedded_server(
    source: Source,
    instance: EmbeddedServer,
    options: LoadOptions,
    progress: Progress = ignore_progress,
    say: Say = lambda _line: None,
) -> LoadReport:
    """Load a source into an embedded server with the faster writer; `say` is told which and why.

    The server runs afterwards, with either writer.
    """
    run = Load(source, options, progress)
    with instance.loading() as incoming, ExitStack() as held:
        old = held.enter_context(_lock_graph(instance)) if instance.has_graph else None
        if report := run.make_plan(old[0] if old else None):
            return report
        with run.staged():
            writer, reason = choose_writer(options, run.plan, run.counts)
            say(f"{writer} load: {reason}")
            _check_room(instance.home.folder, run.counts)
            if writer == "bulk":
                report = run.report("bulk", write_bulk(run, instance, incoming, old))
                started = instance.start(progress=False)
                memory = f"heap {started.heap_mb:,} MB, page cache {started.pagecache_mb:,} MB"
                say(f"server: {memory} for a store of {instance.store_mb:,} MB")
                return report
            if old is None:
                old = held.enter_context(_lock_graph(instance))
                if report := run.make_plan(old[0]):
                    return report
            return run.report("online", write_online(run, *old))


def load_into_configured_database(
    source: Source,
    settings: Settings,
    options: LoadOptions,
    progress: Progress = ignore_progress,
    say: Say = lambda _line: None,
) -> LoadReport:
    """Load a source into the database that the settings name, and return the report."""
    from ..engine.neo4j.embedded import EmbeddedServer

    if not settings.uri:
        return load_into_embedded_server(source, EmbeddedServer.of(settings), options, progress, say)
    with Gateway(make_connection(settings, LOAD_TIMEOUT_S)) as opened:
        opened.version()
        return load(source, opened, options, progress)


def _plan_load(sha256: str, options: LoadOptions, state: GraphState, loads: tuple[LoadManifest, ...]) -> LoadPlan:
    """Return what this load does to a graph in this state.

    Raises `UsageError` if the graph holds something else and the mode does not say what to do with it,
    `GraphError` if an earlier load did not finish.
    """
    check_graph_was_loaded(state, loads)
    mine = next((load for load in loads if load.sha256 == sha256), None)
    others = [load for load in loads if load.sha256 != sha256]
    was_replacing = bool(mine and not mine.finished and json.loads(mine.options or "{}").get("replaces"))
    replaces = options.mode == "replace" or was_replacing
    if mine and mine.deleting:
        raise GraphError(f"the load of {mine.source} is being deleted: run `lodestar db unload {mine.number}` again")
    if mine and mine.finished and not options.force and not (replaces and others):
        return LoadPlan(mine.number, finished=mine)
    if replaces:
        return LoadPlan(BASE_LOAD, is_first=not loads, replaces=bool(loads), num_other_nodes=state.num_other_nodes)
    state.check_version()
    if mine:
        return LoadPlan(mine.number, num_other_nodes=state.num_other_nodes)
    if unfinished := [load for load in others if not load.finished]:
        raise GraphError(
            f"the load of {unfinished[0].source} has not finished: run the same `lodestar load` again first, or give "
            "--replace to put this in its place"
        )
    if not others:
        return LoadPlan(BASE_LOAD, is_first=True, num_other_nodes=state.num_other_nodes)
    if options.mode == "append":
        return LoadPlan(max(load.number for load in others) + 1)
    sources = list(dict.fromkeys(load.source for load in others))
    more = f" and {len(sources) - SHOWN:,} more" if len(sources) > SHOWN else ""
    held = f"{format_count(state.num_triples, 'triple')} of {', '.join(sources[:SHOWN])}{more}"
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
def _lock_graph(instance: EmbeddedServer) -> Iterator[tuple[Gateway, OpenTransaction]]:
    instance.start(progress=False)
    with Gateway(instance.connection(LOAD_TIMEOUT_S)) as gateway, load_lock(gateway) as lock:
        yield gateway, lock


def _check_room(folder: Path, counts: StageCounts) -> None:
    existing = next(path for path in (folder, *folder.resolve().parents) if path.exists())
    needed_bytes = counts.num_triples * _BYTES_A_TRIPLE + (counts.num_entities + counts.num_literals) * _BYTES_A_NODE
    free_bytes = shutil.disk_usage(existing).free
    if free_bytes < needed_bytes:
        raise StorageError(
            f"{existing}: expected {needed_bytes / 1e9:,.1f} GB free for {counts.num_triples:,} triples, found "
            f"{free_bytes / 1e9:,.1f} GB: make room or name another LODESTAR_HOME"
        )


_WHOLE_BYTES = 10_000_000  # A smaller source is read to its end
_SAMPLE_BATCHES = 4  # batches to sample from each file of a larger one, about 15 MB of text together
SHOWN = 3


def preview(source: Source, options: LoadOptions, *, online_only: bool = False) -> tuple[dict[str, Any], list[str]]:
    """Read a sample of a source and return what a full load would do, as plain data and as lines.

    The estimate scales by bytes, so that duplicates far apart are counted twice. Raises `InputError` as a load does.
    """
    with translate_storage_errors(options.staging):
        make_private_folder(options.staging)
        folder = TemporaryDirectory(prefix="preview-", dir=options.staging)
    with folder, Stage(Path(folder.name) / "stage") as stage:
        sample_batches = _SAMPLE_BATCHES if (source.size_bytes or 0) > _WHOLE_BYTES else None
        counts = stage.fill(source, options.subset, options.max_rejects, sample_batches=sample_batches)
        shown = {
            name: [tuple(row.values()) for batch in islice(stage.rows(f"results/sample_{name}", SHOWN), 1)
                   for row in batch.to_pylist()]
            for name in ("triples", "names")
        }  # fmt: skip
        share = stage.share_read
    estimated = round(counts.num_triples / share)
    bulk = not online_only and options.writer != "online" and options.mode != "append"
    writer = "bulk" if bulk and (estimated >= BULK_FROM_TRIPLES or options.writer == "bulk") else "online"
    lines = [
        f"{source.name}: {source.kind}, {share:.1%} of it read",
        "  found      " + ", ".join(f"{number:,} {name}" for name, number in sorted(counts.categories.items())),
        f"  sample     {counts.num_entities:,} entities, {counts.num_relations:,} relations",
        *([f"  values     {counts.num_values:,} tails, kept as literals"] if counts.num_values else []),
        *(f"  triple     {' | '.join(triple)}" for triple in shown["triples"]),
        *(f"  name       {id_} | {name}" for id_, name in shown["names"]),
        f"  would load {'' if share >= 1 else 'about '}{estimated:,} triples by the {writer} writer",
    ]
    told = {"source": source.name, "kind": source.kind, "share": share, "estimated_triples": estimated}
    return {**asdict(counts), **told, **shown, "writer": writer}, lines


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport(StageCounts):
    """The outcome of a load. Counts are the source's, without duplicates, which are counted separately."""

    source: str
    kind: str
    sha256: str
    number: int
    writer: str
    seconds: float
    num_related: int = 0  # relations without their own relationship type
    question: str | None = None  # A question that the graph answers
    rejects_file: str | None = None
    already_loaded: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)  # of a property graph: what was left out or assumed
    num_removed: int = 0
    """Triples of an earlier load that were removed one by one since, and are not among `num_triples`."""

    @classmethod
    def of(
        cls,
        manifest: LoadManifest,
        counts: StageCounts,
        num_related: int,
        seconds: float,
        rejects_file: str | None,
        labels: Mapping[str, str],
        left_out: Mapping[str, int],
    ) -> Self:
        return cls(
            **_same_fields(manifest) | _same_fields(counts),
            question=_choose_question(counts.examples, labels),
            num_related=num_related,
            seconds=seconds,
            rejects_file=rejects_file if counts.num_rejects else None,
            left_out=left_out,
        )

    @classmethod
    def of_manifest(cls, manifest: LoadManifest, seconds: float) -> Self:
        return cls(**_same_fields(manifest), seconds=seconds, already_loaded=True)

    def __str__(self) -> str:
        of_literals = f"{format_count(self.num_literals, 'literal')}, " if self.num_literals else ""
        counts = (
            f"{format_count(self.num_triples, 'triple')}, {format_count(self.num_entities, 'entity', 'entities')}, "
        )
        counts += of_literals + format_count(self.num_relations, "relation")
        if self.already_loaded:
            removed = format_count(self.num_removed, "triple of it was", "triples of it were")
            again = f"; {removed} removed since: delete the load and load it again to have them back"
            return f"{self.source} is already loaded: {counts}{again if self.num_removed else ''}"
        rate = self.num_triples / max(self.seconds, 1e-3)
        left_out = {name: n for name, n in self.categories.items() if name not in _KEPT and n} | dict(self.left_out)
        pair = " and ".join(map(quote_line, self.alike[:2]))
        notes = {
            f"{counts} in {self.seconds:.1f} s ({rate:,.0f} triples/s, {self.writer})": True,
            f"{format_count(self.num_duplicates, 'duplicate')} stored once": self.num_duplicates,
            f"{format_count(self.num_names_ignored, 'name')} of unknown ids or repeated ignored": (
                self.num_names_ignored
            ),
            format_count(self.num_values, "value is a literal", "values are literals"): self.num_values,
            self._describe_names(): True,
            f"{format_count(self.num_alike, 'id differs', 'ids differ')} from another only in case, spaces or "
            f"Unicode's form, as {pair}": self.num_alike,
            "left out: " + ", ".join(f"{number:,} × {name}" for name, number in sorted(left_out.items())): left_out,
            f"{self.num_related:,} of {self.num_relations:,} relations stored as :RELATED, since Neo4j keeps at most "
            "65,536 relationship types": self.num_related,
            f"{format_count(self.num_rejects, 'line')} rejected: see {self.rejects_file}": self.num_rejects,
        }
        return "; ".join(note for note, is_told in notes.items() if is_told)

    def _describe_names(self) -> str:
        num_named = self.num_entities - self.num_unnamed
        numbers = {_NAMED_BY.get(name) or make_relation_label(name): number for name, number in self.named_by.items()}
        by = [f"{name} ({number:,})" for name, number in numbers.items()] if len(numbers) > 1 else list(numbers)
        listed = ", ".join(by[:4]) + (f" and {len(by) - 4} more" if len(by) > 4 else "")
        said = f"{num_named:,} of {format_count(self.num_entities, 'entity has', 'entities have')} names"
        said += f", by {listed}" if listed else ""
        if 2 * num_named < self.num_entities:
            said += ": few (records have none; for others name the relation or the property of names)"
        return said

    @property
    def advice(self) -> str:
        """What can be asked now, in one sentence."""
        kinds = f"{format_count(self.num_kinds, 'kind')}, " if self.num_kinds else ""
        asked = f"; try: lodestar ask {shlex.quote(self.question)}" if self.question else ""
        return (
            f"{kinds}{format_count(self.num_relations, 'relation')}, {format_count(self.num_triples, 'triple')}{asked}"
        )


_KEPT = ("triple", "name", "comment", "reject", "blank", "header", "id")
_NAMED_BY = {"id": "their ids", "": "the names given"}


def _same_fields(of: StageCounts | LoadManifest) -> dict[str, Any]:
    wanted = {each.name for each in fields(LoadReport)}
    return {each.name: getattr(of, each.name) for each in fields(of) if each.name in wanted}


def _choose_question(examples: Sequence[Sequence[str]], labels: Mapping[str, str]) -> str | None:
    labelled = [
        (labels.get(relation) or make_relation_label(relation).rpartition(LABEL_SEPARATOR)[2], name)
        for relation, name in examples
    ]
    made = [*filter(None, starmap(make_question, labelled))]
    return next((text for text, is_noun in (*filter(itemgetter(1), made), *made)), None)
