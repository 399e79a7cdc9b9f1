"""Any mixture of changes, loads, deletions and foreign Cypher: the graph is the model's, and `verify` finds nothing."""

from __future__ import annotations

from typing import Any

import neo4j
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from lodestar import Engine, LiteralValue
from lodestar.engine.neo4j.catalogue import read_loads
from lodestar.engine.settings import Connection, Settings
from lodestar.loaders.maintaining import refresh_derived_data, unload, verify
from lodestar.loaders.source import StatementRow

from tests.conftest import clear_database, examples
from tests.made.graphs import RowSource, load

Triple = tuple[str, str, str, bool]
"""Head, relation, tail, and whether it is a literal."""

triple = st.tuples(st.sampled_from("abc"), st.sampled_from("rs"), st.sampled_from("abcd"), st.booleans())
some_triples = st.lists(triple, min_size=1, max_size=4, unique=True)


def stated(triples: list[Triple]) -> list[Any]:
    return [(head, relation, LiteralValue(tail) if literal else tail) for head, relation, tail, literal in triples]


class Changes(RuleBasedStateMachine):
    """The model: which loads state a triple, by the hash of a load or "changes"."""

    engine: Engine
    driver: neo4j.Driver
    database: str

    @initialize()
    def begin(self) -> None:
        clear_database(self.driver, self.database)
        self.model: dict[Triple, set[str]] = {}
        self.loads: dict[str, str] = {}

    @rule(triples=some_triples)
    def add(self, triples: list[Triple]) -> None:
        report = self.engine.add(stated(triples))
        assert report.num_known == sum(one in self.model for one in triples)
        for one in triples:
            self.model.setdefault(one, set()).add("changes")
        self.loads.setdefault("changes", "changes")

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        triples = data.draw(st.lists(st.sampled_from(sorted(self.model)), min_size=1, max_size=3, unique=True))
        assert self.engine.remove(stated(triples)).num_removed == len(triples)
        for one in triples:
            del self.model[one]

    @rule(triples=some_triples, force=st.booleans())
    def load(self, triples: list[Triple], force: bool) -> None:
        rows = [
            StatementRow(line, "triple", head, relation, tail, literal)
            for line, (head, relation, tail, literal) in enumerate(triples, start=1)
        ]
        report = load(RowSource(rows), self.engine.gateway(), mode="append", force=force)
        if not report.already_loaded:
            for one in triples:
                self.model.setdefault(one, set()).add(report.sha256)
        self.loads[report.sha256] = report.sha256[:12]

    @precondition(lambda self: self.loads)
    @rule(data=st.data())
    def unload(self, data: st.DataObject) -> None:
        sha256 = data.draw(st.sampled_from(sorted(self.loads)))
        unload(self.engine.gateway(), self.loads.pop(sha256))
        for loads in self.model.values():
            loads.discard(sha256)
        self.model = {one: loads for one, loads in self.model.items() if loads}

    @precondition(lambda self: self.model)
    @rule(data=st.data(), new=st.sampled_from(["r", "other"]))
    def change_by_cypher(self, data: st.DataObject, new: str) -> None:
        """Another program deletes a triple, writes one, and renames an entity; `refresh` follows."""
        gone = data.draw(st.sampled_from(sorted(self.model)))
        head, relation, tail, literal = gone
        kind, key = ("Literal", f'"{tail}"') if literal else ("Entity", tail)
        delete: Any = f"MATCH (h:Entity {{id: $head}})-[r:`{relation}`]->(t:{kind} {{id: $key}}) DELETE r"
        self.driver.execute_query(delete, head=head, key=key)
        base = next((load for load in self.engine.gateway().run(read_loads()) if load.number == 1), None)
        if base is not None:
            write: Any = (
                f"MERGE (h:Entity {{id: 'x'}}) MERGE (t:Entity {{id: $head}}) MERGE (h)-[:`{new}`]->(t) "
                "SET t.name = 'Renamed', t.aliases = ['x', 'y']"
            )
            self.driver.execute_query(write, head=head)
            self.model.setdefault(("x", new, head, False), set()).add(
                "changes" if base.source == "changes" else base.sha256
            )
        del self.model[gone]
        refresh_derived_data(self.engine.gateway())

    @invariant()
    def verify_finds_nothing(self) -> None:
        if self.loads:
            assert verify(self.engine.gateway()).faults == ()

    @invariant()
    def the_graph_is_the_model(self) -> None:
        records = self.driver.execute_query(
            "MATCH (h:Entity)-[r]->(t) RETURN h.id, type(r), coalesce(t.value, t.id), t:Literal"
        ).records
        assert {tuple(record) for record in records} == set(self.model)


@pytest.mark.long
@pytest.mark.usefixtures("opened")
def test_a_graph_is_its_model_after_any_mixture() -> None:
    run_state_machine_as_test(
        Changes,
        settings=settings(
            max_examples=examples(6),
            stateful_step_count=8,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        ),
    )


@pytest.fixture
def opened(settings: Settings, driver: neo4j.Driver, connection: Connection) -> Any:
    with Engine(settings) as engine:
        Changes.engine, Changes.driver, Changes.database = engine, driver, connection.database
        yield
