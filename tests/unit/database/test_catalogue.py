from __future__ import annotations

from dataclasses import replace

import pytest
from lodestar.engine.errors import GraphError
from lodestar.engine.neo4j.catalogue import GRAPH_VERSION, GraphState

WHOLE = GraphState(num_entities=3, num_relations=1, num_triples=2, num_finished_loads=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_triples": 0}, r"the graph is empty: load one with"),
        ({"num_triples": 0, "num_other_nodes": 1_104}, r"empty beside 1,104 nodes .* `lodestar load neo4j`"),
        ({"has_entity_id": False}, r"no constraint entity_id: run `lodestar db refresh`"),
        ({"has_entity_names": False}, r"no name index entity_names: make it with"),
        (
            {"unfinished_loads": ("kg.tsv",), "num_finished_loads": 0},
            r"the load of kg\.tsv did not finish: run the same `lodestar load` again",
        ),
        ({"unfinished_loads": ("kg.tsv",), "has_entity_names": False}, r"the load of kg\.tsv did not finish: run"),
        (
            {"deleting_loads": ("kg.tsv",), "num_finished_loads": 0},
            r"the deletion of the load of kg\.tsv did not finish, and the graph has no other: delete it again, or run",
        ),
        ({"graph_version": GRAPH_VERSION + 1}, r"of model version 4, this Lodestar reads 3: load it again"),
    ],
)
def test_a_graph_that_cannot_answer_says_why(change: dict[str, object], message: str) -> None:
    WHOLE.check()
    with pytest.raises(GraphError, match=message):
        replace(WHOLE, **change).check()


def test_a_finished_load_beside_an_unfinished_one_answers_with_a_warning() -> None:
    assert WHOLE.warnings == ()
    state = replace(WHOLE, unfinished_loads=("a.tsv",), deleting_loads=("b.tsv",))
    state.check()
    assert state.warnings == (
        "the load of a.tsv did not finish: answers are incomplete until the same `lodestar load` runs again",
        "the deletion of the load of b.tsv did not finish: answers may rest on it until it is deleted again",
    )
