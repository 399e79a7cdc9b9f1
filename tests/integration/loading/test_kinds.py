"""Kinds have their names and counts: of a kind are the things of its subclasses, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.neo4j.catalogue import read_catalogue, read_kinds
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.plans.compile import compile_plan
from lodestar.engine.plans.plan import Count, Kind
from lodestar.engine.plans.schema import read_schema
from lodestar.engine.relations import words_of_relations
from lodestar.loaders.formats import source_class
from lodestar.loaders.loading import LoadOptions, load

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
    report = load(source, gateway, LoadOptions(staging=tmp_path / "staging", mode="replace"))
    assert report.num_kinds == len(kinds)
    assert read_kinds(gateway) == kinds
    catalogue = gateway.run(read_catalogue())
    schema = read_schema(gateway, catalogue, words_of_relations(catalogue.relations))
    for kind, num in kinds.items():
        assert gateway.run(compile_plan(Count(Kind(kind.lower())), schema)).number == num
