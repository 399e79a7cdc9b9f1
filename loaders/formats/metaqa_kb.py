"""MetaQA's `kb.txt`: head, relation and tail parted by bars; ids are names."""

from __future__ import annotations

from .delimited import DelimitedSource


class MetaqaSource(DelimitedSource):
    """The file (``-`` is standard input), gzip or plain."""

    kind = "metaqa"
    default_separator = "|"

    def __init__(self, path: str) -> None:
        super().__init__(path, header="no", literals=False)
