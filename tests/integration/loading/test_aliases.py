"""Aliases of every source that has them are stored, and questions find entities by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import neo4j
import pyarrow as pa
import pytest
from lodestar.engine.api import Engine
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection, Settings
from lodestar.loaders.formats.by_name import source_class
from lodestar.loaders.source import Source
from pyarrow import parquet

from tests.conftest import clear_database
from tests.made.graphs import load

FREEBASE = "<http://rdf.freebase.com/ns/{}>"
LABEL, ALT_LABEL = "http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#altLabel"


def freebase(folder: Path) -> Source:
    rows = [
        ("m.f1", "film.film.country", FREEBASE.format("m.f2")),
        ("m.f1", "type.object.name", '"Spirited Away"@en'),
        ("m.f1", "common.topic.alias", '"Miyazaki Bathhouse"@en'),
        ("m.f1", "common.topic.alias", '"Chihiros Reise"@de'),
        ("m.f2", "type.object.name", '"Japan"@en'),
    ]
    text = "".join(f"{FREEBASE.format(h)}\t{FREEBASE.format(r)}\t{tail}\t.\n" for h, r, tail in rows)
    return source_class("freebase")(written(folder / "dump.nt", text))


def ntriples(folder: Path) -> Source:
    text = (
        "<http://x/n1> <http://x/wrote> <http://x/n2> .\n"
        f'<http://x/n1> <{LABEL}> "Samuel Clemens"@en .\n'
        f'<http://x/n1> <{ALT_LABEL}> "Mark Twain"@en .\n'
        f'<http://x/n2> <{LABEL}> "Huckleberry Finn"@en .\n'
    )
    return source_class("rdf")(written(folder / "kg.nt", text))


def further_columns(folder: Path) -> Source:
    names = written(folder / "names.tsv", "t1\tThe_Beatles\tFab_Four\tQuarrymen\nt2\tLiverpool\n")
    return source_class("tsv")(written(folder / "kg.tsv", "t1\tmusic.artist.origin\tt2\n"), names)


def graphml(folder: Path) -> Source:
    text = """<graphml><key id="d0" for="node" attr.name="label"/><key id="d1" for="node" attr.name="altLabel"/>
    <graph><node id="g1"><data key="d0">Vincent Damon Furnier</data><data key="d1">Alice Cooper | Shock Rocker</data></node>
    <node id="g2"><data key="d0">Detroit</data></node>
    <edge source="g1" target="g2"><data key="relation">people.person.birthplace</data></edge></graph></graphml>"""
    return source_class("graphml")(written(folder / "kg.graphml", text))


def of_parquet(folder: Path) -> Source:
    triples = {"head": ["p1"], "relation": ["geo.river.mouth"], "tail": ["p2"]}
    names = {"id": ["p1", "p1", "p2"], "name": ["Danube", "Ister", "Black Sea"], "is_alias": [False, True, False]}
    parquet.write_table(pa.table(triples), folder / "kg.parquet")
    parquet.write_table(pa.table(names), folder / "names.parquet")
    return source_class("parquet")(str(folder / "kg.parquet"), str(folder / "names.parquet"))


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


SOURCES: tuple[Callable[[Path], Source], ...] = (freebase, ntriples, further_columns, graphml, of_parquet)


@pytest.fixture(scope="module")
def aliased(
    gateway: Gateway,
    driver: neo4j.Driver,
    connection: Connection,
    settings: Settings,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Engine]:
    clear_database(driver, connection.database)
    for number, source in enumerate(SOURCES):
        load(source(tmp_path_factory.mktemp("source")), gateway, mode="append" if number else "replace")
    with Engine(settings) as engine:
        yield engine


@pytest.mark.parametrize(
    ("text", "id_", "name"),
    [
        ("Who directed Miyazaki Bathhouse?", "m.f1", "Spirited Away"),
        ("Which books did Mark Twain write?", "http://x/n1", "Samuel Clemens"),
        ("Where do the Fab Four come from?", "t1", "The_Beatles"),
        ("Where do the Quarrymen come from?", "t1", "The_Beatles"),
        ("Where was Alice Cooper born?", "g1", "Vincent Damon Furnier"),
        ("Where was the Shock Rocker born?", "g1", "Vincent Damon Furnier"),
        ("Where does the Ister flow into?", "p1", "Danube"),
    ],
)
def test_an_alias_names_its_entity(aliased: Engine, text: str, id_: str, name: str) -> None:
    (best, *_) = aliased.link(text)
    assert (best.entity.id, best.entity.name) == (id_, name)
    assert best.mention in text
