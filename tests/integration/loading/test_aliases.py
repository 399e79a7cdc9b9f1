"""Aliases are stored, and questions find entities by them."""

from __future__ import annotations

from collections.abc import Iterator

import neo4j
import pytest
from lodestar.engine.api import Engine
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection, Settings
from lodestar.loaders.formats import source_class

from tests.conftest import clear_database
from tests.made.graphs import load


@pytest.fixture(scope="module")
def aliased(
    gateway: Gateway,
    driver: neo4j.Driver,
    connection: Connection,
    settings: Settings,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Engine]:
    clear_database(driver, connection.database)
    folder = tmp_path_factory.mktemp("source")
    (folder / "kg.tsv").write_text("t1\tmusic.artist.origin\tt2\np1\tgeo.river.mouth\tp2\n")
    (folder / "names.tsv").write_text("t1\tThe_Beatles\tFab_Four\tQuarrymen\nt2\tLiverpool\np1\tDanube\tIster\n")
    load(source_class("tsv")(str(folder / "kg.tsv"), str(folder / "names.tsv"), columns=["1", "2", "3"]), gateway)
    with Engine(settings) as engine:
        yield engine


@pytest.mark.parametrize(
    ("text", "id_", "name"),
    [
        ("Where do the Fab Four come from?", "t1", "The_Beatles"),
        ("Where do the Quarrymen come from?", "t1", "The_Beatles"),
        ("Where does the Ister flow into?", "p1", "Danube"),
    ],
)
def test_an_alias_names_its_entity(aliased: Engine, text: str, id_: str, name: str) -> None:
    (best, *_) = aliased.link(text)
    assert (best.entity.id, best.entity.name) == (id_, name)
    assert best.mention in text


def test_gold_that_is_an_alias_is_right(aliased: Engine) -> None:
    from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, look_up_aliases

    gold = GoldQuestion(
        "1", "Which river?", (GoldAnswer(None, ("ister",)), GoldAnswer("t2"), GoldAnswer(None, ("Ob",)))
    )
    renamed = look_up_aliases(gold, ["p1", "t2"], aliased.gateway())
    assert [answer.names for answer in renamed.answers] == [("ister", "Danube"), (), ("Ob",)]
