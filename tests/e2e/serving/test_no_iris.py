"""A graph of IRIs through every interface: texts for people have names and words, never an IRI."""

from __future__ import annotations

import neo4j
import pytest
from click.testing import CliRunner
from lodestar import Engine
from lodestar.engine.cli.main import main
from lodestar.engine.integrations import EvidenceFinder
from lodestar.engine.integrations.langchain import make_tool
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection, Settings

from tests.conftest import clear_database
from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource, load

PLACES, TERMS = "http://places.example/id/", "https://terms.example/geo#"
IRI = "://"
QUESTIONS = (
    "What is the capital of Peru?",
    "How many official languages does Peru have?",
    "Is Lima the capital of Peru?",
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


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_command_line_and_a_tool(
    named: None, environment: dict[str, str], settings: Settings, question: str
) -> None:
    for arguments in (["ask"], ["explain", "--recipe", "similarity | (similarity + merge)"]):
        ran = CliRunner().invoke(main, [*arguments, question], env=environment)
        assert "Traceback" not in ran.output
        assert IRI not in ran.output + str(ran.exception or ""), arguments
    with Engine(settings, recipe="similarity") as engine:
        (answer,) = engine.ask_batch([question])
        assert IRI not in "\n".join((answer.text, answer.evidence.note, *answer.why, *answer.evidence.cuts))
        assert IRI not in str(make_tool(engine).invoke({"question": question}))
        assert IRI not in "\n".join(each.text for each in EvidenceFinder(engine, 5).find(question))
