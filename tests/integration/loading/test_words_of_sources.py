"""What sources say of relations, kinds and names: phrases, aliases and counts that questions find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lodestar.engine.api import Engine
from lodestar.engine.neo4j.catalogue import RelationInfo, RelationPhrase, count_entities_by_type, read_catalogue
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.plans.compile import compile_plan
from lodestar.engine.plans.plan import CountMembers, KindSet
from lodestar.engine.plans.schema import read_schema
from lodestar.engine.relations import make_words_by_relation
from lodestar.loaders.formats import source_class
from lodestar.loaders.loading import LoadOptions
from lodestar.loaders.loading import load as load_into_configured_database
from lodestar.loaders.source import Source

from tests.conftest import OpenOver
from tests.made.files import written

RDFS, SKOS = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2004/02/skos/core#"
FREEBASE = "http://rdf.freebase.com/ns/"


def lines(*triples: tuple[str, str, str]) -> str:
    return "".join(f"<{h}>\t<{r}>\t{t}\t.\n" for h, r, t in triples)


def rdf_with_base(folder: Path) -> Source:
    """Of the relation there are only names and a comment."""
    text = lines(
        ("http://x/a", "http://x/P36", "<http://x/b>"),
        ("http://x/P36", f"{SKOS}altLabel", '"seat of government"@en'),
        ("http://x/P36", f"{RDFS}label", '"Hauptstadt"@de'),
        ("http://x/P36", f"{RDFS}label", '"capital"@en'),
        ("http://x/P36", f"{RDFS}comment", '"the city from which it is governed"@en'),
    )
    return source_class("rdf")(written(folder, text, "kg.nt"), bases=("http://x/",), languages=("en", "de"))


def freebase(folder: Path) -> Source:
    relation = f"{FREEBASE}location.country.P36"
    text = lines(
        (f"{FREEBASE}m.01", relation, f"<{FREEBASE}m.02>"),
        (relation, f"{FREEBASE}type.object.name", '"capital"@en'),
        (relation, f"{FREEBASE}type.property.schema", f"<{FREEBASE}location.country>"),
        (relation, f"{FREEBASE}common.topic.alias", '"seat of government"@en'),
    )
    return source_class("freebase")(written(folder, text, "dump.nt"))


def load_relation(source: Source, gateway: Gateway, folder: Path, **options: str | bool) -> RelationInfo:
    load_into_configured_database(source, gateway, LoadOptions(staging=folder / "staging", **options))
    return next(r for r in gateway.run(read_catalogue()).relations if r.name.endswith("P36"))


@pytest.mark.parametrize(
    ("make", "texts"),
    [(rdf_with_base, ["capital", "Hauptstadt", "seat of government"]), (freebase, ["capital", "seat of government"])],
)
def test_a_source_says_words_of_a_relation(
    empty_graph: None, gateway: Gateway, tmp_path: Path, make: Callable[[Path], Source], texts: list[str]
) -> None:
    relation = load_relation(make(tmp_path), gateway, tmp_path)
    assert list(relation.phrases) == [RelationPhrase(text, "source") for text in texts]
    # a description in Freebase's dump is noise, as of all its topics
    assert relation.description == (None if make is freebase else "the city from which it is governed")
    assert relation.shown_label == "capital"


@pytest.fixture(scope="module")
def aliased(open_over: OpenOver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("source")
    kg = written(folder, "t1\tmusic.artist.origin\tt2\np1\tgeo.river.mouth\tp2\n")
    names = written(folder, "t1\tThe_Beatles\tFab_Four\tQuarrymen\nt2\tLiverpool\np1\tDanube\tIster\n", "names.tsv")
    with open_over(source_class("tsv")(kg, names, columns=["1", "2", "3"])) as engine:
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
    from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, add_graph_names_to_gold_answers

    gold = GoldQuestion(
        "1", "Which river?", (GoldAnswer(None, ("ister",)), GoldAnswer("t2"), GoldAnswer(None, ("Ob",)))
    )
    renamed = add_graph_names_to_gold_answers(gold, ["p1", "t2"], aliased.gateway())
    assert [answer.names for answer in renamed.answers] == [("ister", "Danube"), (), ("Ob",)]


FILMS = """
@prefix : <http://e.org/f#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Film rdfs:label "Film" . :SciFi rdfs:subClassOf :Film . :Space rdfs:subClassOf :SciFi .
:Alien a :Space . :Moon a :SciFi, :Space . :Heat a :Thriller . :Thriller rdfs:subClassOf :Film . :Scott a :Person .
"""
DISEASES = """
[Term]
id: X:1
name: disease
[Term]
id: X:2
name: infection
is_a: X:1
[Term]
id: X:3
name: flu
is_a: X:2
"""


@pytest.mark.parametrize(
    ("name", "text", "kinds"),
    [
        ("films.ttl", FILMS, {"Film": 3, "Sci Fi": 2, "Space": 2, "Thriller": 1, "Person": 1}),
        ("diseases.obo", DISEASES, {"disease": 2, "infection": 1}),
    ],
)
def test_a_thing_counts_to_what_its_kind_is_a_subclass_of(
    gateway: Gateway, tmp_path: Path, name: str, text: str, kinds: dict[str, int]
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    source = source_class(name.rpartition(".")[2].replace("ttl", "rdf"))(str(path))
    report = load_into_configured_database(source, gateway, LoadOptions(staging=tmp_path / "staging", mode="replace"))
    assert report.num_kinds == len(kinds)
    assert count_entities_by_type(gateway) == kinds
    catalogue = gateway.run(read_catalogue())
    schema = read_schema(gateway, catalogue, make_words_by_relation(catalogue.relations))
    for kind, num in kinds.items():
        assert gateway.run(compile_plan(CountMembers(KindSet(kind.lower())), schema)).number == num
