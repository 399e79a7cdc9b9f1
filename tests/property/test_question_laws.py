"""Laws of reading question sets: what is written is read, ids are distinct, and no file ends in another error."""

from __future__ import annotations

import gzip
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.engine.errors import InputError
from lodestar.engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion
from lodestar.loaders.question_sets import FORMATS, distinct_answers, read_questions

from tests.conftest import examples

many = settings(max_examples=examples(50))

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
asked = texts.filter(lambda text: bool(text.strip())).map(str.strip)
ids = st.sampled_from(["", " ", "a", "a#2", "b", "a#2#2"]) | asked
names = st.lists(texts, max_size=3, unique=True).map(tuple)
answers = st.builds(GoldAnswer, st.none() | texts, st.lists(texts, min_size=1, max_size=3, unique=True).map(tuple))
numbers = st.none() | st.integers(0, 9)


@st.composite
def paths(draw: st.DrawFn) -> GoldPath:
    relations = draw(st.lists(texts, min_size=1, max_size=3))
    entities = draw(st.lists(texts, min_size=len(relations) + 1, max_size=len(relations) + 1) | st.just([]))
    return GoldPath(tuple(relations), tuple(entities))


gold_questions = st.builds(
    GoldQuestion,
    ids,
    asked,
    st.lists(answers, max_size=4).map(distinct_answers),
    names,
    names,
    numbers,
    st.lists(paths(), max_size=3).map(tuple),
)


def lodestar_record(question: GoldQuestion) -> dict[str, Any]:
    return {
        "id": question.id,
        "question": question.text,
        "topic_entities": question.topic_ids,
        "topic_names": question.topic_names,
        "answers": [{"id": answer.id, "names": answer.names} for answer in question.answers],
        "num_hops": question.num_hops,
        "paths": [{"relations": path.relations, "entities": path.entities} for path in question.paths],
    }


def read(content: bytes, format_name: str | None = None) -> tuple[GoldQuestion, ...]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "set"
        path.write_bytes(content)
        return read_questions(str(path), format_name).questions


@many
@given(st.lists(gold_questions, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_what_is_written_is_read(written: list[GoldQuestion], ascii_only: bool, in_one: bool) -> None:
    records = [lodestar_record(question) for question in written]
    lines = [json.dumps(record, ensure_ascii=ascii_only) for record in records]
    found = read((f"[{','.join(lines)}]" if in_one else "\n".join(lines)).encode())
    assert [replace(q, id="") for q in found] == [replace(q, id="") for q in written]
    assert len({question.id for question in found}) == len(found)
    for number, (question, original) in enumerate(zip(found, written, strict=True), start=1):
        own = original.id.strip() or f"set:{number}"
        assert question.id == own or question.id.startswith(f"{own}#")
    assert read(gzip.compress("\n".join(lines).encode())) == read("\n".join(lines).encode())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
fields = st.sampled_from(
    "id question answers topic_entities num_hops paths QuestionId RawQuestion Parses Answers ID sparql "
    "qid answer graph_query relations q_entity answer_mids ground_relation_paths entities Questions".split()
)
records = st.dictionaries(fields, json_values | st.lists(st.dictionaries(fields, json_values, max_size=3)), max_size=8)


@pytest.mark.parametrize("format_name", [None, *FORMATS])
@settings(max_examples=examples(30))
@given(
    content=st.lists(records | json_values, max_size=3).map(lambda all_: "\n".join(map(json.dumps, all_)).encode())
    | st.lists(records, max_size=3).map(lambda all_: json.dumps(all_).encode())
    | st.binary(max_size=40)
    | st.text("[]ab|\t\n#(/)<end>", max_size=40).map(str.encode)
)
def test_whatever_the_file_the_error_has_a_place(content: bytes, format_name: str | None) -> None:
    try:
        found = read(content, format_name)
    except InputError as error:
        assert "\n" not in str(error) and "set" in str(error)
    else:
        assert found and all(question.text.strip() for question in found)
