"""Speed and memory of loading: the bulk writer beside the raw importer.

    python -m benchmarks.speed.loading --data FOLDER --copies 1 10 100

FOLDER has ``kg.tsv.gz`` and ``names.tsv.gz`` (FB15k-237). Larger graphs are copies of it with renamed entities,
written as the Freebase dump writes triples. The reference runs in the same run, over the same rows. Servers are
embedded ones of their own under a temporary home.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import resource
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import duckdb
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.settings import Settings
from lodestar.loaders.formats.triples import FreebaseSource
from lodestar.loaders.loading import LoadOptions, load_into_embedded_server
from lodestar.loaders.source import Subset
from lodestar.loaders.stage import Stage
from lodestar.loaders.writers import write_import_files

from ..measuring import run_in_process

PREFIX = "<http://rdf.freebase.com/ns/"


def copies_of(data: Path, copies: int, folder: Path) -> Path:
    path = folder / f"copies-{copies}.nt.gz"
    if path.exists():
        return path
    triples = [line.split("\t") for line in _lines(data / "kg.tsv.gz")]
    names = [line.split("\t")[:2] for line in _lines(data / "names.tsv.gz")]
    with gzip.open(path, "wb", compresslevel=1) as file:
        for copy in range(copies):
            end = f"_{copy}>"
            file.write(
                "".join(f"{PREFIX}{h}{end}\t{PREFIX}{r}>\t{PREFIX}{t}{end}\t.\n" for h, r, t in triples).encode()
            )
            text = "".join(f'{PREFIX}{i}{end}\t{PREFIX}type.object.name>\t"{n} {copy}"@en\t.\n' for i, n in names)
            file.write(text.encode())
    return path


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def spread(values: list[float]) -> str:
    shown = f"{median(values):.2f}"
    return shown if len(values) == 1 else f"{shown} ({min(values):.2f} to {max(values):.2f})"


def raw_files(staged: Stage, folder: Path) -> tuple[Path, Path]:
    """Write what the bulk writer imports as the CSV that the importer's manual shows, with string ids."""
    nodes, relationships = folder / "nodes.csv", folder / "relationships.csv"
    files = write_import_files(staged, [])
    staged.close()
    with duckdb.connect(str(staged.folder / "stage.duckdb"), read_only=True) as connection:
        lists = ("aliases:string[]", "search_names:string[]", "signature_relations:int[]", "signature_counts:int[]")
        joined = ", ".join(f'replace("{name}", chr({ord(files.list_delimiter)}), \';\') AS "{name}"' for name in lists)
        imported = connection.read_csv(str(files.folder / "entities.csv"), sep="\t", header=True, all_varchar=True)
        imported.select(f'id AS "id:ID", name, name_tags, "degree:int", {joined}').write_csv(str(nodes))
        connection.sql(
            'SELECT head.id AS ":START_ID", tail.id AS ":END_ID", name AS ":TYPE" FROM triple '
            "JOIN entity AS head ON head.node = head JOIN entity AS tail ON tail.node = tail "
            "JOIN relation ON number = relation ORDER BY relation, triple.head, triple.tail"
        ).write_csv(str(relationships))
    return nodes, relationships


def load_bulk(path: Path, home: Path, cache: Path) -> tuple[float, float, int]:
    """Return the seconds of a load, the peak memory of this process in MB, and the number of triples."""
    options = LoadOptions(staging=home / "staging", writer="bulk", mode="replace")
    started_s = time.perf_counter()
    report = load_into_embedded_server(FreebaseSource(str(path)), EmbeddedServer("bulk", home, cache), options)
    seconds = time.perf_counter() - started_s
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, report.num_triples


@dataclass(frozen=True)
class Sized:
    """A graph of one size as a dump and as the raw importer's files, and what loading it took so far."""

    dump: Path
    nodes: Path
    relationships: Path
    raw_s: list[float] = field(default_factory=list)
    bulk_s: list[float] = field(default_factory=list)
    peaks_mb: list[float] = field(default_factory=list)
    nums_triples: list[int] = field(default_factory=list)


def sized(dump: Path, folder: Path) -> Sized:
    folder.mkdir(exist_ok=True)
    with Stage(folder / "stage") as staged:
        staged.fill(FreebaseSource(str(dump)), subset=Subset(), max_rejects=0, rejects_file=folder / "rejects")
        nodes, relationships = raw_files(staged, folder)
    return Sized(dump, nodes, relationships)


def bulk(data: Path, copies: list[int], repeat: int, folder: Path, cache: Path) -> None:
    """Print the table of the bulk writer beside the raw importer, by size: medians, with least and most.

    Every round loads every size both ways, the constant too: the speed of a machine changes within minutes.
    """
    target = EmbeddedServer("bulk", folder / "home", cache)
    target.reset()
    constant = sized(tiny(folder), folder / "tiny")
    sizes = [sized(copies_of(data, number, folder), folder / f"raw-{number}") for number in copies]
    for _ in range(repeat):
        for each in (constant, *sizes):
            each.raw_s.append(raw_import(each.nodes, each.relationships, folder, cache))
            seconds, peak_mb, num_triples = run_in_process(load_bulk, each.dump, folder / "home", cache)
            target.reset()
            each.bulk_s.append(seconds)
            each.peaks_mb.append(peak_mb)
            each.nums_triples.append(num_triples)
    print(
        "| triples | raw import of CSV, s | bulk end to end, s | ratio | ratio beyond the constant | peak MB of ours |"
    )
    for each in (constant, *sizes):
        ratio = median(each.bulk_s) / median(each.raw_s)
        beyond = "" if each is constant else spread(ratios_beyond(each, constant))
        print(
            f"| {each.nums_triples[0]:,} | {spread(each.raw_s)} | {spread(each.bulk_s)} | {ratio:,.2f} | {beyond} "
            f"| {max(each.peaks_mb):,.0f} |"
        )


def ratios_beyond(each: Sized, constant: Sized) -> list[float]:
    """Return the ratio of each round, the constant of the same round taken off both."""
    rounds = zip(each.bulk_s, constant.bulk_s, each.raw_s, constant.raw_s, strict=True)
    return [(bulk_s - least_s) / (raw_s - least_raw_s) for bulk_s, least_s, raw_s, least_raw_s in rounds]


def tiny(folder: Path) -> Path:
    """Write a graph of one triple: what is left is the constant."""
    path = folder / "tiny.nt.gz"
    path.write_bytes(gzip.compress(f"{PREFIX}a>\t{PREFIX}r>\t{PREFIX}b>\t.\n".encode()))
    return path


def raw_import(nodes: Path, relationships: Path, folder: Path, cache: Path) -> float:
    from lodestar.engine.neo4j.server_process import run_admin_command

    instance = EmbeddedServer("raw", folder / "home", cache)
    class_path = instance.jars.ensure(progress=False)
    instance.home.create()
    arguments = ["database", "import", "full", "neo4j", "--overwrite-destination", f"--nodes=Entity={nodes}"]
    arguments += [f"--relationships={relationships}", f"--report-file={folder / 'import.report'}"]
    started_s = time.perf_counter()
    run_admin_command(instance.home, class_path, arguments, heap_mb=2048)
    return time.perf_counter() - started_s


def main() -> None:
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--data", type=Path, required=True, help="folder with kg.tsv.gz and names.tsv.gz")
    command.add_argument("--copies", type=int, nargs="+", default=[10], help="how many copies of the graph")
    command.add_argument("--repeat", type=int, default=3, help="how often each is run (default: 3)")
    command.add_argument("--work", type=Path, help="folder for generated files (default: a temporary one)")
    arguments = command.parse_args()
    with contextlib.ExitStack() as stack:
        folder = arguments.work or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lodestar-")))
        folder.mkdir(parents=True, exist_ok=True)
        bulk(arguments.data, arguments.copies, arguments.repeat, folder, Settings().cache_dir)


if __name__ == "__main__":
    main()
