"""Laws of writing terms: what is written can be read back, by inverses written here from the formats' definitions."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st
from lodestar.engine.errors import InputError
from lodestar.loaders.export import (
    XSD_STRING,
    IriMapper,
    check_tsv_id,
    check_tsv_text,
    is_absolute_iri,
    ntriples_literal,
    tsv_literal,
)
from lodestar.loaders.formats.freebase import FREEBASE

HOSTILE = "\t\n\r \"\\<>{}|^`_:#.@'\x01\x7f\x85\u2028\ufeff\U0001f600é"
characters = st.one_of(st.sampled_from(HOSTILE), st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
texts = st.text(characters, max_size=12)
ids = st.one_of(
    st.text(characters, min_size=1, max_size=12),
    st.builds("{}{}".format, st.sampled_from([FREEBASE, "http://e.x/", "urn:", "_:", "a:", "/"]), texts),
)
bases = st.sampled_from([FREEBASE, "http://e.x/", "urn:kg:", "http://e.x/a#"])
datatypes = st.one_of(
    st.none(), st.sampled_from(["http://www.w3.org/2001/XMLSchema#date", "https://e.x/^^http://e.x/"]), ids
)
languages = st.sampled_from(["en", "zh-Hans", "es-419"])
literals = st.one_of(st.tuples(texts, datatypes, st.none()), st.tuples(texts, st.none(), languages))

CODE_POINT = r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})"
IRIREF = re.compile(rf'<((?:[^\x00-\x20<>"{{}}|^`\\]|{CODE_POINT})+)>')
LITERAL = re.compile(
    rf'"((?:[^"\\]|\\[tbnrf"\'\\]|{CODE_POINT})*)"(?:\^\^({IRIREF.pattern})|@([a-zA-Z]+(?:-[a-zA-Z0-9]+)*))?'
)
PLAIN_LITERAL = re.compile(r"(.*)\^\^(https?://[^ \t\r]+)", re.DOTALL)
ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


def unescaped(text: str) -> str:
    return re.sub(
        r"\\(?:u([0-9A-Fa-f]{4})|(.))", lambda found: chr(int(found[1], 16)) if found[1] else ESCAPES[found[2]], text
    )


def read_iri(term: str) -> str:
    found = IRIREF.fullmatch(term)
    assert found, term
    return unescaped(found[1])


def read_node(term: str, base: str) -> str:
    if term.startswith("_:"):
        assert re.fullmatch(r"_:[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?", term), term
        return term
    iri = read_iri(term)
    return iri.removeprefix(base)


def read_literal(term: str) -> tuple[str, str | None, str | None]:
    found = LITERAL.fullmatch(term)
    assert found, term
    value, datatype, _, language = found.groups()
    return unescaped(value), read_iri(datatype) if datatype else None, language


def read_tsv_literal(cell: str) -> tuple[str, str | None, str | None] | None:
    if cell.startswith('"'):
        return read_literal(cell) if LITERAL.fullmatch(cell) and not cell.endswith('"') else None
    found = PLAIN_LITERAL.fullmatch(cell)
    return (found[1], found[2], None) if found else None


@given(st.lists(ids, unique=True, max_size=8), bases)
@example(["http://rdf.freebase.com/ns/m.1"], FREEBASE)
@example(["http://rdf.freebase.com/ns/m.1", "m.1"], FREEBASE)
@example(["_:b0", "_:b.", "_:"], FREEBASE)
@example(["people.person.parents|people.person.children"], FREEBASE)
def test_ids_in_ntriples_come_back_or_are_refused(several: list[str], base: str) -> None:
    iris = IriMapper(base)
    try:
        nodes = [iris.node(id_) for id_ in several]
        relations = [iris.iri(id_) for id_ in several]
    except InputError as error:
        assert "give a --base that none of them begins with" in str(error)
        assert any(id_.startswith(base) for id_ in several)
        assert not all(is_absolute_iri(id_) for id_ in several)
    else:
        taken_off = base if iris.is_base_used else ""
        assert [read_node(node, taken_off) for node in nodes] == several
        assert [read_iri(iri).removeprefix(taken_off) for iri in relations] == several


@given(literals)
@example(("", None, None))
@example(("\0\\u0000", None, None))
def test_literals_in_ntriples_come_back(literal: tuple[str, str | None, str | None]) -> None:
    value, datatype, language = literal
    assert read_literal(ntriples_literal(value, datatype, language)) == (value, datatype or None, language)


@given(literals)
@example(("1^^http://e.x/", "http://e.x/", None))
@example(('"quoted"', "http://e.x/", None))
@example(("a\\n", "http://e.x/", None))
def test_literals_in_tsv_come_back_and_fit_into_a_cell(literal: tuple[str, str | None, str | None]) -> None:
    value, datatype, language = literal
    cell = tsv_literal(value, datatype, language)
    assert not re.search("[\t\n\r]", cell)
    assert read_tsv_literal(cell) == (value, datatype or (None if language else XSD_STRING), language)


@given(st.one_of(ids, literals.map(lambda literal: tsv_literal(*literal))))
def test_an_id_in_tsv_comes_back_or_is_refused(id_: str) -> None:
    try:
        cell = check_tsv_id(id_)
    except InputError as error:
        assert "--format ntriples or parquet" in str(error)
        assert re.search("[\t\n\r]", id_) or read_tsv_literal(id_) is not None
    else:
        assert cell == id_
        assert read_tsv_literal(cell) is None
        assert not re.search("[\t\n\r]", cell)


def test_what_is_written_for_what() -> None:
    freebase, other = IriMapper(FREEBASE), IriMapper("http://e.x/")
    assert freebase.iri("m.0d05w3") == "<http://rdf.freebase.com/ns/m.0d05w3>"
    assert other.iri("a.b|c.d") == r"<http://e.x/a.b\u007Cc.d>"
    assert freebase.iri("http://e.x/a") == "<http://e.x/a>"
    assert other.iri("Alien: Resurrection") == r"<http://e.x/Alien:\u0020Resurrection>"
    assert freebase.node("_:b0") == "_:b0"
    assert other.iri("_:b0") == "<http://e.x/_:b0>"
    assert IriMapper("http://e.x/").iri("http://e.x/a") == "<http://e.x/a>"
    assert ntriples_literal('a "b"\n', language="en") == r'"a \"b\"\n"@en'
    assert tsv_literal("1983-01-04", "http://www.w3.org/2001/XMLSchema#date") == (
        "1983-01-04^^http://www.w3.org/2001/XMLSchema#date"
    )
    assert tsv_literal("true") == f"true^^{XSD_STRING}"
    assert check_tsv_text("a b") == "a b"
