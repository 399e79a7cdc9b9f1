"""Lodestar as a LangChain retriever: one document for each reasoning path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from .answering.evidence import path_text
from .errors import EntityNotFoundError, UsageError
from .serialise import entity_data, path_data
from .settings import resolve
from .values import Retrieval, RetrievedPath, Scored

if TYPE_CHECKING:
    from .api import SearchOptions


class LodestarRetriever(BaseRetriever):
    """Retrieves reasoning paths from a knowledge graph in Neo4j, best first, one document each.

    ``page_content`` is the path in words with the names of its ends; ``metadata`` is plain data for JSON: `source`,
    `rank` (from 1), `score`, `topic`, `relation_path`, `ends`, `instances` and `cut`. A question without a known entity
    gives no documents; everything else that goes wrong is a `LodestarError`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    engine: Any = Field(repr=False, exclude=True)
    """The `Engine`, or anything with its `retrieve` and `aretrieve`."""

    k: int = Field(default=10, ge=1)
    """The most documents to return; `invoke(question, k=3)` overrides it for one call."""

    @classmethod
    def from_settings(cls, *, k: int = 10, options: SearchOptions | None = None, **flags: Any) -> LodestarRetriever:
        """Return a retriever over the graph these settings name (`uri`, `name`, …); the rest as on the command line.

        options: how to search, a trained scorer's `checkpoint` among them.
        """
        from .api import Engine

        return cls(engine=Engine(resolve(flags), options=options), k=k)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
    ) -> list[Document]:
        top_k = self._top_k(k)
        try:
            retrieval = self.engine.retrieve(query, top_k=top_k)
        except EntityNotFoundError:
            return []
        return documents(retrieval)[:top_k]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
    ) -> list[Document]:
        top_k = self._top_k(k)
        try:
            retrieval = await self.engine.aretrieve(query, top_k=top_k)
        except EntityNotFoundError:
            return []
        return documents(retrieval)[:top_k]

    def _top_k(self, k: int | None) -> int:
        if k is None:
            return self.k
        if k < 1:
            raise UsageError(f"k: expected at least 1 document, found {k}")
        return k


def documents(retrieval: Retrieval) -> list[Document]:
    """Return one document for each path of a retrieval, best first."""
    return [_document(path, rank) for rank, path in enumerate(retrieval.paths, start=1)]


def _document(scored: Scored[RetrievedPath], rank: int) -> Document:
    path = scored.value
    return Document(
        id=f"{path.topic.id} {path.relation_path}",
        page_content=path_text(path),
        metadata={
            "source": "lodestar",
            "rank": rank,
            "score": float(scored.score),
            "topic": entity_data(path.topic),
            "relation_path": str(path.relation_path),
            "ends": [entity_data(end) for end in path.ends],
            "instances": [path_data(instance) for instance in path.instances],
            "cut": path.cut,
        },
    )
