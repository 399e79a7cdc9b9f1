"""Laws of the stage: it is the set of what the source says, whatever the strings, and a subset is what a walk finds."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.engine.writing import (
    Name,
    add_load_names,
    make_name_row,
    normalise_search_name,
    parse_name_properties,
    remove_load_names,
)
from lodestar.loaders.source import NO_ID, Source, StatementRow, Subset, name_row, triple_row
from lodestar.loaders.stage import Stage, StageCounts

from tests.conftest import examples
from tests.made.graphs import RowSource, TripleSource

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
WORDS = "John of The F. é ß 7th (b ) , - O'Neil İ von 首 the A.I. Ἀή ё யா".split()
spoken = st.lists(st.sampled_from(WORDS) | text, max_size=8).map("_".join).filter(bool)
ids = st.sampled_from(["a", "b", "c", "d", "é", "e\u0301", "🜨", " a"]) | text
relations = text.filter(lambda name: "\\u" not in name)
triples = st.lists(st.tuples(ids, relations, ids), min_size=1, max_size=25)
literals = st.lists(
    st.tuples(ids, relations, text, st.sampled_from([(None, None), ("http://d", None), (None, "en"), (None, "pt-br")])),
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


def read(stage: Stage) -> list[tuple[str, str, str, bool]]:
    return [
        (row["head"], row["relation"], row["tail"], literal)
        for literal in (False, True)
        for batch in stage.rows("results/triple_rows", 7, relations=list(stage.relations()), literals=literal)
        for row in batch.to_pylist()
    ]


@settings(max_examples=examples(15))
@given(triples, literals)
def test_a_stage_is_the_set_of_what_the_source_says(
    rows: list[tuple[str, str, str]], said: list[tuple[str, str, str, tuple[str | None, str | None]]]
) -> None:
    stated = [triple_row(i, *row) for i, row in enumerate(rows)]
    stated += [StatementRow(0, "triple", head, relation, value, True, *kind) for head, relation, value, kind in said]
    source = RowSource(stated)
    with tempfile.TemporaryDirectory() as folder:
        stage, counts = staged(source, folder)
        found = read(stage)
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
@given(triples, st.lists(st.tuples(ids, text | spoken), max_size=12), st.booleans())
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
        names = [Name(name, is_alias=position > 0) for position, name in enumerate(expected.get(id_, ()))]
        row = make_name_row(id_, names)
        assert {name: found[id_][name] for name in row} == row


@settings(max_examples=examples(15))
@given(
    few, st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=2), st.integers(1, 3), st.none() | st.integers(1, 4)
)
def test_around_is_what_a_walk_finds(
    rows: list[tuple[str, str, str]], around: set[str], hops: int, max_degree: int | None
) -> None:
    distinct = set(rows)
    degree = Counter(end for h, _, t in distinct for end in (h, t))
    hubs = {id_ for id_, size in degree.items() if max_degree is not None and size > max_degree} - around
    walked, reached = set[str](), set(around)
    for _ in range(hops):
        walked |= reached - hubs
        reached |= {end for h, _, t in distinct if h in walked or t in walked for end in (h, t)}
    expected = {row for row in distinct if row[0] in walked or row[2] in walked}
    subset = Subset(around=tuple(sorted(around)), hops=hops, max_degree=max_degree)
    with tempfile.TemporaryDirectory() as folder:
        if not around <= set(degree):
            with pytest.raises(Exception, match="no triple has"):
                staged(TripleSource(rows), folder, subset)
            return
        stage, _ = staged(TripleSource(rows), folder, subset)
        assert {row[:3] for row in read(stage)} == expected
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
        assert {row[:3] for row in read(stage)} == expected
        assert counts.categories.get("not wanted", 0) == sum(row not in expected for row in rows)
        stage.close()


names = st.lists(
    st.builds(Name, text, st.sampled_from(["", "en", "pt-br"]), st.booleans()),
    max_size=5,
    unique_by=lambda n: (n.text, n.language),
)


@given(names)
def test_names_are_read_back_as_they_were_written(stated: list[Name]) -> None:
    written = make_name_row("e", stated)
    assert list(parse_name_properties(written["name"], written["aliases"], written["name_tags"])) == stated
    whole = list(dict.fromkeys(filter(None, (normalise_search_name(n.text) for n in stated))))
    assert (written["search_names"] or [])[: len(whole)] == whole


@given(names, names)
def test_a_load_that_goes_leaves_the_names_as_they_were(known: list[Name], stated: list[Name]) -> None:
    both = add_load_names(known, stated, 2)
    assert add_load_names(both, stated, 2) == both
    assert list(remove_load_names(both, 2)) == known
    rest = remove_load_names(both, 1)
    assert {(n.text, n.language) for n in rest} == {(n.text, n.language) for n in stated}
    written = make_name_row("e", both)
    assert parse_name_properties(written["name"], written["aliases"], written["name_tags"]) == both
