"""What Neo4j's importer writes: where it is, what it made, why it failed.

With ``--verbose`` it counts the nodes and relationships of each stage, and gives the exception of a failure:

    Relationships, started 2026-01-01 12:00:00.000+0000
    [*Relationships:12.1MB/s 63.75MiB-------------------------------]2.58M ∆2.58M
    Done in 6s 595ms
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...progress.phases import Progress

# The stages that walk over all nodes (False) or all relationships (True); what the others walk over is small.
_STAGES = {
    "Nodes": ("nodes", False),
    "Relationships": ("relationships", True),
    "Node Degrees": ("degrees", True),
    "Relationship --> Relationship": ("outgoing links", True),
    "Node --> Relationship": ("first links", False),
    "Relationship <-- Relationship": ("incoming links", True),
    "Node counts and label index build": ("label index", False),
    "Relationship counts and relationship type index build": ("type index", True),
}
_STARTED = re.compile(rf"({'|'.join(map(re.escape, sorted(_STAGES, key=len, reverse=True)))})(?: [\d/-]+)?, started ")
_COUNT = re.compile(r"\]\s*(\d+(?:\.\d+)?)([KMGB]?) ")
_DONE = "Done in "
_UNIT = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9}

_SUMMARY = re.compile(r"^\s+(\d+) (nodes|relationships|properties)$", re.MULTILINE)
_CLASS = r"(?:\w+\.)+[\w$]*(?:Exception|Error)"
_EXCEPTION = re.compile(rf"^(?:Caused by: )?({_CLASS})(?:: (.+))?$", re.MULTILINE)
_WRAPPERS = re.compile(rf"^(?:{_CLASS}: )+")
_BAD_INPUT = re.compile(
    r"ERROR in input\n"
    r"  data source: .*?\[source:(?P<file>.*), position:\d+, line:(?P<line>\d+)\]\n"
    r"  in field: (?P<field>.*):\d+\n"
    r"(?:  .*\n)*?"
    r"  original error: (?P<reason>.*)"
)
_OUT_OF_MEMORY = re.compile(r"^Terminating due to java\.lang\.(OutOfMemoryError: .+)$", re.MULTILINE)
_NO_ROOM = re.compile(
    r"No space left on device|out of disk space|File too large|quota exceeded|not enough space", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import made, as the importer counted it."""

    num_nodes: int
    num_relationships: int
    num_properties: int


class StageReader:
    """Reads the output line by line and calls `progress`; each stage ends with all of its nodes or relationships."""

    def __init__(self, num_nodes: int, num_relationships: int, progress: Progress) -> None:
        self.num_nodes, self.num_relationships, self.progress = num_nodes, num_relationships, progress
        self._stage: tuple[str, int] | None = None

    def read(self, line: str) -> None:
        """Take the next line."""
        if started := _STARTED.search(line):
            name, over_relationships = _STAGES[started[1]]
            self._stage = (name, self.num_relationships if over_relationships else self.num_nodes)
            self.progress(name, 0, self._stage[1])
        elif self._stage and line.startswith(_DONE):
            name, total = self._stage
            self._stage = None
            self.progress(name, total, total)
        elif self._stage and (counted := _COUNT.search(line)):
            name, total = self._stage
            self.progress(name, min(int(float(counted[1]) * _UNIT[counted[2]]), total), total)


def imported(output: str) -> Imported:
    """Return the counts of an import that succeeded."""
    counts = {what: int(number) for number, what in _SUMMARY.findall(output.rpartition("IMPORT DONE")[2])}
    return Imported(counts["nodes"], counts["relationships"], counts["properties"])


def failure(output: str) -> str:
    """Return the reason of an import that failed, "" when the output has none: the first exception that says one."""
    if exhausted := _OUT_OF_MEMORY.search(output):
        return exhausted[1]
    if bad := _BAD_INPUT.search(output):
        return f"{bad['file']}, line {bad['line']}, {bad['field']}: {bad['reason']}"
    for kind, message in _EXCEPTION.findall(output):
        if not kind.endswith("CommandFailedException"):
            return _WRAPPERS.sub("", message) or str(kind.rpartition(".")[2])
    return ""


def lacked_room(output: str) -> bool:
    """Whether the import failed for want of room on the disk."""
    return _NO_ROOM.search(output) is not None
