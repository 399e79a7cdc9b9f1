"""Every face gives the same: the same question has the same items in the same order; the Python of the pages runs."""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

import dspy
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from llama_index.core.llms.mock import MockLLM
from lodestar import Engine
from lodestar.engine.integrations import EvidenceFinder, langchain
from neo4j_graphrag.llm import OpenAILLM
from pydantic import SecretStr

from tests.fakes.scripted_llm import ScriptedLLM, completion, says
from tests.places import ROOT

QUESTION = "What is the capital of Peru?"


def names_on_the_page(name: str) -> Any:
    """Return what docs/python.md defines by a name."""
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    (block,) = [each for each in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL) if f" {name}(" in each]
    names: dict[str, Any] = {"__name__": "page"}
    exec(block.partition("\nwith Engine()")[0], names)
    return names[name]


class TestRetriever(RetrieversIntegrationTests):
    """LangChain's own suite for retrievers."""

    engine: ClassVar[Engine]

    @pytest.fixture(autouse=True)
    def over_the_loaded_graph(self, engine: Engine) -> None:
        type(self).engine = engine

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return langchain.LodestarRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"engine": self.engine}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


def test_documents_say_whether_there_is_an_answer_and_may_be_left_out(engine: Engine) -> None:
    retriever = langchain.LodestarRetriever(engine=engine)
    found = retriever.invoke(QUESTION)
    assert [document.metadata["abstained"] for document in found] == [False] * len(found)
    unanswered = retriever.invoke("What is the zodiac sign of Peru?")
    assert unanswered
    assert {document.metadata["abstained"] for document in unanswered} == {
        not engine.ask("What is the zodiac sign of Peru?").found
    }
    strict = langchain.LodestarRetriever(engine=engine, leave_out_abstained=True)
    assert strict.invoke(QUESTION)
    if not engine.ask("What is the zodiac sign of Peru?").found:
        assert strict.invoke("What is the zodiac sign of Peru?") == []


class TestTool(ToolsIntegrationTests):
    """LangChain's own suite for tools."""

    @pytest.fixture(autouse=True)
    def over_the_loaded_graph(self, engine: Engine) -> None:
        type(self).made = langchain.make_tool(engine)

    made: ClassVar[BaseTool]

    @property
    def tool_constructor(self) -> BaseTool:
        return type(self).made

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"question": QUESTION}


async def test_the_tool_in_an_agent_of_langgraph(engine: Engine) -> None:
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "ask_knowledge_graph", "arguments": json.dumps({"question": QUESTION})},
    }
    script = [completion({"content": None, "tool_calls": [call]}, "tool_calls"), says("Lima, says the graph.")] * 2
    with ScriptedLLM(script) as llm:
        model = ChatOpenAI(model="scripted", base_url=llm.base_url, api_key=SecretStr("k"), max_retries=0)
        agent = names_on_the_page("make_agent")(engine, model)
        for messages in (
            agent.invoke({"messages": [HumanMessage(QUESTION)]})["messages"],
            (await agent.ainvoke({"messages": [HumanMessage(QUESTION)]}))["messages"],
        ):
            _, asked, replied, said = messages
            assert isinstance(asked, AIMessage)
            assert isinstance(replied, ToolMessage)
            assert replied.artifact["answers"][0]["name"] == "Lima"
            assert str(replied.content).startswith("Lima\n\n- Peru —[")
            assert said.content == "Lima, says the graph."
    assert "Peru —[" in json.dumps(llm.requests[1].body["messages"], ensure_ascii=False)


async def test_a_query_engine_of_llama_index(engine: Engine) -> None:
    asked = names_on_the_page("make_query_engine")(engine, MockLLM())
    for response in (asked.query(QUESTION), await asked.aquery(QUESTION)):
        assert "Peru —[" in str(response)
        assert "relation_path" not in str(response)
        assert [each.score for each in response.source_nodes] == [
            each.score for each in EvidenceFinder(engine, 5).find(QUESTION)
        ]


def test_a_pipeline_of_haystack(engine: Engine) -> None:
    asked = names_on_the_page("make_pipeline")(engine)
    prompt = asked.run({"paths": {"query": QUESTION}, "prompt": {"question": QUESTION}})["prompt"]["prompt"]
    assert prompt.rstrip().endswith(QUESTION)
    assert all(each.text in prompt for each in EvidenceFinder(engine, 5).find(QUESTION))


def test_graphrag_of_neo4j(engine: Engine) -> None:
    with ScriptedLLM([says("Lima")]) as llm:
        model = OpenAILLM(model_name="scripted", base_url=llm.base_url, api_key="k")
        rag = names_on_the_page("make_rag")(engine, model)
        found = rag.search(QUESTION, retriever_config={"top_k": 1}, return_context=True)
    assert found.answer == "Lima"
    assert [each.content for each in found.retriever_result.items] == [EvidenceFinder(engine, 1).find(QUESTION)[0].text]
    assert "Peru —[" in json.dumps(llm.requests[0].body["messages"], ensure_ascii=False)
    assert set(rag.retriever.get_parameters().model_dump()["properties"]) == {"query_text", "top_k"}


def test_a_program_of_dspy(engine: Engine) -> None:
    with ScriptedLLM([says("[[ ## answer ## ]]\nLima\n\n[[ ## completed ## ]]")]) as llm:
        model = dspy.LM("openai/scripted", api_base=llm.base_url, api_key="k", cache=False)
        with dspy.context(lm=model):
            assert names_on_the_page("Answering")(engine)(question=QUESTION).answer == "Lima"
    assert "Peru —[" in json.dumps(llm.requests[0].body["messages"], ensure_ascii=False)


PAGES = ("how-it-works.md", "python.md")
BLOCKS = [
    (page, number, block)
    for page in PAGES
    if (ROOT / "docs" / page).exists()
    for number, block in enumerate(
        re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    )
]


@pytest.mark.parametrize(("page", "number", "block"), BLOCKS, ids=[f"{page}-{number}" for page, number, _ in BLOCKS])
def test_it_runs(
    engine: Engine,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    page: str,
    number: int,
    block: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    exec(compile(block, f"{page}-{number}", "exec"), {"__name__": "page"})
    if "print(" in block:
        assert "Lima" in capsys.readouterr().out
