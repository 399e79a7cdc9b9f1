"""Candidate pools of questions, from paths and neighbourhoods that are written out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from lodestar.engine.errors import QueryTimeoutError
from lodestar.engine.gold_questions import NO_PATH, NO_TOPIC, GoldAnswer, GoldQuestion, SkippedQuestion
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.templates import Row
from lodestar.engine.steps import Steps
from lodestar.engine.supervision.pools import (
    TOO_LONG,
    PoolBounds,
    _batch,
    collect_pools,
    compute_pool_sizes,
    counts_of,
)
from lodestar.models.mined import PoolChain, PooledQuestion

from tests.fakes.memory_graph import MemoryGraph
from tests.made.pool_examples import pooled_question

Found = Sequence[tuple[tuple[str, ...], int, bool]]
"""Steps, the number of paths with them, and whether there may be more."""


class PathGraph(MemoryGraph):
    """Has these shortest paths between pairs of entities, and these triples around them."""

    def __init__(self, paths: Mapping[str, Found], around: Mapping[str, Found]) -> None:
        super().__init__([(id_, "r", "z") for id_ in "abcstxy"])
        self.paths, self.around = paths, around
        self.bounds: dict[str, int] = {}

    def _find_shortest_paths(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        self.bounds["paths"] = params["max_paths"]
        return [
            (pair["key"], list(steps), [*pair["topic"], *"-" * (len(steps) - 1), pair["answer"]], count, cut)
            for pair in params["pairs"]
            for steps, count, cut in self.paths.get(pair["topic"] + pair["answer"], ())
        ]

    def _read_neighbourhoods(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        self.bounds["degree"] = params["max_degree"]
        return [
            (id_, step, [id_, "-"], count, cut)
            for id_ in params["ids"]
            for (step,), count, cut in self.around.get(id_, ())
        ]


def asked(topics: str, answers: str, id_: str = "q") -> GoldQuestion:
    return GoldQuestion(id_, "?", tuple(map(GoldAnswer, answers)), tuple(topics))


def pooled(
    topics: str, answers: str, paths: Mapping[str, Found], around: Mapping[str, Found] | None = None, **bounds: int
) -> PooledQuestion:
    (found,) = PathGraph(paths, around or {}).run(collect_pools([asked(topics, answers)], PoolBounds(**bounds)))
    assert isinstance(found, PooledQuestion)
    return found


ONE, TWO = (("p",), 1, False), (("p", "q"), 1, False)


@pytest.mark.parametrize(
    ("paths", "answer"),
    [
        ({"sx": [ONE], "sy": [ONE]}, "x"),
        ({"sy": [ONE]}, "y"),
        ({"sx": [TWO], "sy": [ONE]}, "y"),
        ({"sx": [TWO], "sy": [(("p", "q"), 2, False)]}, "y"),
        ({"sx": [(("p", "q"), 9, False)], "ty": [ONE]}, "y"),
        ({"sx": [ONE, (("q",), 2, False)], "sy": [ONE], "ty": [ONE]}, "x"),
    ],
)
def test_the_answer_nearest_to_a_topic_stands_for_all_then_that_of_most_paths_then_the_first_by_id(
    paths: Mapping[str, Found], answer: str
) -> None:
    assert pooled("st", "yx", paths).answer == answer


def test_paths_come_before_what_is_around_topics_and_the_answer_and_chains_from_one_start_are_one() -> None:
    found = pooled(
        "ts",
        "xy",
        {"sx": [ONE], "tx": [(("q", "r"), 3, False)], "sy": [TWO]},
        {"s": [(("p",), 7, False), (("n",), 2, False)], "t": [(("p",), 4, False)], "x": [(("^p",), 5, False)]},
    )
    assert found.chains == (
        PoolChain("path", "t", ("q", "r"), ("t", "-", "x"), 3),
        PoolChain("path", "s", ("p",), ("s", "x")),
        PoolChain("query", "t", ("p",), ("t", "-"), 4),
        PoolChain("query", "s", ("n",), ("s", "-"), 2),
        PoolChain("answer", "x", ("^p",), ("x", "-"), 5),
    )
    assert (found.topics, found.answer, found.cut) == (("t", "s"), "x", ())
    assert found.num_raw == 1 + 3 + 1 + 7 + 2 + 4 + 5


def test_what_a_bound_cuts_off_is_told() -> None:
    around: dict[str, Found] = {"s": [(("n",), 1, False)]}
    assert pooled("s", "xy", {"sx": [ONE]}, around, max_answers=2, max_chains=2).cut == ()
    fewer = pooled("s", "yx", {"sx": [ONE], "sy": [ONE]}, around, max_answers=1, max_chains=1)
    assert (fewer.cut, len(fewer.chains), fewer.num_raw) == (("answers", "chains"), 1, 2)
    assert pooled("sx", "xy", {"sy": [ONE]}, max_answers=1).cut == ()
    assert pooled("s", "xy", {"sx": [ONE], "sy": [(("p", "q"), 1, True)]}).cut == ("paths",)
    assert pooled("s", "xy", {"sx": [ONE]}, {"y": [(("n",), 1, True)]}).cut == ("neighbours",)


def test_paths_are_looked_for_to_the_first_answers_by_id() -> None:
    found = pooled("s", "yxcba", {f"s{id_}": [ONE] for id_ in "yxcba"}, {"b": [(("n",), 3, False)]}, max_answers=2)
    assert (found.answer, found.num_raw, found.cut) == ("a", 2 + 3, ("answers",))


def test_the_usual_bounds_and_why_a_question_is_left_out() -> None:
    graph = PathGraph({"sx": [ONE]}, {})
    found = graph.run(collect_pools([asked("?", "x", "a"), asked("s", "x", "b"), asked("s", "y", "c")], PoolBounds()))
    assert found[0] == SkippedQuestion("a", NO_TOPIC)
    assert isinstance(found[1], PooledQuestion)
    assert found[2] == SkippedQuestion("c", NO_PATH)
    assert graph.bounds == {"paths": 1_000, "degree": 20_000}
    assert (PoolBounds().max_answers, PoolBounds().max_chains) == (20, 200)
    assert graph.run(collect_pools([asked("?", "x", "a")], PoolBounds())) == [SkippedQuestion("a", NO_TOPIC)]


def test_of_a_batch_that_takes_too_long_each_half_is_tried_and_one_question_alone_is_left_out() -> None:
    class Slow:
        def __init__(self) -> None:
            self.graph, self.sizes = PathGraph({"sx": [ONE]}, {}), list[int]()

        def run(self, steps: Steps[Any]) -> Any:
            found = self.graph.run(steps)
            self.sizes.append(len(found))
            if len(found) > 2 or any(each.id == "slow" for each in found):
                raise QueryTimeoutError("too long")
            return found

    gateway = Slow()
    questions = [asked("s", "x", id_) for id_ in ("a", "b", "slow", "c", "d")]
    found = _batch(questions, cast(Gateway, gateway), PoolBounds())
    assert [each.id for each in found] == ["a", "b", "slow", "c", "d"]
    assert found[2] == SkippedQuestion("slow", TOO_LONG)
    assert gateway.sizes == [5, 2, 3, 1, 2]


def test_questions_chains_and_cuts_are_counted() -> None:
    counts = counts_of([replace(pooled_question(), cut=("paths",)), pooled_question(), SkippedQuestion("q", NO_PATH)])
    assert {name: number for name, number in counts.items() if number} == {
        "questions": 2,
        "path chains": 4,
        "query chains": 2,
        "answer chains": 2,
        "cut paths": 1,
        "left out: no path to an answer": 1,
    }
    first = pooled_question()
    sizes = compute_pool_sizes([first, replace(first, chains=first.chains[:1], num_raw=5)])
    assert sizes == {"mean before": 10.5, "max before": 16, "mean after": 2.5, "max after": 4}
