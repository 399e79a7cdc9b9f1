"""What the importer's output says of a full disk."""

from __future__ import annotations

import pytest
from lodestar.engine.neo4j.bulk_import import (
    reports_full_disk,
)

FULL = """org.neo4j.cli.CommandFailedException: Error importing csv file.
Caused by: org.neo4j.io.pagecache.OutOfDiskSpaceException: System is out of disk space for store file at: /x. Call error: ErrorCode=28, errorMessage='No space left on device'
"""


@pytest.mark.parametrize(
    "output", [FULL, FULL.replace("No space left on device", "x"), "java.io.IOException: File too large"]
)
def test_a_full_disk(output: str) -> None:
    assert reports_full_disk(output)
