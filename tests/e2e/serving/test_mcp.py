"""Agents by the official SDK's client, over standard input and output and over HTTP: the same tools, the same answers."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.made.graphs import COUNTRIES

QUESTION = "Which currency is used in Peru?"
TOOLS = {"ask", "retrieve_paths", "find_entities", "list_relations", "get_neighbours", "verify_path"}


@asynccontextmanager
async def connected(transport: str, url: str, environment: dict[str, str]) -> AsyncIterator[Client]:
    if transport == "http":
        async with Client(f"{url}/mcp") as client:
            yield client
        return
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "lodestar", "mcp"], env=environment)
    async with Client(stdio_client(parameters)) as client:
        yield client


async def called(client: Client, tool: str, **arguments: Any) -> tuple[dict[str, Any], str]:
    """The structured output of a tool, which is held against the tool's schema, and its text twin."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    schema = next(each.output_schema for each in (await client.list_tools()).tools if each.name == tool)
    assert schema is not None
    Draft202012Validator(schema).validate(result.structured_content)
    return dict(result.structured_content or {}), result.content[0].text


@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_an_agent_finds_its_way_from_a_question_to_a_checked_path(
    transport: str, url: str, environment: dict[str, str]
) -> None:
    async with connected(transport, url, environment) as client:
        assert "verify_path" in (client.instructions or "")
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == TOOLS
        for tool in tools:
            Draft202012Validator.check_schema(tool.input_schema)
            Draft202012Validator.check_schema(tool.output_schema or {})
            assert tool.output_schema
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is True
            assert tool.annotations.open_world_hint is False
            assert "cypher" not in str(tool.input_schema).lower()

        answer, said = await called(client, "ask", question=QUESTION)
        assert answer["reason"] is None
        assert answer["answer"] == "Peruvian sol"
        assert said.startswith("found: Peruvian sol (confidence ")
        assert answer["items"][0]["text"] in said

        entities, _ = await called(client, "find_entities", text=QUESTION)
        assert entities["entities"][0]["id"] == "m.peru"
        relations, _ = await called(client, "list_relations", text="currency", limit=2)
        relation = relations["relations"][0]["relation"]
        assert relation == "location.country.currency_used"
        page, _ = await called(client, "get_neighbours", entity="m.peru", relation=relation, direction="out")
        assert [t["tail"]["name"] for t in page["triples"]] == ["Peruvian sol"]
        path = [{"head": "m.peru", "relation": relation, "tail": "m.sol"}]
        checked, _ = await called(client, "verify_path", path=path)
        assert checked["in_graph"] is True


async def test_why_there_is_nothing_is_told_apart(url: str, environment: dict[str, str]) -> None:
    async with connected("http", url, environment) as client:
        nobody, said = await called(client, "ask", question="Which currency is used in Atlantis?")
        assert nobody["reason"] == "nothing linked"
        assert said.startswith("nothing linked")
        page, _ = await called(client, "get_neighbours", entity="Lima", relation="location.country.currency_used")
        assert (page["total"], page["triples"], page["next"]) == (0, [], None)
        wrong = [{"head": "Peru", "relation": "location.country.capital", "tail": "Santiago de Chile"}]
        checked, _ = await called(client, "verify_path", path=wrong)
        assert checked["in_graph"] is False
        apart = [
            {"head": "Peru", "relation": "location.country.capital", "tail": "Lima"},
            {"head": "Chile", "relation": "location.country.capital", "tail": "Santiago de Chile"},
        ]
        checked, _ = await called(client, "verify_path", path=apart)
        assert (checked["in_graph"], checked["connected"]) == (True, False)


async def test_neighbours_come_in_pages_that_have_each_triple_once(url: str, environment: dict[str, str]) -> None:
    wanted = {triple for triple in COUNTRIES if "m.peru" in (triple[0], triple[2])}
    seen: list[tuple[str, str, str]] = []
    offset: int | None = 0
    async with connected("http", url, environment) as client:
        while offset is not None:
            found, _ = await called(client, "get_neighbours", entity="Peru", limit=2, offset=offset)
            assert found["total"] == len(wanted)
            assert 1 <= len(found["triples"]) <= 2
            seen += [(t["head"]["id"], t["relation"], t["tail"]["id"]) for t in found["triples"]]
            offset = found["next"]
        relation = "location.country.official_language"
        only, _ = await called(client, "get_neighbours", entity="Peru", relation=relation, direction="out")
        none, _ = await called(
            client, "get_neighbours", entity="Peru", relation="location.country.capital", direction="in"
        )
    assert len(seen) == len(wanted)
    assert set(seen) == wanted
    assert {t["tail"]["name"] for t in only["triples"]} == {"Spanish", "Quechua"}
    assert none["triples"] == []


async def test_the_best_paths_are_the_first_of_all(url: str, environment: dict[str, str]) -> None:
    async with connected("http", url, environment) as client:
        whole, _ = await called(client, "retrieve_paths", question=QUESTION)
        first, said = await called(client, "retrieve_paths", question=QUESTION, top_k=1)
        assert first["items"] == whole["items"][:1]
        assert said == f"found\n1. {whole['items'][0]['text']}"


async def test_bad_arguments_are_errors_that_an_agent_can_read(url: str, environment: dict[str, str]) -> None:
    async with connected("http", url, environment) as client:
        for tool, arguments in (
            ("ask", {}),
            ("ask", {"question": {"a": 1}, "top_k": "many", "bogus": True}),
            ("ask", {"question": "x" * 10_001}),
            ("get_neighbours", {"entity": "Peru", "relation": "no.such.relation"}),
            ("get_neighbours", {"entity": "Peru", "limit": 10**9}),
            ("retrieve_paths", {"question": QUESTION, "top_k": 0}),
        ):
            result = await client.call_tool(tool, arguments)
            assert result.is_error, (tool, arguments)
            (content,) = result.content
            assert "\n" not in content.text
            assert "http" not in content.text
