"""Bulk and online write the same graph: nodes, relationships, properties, constraints and indexes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import neo4j
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from lodestar.engine import writing as relation_types
from lodestar.engine.neo4j.catalogue import count_signature_mismatches
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.loaders.loading import LoadOptions, load_into_embedded_server
from lodestar.loaders.maintaining import verify
from lodestar.loaders.source import NO_ID, Source, StatementRow, name_row, triple_row

from tests.conftest import HEAP_MB, PAGECACHE_MB, clear_database
from tests.made.graphs import RowSource, load
from tests.references.snapshot import Snapshot, snapshot

EXAMPLES = int(os.environ.get("LODESTAR_BULK_EXAMPLES", "1"))

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=10)
relations = st.sampled_from(["r", "s.t.u", "a`b", "RELATED", "x|y.z", 'q"', " "]) | text.filter(
    lambda r: "\\u" not in r
)
ids = (
    st.sampled_from([f"e{i}" for i in range(8)] + ["", "'", '"x"', "a\tb", "a\nb", "🜨", "ne\u0301"]).filter(bool) | text
)
kinds = st.sampled_from(
    [(None, None), ("http://www.w3.org/2001/XMLSchema#date", None), (None, "en"), (None, "zh-hans")]
)
rows = st.lists(
    st.builds(triple_row, st.just(1), ids, relations, ids)
    | st.builds(
        lambda head, relation, value, kind: StatementRow(1, "triple", head, relation, value, True, *kind),
        ids, relations, st.just("") | text | st.just("x" * 9_000), kinds,
    )
    | st.builds(name_row, st.just(1), ids, text)
    | st.builds(lambda id_, name, language, tag: StatementRow(1, "name", id_, None, name, None, None, language, tag),
                ids, text, st.sampled_from([None, "en", "es"]), st.sampled_from([None, "name", "alias"])),
    min_size=150, max_size=300,
).filter(lambda found: any(row.category == "triple" for row in found))  # fmt: skip


@pytest.fixture(scope="module")
def instance(home_dir: Path, cache_dir: Path) -> Iterator[EmbeddedServer]:
    """A server for bulk loads, of its own."""
    instance = EmbeddedServer("bulk", home_dir, cache_dir)
    instance.start(heap_mb=HEAP_MB, pagecache_mb=PAGECACHE_MB, progress=False)
    yield instance
    instance.reset()


def loaded_by_bulk(source: Source, instance: EmbeddedServer, staging: Path) -> Snapshot:
    report = load_into_embedded_server(source, instance, LoadOptions(staging=staging, mode="replace", writer="bulk"))
    assert report.writer == "bulk"
    connection = instance.connection()
    with (
        neo4j.GraphDatabase.driver(connection.uri, **connection.driver_options) as driver,
        Gateway(connection) as gateway,
    ):
        assert gateway.execute(count_signature_mismatches()) == 0
        assert verify(gateway).faults == ()
        return snapshot(driver)


HARD_NAMES = ["\x1f", "a\x1fb", "\ue000", "two\nlines", "cr\r\nlf", '"', " a ", "\ufeff"]
"""The character that parts lists, the one taken instead, line breaks."""
HARD_VALUES = ["", "\n", "\r", "y" * 5_000_000]
"""The last is more than the importer reads at once."""
HARD_TEXTS = [
    triple_row(1, "hard", "r", "f"),
    *(name_row(1, "hard", name) for name in HARD_NAMES),
    *(StatementRow(1, "triple", "hard", "r", value, True) for value in HARD_VALUES),
]
FEW_TYPES = 8
"""The budget of relationship types here: of each graph some relations have a type of their own and the others none."""


@pytest.mark.long
@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[Phase.explicit, Phase.generate],
)  # an example takes half a minute: nothing is shrunk
@given(rows, st.sampled_from([None, NO_ID, "[0-9e]+"]))
def test_the_same_graph_by_both_writers(
    gateway: Gateway,
    driver: neo4j.Driver,
    instance: EmbeddedServer,
    tmp_path: Path,
    found: list[StatementRow],
    unnamed_ids: str | None,
) -> None:
    others = [triple_row(1, "e0", f"other.{number}", "e1") for number in range(FEW_TYPES)]
    source = RowSource([*HARD_TEXTS, *others, *found], unnamed_ids=unnamed_ids, languages=("es", "en"))
    clear_database(driver, "neo4j", schema=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation_types, "MAX_TYPES", FEW_TYPES)
        load(source, gateway, batch_size=97)
        assert verify(gateway).faults == ()
        assert loaded_by_bulk(source, instance, tmp_path) == snapshot(driver)
    (names,) = driver.execute_query("MATCH (e:Entity {id: 'hard'}) RETURN [e.name] + e.aliases").records[0]
    assert names == HARD_NAMES
    (typed,) = driver.execute_query("MATCH ()-[r:RELATED]->() RETURN count(r) > 0").records[0]
    assert typed
