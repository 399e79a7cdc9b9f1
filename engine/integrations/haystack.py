"""Offer Lodestar to Haystack: a component that retrieves."""

from __future__ import annotations

import asyncio
from typing import Any

from haystack import Document, component

from . import EvidenceFinder


@component
class LodestarRetriever:
    """Retrieves reasoning paths as documents with scores, best first.

    engine, top_k, leave_out_abstained: see `EvidenceFinder`. `run(query, top_k=…)` changes `top_k` for one question.
    """

    def __init__(self, engine: Any, *, top_k: int = 10, leave_out_abstained: bool = False) -> None:
        self._finder = EvidenceFinder(engine, top_k, leave_out_abstained)

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        found = self._finder.find(query, top_k)
        return {"documents": [Document(id=e.id, content=e.text, score=e.score, meta=e.metadata) for e in found]}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        found: dict[str, list[Document]] = await asyncio.to_thread(self.run, query, top_k)
        return found
