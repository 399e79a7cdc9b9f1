"""The CSV files that Neo4j's importer makes a graph of, and what it has to be told of them.

Columns, as the importer of Neo4j 5.26 reads them:

    nodes            ``:ID(n)``, the number of the node's record: 0 … nodes-1, each once, over all node files
    relationships    ``:START_ID(n)``, ``:END_ID(n)`` of nodes that are there; ``:TYPE``, not empty
    properties       ``name`` for text, ``name:string[]``, ``name:int``, ``name:int[]``, ``name:double`` …

NULL is an absent property; empty text, and empty text beside another in a list, stay. The importer finds a missing node
only beyond the last one, and never a number that is given twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DELIMITER = "\t"
"""Rarer in names than a comma: fewer texts hold it."""
LIST_DELIMITER = "\x1f"
"""Of the items of a list, where none has it."""


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file and what is in it.

    spans_lines: a text has a line break. longest_row: no row has more bytes, quotes left aside.
    """

    name: str
    num_rows: int
    spans_lines: bool = False
    longest_row: int = 0


@dataclass(frozen=True, slots=True)
class ImportFiles:
    """Files of one folder: nodes with the label of each file (``A:B`` is two), and relationships.

    `list_delimiter` parts the items of all lists: one character that is in none of them.
    """

    folder: Path
    nodes: tuple[tuple[str, ImportFile], ...]
    relationships: tuple[ImportFile, ...] = ()
    list_delimiter: str = LIST_DELIMITER

    @property
    def all(self) -> tuple[ImportFile, ...]:
        """Every file."""
        return (*(file for _, file in self.nodes), *self.relationships)

    @property
    def num_nodes(self) -> int:
        """Rows of the node files."""
        return sum(file.num_rows for _, file in self.nodes)

    @property
    def num_relationships(self) -> int:
        """Rows of the relationship files."""
        return sum(file.num_rows for file in self.relationships)

    @property
    def property_bytes(self) -> int:
        """About what the properties of the nodes take."""
        return sum((self.folder / file.name).stat().st_size for _, file in self.nodes)
