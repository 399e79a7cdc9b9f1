"""Laws of exporting: what is written is read back by the sources of `lodestar load`, whatever the strings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from lodestar.engine.errors import InputError
from lodestar.engine.writing import Name
from lodestar.engine.writing.changing import fault_of_id, fault_of_relation
from lodestar.loaders.export import NTriplesWriter, TsvWriter, open_atomic_outputs
from lodestar.loaders.formats import source_class
from lodestar.loaders.formats.freebase import FREEBASE
from lodestar.loaders.parsers import prepare_parser
from lodestar.loaders.source import LineFile, Source

from tests.conftest import examples

XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"


class StatedTail(NamedTuple):
    """The tail of a triple, as it is exported."""

    relation: str
    tail: str
    is_literal: bool = False
    datatype: str | None = None
    language: str | None = None
    loads: tuple[int, ...] = ()


HOSTILE = "\t\n\r \"\\<>{}|^`_:#.@'\x01\x7f\x85\u2028\ufeff\U0001f600é"
characters = st.one_of(st.sampled_from(HOSTILE), st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
texts = st.text(characters, max_size=12)
ids = st.one_of(
    st.text(characters, min_size=1, max_size=12),
    st.builds("{}{}".format, st.sampled_from([FREEBASE, "http://e.x/", "urn:", "_:", "a:", "/"]), texts),
)
datatypes = st.one_of(
    st.none(), st.sampled_from(["http://www.w3.org/2001/XMLSchema#date", "https://e.x/^^http://e.x/"]), ids
)
languages = st.sampled_from(["en", "zh-Hans", "es-419"])

stored_ids = ids.filter(lambda id_: fault_of_id(id_) is None)
relations = ids.filter(lambda name: fault_of_relation(name) is None)
entity_tails = st.tuples(relations, stored_ids).map(lambda pair: StatedTail(*pair))
typed_literals = st.builds(
    lambda relation, value, datatype: StatedTail(relation, value, True, datatype or None), relations, texts, datatypes
)
tagged_literals = st.builds(
    lambda relation, value, language: StatedTail(relation, value, True, None, language), relations, texts, languages
)
tails = st.one_of(entity_tails, typed_literals, tagged_literals)
graphs = st.lists(st.tuples(stored_ids, tails), min_size=1, max_size=12, unique=True)
names = st.dictionaries(
    stored_ids,
    st.lists(
        st.builds(Name, texts.filter(str.strip), st.one_of(st.just(""), languages.map(str.lower)), st.booleans()),
        min_size=1,
        max_size=3,
        unique=True,
    ),
    max_size=6,
)
lax = settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])


def heads(graph: Sequence[tuple[str, StatedTail]]) -> Iterator[tuple[str, list[StatedTail]]]:
    ordered = sorted(graph, key=lambda triple: (triple[0], triple[1].relation, triple[1].is_literal, triple[1].tail))
    for head, triples in groupby(ordered, key=lambda triple: triple[0]):
        yield head, [tail for _, tail in triples]


@cache
def database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def rows_of(found: Source) -> list[dict[str, Any]]:
    connection = database()
    rows: list[dict[str, Any]] = []
    rejects: list[str] = []
    for part in found.parts():
        if not isinstance(part, LineFile):
            rows += [row for batch in part.batches for row in batch.to_pylist()]
            continue
        batches = list(part.file.batches(lambda _, reason, text: rejects.append(f"{reason}: {text}")))
        text = prepare_parser(connection, part.parser, part.parameters)
        connection.register("lines", pa.Table.from_batches(batches))
        rows += connection.sql(text).to_arrow_table().to_pylist()
    assert not rejects
    return rows


def triples_of(rows: Iterable[dict[str, Any]]) -> set[tuple[str, StatedTail]]:
    return {
        (row["head"], StatedTail(row["relation"], row["tail"], row["is_literal"], row["datatype"], row["language"]))
        for row in rows
        if row["category"] == "triple"
    }


def is_plain_string(graph: Sequence[tuple[str, StatedTail]]) -> bool:
    """Return whether a literal says of itself that it is a plain string, which a plain one goes without saying."""
    return any(tail.datatype == XSD_STRING for _, tail in graph)


@lax
@given(graphs)
def test_tsv_is_read_back(tmp_path: Path, graph: list[tuple[str, StatedTail]]) -> None:
    assume(not is_plain_string(graph))
    path = tmp_path / "kg.tsv"
    try:
        with open_atomic_outputs(str(path)) as (output,):
            writer = TsvWriter(output.write)
            for head, tails in heads(graph):
                writer.add_triples(head, tails)
    except InputError:
        assume(False)
    rows = rows_of(source_class("tsv")(path=str(path), has_header=False))
    assert triples_of(rows) == set(graph)
    assert {row["category"] for row in rows} == {"triple"}


@lax
@given(graph=graphs, named=names)
@example(graph=[("Batman: The Movie", StatedTail("set: in", "Gotham City"))], named={})
def test_ntriples_are_read_back(
    tmp_path: Path, graph: list[tuple[str, StatedTail]], named: dict[str, list[Name]]
) -> None:
    assume(not is_plain_string(graph))
    path = tmp_path / "kg.nt.gz"
    try:
        with open_atomic_outputs(str(path)) as (output,):
            writer = NTriplesWriter(output.write)
            for id_, several in named.items():
                writer.add_names(id_, several)
            for head, tails in heads(graph):
                writer.add_triples(head, tails)
    except InputError:
        assume(False)
    bases = [FREEBASE] if writer.is_base_used else []
    rows = rows_of(source_class("rdf")(path=str(path), bases=bases, languages=["*"], shared_blank_nodes=True))
    assert {(head, _in_lower(tail)) for head, tail in triples_of(rows)} == {(h, _in_lower(t)) for h, t in graph}
    assert {row["category"] for row in rows} <= {"triple", "name"}
    found = {(row["head"], row["tail"], row["language"] or "", row["tag"]) for row in rows if row["category"] == "name"}
    assert found == {
        (id_, name.text, name.language.lower(), "alias" if name.is_alias else "name")
        for id_, several in named.items()
        if [(name.text, name.language, name.is_alias) for name in several] != [(id_, "", False)]
        for name in several
    }


def _in_lower(tail: StatedTail) -> StatedTail:
    """Return a tail with its language in small letters, as RDF 1.1 compares them."""
    return tail._replace(language=tail.language and tail.language.lower())


@lax
@given(names)
def test_names_in_tsv_are_read_back(tmp_path: Path, named: dict[str, list[Name]]) -> None:
    path, kg = tmp_path / "names.tsv", tmp_path / "kg.tsv"
    kg.write_text("a\tr\tb\n")
    assume(named)
    try:
        with open_atomic_outputs(str(path)) as (output,):
            writer = TsvWriter(output.write)
            for id_, several in sorted(named.items()):
                writer.add_names(id_, several)
    except InputError:
        assume(False)
    rows = rows_of(source_class("tsv")(path=str(kg), names_path=str(path), has_header=False))
    found = [(row["head"], row["tail"]) for row in rows if row["category"] == "name"]
    assert sorted(found) == sorted({(id_, name.text) for id_, several in named.items() for name in several})
