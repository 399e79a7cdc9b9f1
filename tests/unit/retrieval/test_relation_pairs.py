"""Pairs of question and relations, without those that would tell what is asked."""

from __future__ import annotations

import random
from dataclasses import replace

from lodestar.engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion, QuestionSet
from lodestar.engine.training.sources import collect_relation_examples
from lodestar.models.star.examples import sample_relation_examples


def gold(id_: str, text: str, *relations: str, topic: str = "Peru", paths: int = 1) -> GoldQuestion:
    return GoldQuestion(
        id_,
        text,
        (GoldAnswer("a"),),
        topic_names=(topic,),
        paths=tuple(GoldPath((relation,)) for relation in relations) * paths,
    )


def question_set(*questions: GoldQuestion, name: str = "set", sha256: str = "7") -> QuestionSet:
    return QuestionSet(name=name, format="jsonl", sha256=sha256, questions=questions)


def test_pairs_are_of_masked_questions_and_the_relations_of_their_first_paths() -> None:
    found = collect_relation_examples(
        [
            question_set(
                gold("1", "What is the capital of Peru?", "location.country.capital"),
                gold("2", "Who leads Peru?", "a.b.first", "a.b.second", "a.b.third"),
                gold("3", "Which money has Peru?"),
                replace(gold("4", "Who was born in Lima?", topic="Lima"), triples=(("x", "a.b.second", "y"),)),
            )
        ],
        [],
    )
    assert [(pair.text, pair.relations) for pair in found.pairs] == [
        ("What is the capital of ?", (0,)),
        ("Who leads ?", (1, 2)),
        ("Who was born in ?", (2,)),
    ]
    assert [(words.domain, words.properties) for words in found.relations] == [
        ("country", ("capital",)),
        ("b", ("first",)),
        ("b", ("second",)),
    ]


def test_questions_that_are_asked_elsewhere_are_no_pairs() -> None:
    left_out = question_set(
        gold("x", "What is the CAPITAL of  Peru", "r"), gold("WebQTest-12", "anything", "r"), sha256="8"
    )
    asked = question_set(
        gold("1", "What is the capital of Peru?", "r"),
        gold("2", "What is the capital of Chile?", "r"),
        gold("WebQTest-12_9f", "A question made from it", "r"),
        gold("WebQTest-123_9f", "Made from another", "r"),
        gold("WebQTrn-12", "Of another split", "r"),
    )
    found = collect_relation_examples([asked], ((each.id, each.text) for each in left_out.questions))
    assert [pair.text for pair in found.pairs] == [
        "What is the capital of Chile?",
        "Made from another",
        "Of another split",
    ]
    assert found.sha256 != collect_relation_examples([asked], []).sha256


def test_a_sample_of_pairs_has_their_relations_among_others() -> None:
    pairs = collect_relation_examples(
        [question_set(*(gold(str(i), f"What is {i}?", f"a.b.r{i}") for i in range(20)))], []
    )
    sample = sample_relation_examples(pairs, 4, 6, random.Random(3))
    assert len(sample.texts) == len(set(sample.texts)) == 4
    assert len(sample.forwards) == len(set(sample.forwards)) == len(sample.inverse) <= 10
    for text, (row,) in zip(sample.texts, sample.right, strict=True):
        number = text.removeprefix("What is ").removesuffix("?")
        assert sample.forwards[row] == f"b r{number}"
        assert sample.inverse[row] == f"r{number} b"
    whole = sample_relation_examples(pairs, 99, 99, random.Random(3))
    assert (len(whole.texts), len(whole.forwards)) == (20, 20)
