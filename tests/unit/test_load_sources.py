"""Reading sources: the formats, the names, and every fault with its place."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from lodestar.engine.cli.load import command
from lodestar.engine.errors import InputError
from lodestar.loaders.checked import read_checked
from lodestar.loaders.formats import FORMATS, source_class
from lodestar.loaders.source import (
    MAX_ID_BYTES,
    domain_of,
    fault_of_id,
    fault_of_relation,
    label_of,
    search_name,
)
from lodestar.loaders.tsv import TsvSource

from tests.graphs import TripleSource

KG = "m.1\tp.q.capital\tm.2\nm.1\tp.q.capital\tm.2\nm.2\tinside\tm.1\n"
NAMES = "m.1\tPeru\nm.2\tLima\tCity_of_Kings\nm.9\tNobody\nm.2\tLima\nm.1\tRepública del Perú\nm.1\t\n"


def written(folder: Path, content: bytes | str, name: str = "kg.tsv") -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def test_every_format_has_its_verb() -> None:
    assert isinstance(command, click.Group)
    assert set(command.commands) == set(FORMATS)
    assert all(callable(source_class(name)) for name in FORMATS)
    assert all(getattr(source_class(name), "kind", None) == name for name in FORMATS)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["unix", "dos"])
def test_tsv_is_read_with_names(tmp_path: Path, pack: Callable[[bytes], bytes], line_end: str) -> None:
    kg = written(tmp_path, pack(KG.replace("\n", line_end).encode()))
    names = written(tmp_path, pack(b"\xef\xbb\xbf" + NAMES.replace("\n", line_end).encode()), "names.tsv")
    graph = read_checked(TsvSource(kg, names))
    assert graph.ids == ["m.1", "m.2"]
    assert graph.relations == ["inside", "p.q.capital"]
    assert list(graph.pairs("p.q.capital")) == [("m.1", "m.2")]
    assert (graph.num_triples, graph.num_duplicates, graph.num_names_ignored) == (2, 1, 1)
    assert list(graph.entity_rows()) == [
        {
            "id": "m.1",
            "name": "Peru",
            "aliases": ["República del Perú"],
            "search_names": ["Peru", "República del Perú"],
        },
        {
            "id": "m.2",
            "name": "Lima",
            "aliases": ["City_of_Kings"],
            "search_names": ["Lima", "City of Kings"],
        },
    ]


def test_an_unnamed_entity_has_no_name(tmp_path: Path) -> None:
    names = tmp_path / "names.tsv"
    names.write_text("b\tB\n")
    (row, _) = read_checked(TsvSource(written(tmp_path, "a\tr\tb\n"), str(names))).entity_rows()
    assert row == {"id": "a", "name": None, "aliases": [], "search_names": []}


def test_without_a_names_file_ids_are_names(tmp_path: Path) -> None:
    rows = read_checked(TsvSource(written(tmp_path, "a_b\tr\tc\na_b\tr\td\n"))).entity_rows()
    assert [(row["name"], row["search_names"]) for row in rows] == [("a_b", ["a b"]), ("c", ["c"]), ("d", ["d"])]


@pytest.mark.parametrize(
    ("content", "place", "fault"),
    [
        (b"a\tr\tb\na r b\n", ":2", "found 1 column: 'a r b'"),
        (b"a\tr\tb\tc\n", ":1", "found 4 columns"),
        (b"a\tr\tb\n\n" + b"x" * 500, ":3", "…'"),
        (b"", "", "the file is empty"),
        (b"\n\n", "", "found only empty lines"),
        (bytes(range(128, 256)), ":1", "expected UTF-8, found byte 0x80"),
        (b"a\tr\tb\nPNG\0\0\n", ":2", "found a zero byte"),
        (b"a\tr\tb\nLim\xe1\tr\tb\n", ":2", "expected UTF-8, found byte 0xe1"),
        ("a\tr\tb\n".encode("utf-16"), "", "found UTF-16"),
        (gzip.compress(KG.encode() * 500)[:60], "", "the gzip file is cut off"),
        (gzip.compress(KG.encode())[:20] + b"\0" * 20, "", "the gzip file is"),
        (b"\x1f\x8bnot gzip", "", "the gzip file is damaged"),
        (b"a\t\tb\n", ":1", "the relation is empty"),
        (b"\tr\tb\n", ":1", "an id is empty"),
        (b"a\tr\t\n", ":1", "an id is empty"),
        (b"a\tr\tb\na\tx\\u0060]->() DETACH DELETE h//\tb\n", ":2", "\\u in it"),
        (b"a\tr\t" + b"x" * (MAX_ID_BYTES + 1), ":1", "longer than 8,000 bytes"),
        (b"a\tr\t" + b"x" * 1_100_000, ":1", "the line is longer than"),
    ],
)
def test_a_fault_is_one_line_with_its_place(tmp_path: Path, content: bytes, place: str, fault: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read_checked(TsvSource(path))
    message = str(caught.value)
    assert message.startswith(f"{path}{place}")
    assert fault in message
    assert "\n" not in message
    assert len(message) < len(path) + 250


def test_a_fault_in_the_names_names_that_file(tmp_path: Path) -> None:
    names = written(tmp_path, "m.1\tPeru\nm.2\n", "names.tsv")
    with pytest.raises(InputError, match=r"names\.tsv:2: expected an id and a name"):
        read_checked(TsvSource(written(tmp_path, KG), names))


def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        TsvSource(str(tmp_path / "missing.tsv"))
    with pytest.raises(InputError, match="found a folder"):
        TsvSource(str(tmp_path))
    with pytest.raises(InputError, match="asked to be both"):
        TsvSource("-", "-")


def test_stdin_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(KG.encode()))))
    source = TsvSource("-")
    assert source.digest() == source.digest()
    assert read_checked(source).num_triples == 2
    assert read_checked(source).num_triples == 2
    assert source.place == "stdin:3"


def test_closed_stdin_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input closed"):
        TsvSource("-")


def test_a_pipe_is_read_more_than_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(KG.encode(),))
    writer.start()
    source = TsvSource(str(pipe))
    writer.join()
    assert source.digest() == source.digest()
    assert read_checked(source).num_triples == 2


def test_the_digest_is_of_both_files(tmp_path: Path) -> None:
    kg, names = written(tmp_path, KG), written(tmp_path, NAMES, "names.tsv")
    other = written(tmp_path, NAMES + "m.2\tCiudad\n", "other.tsv")
    digests = {TsvSource(*paths).digest() for paths in [(kg,), (kg, names), (kg, other), (names,)]}
    assert len(digests) == 4
    assert TsvSource(kg, names).digest() == TsvSource(kg, names).digest()


def test_a_fault_is_found_whatever_the_format() -> None:
    with pytest.raises(InputError, match="test triples: the relation has"):
        read_checked(TripleSource([("a", "x\\u0041", "b")]))
    with pytest.raises(InputError, match="test triples: an id has a zero byte"):
        read_checked(TripleSource([("a\0", "r", "b")]))


def test_too_many_relations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lodestar.loaders.checked.MAX_RELATIONS", 2)
    assert read_checked(TripleSource([("a", "r1", "b"), ("a", "r2", "b"), ("b", "r1", "a")])).num_triples == 3
    with pytest.raises(InputError, match="more than 2 relations"):
        read_checked(TripleSource([("a", f"r{i}", "b") for i in range(3)]))


@pytest.mark.parametrize(
    ("relation", "label", "domain"),
    [
        ("location.country.capital", "capital", "location.country"),
        ("people.person.place_of_birth", "place of birth", "people.person"),
        ("a.b.adjoin_s|c.d.adjoins", "adjoin s – adjoins", "a.b"),
        ("base.x.y.z", "z", "base.x.y"),
        ("starred_actors", "starred actors", None),
        ("wasBornIn", "was born in", None),
        ("/people/person/nationality", "nationality", None),
        ("http://schema.org/birthPlace", "birth place", None),
        ("a.b", "b", None),
        ("`]->() //", "`]->() //", None),
        ("首都", "首都", None),
    ],
)
def test_labels_and_domains(relation: str, label: str, domain: str | None) -> None:
    assert label_of(relation) == label
    assert domain_of(relation) == domain


def test_search_names_are_normalised() -> None:
    assert search_name(" El_Paso ") == "El Paso"
    assert search_name("Zu\u0308rich") == "Zürich"


def test_faults_of_ids_and_relations() -> None:
    assert fault_of_id("m.1") is None
    assert fault_of_id("é" * (MAX_ID_BYTES // 2)) is None
    assert fault_of_id("é" * (MAX_ID_BYTES // 2 + 1)) is not None
    assert fault_of_relation("`x` $p {{N}} '\" //") is None
    assert fault_of_relation("x" * (MAX_ID_BYTES + 1)) is not None
