"""Right answers as question sets write them, literals and names, over a real graph: asked, mined and diagnosed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lodestar.engine.api import Engine
from lodestar.engine.evaluation.report import make_report
from lodestar.engine.evaluation.runs import RunOptions, ask_remaining_questions
from lodestar.engine.recipes import read_recipe
from lodestar.engine.settings import Settings
from lodestar.engine.supervision import MiningOptions
from lodestar.engine.supervision.mining import mine_question_set
from lodestar.loaders.formats.rdf import RdfSource
from lodestar.loaders.question_sets import read_questions

from tests.conftest import OpenOver
from tests.made.files import written

XSD = "http://www.w3.org/2001/XMLSchema#"
GRAPH = f"""\
<http://x/peru> <http://x/country.founded> "1821-07-28"^^<{XSD}date> .
<http://x/peru> <http://x/country.motto> "Firme y \\"feliz\\""@es .
<http://x/peru> <http://x/country.population> "34.5"^^<{XSD}decimal> .
<http://x/peru> <http://x/country.capital> <http://x/lima> .
<http://x/peru> <http://x/country.currency> <http://x/sol> .
<http://x/peru> <http://www.w3.org/2000/01/rdf-schema#label> "Peru"@en .
<http://x/lima> <http://www.w3.org/2000/01/rdf-schema#label> "Lima"@en .
<http://x/sol> <http://www.w3.org/2000/01/rdf-schema#label> "Peruvian Sol"@en .
"""

LITERALS = {
    "term": (f'"1821-07-28"^^<{XSD}date>', '"Firme y \\"feliz\\""@es', f'"34.5"^^<{XSD}decimal>'),
    "tsv": (f"1821-07-28^^{XSD}date", '"Firme y \\"feliz\\""@es', f"34.5^^{XSD}decimal"),
    "value": ("1821-07-28", 'Firme y "feliz"', "34.5"),
}
ASKED = ("When was Peru founded?", "What is the motto of Peru?", "What is the population of Peru?")


@pytest.fixture(scope="module")
def graph(open_over: OpenOver, settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with open_over(RdfSource(written(tmp_path_factory.mktemp("graph"), GRAPH, "kg.nt"), bases=["http://x/"])):
        yield settings


def question_file(folder: Path, *lines: dict[str, Any]) -> str:
    return written(folder, "".join(json.dumps(line) + "\n" for line in lines), "asked.jsonl")


def literal_questions(folder: Path) -> str:
    """Every question with its answer in every spelling."""
    return question_file(
        folder,
        *(
            {"id": f"{spelling} {number}", "question": text, "topic_entities": ["peru"], "answers": [answer]}
            for spelling, answers in LITERALS.items()
            for number, (text, answer) in enumerate(zip(ASKED, answers, strict=True))
        ),
    )


def evaluated(path: str, recipe: str, settings: Settings, folder: Path, **options: Any) -> dict[str, Any]:
    return make_report(
        ask_remaining_questions(read_questions(path), read_recipe(recipe), settings, RunOptions(folder, **options))
    )


def test_what_leads_to_literals_is_mined_however_they_are_written(graph: Settings, tmp_path: Path) -> None:
    with Engine(graph) as engine:
        mined = mine_question_set(read_questions(literal_questions(tmp_path)), engine, MiningOptions(max_hop=1))
    counts = mined.header.counts
    assert counts["questions"] == counts["positive paths"] == 9
    assert not any(number for name, number in counts.items() if name.startswith("left out"))
    positive = [path.hops for question in mined.questions for path in question.paths if path.positive]
    assert positive == [("country.founded",), ("country.motto",), ("country.population",)] * len(LITERALS)


@pytest.mark.parametrize("field", ["answers", "names"])
def test_answers_that_are_names_are_matched_by_name(
    graph: Settings, tmp_path: Path, field: str, caplog: pytest.LogCaptureFixture
) -> None:
    def answers(name: str) -> list[Any]:
        return [name] if field == "answers" else [{"names": [name]}]

    path = question_file(
        tmp_path,
        {"question": "What is the capital of Peru?", "topic_entities": ["peru"], "answers": answers("Lima")},
        {"question": "Which currency is used in Peru?", "topic_entities": ["peru"], "answers": answers("peruvian_sol")},
    )
    for diagnose in (True, False):
        found = evaluated(path, "similarity", graph, tmp_path / f"run-{diagnose}", diagnose=diagnose)
        assert found["figures"]["path/answer_recall@10"]["mean"] == 1.0
    assert ("look like names" in caplog.text) == (field == "answers")
    with Engine(graph) as engine:
        counts = mine_question_set(read_questions(path), engine, MiningOptions(max_hop=1)).header.counts
    # A training takes names as they stand: one of them is not so in the graph, and is counted.
    assert (counts["questions"], counts["left out: no answer in the graph"]) == (1, 1)
