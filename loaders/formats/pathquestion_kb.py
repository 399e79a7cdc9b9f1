"""PathQuestion's `kb.txt`: head, relation and tail parted by tabs; ids are names."""

from __future__ import annotations

from .delimited import DelimitedSource


class PathquestionSource(DelimitedSource):
    """The file (``-`` is standard input), gzip or plain."""

    kind = "pathquestion"
    default_separator = "\t"

    def __init__(self, path: str) -> None:
        super().__init__(path, header="no", literals=False)
