"""A source that is not Lodestar's: lines such as ``Lima | capital of | Peru``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lodestar.loaders.source import FileSource, StatementRow, reject_row, triple_row


class Bars(FileSource):
    kind = "bars"

    def rows(self, file: Any) -> Iterator[StatementRow]:
        """Yield a triple a line."""
        with file.open_buffered() as lines:
            for number, line in enumerate(lines, start=1):
                said = [part.strip() for part in line.decode().split("|")]
                yield triple_row(number, *said) if len(said) == 3 else reject_row(number, "three parts", line.decode())
