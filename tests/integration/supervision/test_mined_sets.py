"""Question sets that a training mines first: kept beside it, of this graph as it is now, or refused."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import neo4j
import pytest
from lodestar.engine.api import Engine
from lodestar.engine.errors import DatabaseUnavailableError, StorageError
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, QuestionSet
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection, Settings
from lodestar.engine.supervision.mining import read_path_sets
from lodestar.engine.training import TrainingRequest, read_sets
from lodestar.models.kinds import load_kind
from lodestar.models.mined_files import MinedFile
from lodestar.models.training import TrainingFolder

from tests.conftest import clear_database
from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource, load

QUESTIONS = QuestionSet(
    "countries.jsonl",
    "lines",
    "ab" * 32,
    (GoldQuestion("peru", "What is the capital of Peru?", (GoldAnswer("m.lima"),), ("m.peru",)),),
)


class Asked:
    """Mines the questions into a folder; what was said is kept."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.settings = settings
        self.said: list[str] = []

    def __call__(self, *, settings: Settings | None = None, seed: int = 0) -> MinedFile:
        used = settings or self.settings
        request = TrainingRequest(["a"], [], self.folder, used, lambda _: QUESTIONS, seed, say=self.said.append)
        (found,), _ = read_path_sets(request, None, TrainingFolder(self.folder), max_hop=1)
        assert isinstance(found, MinedFile)
        return found


@pytest.fixture
def ask(tmp_path: Path, settings: Settings, engine: Engine) -> Asked:
    return Asked(tmp_path / "out", settings)


def test_what_is_mined_again_is_the_same_until_the_graph_changes(
    ask: Asked, gateway: Gateway, driver: neo4j.Driver, connection: Connection
) -> None:
    first = ask()
    assert asdict(ask()) == asdict(first)
    assert ask.said == []
    assert ask(seed=1).header.options["seed"] == 1
    clear_database(driver, connection.database)
    load(TripleSource([*COUNTRIES, ("m.peru", "capital", "m.santiago")], COUNTRY_NAMES), gateway)
    changed = ask()
    assert changed.sha256 != first.sha256
    assert asdict(ask()) == asdict(changed)


def test_without_the_graph_nothing_is_mined(ask: Asked, settings: Settings) -> None:
    with pytest.raises(DatabaseUnavailableError):
        ask(settings=replace(settings, uri="bolt://localhost:1"))


@pytest.mark.parametrize("place", ["/dev/null/out", "/proc/out"])
def test_a_folder_that_cannot_be_made_is_one_line(place: str, settings: Settings) -> None:
    request = TrainingRequest(["a"], [], Path(place), settings, lambda _: QUESTIONS)
    with pytest.raises(StorageError, match=f"{place}: cannot be written"):
        read_sets(load_kind("star"), None, request)
