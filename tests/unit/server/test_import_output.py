"""What the importer's output says: why it failed."""

from __future__ import annotations

import pytest
from lodestar.engine.neo4j.bulk_import import (
    find_import_failure,
    reports_full_disk,
)

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
