"""Offer Lodestar to Haystack: a component that retrieves."""

from __future__ import annotations

from typing import Any

from haystack import Document, component

from .finding import EvidenceFinder, EvidenceItem


@component
class LodestarRetriever:
    """Retrieves reasoning paths as documents with scores, best first.

    engine, top_k, leave_out_abstained: see `EvidenceFinder`. `run(query, top_k=…)` changes `top_k` for one question.
    """

    def __init__(self, engine: Any, *, top_k: int = 10, leave_out_abstained: bool = False) -> None:
        self._finder = EvidenceFinder(engine, top_k, leave_out_abstained)

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the documents for a question."""
        return {"documents": list(map(_document, self._finder.keeping(top_k).find(query)))}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the documents for a question."""
        return {"documents": list(map(_document, await self._finder.keeping(top_k).afind(query)))}


def _document(item: EvidenceItem) -> Document:
    return Document(id=item.id, content=item.text, score=item.score, meta=item.metadata)
