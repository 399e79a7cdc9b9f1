"""Each command of the table in docs/loading.md loads a small file of its kind: it is read, and nothing is written."""

from __future__ import annotations

import bz2
import gzip
import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from lodestar.engine.cli.main import main
from pyarrow import parquet

from tests.places import ROOT

ITEM = {"type": "item", "id": "Q42", "labels": {}, "claims": {"P1": [{"rank": "normal", "id": "x", "mainsnak": {
    "snaktype": "value", "property": "P1", "datavalue": {"type": "wikibase-entityid", "value": {"id": "Q1"}}}}]}}  # fmt: skip
FILES: dict[str, bytes] = {
    "ontology.owl": b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
        xmlns:p="http://e.org/"><rdf:Description rdf:about="http://e.org/a"><p:p rdf:resource="http://e.org/b"/>
        </rdf:Description></rdf:RDF>""",
    "hp.obo": b"[Term]\nid: X:2\nname: flu\nis_a: X:1\n",
    "latest-all.json.bz2": bz2.compress(f"[\n{json.dumps(ITEM)}\n]\n".encode()),
    "kg.tsv.gz": gzip.compress(b"m.1\tcapital\tm.2\n"),
    "names.tsv": b"m.1\tPeru\nm.2\tLima\n",
    "kg.jsonl": b'{"head": "Peru", "relation": "capital", "tail": "Lima"}\n',
    "freebase.gz": gzip.compress(b"</m.1>\t</film.film.country>\t</m.2>\t.\n"),
    "kb.txt": b"Kismet|directed_by|Ann Ash\n",
    "rog.jsonl": b'{"id": "q", "graph": [["Peru", "capital", "Lima"]]}\n',
    "graph.json": b'{"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b"}]}',
    "network.graphml": b'<graphml><graph><node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>',
    "shop/products.csv": b"id,name,supplier\n1,Chai,7\n2,Tea,7\n",
    "shop/suppliers.csv": b"id,name\n7,Exotic\n8,Other\n",
}
ELSEWHERE = tuple(f"lodestar load {each}" for each in ("neo4j", "text", "geonames", "movies", "cypher"))
"""What needs a database or a package, and is run by its own tests."""


def table_commands() -> list[str]:
    page = (ROOT / "docs" / "loading.md").read_text(encoding="utf-8")
    rows = [line for line in page.split("\n\n")[1].splitlines() if line.startswith("|")]
    return [found for row in rows for found in re.findall(r"`(lodestar load [^`]+)`", row)]


@pytest.mark.parametrize("command", [each for each in table_commands() if not each.startswith(ELSEWHERE)])
def test_each_command_of_the_page_reads_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LODESTAR_HOME", str(tmp_path / "home"))
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    parquet.write_table(pa.table({"head": ["a"], "relation": ["r"], "tail": ["b"]}), tmp_path / "kg.parquet")
    arguments = command.replace("'", "").split()[1:]
    ran = CliRunner().invoke(main, [*arguments, "--dry-run"])
    assert ran.exception is None, (command, ran.exception, ran.output)
    assert ran.exit_code == 0
