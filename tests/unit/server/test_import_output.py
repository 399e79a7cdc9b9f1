"""What the importer's output says: how far it is, what it made, why it failed."""

from __future__ import annotations

import pytest
from lodestar.engine.neo4j.bulk_import import (
    ImportCounts,
    ImportProgressReader,
    find_import_failure,
    read_import_counts,
    reports_full_disk,
)

BAR = "[*Nodes:0B/s 63.75MiB" + "-" * 73 + "]"
OUTPUT = f"""  Property type of 'degree' normalized from 'INT' --> 'LONG' in nodes.parquet
WARNING: heap size 1.000GiB may be too small to complete this import. Suggested heap size is 1.000GiBNodes, started 2026-01-01 12:00:00.000+0000

{BAR}    0 ∆    0
{BAR} 120K ∆ 120K
{BAR} 2.7M ∆2.58M
Done in 14s 743ms
Relationship --> Relationship 1-2000/2000, started 2026-01-01 12:00:16.829+0000

[>-----|*LINK---------------|v:54.47MiB/s-]1.01G ?1.01G
RelationshipGroup 1-2000/2000, started 2026-01-01 12:00:21.431+0000
[>:??|*>--]    0 ∆    0
Done in 2ms
Node counts and label index build, started 2026-01-01 12:00:27.576+0000
[>|*LABEL INDEX--]  999 ∆  999
Done in 1s 432ms

IMPORT DONE in 2m 15s 437ms.\x20
Imported:
  3000000 nodes
  2000000000 relationships
  16100000 properties
Peak memory usage: 92.36MiB
"""


def test_each_stage_counts_to_its_end() -> None:
    seen: list[tuple[str, int, int]] = []
    reader = ImportProgressReader(
        3_000_000, 2_000_000_000, lambda stage, done, total: seen.append((stage, done, total))
    )
    for line in OUTPUT.splitlines():
        reader.read(line)
    nodes, links, labels = (
        [step for step in seen if step[0] == stage] for stage in dict.fromkeys(s for s, _, _ in seen)
    )
    assert [done for _, done, _ in nodes] == [0, 0, 120_000, 2_700_000, 3_000_000]
    assert links[:2] == [("outgoing links", 0, 2_000_000_000), ("outgoing links", 1_010_000_000, 2_000_000_000)]
    assert labels == [("label index", done, 3_000_000) for done in (0, 999, 3_000_000)]


def test_a_count_past_the_total_is_the_total() -> None:
    seen: list[int] = []
    reader = ImportProgressReader(7, 0, lambda _stage, done, _total: seen.append(done))
    reader.read("Nodes, started 2026-01-01")
    reader.read(f"{BAR}  10K ∆ 10K")
    assert seen == [0, 7]


def test_the_summary() -> None:
    assert read_import_counts(OUTPUT) == ImportCounts(3_000_000, 2_000_000_000, 16_100_000)


TRACE = """Critical error occurred! Shutting down the import...
IMPORT FAILED in 702ms.
org.neo4j.cli.CommandFailedException: Error importing csv file.
\tat org.neo4j.importer.ImportCommand$Base.doExecute(ImportCommand.java:560)
Caused by: org.neo4j.importer.FileImporter$CsvImportException: org.neo4j.internal.batchimport.input.InputException: could not convert x to INT: For input string: "x"
\tat org.neo4j.importer.FileImporter.andPrintError(FileImporter.java:306)
Caused by: java.lang.NumberFormatException: For input string: "x"
"""
BAD_FIELD = """ERROR in input
  data source: BufferedCharSeeker[source:/a b/n.csv, position:9, line:1]
  in field: degree:int:2
  for header: [:ID(n), degree:int]
  raw field value: x
  original error: Not an integer: "x"
"""
FULL = """org.neo4j.cli.CommandFailedException: Error importing csv file.
Caused by: org.neo4j.io.pagecache.OutOfDiskSpaceException: System is out of disk space for store file at: /x. Call error: ErrorCode=28, errorMessage='No space left on device'
"""


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (TRACE, 'could not convert x to INT: For input string: "x"'),
        (TRACE.replace('could not convert x to INT: For input string: "x"\n', BAD_FIELD), '/a b/n.csv, line 1, degree:int: Not an integer: "x"'),
        ("java.lang.IllegalArgumentException: File '/a' doesn't exist\n\tat x.Y.z(Y.java:1)\n", "File '/a' doesn't exist"),
        ("a.b.CommandFailedException: Error\nCaused by: java.lang.NullPointerException\n", "NullPointerException"),
        ("x\nTerminating due to java.lang.OutOfMemoryError: Java heap space\n", "OutOfMemoryError: Java heap space"),
        ("Unknown option: '--x'\n", ""),
    ],
)  # fmt: skip
def test_the_reason_of_a_failure(output: str, reason: str) -> None:
    assert find_import_failure(output) == reason
    assert not reports_full_disk(output)


@pytest.mark.parametrize(
    "output", [FULL, FULL.replace("No space left on device", "x"), "java.io.IOException: File too large"]
)
def test_a_full_disk(output: str) -> None:
    assert reports_full_disk(output)
