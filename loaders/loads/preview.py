"""Preview a load from a sample of its source, without writing to any graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..source import Source
from ..stage.rejects import check_no_overwrite, check_place
from ..stage.stage import Stage
from .loading import BULK_FROM_TRIPLES, STAGE_BYTES_A_BYTE, LoadOptions, graph_bytes, make_folder_within

SAMPLE_BATCHES = 4
"""Batches to sample from each file, about 15 MB of text together."""
SHOWN = 3

# Triples per second on two cores; docs/loading.md has the measurements.
CONVERTED_A_SECOND = 1_000_000
IMPORTED_A_SECOND = 400_000
WRITTEN_ONLINE_A_SECOND = 20_000


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
    estimated_seconds: float
    estimated_disk_bytes: int

    def as_json(self) -> dict[str, Any]:
        """Return the preview as plain data for JSON."""
        return asdict(self)

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
            f"  needs      about {self.estimated_seconds:,.0f} s and {self.estimated_disk_bytes / 1e9:,.2f} GB of disk",
        ]
        return "\n".join(lines)


def preview(source: Source, options: LoadOptions, *, online_only: bool = False) -> Preview:
    """Read a sample of a source and return what a full load would do.

    Counts are of the sample. The estimate scales by bytes, so that duplicates far apart are counted twice. Raises
    `InputError` as a load does.
    """
    if options.rejects_file:
        check_place(options.rejects_file, source.reads)
        check_no_overwrite(options.rejects_file, force=options.force)
    folder = make_folder_within(options.staging, "preview-")
    limit = source.max_rejects if options.max_rejects is None else options.max_rejects
    with Stage(folder, memory_mb=options.memory_mb) as stage:
        try:
            counts = stage.fill(
                source,
                "sample",
                subset=options.subset,
                max_rejects=limit,
                rejects_file=None,
                sample_batches=SAMPLE_BATCHES,
            )
            share = stage.share_read
            triples = next(stage.rows("results/sample_triples", SHOWN)).to_pylist()
            named = next(stage.rows("results/sample_names", SHOWN), None)
        finally:
            stage.delete()
    estimated = round(counts.num_triples / share)
    bulk = not online_only and options.writer != "online" and options.mode != "append"
    writer = "bulk" if bulk and (estimated >= BULK_FROM_TRIPLES or options.writer == "bulk") else "online"
    rate = IMPORTED_A_SECOND if writer == "bulk" else WRITTEN_ONLINE_A_SECOND
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
        estimated_seconds=sum(counts.categories.values()) / share / CONVERTED_A_SECOND + estimated / rate,
        estimated_disk_bytes=round(graph_bytes(counts) / share) + (source.size_bytes or 0) * STAGE_BYTES_A_BYTE,
    )
