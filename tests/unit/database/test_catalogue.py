from __future__ import annotations

from dataclasses import replace

import pytest
from lodestar.engine.errors import GraphError
from lodestar.engine.neo4j.catalogue import GRAPH_VERSION, GraphState, RelationInfo
from lodestar.engine.writing import RELATED, make_catalogue_rows

WHOLE = GraphState(num_entities=3, num_relations=1, num_triples=2, num_finished_loads=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"has_entity_id": False}, r"no constraint entity_id: run `lodestar db refresh`"),
        ({"unfinished_loads": ("kg.tsv",), "has_entity_names": False}, r"the load of kg\.tsv has not finished: wait"),
        (
            {"deleting_loads": ("kg.tsv",), "num_finished_loads": 0},
            r"the deletion of the load of kg\.tsv has not finished, and the graph has no other: delete it again, or run",
        ),
        ({"graph_version": GRAPH_VERSION + 1}, r"of model version 4, this Lodestar reads 3: load it again"),
    ],
)
def test_a_graph_that_cannot_answer_says_why(change: dict[str, object], message: str) -> None:
    WHOLE.check()
    with pytest.raises(GraphError, match=message):
        replace(WHOLE, **change).check()


STAGED = {"a.x": 5, "b.y": 9, "c.z": 1, "d.w": 1}


def types(rows: list[RelationInfo]) -> dict[str, str]:
    return {row.name: row.stored_as or row.name for row in rows}


def test_the_rarest_have_none_of_their_own_and_related_counts_as_one() -> None:
    rows = make_catalogue_rows(STAGED, (), max_types=3)
    assert types(rows) == {"a.x": "a.x", "b.y": "b.y", "c.z": RELATED, "d.w": RELATED}


def test_what_the_graph_has_keeps_its_number_and_type() -> None:
    known = [RelationInfo(7, "b.y", "y", 9), RelationInfo(9, "c.z", "z", 1, stored_as=RELATED)]
    rows = make_catalogue_rows(STAGED, known, max_types=3)
    assert types(rows) == {"a.x": "a.x", "b.y": "b.y", "c.z": RELATED, "d.w": RELATED}
    assert {row.name: row.number for row in rows} == {"a.x": 10, "b.y": 7, "c.z": 9, "d.w": 11}
    assert types(make_catalogue_rows({"e": 1}, known, max_types=2)) == {"e": RELATED}
