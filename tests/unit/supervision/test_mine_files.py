"""Files of training paths, pools and subgraphs, mined from a graph in memory: what is in them, in which order."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from lodestar.engine.errors import GraphError
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion, QuestionSet
from lodestar.engine.supervision.subgraphs import write_question_graphs
from lodestar.models.mined import MAX_RATIO, MinedFileError, read_pool, write_pool
from lodestar.models.mined import read_mined_file as read_mined
from lodestar.models.subgraphs import UNNAMED, QuestionGraphs, SubgraphOptions, read_graphs

from tests.fakes.memory_engine import WholeGraph, open_engine
from tests.made.mined_examples import mined_file
from tests.made.pool_examples import candidate_pool

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


# Files of candidate pools: what is written is read, and what is wrong with one is told with its line.


@pytest.mark.parametrize("read", [read_pool, read_mined], ids=["pool", "paths"])
def test_a_small_file_that_is_large_when_it_is_unpacked_is_not_taken_in(
    tmp_path: Path, read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lodestar.models.mined.FREE_BYTES", 1 << 20)
    monkeypatch.setattr("lodestar.models.mined.MAX_LINE_BYTES", 1 << 18)
    path = tmp_path / "bomb.jsonl.gz"
    (write_pool(path, candidate_pool(1)) if read is read_pool else mined_file(path))
    with gzip.open(path, "rb") as file:
        head, question, *_ = file.read().splitlines(keepends=True)
    for lines, fault in (
        ([b'{"id": "' + b"x" * (1 << 18) + b'"}\n'], "found a longer one"),
        ([question] * ((2 << 20) // len(question)), "bytes when it is unpacked, found more"),
    ):
        with gzip.open(path, "wb", compresslevel=9) as file:
            file.writelines([head, *lines])
        assert path.stat().st_size < 2 * (1 << 20) / MAX_RATIO
        with pytest.raises(MinedFileError, match=fault):
            read(path)
