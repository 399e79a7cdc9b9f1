"""Offer Lodestar to neo4j-graphrag: a retriever for its `GraphRAG`."""

from __future__ import annotations

from typing import Any

from neo4j import Record
from neo4j_graphrag.retrievers.base import Retriever
from neo4j_graphrag.types import RawSearchResult, RetrieverResultItem

from . import EvidenceFinder


class LodestarRetriever(Retriever):
    """Retrieves reasoning paths, best first: ``search(query_text=question)``.

    engine, top_k, leave_out_abstained: see `EvidenceFinder`. ``retriever_config={"top_k": 5}`` of `GraphRAG.search`
    changes it for one question. An item's metadata has `id`, `score` and what `EvidenceItem` says.
    """

    def __init__(self, engine: Any, *, top_k: int = 10, leave_out_abstained: bool = False) -> None:
        # The engine reads the graph: the driver of the base class is not needed.
        self._finder = EvidenceFinder(engine, top_k, leave_out_abstained)

    def get_search_results(self, query_text: str, top_k: int = 0) -> RawSearchResult:
        """Find paths of the graph that may answer a question.

        top_k: how many at most; 0 for the retriever's own number.
        """
        found = self._finder.find(query_text, top_k or None)
        rows = ({"text": each.text, "id": each.id, "score": each.score, **each.metadata} for each in found)
        return RawSearchResult(records=[Record(row) for row in rows])  # type: ignore[no-untyped-call]

    def result_formatter(self, record: Record) -> RetrieverResultItem:
        metadata = record.data()
        return RetrieverResultItem(content=metadata.pop("text"), metadata=metadata)
