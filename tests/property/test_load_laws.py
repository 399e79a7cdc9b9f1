"""Laws of reading a source: nothing lost, nothing doubled, whatever the strings and wherever a block ends."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyoxigraph
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from lodestar.engine.errors import InputError
from lodestar.loaders import reading as lines_module
from lodestar.loaders.formats.delimited import CsvSource, TsvSource
from lodestar.loaders.formats.detecting import detect_format
from lodestar.loaders.formats.freebase import FREEBASE, FreebaseSource
from lodestar.loaders.reading import RereadableFile

from tests.conftest import examples
from tests.references.lines import reference_lines
from tests.references.read_source import read_source

XSD = "http://www.w3.org/2001/XMLSchema#"
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0")
text = st.text(characters, min_size=1, max_size=12).map(lambda said: said.strip(" ")).filter(bool)  # blanks are cut
triples = st.lists(st.tuples(text, text, text), min_size=1, max_size=30)
pieces = st.sampled_from([b"\n", b"\r\n", b"\r", b"a", b"twelve bytes", b"\0", b"\xff", "é".encode(), "😀".encode()])
content = st.lists(pieces | st.binary(max_size=30), min_size=1, max_size=40).map(b"".join)

PLAIN = (f"{XSD}string", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString")

with_files = settings(max_examples=examples(35), suppress_health_check=[HealthCheck.function_scoped_fixture])


@with_files
@given(triples, st.booleans())
def test_tsv_gives_back_what_was_written(tmp_path: Path, rows: list[tuple[str, str, str]], packed: bool) -> None:
    assume(not rows or not rows[0][0].startswith('"'))  # all quoted, as other programs write TSV
    written = ("\ufeff" + "".join("\t".join(row) + "\n" for row in rows)).encode()
    path = tmp_path / "kg.tsv"
    path.write_bytes(gzip.compress(written) if packed else written)
    read = read_source(TsvSource(str(path), has_header=False, literals=False))
    assert read.triples == rows
    assert read.counts == {"triple": len(rows)}


@with_files
@example(rows=[("0", ";", ";")], separator="|")
@given(triples, st.sampled_from([",", ";", "|"]))
def test_csv_gives_back_what_was_written(tmp_path: Path, rows: list[tuple[str, str, str]], separator: str) -> None:
    path = tmp_path / "kg.csv"
    quoted = (['"' + cell.replace('"', '""') + '"' for cell in row] for row in rows)
    path.write_text("".join(separator.join(row) + "\n" for row in quoted), encoding="utf-8", newline="")
    assert read_source(CsvSource(str(path), has_header=False, literals=False)).triples == rows


@with_files
@example(b".\rtwelve bytes\xf0\x9f\x98\x80\r\n"[1:], True, 11, 20)  # the mark is no part of the first line
@given(content, st.booleans(), st.integers(4, 60), st.sampled_from([7, 20, 1_000_000]))
def test_lines_are_the_same_wherever_a_block_ends(
    tmp_path: Path, raw: bytes, marked: bool, block_bytes: int, max_line_bytes: int
) -> None:
    raw = b"\xef\xbb\xbf" * marked + b"." + raw
    path = tmp_path / "file"
    path.write_bytes(raw)
    rejects: list[tuple[int, str, str]] = []
    lines: list[tuple[int, str]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "BLOCK_BYTES", block_bytes)
        patch.setattr(lines_module, "MAX_LINE_BYTES", max_line_bytes)
        for batch in RereadableFile(str(path)).batches(lambda *reject: rejects.append(reject)):
            batch.validate(full=True)
            lines.extend(zip(batch["line"].to_pylist(), batch["text"].to_pylist(), strict=True))
    assert (lines, [(line, reason) for line, reason, _ in rejects]) == reference_lines(raw, max_line_bytes)


COLUMNS: dict[str, st.SearchStrategy[str]] = {
    "id": st.integers(1, 999).map(str),
    "fullName": st.sampled_from(["Ann Ash", "Bo Birch", "Cy Cedar", "Di Elm", "Ed Fir"]),
    "city": st.sampled_from(["Lima", "Quito", "Rome", "Oslo"]),
    "color": st.sampled_from(["red", "blue", "green"]),
    "unitPrice": st.decimals(0, 99, places=2).map(str),
    "hired": st.dates().map(str),
    "active": st.sampled_from(["yes", "no"]),
}
tables = st.permutations(sorted(COLUMNS)).flatmap(
    lambda names: st.lists(st.tuples(*(COLUMNS[name] for name in names[:3])), min_size=2, max_size=30).map(
        lambda rows: [tuple(names[:3]), *rows]
    )
)


@with_files
@given(tables)
def test_a_table_of_three_columns_is_never_taken_for_triples(tmp_path: Path, rows: list[tuple[str, str, str]]) -> None:
    path = tmp_path / "table.csv"
    path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(InputError, match="found a table"):
        read_source(CsvSource(str(path)))
    without_header = "".join(",".join(row) + "\n" for row in rows[1:])
    if rows[0][1] != "color":  # which reads like a relation
        path.write_text(without_header, encoding="utf-8")
        assert detect_format(str(path)) == "csv"
        with pytest.raises(InputError, match="found a table"):
            read_source(CsvSource(str(path)))


iri_ends = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=8)
rdf_iris = st.builds("<{}{}>".format, st.sampled_from(["http://rdf.freebase.com/ns/", "http://e.x/"]), iri_ends)
escaped = st.sampled_from(["a", " ", "é", "😀", "\\n", '\\"', "\\\\", "\\u00e9", "\\U0001F600", "^^", "<", ">", "@en"])
suffixes = st.sampled_from(["", "@en", "@de-at", "^^<http://e.x/t>", "^^<http://www.w3.org/2001/XMLSchema#date>"])
rdf_literals = st.builds('"{}"{}'.format, st.lists(escaped, max_size=4).map("".join), suffixes)


@with_files
@given(st.lists(st.tuples(rdf_iris, rdf_iris, rdf_iris | rdf_literals), min_size=1, max_size=20))
def test_a_line_of_freebase_says_what_it_says_as_rdf(tmp_path: Path, statements: list[tuple[str, str, str]]) -> None:
    path = tmp_path / "fb.nt"
    path.write_text("".join("\t".join([*each, ".\n"]) for each in statements), encoding="utf-8")
    read = read_source(FreebaseSource(str(path), languages=["*"]))

    def plain(term: pyoxigraph.NamedNode | pyoxigraph.Literal) -> str:
        return term.value.removeprefix(FREEBASE) if isinstance(term, pyoxigraph.NamedNode) else term.value

    expected = [quad.triple for quad in pyoxigraph.parse(path.read_bytes(), format=pyoxigraph.RdfFormat.N_TRIPLES)]
    assert read.triples == [(plain(t.subject), plain(t.predicate), plain(t.object)) for t in expected]
    assert read.literals == [
        (t.object.value, None if t.object.datatype.value in PLAIN else t.object.datatype.value, t.object.language)
        for t in expected
        if isinstance(t.object, pyoxigraph.Literal)
    ]
