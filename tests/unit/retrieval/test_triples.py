"""Triples of question subgraphs by a scorer of triples, and ends of chains chosen by it; over a graph in memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from lodestar.engine.data_model import Question, Triple
from lodestar.engine.evidence import Calibration, Evidence, find_graph_token
from lodestar.engine.linking import look_up_topics
from lodestar.engine.retrieval.triples import NOTHING, Gril, RegTriple, RelationsByNumber, TrainedSubgraphScorer
from lodestar.models.subgraphs import QuestionGraphs, SubgraphOptions
from lodestar.models.text import RelationWords
from lodestar.models.text.vectors import TextVectors

from tests.fakes.call_context import make_context
from tests.fakes.letter_encoder import LetterEncoder
from tests.fakes.memory_graph import MemoryGraph

SCORES = {
    ("film", "actor", "ann"): 3.0,
    ("film", "actor", "bob"): 2.5,
    ("film", "actor", "cid"): 1.0,
    ("film", "maker", "ann"): 2.0,
    ("film", "year", "m1"): 0.5,
    ("m1", "of", "bob"): 2.75,
    ("bob", "home", "town"): -1.0,
    ("ann", "home", "city"): -2.0,
}
GRAPH = MemoryGraph(SCORES, {name: name for name in ("film", "ann", "bob", "cid", "town", "city")})


class KnownScores:
    """Scores each triple by its names; keeps what it was given."""

    def __init__(self, options: SubgraphOptions) -> None:
        self.description: Any = SimpleNamespace(
            config=SimpleNamespace(subgraph=options), calibration=(2.0, -1.0), kind="toy"
        )
        self.seen: list[QuestionGraphs] = []

    def score(self, graphs: QuestionGraphs) -> Any:
        self.seen.append(graphs)
        names = names_of(graphs)
        relations = [text.split()[-1] for text in graphs.texts.relations]
        rows = zip(graphs.heads, graphs.relation_of, graphs.tails, strict=True)
        scores = np.array([SCORES[names[h], relations[r], names[t]] for h, r, t in rows], dtype=np.float32)
        return scores, None, ()


def names_of(graphs: QuestionGraphs) -> list[str]:
    return ["m1" if place < 0 else graphs.texts.entities[place] for place in graphs.text_of.tolist()]


def scorer(**options: Any) -> tuple[TrainedSubgraphScorer, KnownScores]:
    model = KnownScores(SubgraphOptions(**options))
    words = {number: RelationWords("", (name,)) for number, name in GRAPH.numbered.items()}
    relations = RelationsByNumber(GRAPH.numbered, words, {})
    vectors = TextVectors(LetterEncoder())
    return TrainedSubgraphScorer(relations, vectors, cast(Any, model)), model


def scored(
    by: TrainedSubgraphScorer, questions: list[Question], keep: int = 9, top_k: int = 10
) -> list[Evidence[Triple]]:
    """What the part finds with a scorer."""
    part = RegTriple(keep=keep)
    ctx = make_context(GRAPH, opened={part: by})
    linked = look_up_topics(ctx.db, questions, [()] * len(questions))
    return [each.cut_to(top_k) for each in part(ctx, linked, top_k)]


def asked(*topics: str) -> Question:
    return Question("who is in it", topics)


def triples(evidence: Evidence[Triple]) -> list[tuple[str, str, str]]:
    return [(item.value.head.id, item.value.relation, item.value.tail.id) for item in evidence.items]


def best(*topics: str) -> list[tuple[str, str, str]]:
    """The triples within two hops, best first."""
    near = {"film": set(SCORES), "town": {("bob", "home", "town"), ("film", "actor", "bob"), ("m1", "of", "bob")}}
    return sorted({triple for topic in topics for triple in near[topic]}, key=lambda triple: -SCORES[triple])


def test_the_best_triples_of_each_question_come_first_with_their_scores() -> None:
    by, model = scorer()
    questions = [asked("film"), asked("nowhere"), asked("town")]
    found = scored(by, questions, 4, 2)
    assert [triples(each) for each in found] == [best("film")[:2], [], best("town")[:2]]
    assert [item.score for item in found[0].items] == [3.0, 2.75]
    assert {each.calibration for each in found} == {Calibration("logit", 2.0, -1.0, of="triple")}
    assert [each.note for each in found] == ["", NOTHING, ""]
    assert [[topic.entity.id for topic in each.topics] for each in found] == [["film"], [], ["town"]]
    (graphs,) = model.seen
    assert graphs.texts.questions == ("who is in it",) * 3
    assert [size > 0 for size in np.diff(graphs.triple_starts)] == [True, False, True]
    assert sorted(names_of(graphs)[node] for node in np.flatnonzero(graphs.is_topic).tolist()) == ["film", "town"]


class KnownGrowth(KnownScores):
    """Grows whole subgraphs; what leads home is pruned. Each question has its number as its token."""

    def score(self, graphs: QuestionGraphs) -> Any:
        assert not graphs.is_literal.any()
        logits, _, _ = super().score(graphs)
        home = [text.split()[-1] == "home" for text in graphs.texts.relations]
        is_kept = np.array([not home[relation] for relation in graphs.relation_of], dtype=np.bool_)
        tokens = [(float(number),) for number in range(len(graphs))]
        assert [size > 0 for size in np.diff(graphs.node_starts)] == [True, False, True], "nothing is around the second"
        return logits, is_kept, tokens


def test_what_grows_and_is_not_pruned_is_found_the_best_first() -> None:
    model = KnownGrowth(SubgraphOptions())
    words = {number: RelationWords("", (name,)) for number, name in GRAPH.numbered.items()}
    vectors = TextVectors(LetterEncoder())
    by = TrainedSubgraphScorer(RelationsByNumber(GRAPH.numbered, words, {}), vectors, model)
    part = Gril(keep=2)
    ctx = make_context(GRAPH, opened={part: by})
    linked = look_up_topics(ctx.db, [asked("film"), asked("nowhere"), asked("town")], [(), (), ()])
    for top_k, num in ((1, 2), (9, 6)):
        found = part(ctx, linked, top_k)
        assert triples(found[0]) == best("film")[:num]
        near = [("m1", "of", "bob"), ("film", "actor", "bob"), ("film", "year", "m1")]
        assert [triples(each) for each in found[1:]] == [[], near[: max(top_k, 2)]]
        assert [find_graph_token(each) for each in found] == [(0.0,), (1.0,), (2.0,)]
        assert {each.calibration for each in found} == {Calibration("logit", 2.0, -1.0, of="triple")}


def test_a_subgraph_that_a_bound_cuts_says_so() -> None:
    by, _ = scorer(max_triples=2)
    (found,) = scored(by, [asked("film")])
    assert 1 <= len(found.items) <= 2
    assert len(found.left_out) == 1
    (whole,) = scored(scorer()[0], [asked("film")])
    assert whole.left_out == ()
