"""Laws of loading: nothing lost or doubled, whatever the strings and wherever a block ends; a stage is what the source says."""

from __future__ import annotations

import csv
import gzip
import re
import tempfile
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import pyoxigraph
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from lodestar.engine.errors import InputError
from lodestar.engine.writing import (
    EntityName,
    add_names_stated_by_load,
    make_entity_row,
    normalise_search_name,
    parse_stored_entity_names,
    remove_names_stated_by_load,
)
from lodestar.loaders import reading as lines_module
from lodestar.loaders.formats import source_class
from lodestar.loaders.formats.detecting import detect_format
from lodestar.loaders.formats.triples import FREEBASE, CsvSource, FreebaseSource, TsvSource
from lodestar.loaders.reading import NOT_UTF8, RereadableFile
from lodestar.loaders.source import NO_ID, Source, StatementRow, Subset, name_row, triple_row
from lodestar.loaders.stage import Stage, StageCounts

from tests.conftest import examples
from tests.made.graphs import RowSource, TripleSource
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


def reference_lines(raw: bytes, max_line_bytes: int) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Return the lines, cut the simple way, and the rejects with their reasons, both with their numbers."""
    end = b"\r" if b"\r" in raw and b"\n" not in raw else b"\n"
    *lines, last = raw.removeprefix(b"\xef\xbb\xbf").split(end)
    good: list[tuple[int, str]] = []
    bad: list[tuple[int, str]] = []
    for number, ended in enumerate([*lines, last] if last else lines, start=1):
        line = ended.removesuffix(b"\r")
        if len(line) > max_line_bytes:
            bad.append((number, f"the line is longer than {max_line_bytes:,} bytes"))
        elif b"\0" in line:
            bad.append((number, "expected text, found a zero byte"))
        else:
            try:
                good.append((number, line.decode()))
            except UnicodeDecodeError as error:
                bad.append((number, NOT_UTF8.format(line[error.start])))
    return good, bad


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


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=12)
TEXTS = WORDS.map(str.strip).filter(lambda text: text not in ("", "NULL", "\\N"))
CELLS = (
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(-1000, 1000, places=2).map(str),
    st.dates().map(str),
    st.sampled_from(["true", "false"]),
    st.sampled_from(["01581", "1e6", "-0.5", "5 km", "$5,000", 'say "so"', "a,b", "a; b", "line\nline", "0x1F", "١٢"]),
    TEXTS,
)


@st.composite
def two_tables(draw: st.DrawFn) -> dict[str, list[list[str]]]:
    """Two tables: things with keys and columns of one kind of value or mixed ones, and others that refer to them."""
    num = draw(st.integers(1, 6))
    kinds = [draw(st.sampled_from([*CELLS, st.one_of(*CELLS)])) for _ in range(draw(st.integers(1, 4)))]
    columns = [
        [draw(st.one_of(st.just(""), kind) if draw(st.booleans()) else kind) for _ in range(num)] for kind in kinds
    ]
    keys = draw(
        st.lists(
            st.one_of(st.integers(1, 99).map(str), st.sampled_from("ABCDEFGH")), min_size=num, max_size=num, unique=True
        )
    )
    names = [f"thing {number}" for number in range(num)]
    things = [["thing_id", "name", *(f"field{n}" for n in range(len(columns)))]]
    things += [[key, name, *cells] for key, name, *cells in zip(keys, names, *columns, strict=True)]
    parts = [["id", "thing_id", "size"]]
    parts += [[str(1000 + n), draw(st.sampled_from(keys)), str(n)] for n in range(draw(st.integers(0, 5)))]
    return {"things": things, "parts": parts}


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(made=two_tables(), separator=st.sampled_from(",;\t"), end=st.sampled_from(["\n", "\r\n"]))
def test_every_cell_is_there_as_it_was(made: dict[str, list[list[str]]], separator: str, end: str) -> None:
    with TemporaryDirectory() as folder:
        for name, rows in made.items():
            with (Path(folder) / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, delimiter=separator, lineterminator=end).writerows(rows)
        found = read_source(source_class("tables")(folder))
    said = set(found.triples)
    header, *things = made["things"]
    num_literals = 0
    for key, name, *cells in things:
        id_ = f"thing/{key}"
        assert found.names[id_][0] == name
        for column, cell in zip(header[2:], cells, strict=True):
            if cell and (id_, column, cell) in said:
                num_literals += 1
            elif cell:  # texts that share their parts are lists
                parts_of_cell = {part.strip() for part in re.split("[|;]", cell)} - {""}
                assert len(parts_of_cell) > 1 and {(id_, column, part) for part in parts_of_cell} <= said
                num_literals += len(parts_of_cell)
    for key, thing, size in made["parts"][1:]:
        assert (f"part/{key}", "thing", f"thing/{thing}") in said
        assert (f"part/{key}", "size", size) in said
    assert len(said) == num_literals + len(things) + 3 * len(made["parts"][1:])


any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
SPOKEN = "John of The F. é ß 7th (b ) , - O'Neil İ von 首 the A.I. Ἀή ё யா".split()
spoken = st.lists(st.sampled_from(SPOKEN) | any_text, max_size=8).map("_".join).filter(bool)
ids = st.sampled_from(["a", "b", "c", "d", "é", "e\u0301", "🜨", " a"]) | any_text
relations = any_text.filter(lambda name: "\\u" not in name)
any_triples = st.lists(st.tuples(ids, relations, ids), min_size=1, max_size=25)
literals = st.lists(
    st.tuples(
        ids, relations, any_text, st.sampled_from([(None, None), ("http://d", None), (None, "en"), (None, "pt-br")])
    ),
    max_size=10,
)
few = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["r.x", "r.y", "s.x"]), st.sampled_from("abcdefgh")),
    min_size=1,
    max_size=20,
)


def staged(source: Source, folder: str, subset: Subset | None = None) -> tuple[Stage, StageCounts]:
    stage = Stage(Path(folder) / "stage", threads=1)
    rejects = Path(folder) / "rejects.tsv"
    counts = stage.fill(source, subset=subset or Subset(), max_rejects=0, rejects_file=rejects)
    return stage, counts


def read_stage(stage: Stage) -> list[tuple[str, str, str, bool]]:
    return [
        (row["head"], row["relation"], row["tail"], literal)
        for literal in (False, True)
        for batch in stage.rows("results/triple_rows", 7, relations=list(stage.relations()), literals=literal)
        for row in batch.to_pylist()
    ]


@settings(max_examples=examples(15))
@given(any_triples, literals)
def test_a_stage_is_the_set_of_what_the_source_says(
    rows: list[tuple[str, str, str]], said: list[tuple[str, str, str, tuple[str | None, str | None]]]
) -> None:
    stated = [triple_row(i, *row) for i, row in enumerate(rows)]
    stated += [StatementRow(0, "triple", head, relation, value, True, *kind) for head, relation, value, kind in said]
    source = RowSource(stated)
    with tempfile.TemporaryDirectory() as folder:
        stage, counts = staged(source, folder)
        found = read_stage(stage)
        named = {row["id"]: row["value"] for b in stage.node_rows("results/literal_rows", 9) for row in b.to_pylist()}
        values = [
            (row["value"], row["datatype"], row["language"])
            for b in stage.node_rows("results/literal_rows", 9)
            for row in b.to_pylist()
        ]
        entities = [row["id"] for batch in stage.node_rows("results/entity_rows", 3) for row in batch.to_pylist()]
        stage.close()
    assert len(found) == len(set(found)) == counts.num_triples
    assert {row[:3] for row in found if not row[3]} == set(rows)
    assert {(head, relation, named[tail]) for head, relation, tail, literal in found if literal} == {
        (head, relation, value) for head, relation, value, _ in said
    }
    assert set(values) == {(value, *kind) for _, _, value, kind in said} and len(values) == len(set(values))
    assert entities == sorted({i for h, _, t in rows for i in (h, t)} | {head for head, *_ in said})
    assert counts.num_duplicates == len(rows) + len(said) - counts.num_triples


@settings(max_examples=examples(10))
@given(any_triples, st.lists(st.tuples(ids, any_text | spoken), max_size=12), st.booleans())
def test_names_are_stated_in_order_and_written_as_python_writes_them(
    rows: list[tuple[str, str, str]], said: list[tuple[str, str]], names_from_ids: bool
) -> None:
    stated = [triple_row(0, *row) for row in rows] + [name_row(i, *pair) for i, pair in enumerate(said)]
    source = RowSource(stated, unnamed_ids=NO_ID if names_from_ids else None)
    expected: dict[str, dict[str, None]] = defaultdict(dict)
    entities = {i for h, _, t in rows for i in (h, t)}
    for id_, name in said:
        if id_ in entities:
            expected[id_][name] = None
    if names_from_ids:
        for id_ in entities - set(expected):
            expected[id_][id_] = None
    with tempfile.TemporaryDirectory() as folder:
        stage, _ = staged(source, folder)
        found = {row["id"]: row for batch in stage.node_rows("results/entity_rows", 4) for row in batch.to_pylist()}
        stage.close()
    for id_ in entities:
        names = [EntityName(name, is_alias=position > 0) for position, name in enumerate(expected.get(id_, ()))]
        row = make_entity_row(id_, names)
        assert {name: found[id_][name] for name in row} == row


@settings(max_examples=examples(15))
@given(few, st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=2), st.integers(1, 3))
def test_around_is_what_a_walk_finds(rows: list[tuple[str, str, str]], around: set[str], hops: int) -> None:
    distinct = set(rows)
    walked, reached = set[str](), set(around)
    for _ in range(hops):
        walked |= reached
        reached |= {end for h, _, t in distinct if h in walked or t in walked for end in (h, t)}
    expected = {row for row in distinct if row[0] in walked or row[2] in walked}
    subset = Subset(around=tuple(sorted(around)), hops=hops)
    with tempfile.TemporaryDirectory() as folder:
        if not around <= {end for h, _, t in distinct for end in (h, t)}:
            with pytest.raises(Exception, match="no triple has"):
                staged(TripleSource(rows), folder, subset)
            return
        stage, _ = staged(TripleSource(rows), folder, subset)
        assert {row[:3] for row in read_stage(stage)} == expected
        stage.close()


@settings(max_examples=examples(10))
@given(few, st.sampled_from([("r.x",), ("r.*",), ("*.x",), ("s.x", "r.y")]))
def test_relations_select(rows: list[tuple[str, str, str]], relations: tuple[str, ...]) -> None:
    def wanted(name: str) -> bool:
        return any(
            name == r or (r[0] == "*" and name.endswith(r[1:])) or (r[-1] == "*" and name.startswith(r[:-1]))
            for r in relations
        )

    expected = {row for row in rows if wanted(row[1])}
    with tempfile.TemporaryDirectory() as folder:
        subset = Subset(relations=relations)
        if not expected:
            with pytest.raises(Exception, match="expected triples, found none to load"):
                staged(TripleSource(rows), folder, subset)
            return
        stage, counts = staged(TripleSource(rows), folder, subset)
        assert {row[:3] for row in read_stage(stage)} == expected
        assert counts.categories.get("not wanted", 0) == sum(row not in expected for row in rows)
        stage.close()


names = st.lists(
    st.builds(EntityName, any_text, st.sampled_from(["", "en", "pt-br"]), st.booleans()),
    max_size=5,
    unique_by=lambda n: (n.text, n.language),
)


@given(names)
def test_names_are_read_back_as_they_were_written(stated: list[EntityName]) -> None:
    written = make_entity_row("e", stated)
    assert list(parse_stored_entity_names(written["name"], written["aliases"], written["name_tags"])) == stated
    whole = list(dict.fromkeys(filter(None, (normalise_search_name(n.text) for n in stated))))
    assert (written["search_names"] or [])[: len(whole)] == whole


@given(names, names)
def test_a_load_that_goes_leaves_the_names_as_they_were(known: list[EntityName], stated: list[EntityName]) -> None:
    both = add_names_stated_by_load(known, stated, 2)
    assert add_names_stated_by_load(both, stated, 2) == both
    assert list(remove_names_stated_by_load(both, 2)) == known
    rest = remove_names_stated_by_load(both, 1)
    assert {(n.text, n.language) for n in rest} == {(n.text, n.language) for n in stated}
    written = make_entity_row("e", both)
    assert parse_stored_entity_names(written["name"], written["aliases"], written["name_tags"]) == both
