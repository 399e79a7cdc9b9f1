"""Questions made of a graph in memory: what they ask, their answers, and which of them a training is tested on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lodestar.engine.errors import GraphError
from lodestar.engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion, QuestionSet
from lodestar.engine.neo4j.catalogue import Catalogue, Phrase, RelationInfo
from lodestar.engine.progress import Progress
from lodestar.engine.supervision import made_set
from lodestar.engine.supervision.made_set import (
    HopVerbaliser,
    list_non_english_warnings,
    make_questions,
    split_train_dev,
)
from lodestar.engine.supervision.path_sampling import PathConjunction, QuestionGenerationOptions, SampledPath
from lodestar.engine.values import Entity, RelationStep
from lodestar.models.text.vectors import TextVectors
from lodestar.models.wording.phrases import HopWording

from tests.fakes.letter_encoder import LetterEncoder
from tests.fakes.memory_engine import HalfLoadedGraph, WholeGraph, open_engine

TRIPLES = [
    *((f"p{n}", "spouse", f"p{n + 1}") for n in range(0, 8, 2)),
    *((f"p{n}", "profession", f"job{n % 3}") for n in range(8)),
    *((f"p{n}", "born on", f"day{n}") for n in range(8)),
    ("p0", "marriage", "m0"),
    ("m0", "place", "town"),
    ("odd", "profession", "job0"),
    ("long", "profession", "job1"),
]
NAMES = {
    **{f"p{n}": f"Person {chr(65 + n)}" for n in range(8)},
    **{f"job{n}": f"Job {n}" for n in range(3)},
    "town": "Town",
    "odd": "?!",
    "long": "L" * 121,
}
DAYS = {f"day{n}": f"19{n}0-01-01" for n in range(8)}


def make(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    graph: WholeGraph | None = None,
    *,
    hold_out: bool = False,
    **options: Any,
) -> tuple[QuestionSet, list[str]]:
    """Return questions made of a graph, and what was said about it."""
    graph = graph or WholeGraph(TRIPLES, NAMES, literals=DAYS)
    monkeypatch.setattr(made_set, "Gateway", lambda _connection: graph)
    said: list[str] = []
    with open_engine(tmp_path, "similarity", graph=graph) as engine:
        return make_questions(engine, QuestionGenerationOptions(**options), hold_out=hold_out, say=said.append), said


def test_a_question_names_its_topics_and_has_the_answers_and_the_path_of_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = make(tmp_path, monkeypatch, num_questions=40, joint=0.3, lengths=(1.0, 0.3))
    assert len(made.questions) == 40
    assert len({(question.text.lower(), question.topic_ids) for question in made.questions}) == 40
    assert {(question.num_hops, len(question.topic_ids)) for question in made.questions} == {(1, 1), (2, 1), (1, 2)}
    for question in made.questions:
        assert question.id.startswith("made-")
        assert question.topic_names == tuple(NAMES[id_] for id_ in question.topic_ids)
        assert all(name.lower() in question.text.lower() for name in question.topic_names)
        assert not {"odd", "long"} & set(question.topic_ids)
        assert len(question.paths) == len(question.topic_ids)
    one_hop = [q for q in made.questions if q.num_hops == 1 and len(q.paths) == 1]
    born = [q for q in one_hop if q.paths == (GoldPath(("born on",)),)]
    assert born
    for question in born:
        (topic,) = question.topic_ids
        assert question.answers == (GoldAnswer(None, (DAYS[f"day{topic[1:]}"],)),)
    for question in (q for q in one_hop if q.topic_ids[0] == "job2"):
        assert question.paths == (GoldPath(("profession",)),)
        assert {answer.id for answer in question.answers} == {"p2", "p5"}
        assert all(answer.names == (NAMES[answer.id or ""],) for answer in question.answers)
    through = [q for q in one_hop if q.paths == (GoldPath(("marriage", "place")),)]
    assert all([answer.id for answer in q.answers] == ["town"] for q in through)
    assert through


def test_a_set_is_that_of_its_seed_and_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, again, other = (make(tmp_path, monkeypatch, num_questions=9, seed=seed)[0] for seed in (0, 0, 1))
    assert made == again
    assert (made.sha256 != other.sha256, made.questions != other.questions) == (True, True)


def test_where_phrases_are_held_out_dev_questions_have_those_and_the_others_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worded: dict[str, list[bool | None]] = {}

    def note(hops: Sequence[HopWording], topic: str, _chance: object) -> str:
        text = f"{topic}: {' '.join(hop.properties[0] for hop in hops)}"
        worded[text] = [hop.held_out for hop in hops]
        return text

    monkeypatch.setattr(made_set, "question_of", note)
    made, _ = make(tmp_path, monkeypatch, num_questions=40, joint=0.0, hold_out=True)
    train, dev = split_train_dev(made)
    assert {held_out for each in train.questions for held_out in worded[each.text]} == {False}
    assert {held_out for each in dev.questions for held_out in worded[each.text]} == {True}
    made, _ = make(tmp_path, monkeypatch, num_questions=9, joint=0.0)
    assert {held_out for each in made.questions for held_out in worded[each.text]} == {None}


def test_questions_are_reworded_where_that_is_wanted_and_what_was_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reword(
        questions: list[GoldQuestion], _settings: object, *, progress: Progress, say: Callable[[str], None]
    ) -> list[GoldQuestion]:
        progress("rewording", len(questions), len(questions))
        say("all reworded")
        return [replace(each, text=f"other words of {each.id}") for each in questions]

    monkeypatch.setattr(made_set, "paraphrase_questions", reword)
    made, said = make(tmp_path, monkeypatch, num_questions=3, paraphrase=True)
    assert [each.text for each in made.questions] == [f"other words of {each.id}" for each in made.questions]
    assert said[-1] == "all reworded"


def test_a_small_graph_has_fewer_questions_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = WholeGraph([("a", "4711", "b")], {"a": "Ann", "b": "Bob"})
    made, said = make(tmp_path, monkeypatch, graph, num_questions=500, max_hop=1)
    assert 2 <= len(made.questions) < 500
    assert said[-1].startswith(f"the graph has {len(made.questions)} different questions, fewer than the 500 requested")
    enough, said = make(tmp_path, monkeypatch, graph, num_questions=2, max_hop=1)
    assert (len(enough.questions), len(said)) == (2, 1)


@pytest.mark.parametrize(
    ("names", "message"),
    [({}, "expected entities with names, found none"), ({"a": "Ann"}, "found none: the graph has too few")],
)
def test_a_graph_without_names_makes_no_questions(
    names: Mapping[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(GraphError, match=message):
        make(tmp_path, monkeypatch, WholeGraph([("a", "spouse", "b")], names), num_questions=2)


def test_a_question_with_two_topics_names_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    triples = [
        *(("ann", "directed", f"f{n}") for n in range(4)),
        *(("odd", "wrote", f"f{n}") for n in range(2)),
        ("bob", "wrote", "f2"),
    ]
    graph = WholeGraph(triples, {"ann": "Ann", "bob": "Bob", "odd": "?!", **{f"f{n}": f"Film {n}" for n in range(4)}})
    made, _ = make(tmp_path, monkeypatch, graph, num_questions=40, joint=1.0, max_hop=1)
    assert {question.topic_ids for question in made.questions if len(question.topic_ids) == 2} == {("ann", "bob")}


def test_a_graph_whose_load_did_not_finish_makes_no_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GraphError, match="the load of memory did not finish: run the same `lodestar load` again"):
        make(tmp_path, monkeypatch, HalfLoadedGraph(TRIPLES, NAMES, literals=DAYS), num_questions=2)


def question_set(num: int) -> QuestionSet:
    """Questions with two wordings of each pair of topic and path."""
    questions = [
        GoldQuestion(f"q{n}", f"wording {n}", (GoldAnswer("a"),), (f"t{n // 2}",), paths=(GoldPath(("r",)),))
        for n in range(num)
    ]
    return QuestionSet("made", "lodestar", "1" * 64, tuple(questions))


def test_one_path_in_eight_is_kept_for_dev_with_all_its_wordings() -> None:
    whole = question_set(1_600)
    train, dev = split_train_dev(whole)
    assert sorted((*train.questions, *dev.questions), key=whole.questions.index) == list(whole.questions)
    assert not {q.topic_ids for q in train.questions} & {q.topic_ids for q in dev.questions}
    assert 0.08 < len(dev.questions) / len(whole.questions) < 0.18
    assert len({whole.sha256, train.sha256, dev.sha256}) == 3
    assert (train.name, dev.name) == ("made, to learn", "made, to choose")


def test_a_question_that_two_paths_have_in_common_is_no_dev_question() -> None:
    def ask(number: int, relation: str, text: str) -> GoldQuestion:
        path = GoldPath((relation,))
        return GoldQuestion(f"{relation}{number}", text, (GoldAnswer("a"),), (f"t{number}",), paths=(path,))

    asked = [
        ask(n, r, text) for n in range(200) for r, text in (("maker", f"Who made t{n}?"), ("made by", f"who made t{n}"))
    ]
    train, dev = split_train_dev(QuestionSet("made", "lodestar", "1" * 64, tuple(asked)))
    texts = [{each.text.rstrip("?").lower() for each in some.questions} for some in (train, dev)]
    assert not texts[0] & texts[1]
    assert len(train.questions) + len(dev.questions) < len(asked)


def test_of_very_few_questions_every_other_is_for_dev() -> None:
    train, dev = split_train_dev(question_set(4))
    assert ([q.id for q in train.questions], [q.id for q in dev.questions]) == (["q0", "q2"], ["q1", "q3"])
    with pytest.raises(GraphError, match="expected two questions or more"):
        split_train_dev(question_set(1))


@pytest.mark.parametrize(
    ("names", "warning"),
    [
        (("4711", "spouse"), "1 of 2 relations have no English words (the first: '4711')"),
        (("vorgesetzter",), "none of the 1 relations has a common English word (the first: 'vorgesetzter')"),
        (("vorgesetzter", "spouse"), ""),
    ],
)
def test_a_graph_whose_relations_are_not_english_is_said(names: tuple[str, ...], warning: str) -> None:
    said = list_non_english_warnings(
        Catalogue(tuple(RelationInfo(n, name, name, 1) for n, name in enumerate(names, 1)))
    )
    assert [line[: len(warning)] for line in said] == ([warning] if warning else [])


def verbaliser(
    relations: Mapping[str, tuple[str, str]], together: Mapping[str, Counter[str]] | None = None
) -> HopVerbaliser:
    numbers = {name: number for number, name in enumerate(relations, start=1)}
    catalogue = Catalogue(
        tuple(
            RelationInfo(numbers[name], name, name, 1, domain or None, range_ or None)
            for name, (domain, range_) in relations.items()
        )
    )
    counts = {
        numbers[name]: Counter({numbers[other]: count for other, count in of.items()})
        for name, of in (together or {}).items()
    }
    return HopVerbaliser(catalogue, counts, TextVectors(LetterEncoder()))


def test_a_hop_has_the_words_of_its_steps_and_what_it_reaches_is_called() -> None:
    naming = verbaliser(
        {"marriage": ("people.person", "marriage"), "place": ("x.marriage", "x.city"), "mayor": ("a.city", "")}
    )
    steps = (
        RelationStep("marriage", to_mediator=True),
        RelationStep("place"),
        RelationStep("mayor"),
        RelationStep("mayor", inverse=True),
    )
    hops = naming.verbalise_hops(SampledPath(Entity("a", "A"), steps), held_out=True)
    assert [(hop.properties, hop.inverse, hop.reached) for hop in hops] == [
        (("marriage", "place"), False, ("city", "town", "place")),
        (("mayor",), False, ()),
        (("mayor",), True, ("city", "town", "place")),
    ]
    assert all(hop.held_out for hop in hops)


@pytest.mark.parametrize(("inverse", "properties"), [(False, ("marriage", "place")), (True, ("place", "marriage"))])
def test_the_words_of_a_relation_of_two_parts_are_in_the_order_of_the_way(
    inverse: bool, properties: tuple[str, ...]
) -> None:
    relation = RelationInfo(1, "r", "marriage – place", 1)
    naming = HopVerbaliser(Catalogue((relation,)), {}, TextVectors(LetterEncoder()))
    (hop,) = naming.verbalise_hops(SampledPath(Entity("a", "A"), (RelationStep("r", inverse=inverse),)))
    assert hop.properties == properties


def test_a_hop_is_said_as_people_say_it_and_not_by_the_lexicon() -> None:
    relation = RelationInfo(1, "spouse", "spouse", 1, phrases=(Phrase("who is married to"),))
    naming = HopVerbaliser(Catalogue((relation,)), {}, TextVectors(LetterEncoder()))
    (hop,) = naming.verbalise_hops(SampledPath(Entity("a", "A"), (RelationStep("spouse"),)))
    assert hop.said == ("who is married to",)


def test_what_has_relations_that_only_people_have_is_a_person() -> None:
    together = {"likes": Counter({"likes": 9, "spouse": 5, "profession": 4})}
    relations: dict[str, tuple[str, str]] = dict.fromkeys(("likes", "spouse", "profession"), ("", ""))
    assert heads(verbaliser(relations, together), "likes") == ("person", "someone", "man")


@pytest.mark.parametrize(
    ("spouse", "profession", "are_people"), [(9, 4, True), (9, 3, False), (9, 2, False), (4, 9, True), (2, 9, False)]
)
def test_what_things_are_is_told_by_the_eight_relations_that_most_of_them_have(
    spouse: int, profession: int, are_people: bool
) -> None:
    """Seven others are of five things, five, …, and three; two relations that only people have tell what things are."""
    others = ["z" * n for n in range(2, 9)]
    together = Counter({"spouse": spouse, "profession": profession, **dict.fromkeys(others, 5), others[-1]: 3})
    relations: dict[str, tuple[str, str]] = dict.fromkeys(("zq", *others, "spouse", "profession"), ("", ""))
    assert (heads(verbaliser(relations, {"zq": together}), "zq")[:1] == ("person",)) is are_people


def test_what_things_are_is_the_noun_nearest_to_their_relations_if_one_is_near() -> None:
    """By letters: "fml ilm" is nearest to "film movie"; of "zzz" no noun has a letter. A noun of the graph is a property."""
    assert heads(verbaliser({"fml ilm": ("", "")}), "fml ilm")[:1] == ("film",)
    assert heads(verbaliser({"zzz": ("", "")}), "zzz") == ()
    assert heads(verbaliser({"fml ilm": ("", ""), "films": ("", "")}), "fml ilm")[:1] != ("film",)


def heads(naming: HopVerbaliser, relation: str) -> tuple[str, ...]:
    """What a hop back over the relation reaches."""
    (hop,) = naming.verbalise_hops(SampledPath(Entity("a", "A"), (RelationStep(relation, inverse=True),)))
    return hop.reached


@pytest.mark.parametrize(
    ("topics", "ends", "asked"),
    [
        (("Peru",), ("Lima",), True),
        (("Peru", "x" * 120), ("Lima",), True),
        (("Peru", "x" * 121), ("Lima",), False),
        (("Peru", "…"), ("Lima",), False),
        (("Peru", None), ("Lima",), False),
        (("Peru",), ("Lima", None), False),
    ],
)
def test_what_is_asked_about_has_names_that_can_be_said(
    topics: tuple[str | None, ...], ends: tuple[str | None, ...], asked: bool
) -> None:
    paths = tuple(SampledPath(Entity(f"t{n}", name), (RelationStep("has"),)) for n, name in enumerate(topics))
    drawn = PathConjunction(paths, tuple(Entity(f"e{n}", name) for n, name in enumerate(ends)))
    assert made_set._can_be_asked(drawn) is asked
