"""Files of training paths, pools and subgraphs, mined from a graph in memory: what is in them, in which order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from lodestar.engine.errors import GraphError
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, QuestionSet
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.templates import Row
from lodestar.engine.supervision import mining
from lodestar.engine.supervision.mining import MiningOptions, mine_to_file
from lodestar.engine.supervision.pools import CUTS, PoolBounds, collect_pools
from lodestar.engine.supervision.subgraphs import write_question_graphs
from lodestar.models.mined import PooledQuestion, read_mined_file
from lodestar.models.subgraphs import UNNAMED, QuestionGraphs, SubgraphOptions, read_graphs

from tests.fakes.memory_engine import WholeGraph, open_engine

WORLD = WholeGraph(
    [
        ("peru", "capital", "lima"),
        ("chile", "capital", "santiago"),
        ("peru", "spouse", "chile"),
        ("chile", "marriage", "cvt"),
        ("cvt", "place", "lima"),
        ("cvt", "seat", "lima"),
        ("lima", "founded", "l1535"),
    ],
    {id_: id_.title() for id_ in ("peru", "chile", "lima", "santiago")},
    literals={"l1535": "1535"},
)


def question(id_: str, topic: str, *answers: str) -> GoldQuestion:
    return GoldQuestion(id_, f"What is it of {topic.title()}?", tuple(map(GoldAnswer, answers)), (topic,))


ASKED = (
    question("far", "peru", "santiago"),
    question("lost", "atlantis", "lima"),
    question("near", "chile", "santiago"),
    question("again", "peru", "lima", "chile"),
)


def question_set(*questions: GoldQuestion) -> QuestionSet:
    return QuestionSet("world", "lines", "1" * 64, questions)


def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *questions: GoldQuestion, **options: Any) -> Path:
    monkeypatch.setattr(mining, "Gateway", lambda _connection: WORLD)
    out = tmp_path / "mined.jsonl"
    with open_engine(tmp_path, "similarity", graph=WORLD) as engine:
        mine_to_file(question_set(*questions), engine, out, MiningOptions(num_negatives=1), **options)
    return out


def test_a_mined_file_has_the_questions_in_their_order_however_they_are_batched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress: list[tuple[str, int, int]] = []
    out = mine(tmp_path, monkeypatch, *ASKED, batch_size=1, progress=lambda *each: progress.append(each))
    one_by_one = out.read_bytes()
    assert mine(tmp_path, monkeypatch, *ASKED).read_bytes() == one_by_one
    found = read_mined_file(out)
    assert [each.id for each in found.questions] == ["far", "near", "again"]
    assert [path.hops for path in found.questions[0].paths] == [("spouse", "capital")]
    header = found.mining
    assert (header.questions, header.questions_sha256, header.max_hop) == ("world", "1" * 64, 2)
    assert header.encoder.startswith("all-MiniLM-L6-v2")
    assert set(header.relations) == set(WORLD.relations)
    assert header.options["num_negatives"] == 1
    assert "max_hop" not in header.options
    assert {name: header.counts[name] for name in ("questions", "left out: no topic in the graph")} == {
        "questions": 3,
        "left out: no topic in the graph": 1,
    }
    assert header.counts["answer paths"] == sum(len(each.paths) for each in found.questions)
    assert [each for each in progress if each[0] == "walking"] == [("walking", done, 4) for done in range(5)]
    assert [each for each in progress if each[0] == "labelling"] == [("labelling", 3, 3)]


Chains = list[tuple[tuple[str, ...], tuple[str, ...], int, bool]]


class PoolGraph(WholeGraph):
    """Answers with these shortest paths, by topic and answer, and neighbourhoods, by entity."""

    def __init__(self, between: Mapping[tuple[str, str], Chains], around: Mapping[str, Chains]) -> None:
        ids = {id_ for pair in between for id_ in pair} | set(around)
        super().__init__([(id_, "r", f"{id_} end") for id_ in sorted(ids)])
        self._between = between
        self._around = around

    def _find_shortest_paths(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        pairs = [(pair["key"], (pair["topic"], pair["answer"])) for pair in params["pairs"]]
        return [(key, *chain) for key, pair in pairs for chain in self._between.get(pair, [])]

    def _read_neighbourhoods(self, params: Mapping[str, Any], _names: Mapping[str, str]) -> list[Row]:
        around = ((id_, chain) for id_ in params["ids"] for chain in self._around.get(id_, []))
        return [(id_, steps[0], names, count, cut) for id_, (steps, names, count, cut) in around]


def chain(*steps: str, count: int = 1, cut: bool = False) -> tuple[tuple[str, ...], tuple[str, ...], int, bool]:
    return steps, tuple("x" * (len(steps) + 1)), count, cut


def pool_of(graph: PoolGraph, *topics: str, answers: tuple[str, ...], **bounds: int) -> PooledQuestion:
    asked = GoldQuestion("q", "?", tuple(map(GoldAnswer, answers)), topics)
    (found,) = collect_pools([asked], cast(Gateway, graph), PoolBounds(**bounds))
    assert isinstance(found, PooledQuestion)
    return found


def test_a_pool_says_which_bound_cut_it() -> None:
    between = {("t", answer): [chain("r"), chain("s")] for answer in "abc"}
    graph = PoolGraph(between, {"t": [chain("g")]})
    whole = pool_of(graph, "t", answers=("a", "b", "c"), max_answers=3, max_chains=3)
    assert (whole.cut, len(whole.chains)) == ((), 3)
    assert pool_of(graph, "t", answers=("a", "b", "c"), max_answers=2).cut == ("answers",)
    fewer = pool_of(graph, "t", answers=("a", "b", "c"), max_chains=2)
    assert (fewer.cut, [each.kind for each in fewer.chains]) == (("chains",), ["path", "path"])
    cut = PoolGraph({("t", "a"): [chain("r", cut=True)]}, {"a": [chain("g", cut=True)]})
    assert pool_of(cut, "t", answers=("a",)).cut == ("paths", "neighbours")
    assert set(CUTS) == {"answers", "paths", "neighbours", "chains"}
    assert pool_of(graph, "t", answers=("a", "t"), max_answers=1).cut == (), "a topic is no answer"


def named_triples(graphs: QuestionGraphs, number: int) -> list[tuple[tuple[str, str, str], bool]]:
    """Return the triples of a question by the names in them, each with whether it is a positive."""
    first, after = graphs.triple_starts[number : number + 2]
    texts = graphs.texts
    names = ["" if text == UNNAMED else texts.entities[text] for text in graphs.text_of.tolist()]
    return [
        (
            (names[graphs.heads[n]], texts.relation_names[graphs.relation_of[n]], names[graphs.tails[n]]),
            bool(graphs.is_positive[n]),
        )
        for n in range(first, after)
    ]


def test_a_file_of_subgraphs_has_the_triples_on_shortest_paths_as_positives(tmp_path: Path) -> None:
    out, progress = tmp_path / "graphs.safetensors", list[tuple[str, int, int]]()
    with open_engine(tmp_path, "similarity", graph=WORLD) as engine:
        write_question_graphs(
            question_set(*ASKED),
            engine,
            engine.resources.vectors,
            out,
            SubgraphOptions(),
            progress=lambda *each: progress.append(each),
        )
        with pytest.raises(GraphError, match="world: expected questions about this graph, found none"):
            write_question_graphs(question_set(ASKED[1]), engine, engine.resources.vectors, out, SubgraphOptions())
    assert progress == [("walking", 0, 4), ("walking", 4, 4)]
    graphs = read_graphs(out)
    texts = graphs.texts
    assert texts.ids == ("far", "near", "again")
    triples = [named_triples(graphs, number) for number in range(3)]
    assert {triple for triple, _ in triples[0]} == {
        ("Peru", "capital", "Lima"),
        ("Chile", "capital", "Santiago"),
        ("Peru", "spouse", "Chile"),
        ("Chile", "marriage", ""),
        ("", "place", "Lima"),
        ("", "seat", "Lima"),
        ("Lima", "founded", "1535"),
    }
    positive = [{triple for triple, is_right in each if is_right} for each in triples]
    assert positive == [
        {("Peru", "spouse", "Chile"), ("Chile", "capital", "Santiago")},
        {("Chile", "capital", "Santiago")},
        {("Peru", "capital", "Lima"), ("Peru", "spouse", "Chile")},
    ]
    assert [set(answers) for answers in texts.answers] == [{"santiago"}, {"santiago"}, {"lima", "chile"}]
    assert [set(topics) for topics in texts.topics] == [{"peru"}, {"chile"}, {"peru"}]
    for number, (topics, answers) in enumerate(zip(texts.topics, texts.answers, strict=True)):
        first = graphs.node_starts[number]
        for id_, node in {**topics, **answers}.items():
            assert texts.entities[graphs.text_of[first + node]] == WORLD.names[id_]
        assert graphs.is_topic[first : graphs.node_starts[number + 1]].sum() == 1
    literals = [texts.entities[text] for text in graphs.text_of[graphs.is_literal]]
    assert literals == ["1535"] * 3
