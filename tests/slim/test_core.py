"""The core without any extra: all of it imported, and the whole way against a real Neo4j (`make slim`)."""

from __future__ import annotations

import asyncio
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from lodestar import Engine, LodestarRetriever
from lodestar.engine.errors import (
    MissingExtraError,
    find_extra,
    format_install_command,
    missing_packages,
    read_extras,
)
from lodestar.engine.settings import Settings

THERE = [extra for extra in read_extras() if not missing_packages(extra)]
pytestmark = [
    pytest.mark.skipif(bool(THERE), reason=f"{', '.join(THERE)} are installed: `make slim` has none of them"),
    pytest.mark.usefixtures("demonstrated"),
]

QUESTION = "Which currency is used in the country whose capital is Lima?"
ANSWERS = [
    {"Lima"},
    {"Peruvian Sol"},
    {"Austria", "France", "Germany", "Italy", "Liechtenstein"},
    {"Kenya"},
    set(),
    {"3"},
    {"yes"},
    {"Brazil"},
    {"Luxembourg"},
    {"Milan", "Rome"},
    {"Argentina", "Bolivia", "Peru"},
    {"Bolivia", "Paraguay", "Uruguay"},
    {"Andorra", "France", "Gibraltar", "Morocco", "Portugal", "Spain"},
    {"Andorra", "Italy", "Monaco", "Spain"},
    {"1,098,580 km²"},
]


@pytest.fixture(scope="module")
def lodestar(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory):
    """Run the command line over the world."""
    folder = tmp_path_factory.mktemp("slim")

    def run(*words: str, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lodestar", *words]
        ran = subprocess.run(
            command, env={**environment, **more}, cwd=folder, capture_output=True, text=True, check=False
        )
        assert ran.returncode == code, ran.stderr
        return ran

    return run


@pytest.fixture(scope="module")
def demonstrated(lodestar) -> list[dict]:
    """What the demonstration answers, whose graph the other tests ask."""
    return [json.loads(line) for line in lodestar("demo", "--json", "--name", "default").stdout.splitlines()]


def test_the_demonstration_answers_what_it_promises(lodestar, demonstrated: list[dict]) -> None:
    assert [{entity["name"] for entity in record["answers"]} for record in demonstrated] == ANSWERS
    assert (demonstrated[5]["answer"], demonstrated[6]["answer"]) == ("3", "yes")
    assert "no relation fits the question" in demonstrated[4]["answer"]
    again = lodestar("load", "geonames", "--json")
    assert "already loaded" in again.stderr
    assert json.loads(again.stdout)["num_triples"] > 30_000


# The core is every module but those of training and of trained parts, which alone may need an extra.

TOPS = ("cypher", "engine", "loaders", "models")
_TRAINED = re.compile(
    r"models\.(gril|reg|star|training)(\.|$)"
    r"|models\.text\.bert$"
    r"|engine\.serving\."
    r"|engine\.integrations\.(dspy|haystack|llama_index|neo4j_graphrag)$"
    r"|engine\.retrieval\.triples$"
    r"|engine\.supervision\.subgraphs$"
)


def module_names() -> Iterator[str]:
    """All modules of Lodestar."""
    for top in TOPS:
        package = import_module(f"lodestar.{top}")
        yield package.__name__
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=_of_a_trained_one):
            yield module.name


def _of_a_trained_one(name: str) -> None:
    if not _TRAINED.search(f"{name}."):
        raise ImportError(name)


def import_core() -> tuple[int, list[str]]:
    """Import every module where no extra can be imported; return how many could be, and those that needed one.

    Raises `AssertionError` for a module of the core that needs one.
    """
    needed = []
    names = sorted(module_names())
    for name in names:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            assert find_extra((error.name or "").partition(".")[0]), f"{name}: {error}"
            assert _TRAINED.search(name), f"{name} is of the core and imports {error.name}"
            needed.append(name)
    return len(names) - len(needed), needed


def test_every_module_of_the_core_is_imported() -> None:
    num_core, needed = import_core()
    assert num_core > 3 * len(needed) > 0


def test_questions_are_answered_and_explained(lodestar) -> None:
    answer = json.loads(lodestar("ask", QUESTION, "--json").stdout)
    assert answer["answers"][0]["name"] == "Peruvian Sol"
    assert "Peruvian Sol" in lodestar("explain", QUESTION).stdout
    found = json.loads(
        lodestar("ask", "--paths-only", QUESTION, "--json", "--recipe", "similarity + path-pooling").stdout
    )
    assert found["items"]
    for words in (("db", "status"), ("db", "check"), ("doctor",), ("recipes",)):
        ran = lodestar(*words)
        assert ran.stdout + ran.stderr


def test_export(lodestar, tmp_path: Path) -> None:
    lodestar("export", str(tmp_path / "kg.tsv"))
    lodestar("export", str(tmp_path / "kg.nt"))
    assert len((tmp_path / "kg.tsv").read_text().splitlines()) > 60_000


def test_langchain_blocking_and_asyncio(lodestar, settings: Settings) -> None:
    with Engine(settings) as engine:
        documents = LodestarRetriever(engine=engine, k=3).invoke(QUESTION)
        assert asyncio.run(LodestarRetriever(engine=engine, k=3).ainvoke(QUESTION)) == documents
    assert "Peruvian Sol" in documents[0].page_content


def test_what_needs_an_extra_says_which(lodestar, settings: Settings, tmp_path: Path) -> None:
    train = f"the extra `train` brings it: {format_install_command('train')}"
    ran = lodestar("train", "star", "--dataset", "a", "--dev", "b", "--out", str(tmp_path / "star"), code=11)
    assert ran.stderr.splitlines()[-1].startswith("lodestar: training needs torch, which is not installed; ")
    assert ran.stderr.endswith(f"{train}\n")
    (tmp_path / "dev.jsonl").write_text('{"question": "Who met Ada?", "answers": ["Bob"]}\n')
    ran = lodestar("eval", str(tmp_path / "dev.jsonl"), code=11)
    assert "lodestar eval needs ir-measures, which is not installed; the extra `eval` brings it" in ran.stderr
    (tmp_path / "a.txt").write_text("Ada met Bob in Lima.\n")
    ran = lodestar("load", "text", str(tmp_path / "a.txt"), "--append", code=11)
    assert "load text needs spacy, which is not installed; the extra `text` brings it" in ran.stderr
    with (
        Engine(replace(settings, encoder="some/encoder")) as engine,
        pytest.raises(MissingExtraError, match="some/encoder"),
    ):
        engine.ask(QUESTION)
    found = lodestar("doctor").stdout
    assert all(extra in found.partition("not installed: ")[2] for extra in ("train", "lora", "text"))
    assert format_install_command("NAME") in found
