"""Offer Lodestar to LangChain and LangGraph: a retriever, a runnable that answers, and a tool for agents.

Their calls with asyncio run in a thread.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import ConfigDict, Field

from ..evidence import answer_text
from ..evidence.data import AnswerData
from . import EvidenceFinder

if TYPE_CHECKING:
    from ..api import Engine


class LodestarRetriever(BaseRetriever):
    """Retrieves reasoning paths from a knowledge graph in Neo4j, best first, one document each.

    ``page_content`` is the chain, or the triple, in words; ``metadata`` is that of `EvidenceItem`. A question without a
    known entity gives no documents. Use it as a context manager, or call `close`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    engine: Any = Field(repr=False, exclude=True)
    """The `Engine`, or anything with its `retrieve`."""

    k: int = Field(default=10, ge=1)
    """The most documents to return; `invoke(question, k=3)` overrides it for one call. `Options` of the engine may be
    given there, too: `invoke(question, filter={"kind": "film"})`."""

    leave_out_abstained: bool = False
    """Whether a question that `ask` has no answer to gives no documents."""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
        **options: Any,
    ) -> list[Document]:
        finder = EvidenceFinder(self.engine, self.k if k is None else k, self.leave_out_abstained)
        found = finder.find(query, **options)
        return [Document(id=each.id, page_content=each.text, metadata=each.metadata) for each in found]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: Any,
        **options: Any,
    ) -> list[Document]:
        # the base class's own takes no options
        return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=run_manager, **options)

    def close(self) -> None:
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LodestarAnswerer(RunnableLambda[str, AnswerData]):
    """Answers a question with plain data, as ``ask --json`` prints it: `answer`, `kind`, `answers`, `items`, ….

    A question without a known entity has an answer of the kind `none`, and `answer` says why. Keyword arguments are
    options of the call (`Engine.ask`): ``invoke(question, top_k=5)``.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(partial(_ask, engine), name="LodestarAnswerer")


def _ask(engine: Engine, question: str, **options: Any) -> AnswerData:
    return engine.ask_batch([question], **options)[0].to_dict()


DESCRIPTION = (
    "Answer a question in plain words from a knowledge graph. The answer rests on paths of the graph alone, which "
    "follow it; it says so where there is none."
)


def make_tool(engine: Engine, *, name: str = "ask_knowledge_graph", description: str = DESCRIPTION) -> BaseTool:
    """Return a tool for agents: it answers a question with text for the model, and as plain data as the artifact."""

    def ask(question: str) -> tuple[str, AnswerData]:
        (answer,) = engine.ask_batch([question])
        return answer_text(answer), answer.to_dict()

    return StructuredTool.from_function(ask, name=name, description=description, response_format="content_and_artifact")
