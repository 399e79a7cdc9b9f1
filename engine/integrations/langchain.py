"""Offer Lodestar to LangChain and LangGraph: a retriever, and a tool for agents. asyncio runs them in a thread."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import ConfigDict, Field

from ..evidence import format_answer
from ..evidence.json_data import AnswerData
from . import EvidenceFinder

if TYPE_CHECKING:
    from ..api import Engine


class LodestarRetriever(BaseRetriever):
    """Retrieves reasoning paths, best first, one document each: the chain, or the triple, in words.

    ``metadata`` is that of `EvidenceItem`. `invoke(question, k=3)` overrides `k` for one call, and takes options of the
    engine: `invoke(question, filter={"kind": "film"})`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    engine: Any = Field(repr=False, exclude=True)
    """The `Engine`, or anything with its `retrieve`."""
    k: int = Field(default=10, ge=1)
    """The most documents to return."""
    leave_out_abstained: bool = False
    """Whether a question that `ask` has no answer to gives no documents."""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: Any,  # noqa: ARG002
        k: int | None = None,
        **options: Any,
    ) -> list[Document]:
        found = EvidenceFinder(self.engine, self.k if k is None else k, self.leave_out_abstained).find(query, **options)
        return [Document(id=each.id, page_content=each.text, metadata=each.metadata) for each in found]

    async def _aget_relevant_documents(self, query: str, **options: Any) -> list[Document]:
        return await asyncio.to_thread(self._get_relevant_documents, query, **options)


def make_tool(engine: Engine) -> BaseTool:
    """Return a tool for agents: it answers a question with text for the model, and as plain data as the artifact."""

    def ask_knowledge_graph(question: str) -> tuple[str, AnswerData]:
        """Answer a question in plain words from a knowledge graph. The answer rests on paths of the graph alone, which
        follow it; it says so where there is none."""
        (answer,) = engine.ask_batch([question])
        return format_answer(answer), answer.to_dict()

    return StructuredTool.from_function(ask_knowledge_graph, response_format="content_and_artifact")
