"""Each kind of miss, and questions made unanswerable, on graphs in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from lodestar.engine.errors import UsageError
from lodestar.engine.evaluation.diagnosis import Diagnosis, Miss, check_excluded, exclude_relations
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Answer
from lodestar.engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion
from lodestar.engine.neo4j.templates import Request
from lodestar.engine.values import Entity, Path, RelationPath, RelationStep, Scored, Topic, Triple

from tests.fakes.memory_graph import MemoryGraph
from tests.made.evidence import chain_of, evidence_of, leads
from tests.made.mined_graphs import catalogue_of, mediating_of


class DiagnosedGraph(MemoryGraph):
    """Also has a catalogue, as a gateway."""

    def run(self, request: Request) -> object:
        return catalogue_of(self) if request.template.name == "read_catalogue" else super().run(request)

    def stream(self, _request: Request) -> Iterator[int]:
        return iter(mediating_of(self))


def diagnosis_of(triples: list[tuple[str, str, str]], max_hop: int) -> Diagnosis:
    names = {id_: id_.upper() for head, _, tail in triples for id_ in (head, tail)}
    return Diagnosis(DiagnosedGraph(triples, names), max_hop)


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
    ("answers", "found", "walked", "topics", "expected"),
    [
        ((GoldAnswer("c"),), [], [], (), Miss("not linked")),
        ((GoldAnswer("c"),), [(ONE, ["b"])], [ONE], ("b",), Miss("not linked")),
        ((GoldAnswer("z"),), [(ONE, ["b"])], [ONE], ("a",), Miss("not in the graph")),
        ((GoldAnswer(None, ("no such name",)),), [(ONE, ["b"])], [ONE], ("a",), Miss("not in the graph")),
        ((GoldAnswer("e"),), [(ONE, ["b"])], [ONE], ("a",), Miss("out of reach")),
        ((GoldAnswer("f"),), [(ONE, ["b"])], [ONE], ("a",), Miss("out of reach")),
        ((GoldAnswer("c"),), [(path("r", "t"), ["d"])], [], ("a",), Miss("pruned", None)),
        ((GoldAnswer("c"),), [(path("r", "t"), ["d"])], [ONE, path("r", "t")], ("a",), Miss("pruned", 2)),
        ((GoldAnswer("b"),), [(TWO, ["c"])], [TWO], ("a",), Miss("pruned", 1)),
        ((GoldAnswer("c"),), [(ONE, ["b"]), (TWO, ["c"])], [ONE, TWO], ("a",), Miss("not the first", 2)),
        ((GoldAnswer(None, ("C",)),), [(TWO, ["c"])], [ONE, TWO], ("a",), Miss("lost by the answerer")),
    ],
)
def test_each_kind_of_miss(
    answers: tuple[GoldAnswer, ...],
    found: list[tuple[RelationPath, list[str]]],
    walked: list[RelationPath],
    topics: tuple[str, ...],
    expected: Miss,
) -> None:
    linked = tuple(Topic(Entity(t, t.upper())) for t in topics)
    paths = tuple(Scored(chain(each, ends), 1.0) for each, ends in found)
    evidence = evidence_of(*paths, topics=linked, walked=tuple(("a", each) for each in walked))
    question = GoldQuestion("q", "?", answers, topic_ids=("a",))
    assert diagnosis_of(GRAPH, 2).miss(question, Answer(evidence, (), "", "test")) == expected


COUNTRIES = [
    ("peru", "capital", "lima"),
    ("peru", "largest_city", "lima"),
    ("peru", "city", "lima"),
    ("peru", "city", "cusco"),
    ("peru", "city", "puno"),
    ("peru", "city", "ica"),
    ("peru", "river", "amazon"),
    ("amazon", "flows_by", "lima"),
    ("chile", "capital", "santiago"),
]


def asked(*answers: str, topic: str = "peru", paths: tuple[GoldPath, ...] = ()) -> GoldQuestion:
    return GoldQuestion("q", "?", tuple(map(GoldAnswer, answers)), topic_ids=(topic,), paths=paths)


def test_what_leads_to_right_answers_and_to_little_else_is_left_out() -> None:
    (one,) = exclude_relations([asked("lima")], diagnosis_of(COUNTRIES, 1))
    assert (one.id, len(one.answers)) == ("q without its relations", 0)
    assert one.excluded_relations == {"capital", "largest_city"}
    (two,) = exclude_relations([asked("lima")], diagnosis_of(COUNTRIES, 2))
    assert two.excluded_relations == {"capital", "largest_city", "river", "flows_by"}
    assert one.as_question(("peru",)).excluded_relations == one.excluded_relations
    with pytest.raises(UsageError, match="found none of 1"):
        exclude_relations([asked("santiago")], diagnosis_of(COUNTRIES, 1))


def test_from_an_f1_of_one_half_on_a_path_is_left_out_beside_a_better_one() -> None:
    """Beside `seat`, whose F1 is 1: `towns` has two ends (2/3), `places` three (1/2), `stops` four (2/5)."""
    ends = {"seat": "l", "towns": "la", "places": "lab", "stops": "labc"}
    diagnosis = diagnosis_of([("p", relation, tail) for relation, tails in ends.items() for tail in tails], 1)
    (found,) = exclude_relations([asked("l", topic="p")], diagnosis)
    assert found.excluded_relations == {"seat", "towns", "places"}


def test_a_search_that_does_not_leave_them_out_is_found_out() -> None:
    (question,) = exclude_relations([asked("lima")], diagnosis_of(COUNTRIES, 1))
    evidence = evidence_of(Scored(leads("city", Entity("lima", "Lima"), topic=Entity("peru", "Peru")), 1.0))
    check_excluded(question, evidence)
    used = evidence_of(Scored(leads("capital", Entity("lima", "Lima"), topic=Entity("peru", "Peru")), 1.0))
    with pytest.raises(UsageError, match="found the excluded 'capital'"):
        check_excluded(question, used)
