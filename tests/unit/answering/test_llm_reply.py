from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.answering.llm import (
    AnswerClaim,
    add_other_chain_ends,
    cite_evidence_for_claims,
    normalise_name,
    parse_reply,
)
from lodestar.engine.data_model import Chain, Entity
from lodestar.engine.errors import LLMError
from lodestar.engine.evidence import Evidence
from lodestar.engine.llm import MAX_STARTS, parse_numbers
from lodestar.engine.llm.endpoint import MAX_REPLY_CHARS

from tests.made.evidence import evidence_of, ranked
from tests.made.evidence import leads as chain_that_leads


@pytest.mark.parametrize(
    "content",
    [
        '{"answers": ["Sol"]}',
        '{"answers": [{"entity": "Sol", "confidence": "high"}]}',
        '```json\n{"answers": ["Sol"]}\n```',
        'The evidence says {so}. {"answers": ["Sol"]} That is all.',
        '<think>{"answers": ["Dollar"]} or not?</think>{"answers": ["Sol"]}',
        '["Sol"]',
        '{"answers": ["Sol", "sol", " SOL ", ""]}',
        "The country uses one currency.\nans: Sol.",
        "These fit:\n- Sol\n- SOL",
        '{"answers": ["Sol",],}',
        '{"answers": ["Sol"], // the currency\n /* of Peru */ "text": null}',
        "{'answers': ['Sol']}",
        '<thinking>1. Dollar</thinking>{"answers": ["Sol"]}',
        'It may be the dollar.</think>\n{"answers": ["Sol"]}',
    ],
)
def test_one_answer_is_read_in_many_forms(content: str) -> None:
    assert parse_reply(content).claims == (AnswerClaim("Sol"),)


@pytest.mark.parametrize("end", [', "Int', ', "Inti', ",", ', "In\\"ti'])
def test_of_a_list_that_was_cut_off_the_whole_names_count(end: str) -> None:
    assert [claim.name for claim in parse_reply(f'{{"answers": ["Sol", "A \\"B\\""{end}').claims] == ["Sol", 'A "B"']


@pytest.mark.parametrize(
    "content",
    [
        '{"answers": []}',
        "ans: none",
        "1. **none**",
        '{"answers": [null, {}, [], ""]}',
    ],
)
def test_no_answer_is_an_answer_without_claims(content: str) -> None:
    assert parse_reply(content).claims == ()


@pytest.mark.parametrize(
    "content",
    [
        "Sol",
        "",
        "<thinking>\n- Dollar",
        '{"answers": ["Sol"',
        '{"answers": ' + "[" * 50_000,
        "[" * 50_000,
    ],
)
def test_what_cannot_be_read_is_one_error_that_quotes_nothing(content: str) -> None:
    with pytest.raises(LLMError, match='expected a JSON object with "answers"') as caught:
        parse_reply(content)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("piece", ["{", '{"a":', '{"a":[', '{"a":[1,', '{"', "</think>", '{"answers":["x"]} {', "/*"])
def test_no_reply_is_read_from_very_many_places(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading from every brace was quadratic in the length, a minute for the longest reply."""
    starts: list[int] = []
    started_s = time.process_time()

    class Counted(json.JSONDecoder):
        def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
            starts.append(idx)
            return super().raw_decode(s, idx)

    monkeypatch.setattr(json, "JSONDecoder", Counted)
    with suppress(LLMError):
        parse_reply((piece * MAX_REPLY_CHARS)[:MAX_REPLY_CHARS])
    assert len(starts) == len(set(starts)) <= MAX_STARTS
    assert bool(starts) is ("{" in piece)
    assert time.process_time() - started_s < 20


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["name", "answer", "entity", "confidence", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(json_values, json_values)
def test_any_json_under_answers_gives_named_claims_with_confidences_from_0_to_1(answers: object, text: object) -> None:
    reply = parse_reply(json.dumps({"answers": answers, "text": text}))
    assert all(claim.name for claim in reply.claims)
    assert all(claim.confidence is None or 0 <= claim.confidence <= 1 for claim in reply.claims)
    assert len({normalise_name(claim.name) for claim in reply.claims}) == len(reply.claims)


PERU, SOL, LIMA = Entity("m.peru", "Peru"), Entity("m.sol", "Peruvian_sol"), Entity("m.lima", "Lima")


def leads(relation: str, *ends: Entity, via: Entity | None = None) -> Chain:
    return chain_that_leads(relation, *ends, topic=PERU, via=via)


def retrieval(*chains: Chain) -> Evidence[Chain]:
    return evidence_of(*ranked(*chains), text="Which currency has Peru?")


def test_an_end_of_a_path_is_from_the_graph_with_every_path_to_it() -> None:
    found = retrieval(leads("capital", LIMA), leads("currency", SOL), leads("money", SOL))
    (answer,) = cite_evidence_for_claims((AnswerClaim("peruvian SOL", 0.9),), found)
    assert (answer.name, answer.id, answer.origin) == ("Peruvian sol", "m.sol", "graph")
    assert answer.evidence == (1, 2)
    assert answer.confidence == 0.9


@pytest.mark.parametrize("said", ["lima.", "1. Lima", "Ciudad de los Reyes", "2) ciudad de los reyes."])
def test_a_name_is_known_by_its_aliases_and_without_what_stands_around_it(said: str) -> None:
    found = retrieval(leads("capital", LIMA))
    (answer,) = cite_evidence_for_claims((AnswerClaim(said),), found, {"m.lima": ["lima", "ciudad de los reyes"]})
    assert (answer.name, answer.id, answer.evidence) == ("Lima", "m.lima", (0,))


def test_a_mark_of_thoughts_inside_a_name_is_a_part_of_it() -> None:
    assert parse_reply('{"answers": ["</think>"]}').claims == (AnswerClaim("</think>"),)


RIVERS = tuple(Entity(f"m.river{number}", f"River {number}") for number in range(101))


def complete(found: Evidence[Chain], *named: tuple[Entity, float | None]) -> list[tuple[str | None, float | None]]:
    """Return id and confidence of what is added to these names."""
    cited = cite_evidence_for_claims(
        tuple(AnswerClaim(entity.label, confidence) for entity, confidence in named), found
    )
    completed = add_other_chain_ends(cited, found)
    assert completed[: len(cited)] == cited
    assert all(answer.origin == "graph" for answer in completed)
    return [(answer.id, answer.confidence) for answer in completed[len(cited) :]]


def test_all_ends_of_a_path_are_answers_where_the_reply_names_two() -> None:
    found = retrieval(leads("capital", LIMA), leads("river", *RIVERS[:4]), leads("lake", *RIVERS[:3]))
    assert complete(found, (RIVERS[2], 0.9), (RIVERS[0], 0.7)) == [("m.river1", 0.7), ("m.river3", 0.7)]
    assert complete(found, (RIVERS[2], 0.9), (RIVERS[0], None)) == [("m.river1", None), ("m.river3", None)]
    (added, _) = add_other_chain_ends(
        cite_evidence_for_claims((AnswerClaim("River 0"), AnswerClaim("River 1")), found), found
    )[2:]
    assert (added.name, added.evidence) == ("River 2", (1,))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Peruvian_sol", "  peruvian   Sol "),
        ("Straße", "STRASSE"),
        ("Café", "Cafe\u0301"),
        ("“Heroes”", '"heroes"'),
        ("Bit " * 100, (("Bit " * 100)[:199]) + "…"),
    ],
)
def test_spellings_of_one_name(one: str, other: str) -> None:
    assert normalise_name(one) == normalise_name(other)


@pytest.mark.parametrize(
    ("content", "chosen"),
    [
        ('{"chains": [1, 3], "why": "both"}', (0, 2)),
        ('```json\n{"chains": [3, 1, 3]}\n```', (0, 2)),
        ('<think>{"chains": [2]} or rather</think>\nSo: {"chains": [1]}.', (0,)),
        ('First I thought {"chains": [2]}, but it is {"chains": [4]}', (3,)),
        ('{"chains": [{"number": 1, "why": "of 1990"}, {"id": "2"}]}', (0, 1)),
        ('{"chains": [2, 2.5, true, null, 99, 0, -1]}', (1,)),
        ("[1, 2]", (0, 1)),
        ("The chosen ones are [2].", (1,)),
    ],
)
def test_numbers_are_read(content: str, chosen: tuple[int, ...]) -> None:
    assert parse_numbers(content, 4, in_list=True) == {place + 1 for place in chosen}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "None of them.",
        '{"chains": []}',
        "It was founded in 1990.",
        "[" * 9_999,
        '{"chains": ' + "[" * 600 + "]" * 600 + "}",
    ],
)
def test_a_reply_without_a_chain_chooses_none(content: str) -> None:
    assert not parse_numbers(content, 4, in_list=True)


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ("1, 3", {1, 3}),
        ("The useful paths are 1 and 4.", {1, 4}),
        ("2-4", {2, 3, 4}),
        ("<think>3 looks wrong,\n2 too</think>\n4", {4}),
        ("none", set()),
        ("1.5", None),
        ("I cannot say", None),
        ("", None),
    ],
)
def test_the_numbers_of_a_reply_are_read_leniently(reply: str, numbers: set[int] | None) -> None:
    assert parse_numbers(reply, 4) == numbers
