"""The LangChain adapter over a real graph: LangChain's own suite, and a chain that ends at a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, ClassVar

import openai
import pytest
from langchain_core.documents import Document
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_tests.integration_tests import RetrieversIntegrationTests
from lodestar import Engine, LodestarRetriever

from tests.fakes.scripted_llm import ScriptedLLM, says

QUESTION = "What is the capital of Peru?"


def joined(documents: list[Document]) -> str:
    return "\n".join(document.page_content for document in documents)


@pytest.fixture(autouse=True)
async def connections_of_this_loop(engine: Engine) -> AsyncIterator[None]:
    """Each test has an event loop of its own; what the engine opened in it is closed in it."""
    yield
    await engine.aclose()


class TestLodestarRetriever(RetrieversIntegrationTests):
    """LangChain's own suite for retrievers."""

    engine: ClassVar[Engine]

    @pytest.fixture(autouse=True)
    def over_the_loaded_graph(self, engine: Engine) -> None:
        type(self).engine = engine

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return LodestarRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"engine": self.engine}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


async def test_a_question_about_nothing_in_the_graph_gives_no_documents(engine: Engine) -> None:
    retriever = LodestarRetriever(engine=engine)
    assert retriever.invoke("qwxzjkv?") == []
    assert await retriever.ainvoke("qwxzjkv?") == []


async def test_a_chain_from_the_graph_to_a_model_at_a_socket(engine: Engine) -> None:
    with ScriptedLLM([says("Lima")] * 2) as llm:

        def complete(prompt: PromptValue) -> str:
            with openai.OpenAI(base_url=llm.base_url, api_key="no-key", max_retries=0) as client:
                reply = client.chat.completions.create(
                    model="scripted", messages=[{"role": "user", "content": prompt.to_string()}]
                )
            return reply.choices[0].message.content or ""

        chain = (
            {
                "paths": LodestarRetriever(engine=engine, k=3) | RunnableLambda(joined),
                "question": RunnablePassthrough(),
            }
            | ChatPromptTemplate.from_template("{paths}\n\n{question}")
            | RunnableLambda(complete)
        )
        assert chain.invoke(QUESTION) == "Lima"
        assert await chain.ainvoke(QUESTION) == "Lima"
    for request in llm.requests:
        assert "Lima" in request.prompt
        assert request.prompt.endswith(QUESTION)


def test_documents_say_whether_there_is_an_answer_and_may_be_left_out(engine: Engine) -> None:
    with LodestarRetriever(engine=engine) as retriever:
        found = retriever.invoke("What is the capital of Peru?")
        assert [document.metadata["abstained"] for document in found] == [False] * len(found)
        unanswered = retriever.invoke("What is the zodiac sign of Peru?")
        assert unanswered
        assert {document.metadata["abstained"] for document in unanswered} == {
            not engine.ask("What is the zodiac sign of Peru?").found
        }
        strict = LodestarRetriever(engine=engine, leave_out_abstained=True)
        assert strict.invoke("What is the capital of Peru?")
        if not engine.ask("What is the zodiac sign of Peru?").found:
            assert strict.invoke("What is the zodiac sign of Peru?") == []
