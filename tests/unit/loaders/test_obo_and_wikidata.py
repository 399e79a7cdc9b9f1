"""OBO's terms and Wikidata's items, as their owners write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lodestar.engine.writing import RelationMetadata
from lodestar.loaders.formats.detecting import detect_format
from lodestar.loaders.formats.obo import OboSource
from lodestar.loaders.formats.wikidata import WikidataSource
from lodestar.loaders.source import Subset
from lodestar.loaders.stage import Stage

from tests.references.read_source import read_source

OBO = r"""format-version: 1.2
ontology: x

[Term]
id: X:2
name: flu
def: "A \"cold\", worse." [PMID:1]
synonym: "influenza" EXACT [WHO:1]
is_a: X:1 {source="WHO"} ! disease
relationship: caused_by X:3 ! virus
property_value: onset "1918" xsd:gYear
intersection_of: X:1
intersection_of: caused_by X:3
xref: MESH:D1 "Influenza"

[Term]
id: X:9
name: old
is_obsolete: true

[Typedef]
id: caused_by
name: caused by
inverse_of: causes ! causes
"""


def test_obo(tmp_path: Path) -> None:
    path = tmp_path / "x.obo"
    path.write_text(OBO)
    source = OboSource(str(path))
    read = read_source(source)
    assert detect_format(str(path)) == "obo"
    assert read.names == {"X:2": ["flu", "influenza"], "caused_by": ["caused by"]}
    assert sorted(set(read.triples)) == [
        ("X:2", "caused_by", "X:3"),
        ("X:2", "definition", 'A "cold", worse.'),
        ("X:2", "is_a", "X:1"),
        ("X:2", "onset", "1918"),
        ("X:2", "xref", "MESH:D1"),
    ]
    assert source.relation_facts() == {"caused_by": RelationMetadata(inverse="causes")}
    assert read.counts["obsolete term"] == 3


def claim(property_: str, type_: str, value: Any, rank: str = "normal", **qualifiers: Any) -> dict[str, Any]:
    def snak(name: str, of_type: str, of_value: Any) -> dict[str, Any]:
        return {
            "snaktype": "value",
            "property": name,
            "datatype": "x",
            "datavalue": {"type": of_type, "value": of_value},
        }

    qualified = {name: [snak(name, *of)] for name, of in qualifiers.items()}
    return {"rank": rank, "id": f"Q1${property_}", "mainsnak": snak(property_, type_, value), "qualifiers": qualified}


def time(text: str, precision: int) -> dict[str, Any]:
    return {"time": text, "precision": precision}


def test_wikidata(tmp_path: Path) -> None:
    item = {
        "type": "item",
        "id": "Q1",
        "labels": {"de": {"language": "de", "value": "Erste"}, "en-gb": {"language": "en-gb", "value": "First"}},
        "aliases": {"en": [{"language": "en", "value": "One"}], "de": [{"language": "de", "value": "Eins"}]},
        "claims": {
            "P1": [claim("P1", "wikibase-entityid", {"id": "Q2"}), claim("P1", "wikibase-entityid", {"id": "Q3"}, "deprecated")],
            "P2": [claim("P2", "string", "old"), claim("P2", "string", "new", "preferred")],
            "P3": [claim("P3", "time", time("-0044-03-15T00:00:00Z", 11)), claim("P3", "time", time("+1961-05-00T00:00:00Z", 10))],
            "P4": [claim("P4", "quantity", {"amount": "+5.5", "unit": "http://www.wikidata.org/entity/Q828224"})],
            "P5": [claim("P5", "wikibase-entityid", {"entity-type": "item", "numeric-id": 4}, P585=("time", time("+1999-00-00T00:00:00Z", 9)))],
            "P6": [{"rank": "normal", "id": "x", "mainsnak": {"snaktype": "novalue", "property": "P6"}}],
        },
    }  # fmt: skip
    path = tmp_path / "dump.json"
    path.write_text(f"[\n{json.dumps(item)},\n{{broken\n]\n")
    read = read_source(WikidataSource(str(path)))
    assert detect_format(str(path)) == "wikidata"
    assert read.names == {"Q1": ["One", "First"]}
    assert sorted(read.triples) == [
        ("Q1", "P1", "Q2"),
        ("Q1", "P2", "new"),
        ("Q1", "P3", "-0043-03-15"),
        ("Q1", "P3", "1961-05"),
        ("Q1", "P4", "5.5"),
        ("Q1", "P5", "Q1$P5"),
        ("Q1$P5", "P5", "Q4"),
        ("Q1$P5", "P585", "1999"),
    ]
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert {datatype for _, datatype, _ in read.literals} == {
        None, f"{xsd}date", f"{xsd}gYearMonth", f"{xsd}gYear", "http://www.wikidata.org/entity/Q828224",
    }  # fmt: skip
    assert read.counts["no value"] == 1
    assert [line for line, _ in read.rejects] == [3]


def test_a_property_is_asked_for_by_its_label_which_is_no_name_that_is_ignored(tmp_path: Path) -> None:
    born = {"type": "property", "id": "P19", "labels": {"en": {"language": "en", "value": "place of birth"}}}
    items = [
        {"type": "item", "id": id_, "labels": {"en": {"language": "en", "value": name}}, "claims": claims}
        for id_, name, claims in (
            ("Q1", "Ann Ash", {"P19": [claim("P19", "wikibase-entityid", {"id": "Q2"})]}),
            ("Q2", "Lima", {}),
        )
    ]
    path = tmp_path / "slice.json"
    path.write_text("\n".join(map(json.dumps, [born, *items])))
    with Stage(tmp_path / "stage") as stage:
        counts = stage.fill(WikidataSource(str(path)), subset=Subset(), max_rejects=0, rejects_file=None)
    assert counts.num_names_ignored == 0
    assert [list(example) for example in counts.examples] == [["place of birth", "Ann Ash"]]
