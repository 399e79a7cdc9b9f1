"""Laws of reading a source: nothing lost, nothing doubled, whatever the strings."""

from __future__ import annotations

import gzip
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lodestar.loaders.checked import read_checked
from lodestar.loaders.source import search_name
from lodestar.loaders.tsv import TsvSource

from tests.graphs import TripleSource

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0"), min_size=1, max_size=12)
relations = text.filter(lambda name: "\\u" not in name)
triples = st.lists(st.tuples(text, relations, text), min_size=1, max_size=30)


@given(triples)
def test_a_checked_graph_is_the_set_of_its_triples(rows: list[tuple[str, str, str]]) -> None:
    graph = read_checked(TripleSource(rows))
    read = [(head, name, tail) for name in graph.relations for head, tail in graph.pairs(name)]
    assert len(read) == len(set(read)) == graph.num_triples
    assert set(read) == set(rows)
    assert graph.num_duplicates == len(rows) - len(set(rows))
    assert set(graph.ids) == {id_ for head, _, tail in rows for id_ in (head, tail)}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(triples, st.booleans())
def test_tsv_gives_back_what_was_written(tmp_path: Path, rows: list[tuple[str, str, str]], packed: bool) -> None:
    content = "\ufeff" + "".join("\t".join(row) + "\n" for row in rows)
    path = tmp_path / "kg.tsv"
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    assert [tuple(triple) for triple in TsvSource(str(path)).triples()] == rows


@given(text)
def test_search_names_are_stable(name: str) -> None:
    assert search_name(search_name(name)) == search_name(name)
