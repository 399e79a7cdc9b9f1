"""What each source says of relations is kept as their phrases and descriptions: a test per source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lodestar.engine.neo4j.catalogue import Phrase, RelationInfo, read_catalogue
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.loaders.formats import source_class
from lodestar.loaders.loading import LoadOptions
from lodestar.loaders.loading import load as load_source
from lodestar.loaders.source import Source

RDFS, SKOS = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2004/02/skos/core#"
FREEBASE = "http://rdf.freebase.com/ns/"


def write_file(folder: Path, name: str, text: str) -> str:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return str(file)


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
    return source_class("rdf")(write_file(folder, "kg.nt", text), bases=("http://x/",), languages=("en", "de"))


def freebase(folder: Path) -> Source:
    relation = f"{FREEBASE}location.country.P36"
    text = lines(
        (f"{FREEBASE}m.01", relation, f"<{FREEBASE}m.02>"),
        (relation, f"{FREEBASE}type.object.name", '"capital"@en'),
        (relation, f"{FREEBASE}type.property.schema", f"<{FREEBASE}location.country>"),
        (relation, f"{FREEBASE}common.topic.alias", '"seat of government"@en'),
    )
    return source_class("freebase")(write_file(folder, "dump.nt", text))


def load(source: Source, gateway: Gateway, folder: Path, **options: str | bool) -> RelationInfo:
    load_source(source, gateway, LoadOptions(staging=folder / "staging", **options))
    return next(r for r in gateway.run(read_catalogue()).relations if r.name.endswith("P36"))


@pytest.mark.parametrize(
    ("make", "texts"),
    [
        (rdf_with_base, ["capital", "Hauptstadt", "seat of government"]),
        (freebase, ["capital", "seat of government"]),
    ],
)
def test_a_source_says_words_of_a_relation(
    empty_graph: None, gateway: Gateway, tmp_path: Path, make: Callable[[Path], Source], texts: list[str]
) -> None:
    relation = load(make(tmp_path), gateway, tmp_path)
    assert list(relation.phrases) == [Phrase(text, "source") for text in texts]
    # a description in Freebase's dump is noise, as of all its topics
    assert relation.description == (None if make is freebase else "the city from which it is governed")
    assert relation.shown_label == "capital"
