"""What an answer is - entities, a number, yes or no, none - has one form in Python, JSON, HTTP, MCP and LangChain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from lodestar import Engine
from lodestar.engine.cli.main import main
from lodestar.engine.integrations.langchain import LodestarAnswerer, make_tool
from lodestar.engine.recipes import read_recipe
from lodestar.engine.serving.server import ServerOptions
from lodestar.engine.settings import Settings
from mcp import Client

from tests.made.serving import serving

OF_KINDS = {
    "What is the capital of Peru?": "entities",
    "How many official languages does Peru have?": "number",
    "Is Lima the capital of Peru?": "yes-no",
    "qwxzjkv?": "none",
}


@pytest.fixture(scope="module")
def formed(countries: None, settings: Settings) -> Iterator[str]:
    with serving(settings, ServerOptions(token=""), {"similarity": read_recipe("similarity", ["forms=true"])}) as url:
        yield url


@pytest.mark.parametrize(("question", "kind"), OF_KINDS.items())
async def test_every_interface_says_the_same(
    formed: str, settings: Settings, environment: dict[str, str], question: str, kind: str
) -> None:
    with Engine(settings, recipe="similarity", options={"forms": True}) as engine:
        (answer,) = engine.ask_batch([question])
        expected = {"kind": answer.kind, "names": list(answer.names), "number": answer.number, "yes": answer.yes}
        runnable = LodestarAnswerer(engine).invoke(question)
        call: dict[str, Any] = {"type": "tool_call", "id": "1", "name": "ask_knowledge_graph"}
        message = make_tool(engine).invoke({**call, "args": {"question": question}})
    assert expected["kind"] == kind
    assert answer.as_dict()["result"] == expected
    assert runnable["result"] == message.artifact["result"] == expected

    asked = CliRunner().invoke(main, ["ask", "--json", "--set", "forms=true", question], env=environment)
    assert json.loads(asked.stdout)["result"] == expected

    with httpx.Client(trust_env=False, timeout=60.0) as client:
        reply = client.post(f"{formed}/v1/ask", json={"question": question}).json()
    assert reply["result"] == expected

    async with Client(f"{formed}/mcp") as agent:
        called = await agent.call_tool("ask", {"question": question})
    assert (called.structured_content or {})["result"] == expected
