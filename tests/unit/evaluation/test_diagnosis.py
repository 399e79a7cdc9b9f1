"""Each kind of miss, on graphs in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from lodestar.engine.data_model import Chain, Entity, RelationPath, RelationStep, Scored, Topic, Triple
from lodestar.engine.evaluation.runs import MissDiagnoser, MissReason
from lodestar.engine.evidence import Answer
from lodestar.engine.gold_questions import GoldAnswer, GoldQuestion
from lodestar.engine.neo4j import Request

from tests.fakes.memory_graph import MemoryGraph
from tests.made.evidence import Path, chain_of, evidence_of
from tests.made.mined_graphs import catalogue_of, mediating_of


class DiagnosedGraph(MemoryGraph):
    """Also has a catalogue, as a gateway."""

    def run(self, request: Request) -> object:
        return catalogue_of(self) if request.template.name == "read_catalogue" else super().run(request)

    def stream(self, _request: Request) -> Iterator[int]:
        return iter(mediating_of(self))


def diagnosis_of(triples: list[tuple[str, str, str]], max_hop: int) -> MissDiagnoser:
    names = {id_: id_.upper() for head, _, tail in triples for id_ in (head, tail)}
    return MissDiagnoser(DiagnosedGraph(triples, names), max_hop)


GRAPH = [("a", "r", "b"), ("b", "s", "c"), ("b", "t", "d"), ("c", "s", "e"), ("f", "r", "f2")]


def path(*steps: str) -> RelationPath:
    return RelationPath(tuple(RelationStep(step.removeprefix("^"), step.startswith("^")) for step in steps))


def chain(relation_path: RelationPath, ends: list[str]) -> Chain:
    """The chain from a by these relations to these ends, by way of b."""
    paths = []
    for end in ends:
        places = [Entity(each, each.upper()) for each in ["a", *["b"] * (len(relation_path.steps) - 1), end]]
        ends_of = zip(pairwise(places), relation_path.steps, strict=True)
        triples = [Triple(head, step.relation, tail) for (head, tail), step in ends_of]
        paths.append(Path(tuple(triples), tuple(False for _ in triples)))
    return chain_of(*paths)


ONE, TWO = path("r"), path("r", "s")


@pytest.mark.parametrize(
    ("answers", "found", "topics", "expected"),
    [
        ((GoldAnswer("c"),), [], (), MissReason("not linked")),
        ((GoldAnswer("c"),), [(ONE, ["b"])], ("b",), MissReason("not linked")),
        ((GoldAnswer("z"),), [(ONE, ["b"])], ("a",), MissReason("not in the graph")),
        ((GoldAnswer(None, ("no such name",)),), [(ONE, ["b"])], ("a",), MissReason("not in the graph")),
        ((GoldAnswer("e"),), [(ONE, ["b"])], ("a",), MissReason("out of reach")),
        ((GoldAnswer("f"),), [(ONE, ["b"])], ("a",), MissReason("out of reach")),
        ((GoldAnswer("c"),), [(path("r", "t"), ["d"])], ("a",), MissReason("pruned")),
        ((GoldAnswer("c"),), [(ONE, ["b"]), (TWO, ["c"])], ("a",), MissReason("not the first", 2)),
        ((GoldAnswer(None, ("C",)),), [(TWO, ["c"])], ("a",), MissReason("lost by the answerer")),
    ],
)
def test_each_kind_of_miss(
    answers: tuple[GoldAnswer, ...],
    found: list[tuple[RelationPath, list[str]]],
    topics: tuple[str, ...],
    expected: MissReason,
) -> None:
    linked = tuple(Topic(Entity(t, t.upper())) for t in topics)
    evidence = evidence_of(*(Scored(chain(each, ends), 1.0) for each, ends in found), topics=linked)
    question = GoldQuestion("q", "?", answers, topic_ids=("a",))
    assert diagnosis_of(GRAPH, 2).miss(question, Answer(evidence, (), "", "test")) == expected
