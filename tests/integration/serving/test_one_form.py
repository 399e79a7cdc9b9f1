"""An answer and its items have the same keys and values in Python, JSON, HTTP, MCP and LangChain."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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

KEYS = ("answer", "kind", "number", "yes", "answers", "confidence", "reason", "note", "why", "items")
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


def answered(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: data[key] for key in KEYS}


@pytest.mark.parametrize(("question", "kind"), OF_KINDS.items())
async def test_every_interface_says_the_same(
    formed: str, settings: Settings, environment: dict[str, str], question: str, kind: str
) -> None:
    with Engine(settings, recipe="similarity", options={"forms": True}) as engine:
        expected = answered(engine.ask_batch([question])[0].to_dict())
        call: dict[str, Any] = {"type": "tool_call", "id": "1", "name": "ask_knowledge_graph"}
        message = make_tool(engine).invoke({**call, "args": {"question": question}})
        assert expected == answered(LodestarAnswerer(engine).invoke(question)) == answered(message.artifact)
    assert expected["kind"] == kind

    asked = CliRunner().invoke(main, ["ask", "--json", "--set", "forms=true", question], env=environment)
    assert answered(json.loads(asked.stdout)) == expected

    with httpx.Client(trust_env=False, timeout=60.0) as client:
        reply = client.post(f"{formed}/v1/ask", json={"question": question}).json()
    assert answered(reply) == expected

    async with Client(f"{formed}/mcp") as agent:
        called = await agent.call_tool("ask", {"question": question, "max_tokens": 20_000})
    of_items = [{**item, "triples": None} for item in expected["items"]]
    told = answered(called.structured_content or {})
    assert [{**item, "triples": None} for item in told["items"]] == of_items
    assert {**told, "items": None} == {**expected, "items": None}
