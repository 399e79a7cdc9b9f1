"""A graph of IRIs through every interface: texts for people have names and words, never an IRI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import neo4j
import pytest
from click.testing import CliRunner
from lodestar import Engine
from lodestar.engine.cli.main import main
from lodestar.engine.integrations.finding import EvidenceFinder
from lodestar.engine.integrations.langchain import LodestarAnswerer, make_tool
from lodestar.engine.neo4j.connection import Connection
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.recipes import read_recipe
from lodestar.engine.serving.server import ServerOptions
from lodestar.engine.settings import Settings
from mcp import Client

from tests.conftest import clear_database
from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource, load
from tests.made.serving import serving

PLACES, TERMS = "http://places.example/id/", "https://terms.example/geo#"
IRI = "://"
QUESTIONS = (
    "What is the capital of Peru?",
    "Which currency is used in Peru?",
    "How many official languages does Peru have?",
    "Is Lima the capital of Peru?",
    "Which country borders Chile?",
    "What is the zodiac sign of Peru?",
    "Who wrote qwxzjkv?",
)


def iri(id_: str) -> str:
    return PLACES + id_.removeprefix("m.")


@pytest.fixture(scope="module")
def named(gateway: Gateway, driver: neo4j.Driver, connection: Connection) -> None:
    clear_database(driver, connection.database)
    triples = [(iri(head), TERMS + name.rpartition(".")[2], iri(tail)) for head, name, tail in COUNTRIES]
    load(TripleSource(triples, {iri(id_): name for id_, name in COUNTRY_NAMES.items()}), gateway)


@pytest.fixture(scope="module")
def formed(named: None, settings: Settings) -> Iterator[str]:
    with serving(settings, ServerOptions(token=""), {"similarity": read_recipe("similarity", ["forms=true"])}) as url:
        yield url


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_command_line(named: None, environment: dict[str, str], question: str) -> None:
    for arguments in (
        ["ask", "--set", "forms=true"],
        ["ask", "--set", "forms=false"],
        ["ask", "--paths-only"],
        ["explain"],
        ["explain", "--recipe", "similarity | (similarity + merge)"],
        ["explain", "--set", "answerer.kind=reader"],
    ):
        ran = CliRunner().invoke(main, [*arguments, question], env=environment)
        assert "Traceback" not in ran.output
        assert IRI not in ran.output + str(ran.exception or ""), arguments


def test_python_and_frameworks(named: None, settings: Settings) -> None:
    with Engine(settings, recipe="similarity", options={"forms": True}) as engine:
        tool, answerer = make_tool(engine), LodestarAnswerer(engine)
        for question, answer in zip(QUESTIONS, engine.ask_batch(QUESTIONS), strict=True):
            assert IRI not in "\n".join((answer.text, answer.evidence.note, *answer.why, *answer.evidence.cuts))
            assert IRI not in str(tool.invoke({"question": question}))
            assert IRI not in answerer.invoke(question)["answer"]
            assert IRI not in "\n".join(each.text for each in EvidenceFinder(engine, 5).find(question))


def test_http(formed: str) -> None:
    with httpx.Client(trust_env=False, timeout=60.0, base_url=formed) as client:
        for question in QUESTIONS:
            reply = client.post("/v1/ask", json={"question": question}).json()
            assert IRI not in "\n".join((reply["answer"], reply["note"], *reply["why"], *reply["left_out"])), question
            said = client.post(
                "/v1/chat/completions",
                json={"model": "lodestar", "messages": [{"role": "user", "content": question}]},
            ).json()
            assert IRI not in said["choices"][0]["message"]["content"]


async def test_mcp(formed: str) -> None:
    lima = {"head": "Peru", "relation": f"{TERMS}capital", "tail": iri("m.lima")}
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        *(("ask", {"question": question}) for question in QUESTIONS),
        *(("retrieve_paths", {"question": question}) for question in QUESTIONS),
        ("get_neighbours", {"entity": "Peru"}),
        ("verify_path", {"path": [lima]}),
    )
    text = ""
    async with Client(f"{formed}/mcp") as agent:
        for tool, arguments in calls:
            called = await agent.call_tool(tool, arguments)
            text = called.content[0].text
            assert not called.is_error, text
            assert IRI not in text, (tool, arguments)
    assert text == "all in the graph\nin the graph: Peru —[capital]→ Lima"
