"""Question sets: what every format says, that it is told by looking, and every fault with its place."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lodestar.engine.errors import InputError
from lodestar.engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion
from lodestar.loaders.question_sets import FORMATS, choose_file, read_questions
from pyarrow import parquet

LODESTAR: list[dict[str, Any]] = [
    {
        "id": "q1",
        "question": " Which city is the capital of Peru? ",
        "topic_entities": ["m.1"],
        "topic_names": ["Peru"],
        "answers": ["m.2", {"id": "m.3", "names": ["Lima", "Ciudad"]}, {"names": ["1535"]}, "m.2"],
        "min_hops": 1,
        "num_hops": 2,
        "paths": [["capital"], {"relations": ["in", "capital"], "entities": ["m.1", "m.9", "m.2"]}],
        "triples": [["m.1", "capital", "m.2"]],
    },
    {"id": "q2", "question": "Who is nobody?", "answers": [], "min_hops": 3},
]
WEBQSP: dict[str, Any] = {
    "Version": "1.0",
    "FreebaseVersion": "2015-08-09",
    "Questions": [
        {
            "QuestionId": "WebQTest-901",
            "RawQuestion": "where does the river Rímac rise?",
            "ProcessedQuestion": "where does the river rimac rise",
            "Parses": [
                {
                    "ParseId": "WebQTest-901.P0",
                    "TopicEntityName": "Rímac River",
                    "TopicEntityMid": "m.0aaa1",
                    "InferentialChain": ["geography.river.origin", "geography.origin.place"],
                    "Answers": [
                        {"AnswerType": "Entity", "AnswerArgument": "m.0bbb1", "EntityName": "Andes"},
                        {"AnswerType": "Value", "AnswerArgument": "1532", "EntityName": None},
                    ],
                },
                {
                    "ParseId": "WebQTest-901.P1",
                    "TopicEntityName": "Rímac River",
                    "TopicEntityMid": "m.0aaa1",
                    "InferentialChain": ["geography.river.origin"],
                    "Answers": [
                        {"AnswerType": "Entity", "AnswerArgument": "m.0bbb1", "EntityName": "The Andes"},
                        {"AnswerType": "Entity", "AnswerArgument": "g.12x_", "EntityName": None},
                    ],
                },
            ],
        },
        {
            "QuestionId": "WebQTest-902",
            "ProcessedQuestion": "who is nobody",
            "Parses": [{"TopicEntityMid": None, "TopicEntityName": None, "InferentialChain": None, "Answers": []}],
        },
        {"QuestionId": "WebQTest-903", "RawQuestion": "and why?", "Parses": []},
        {"QuestionId": "WebQTest-904", "RawQuestion": "and how?", "Parses": [{"TopicEntityMid": "m.0c"}]},
    ],
}
CWQ: list[dict[str, Any]] = [
    {
        "ID": "WebQTrn-1_ab12",
        "answers": [
            {"aliases": ["City of Kings"], "answer": "Lima", "answer_id": "m.0lima"},
            {"aliases": [], "answer": None, "answer_id": "m.0_x"},
            {"aliases": [], "answer": "1535", "answer_id": "1535"},
        ],
        "compositionality_type": "conjunction",
        "question": "Which capital lies at the Rímac?",
        "sparql": "PREFIX ns: <http://rdf.freebase.com/ns/>\nSELECT DISTINCT ?x\nWHERE {\nFILTER (?x != ns:m.0peru)\n"
        "FILTER (!isLiteral(?x))\nns:m.0rimac ns:geography.river.cities ?x .\n?x ns:location.capital_of ?c .\n"
        "?c ns:location.contained_by ns:g.11sam .\nns:m.0rimac ns:type.object.type ?t .\nFILTER (ns:m.0bad != ?x)\n}",
        "webqsp_ID": "WebQTrn-1",
    },
    {
        "ID": "WebQTrn-2_cd34",
        "answers": [],
        "question": "Which one is not?",
        "sparql": "SELECT ?x WHERE { FILTER (?x != ns:m.0peru)\nns:m.0peru ns:location.country.capital ?x }",
    },
]
GRAILQA: list[dict[str, Any]] = [
    {
        "qid": 2100001001000,
        "question": "what is the name of the maker of engines of the car xy? ",
        "answer": [
            {"answer_type": "Entity", "answer_argument": "m.0maker", "entity_name": "Maker"},
            {"answer_type": "Value", "answer_argument": "3"},
        ],
        "function": "none",
        "num_node": 4,
        "num_edge": 3,
        "graph_query": {
            "nodes": [
                {"nid": 0, "node_type": "class", "id": "a.maker", "friendly_name": "Maker", "question_node": 1},
                {"nid": 1, "node_type": "class", "id": "a.engine", "friendly_name": "Engine", "question_node": 0},
                {"nid": 2, "node_type": "entity", "id": "m.0car", "friendly_name": "Car XY", "question_node": 0},
                {"nid": 3, "node_type": "literal", "id": "1.0^^double", "friendly_name": "1.0", "question_node": 0},
            ],
            "edges": [
                {"start": 0, "end": 1, "relation": "a.maker.engines", "friendly_name": "Engines"},
                {"start": 2, "end": 1, "relation": "a.car.engine", "friendly_name": "Engine"},
                {"start": 0, "end": 3, "relation": "a.maker.size", "friendly_name": "Size"},
            ],
        },
        "level": "zero-shot",
    }
]
FLAT: list[dict[str, Any]] = [
    {
        "id": "1",
        "question": "how many?",
        "relations": ["a.b.c"],
        "topic_entities": [["m.0t", "Topic"]],
        "answers": [["3", ""], ["m.0a", "A"]],
    },
    {"id": "2", "question": "most?", "relations": ["a.b.c", "a.b.d"], "topic_entities": [], "answers": [["m.0", "B"]]},
]
ROG: list[dict[str, Any]] = [
    {
        "id": "q1",
        "question": "what do people of Peru speak",
        "q_entity": ["Peru", "m.0abc"],
        "answer": ["Quechua", "m.0nameless"],
        "a_entity": ["Quechua"],
        "graph": [["Peru", "speaks", "Quechua"]],
    },
    {"id": "q2", "question": "and who?", "q_entity": [], "answer": []},
]
ENRICHED: list[dict[str, Any]] = [
    {
        "id": "q1",
        "question": "what do people of Peru speak",
        "q_entity": ["Peru"],
        "answer": ["Quechua", "Aymara", "1535", "Kechwa"],
        "answer_mids": ["m.0que", ":m.0aym", "1535", "m.0que"],
        "ground_relation_paths": [["a.b.c", "a.b.d"], []],
        "gpt_triples": [["Peru", "a.b.c", "m.0que"]],
    }
]
NSM: list[dict[str, Any]] = [
    {
        "id": "q1",
        "question": "what do people of Peru speak",
        "entities": [17, "m.0peru", {"kb_id": "m.0lima", "text": "Lima"}, {"kb_id": None, "text": "Andes"}],
        "answers": [{"kb_id": "m.0que", "text": "Quechua"}, {"kb_id": "1535", "text": None}],
        "subgraph": {"tuples": [], "entities": []},
    }
]
MEDQA: list[dict[str, Any]] = [
    {
        "realidx": 7,
        "question": "Which drug may cause Reye syndrome?",
        "answer": "Aspirin",
        "options": {"B": "Ibuprofen", "A": "Aspirin"},
        "answer_idx": "A",
        "metamap_phrases": ["drug", "Reye Syndrome", "drug"],
    }
]
METAQA = "[Top Gun] was written by who\tJim Cash|Jack Epps Jr.|Jim Cash\n\nwho wrote [[REC]] or [Alien]?\t\n"
PATHQUESTION = (
    " what is the child of s 's mother ?\tb(a/b/)\ts#parents#m#children#b#<end>#b\n"
    "the rating of s ?\tPG_(USA)(PG_(USA)/)\ts#film__rating#PG_(USA)\n"
    "the sex of s ?\tmale\ts#sex#male\n"
)


def json_lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


SAMPLES = {
    "cwq": json.dumps(CWQ, indent=2),
    "grailqa": json.dumps(GRAILQA),
    "lodestar": json_lines(LODESTAR),
    "medqa": json_lines(MEDQA),
    "metaqa": METAQA,
    "pathquestion": PATHQUESTION,
    "rog": json_lines(ROG),
    "webqsp": json.dumps(WEBQSP, indent=2),
}


def written(folder: Path, text: str | bytes, name: str = "questions") -> str:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def questions(folder: Path, text: str | bytes, name: str = "questions") -> tuple[GoldQuestion, ...]:
    return read_questions(written(folder, text, name)).questions


def fault(folder: Path, text: str | bytes, name: str = "questions", format_name: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_questions(written(folder, text, name), format_name)
    message = str(caught.value).removeprefix(f"{folder}/")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("format_name", FORMATS)
def test_formats_are_told_by_looking(tmp_path: Path, format_name: str) -> None:
    content = gzip.compress(SAMPLES[format_name].encode())
    found = read_questions(written(tmp_path, content, "set.txt.gz"))
    assert (found.name, found.format) == ("set.txt", format_name)
    assert found.sha256 == hashlib.sha256(content).hexdigest()
    assert found.questions


@pytest.mark.parametrize("format_name", [name for name in FORMATS if name not in {"metaqa", "pathquestion"}])
def test_json_is_read_however_it_is_laid_out(tmp_path: Path, format_name: str) -> None:
    plain = questions(tmp_path, SAMPLES[format_name])
    records = {"lodestar": LODESTAR, "rog": ROG, "cwq": CWQ, "grailqa": GRAILQA, "webqsp": WEBQSP["Questions"]}
    records["medqa"] = MEDQA
    of_format = records[format_name]
    layouts: list[str] = [
        json.dumps(of_format),
        json.dumps(of_format, indent="\t"),
        "\n\n" + json_lines(of_format).replace("\n", "\n\n"),
        json.dumps({"Questions": of_format}),
        "[\n" + ",\n".join(map(json.dumps, of_format)) + "\n]\n",
    ]
    for layout in layouts:
        assert questions(tmp_path, layout) == plain


def test_lodestar(tmp_path: Path) -> None:
    first, second = questions(tmp_path, SAMPLES["lodestar"])
    assert first == GoldQuestion(
        "q1",
        "Which city is the capital of Peru?",
        (GoldAnswer("m.2"), GoldAnswer("m.3", ("Lima", "Ciudad")), GoldAnswer(None, ("1535",))),
        ("m.1",),
        ("Peru",),
        2,
        (GoldPath(("capital",)), GoldPath(("in", "capital"), ("m.1", "m.9", "m.2"))),
        (("m.1", "capital", "m.2"),),
    )
    assert second == GoldQuestion("q2", "Who is nobody?", (), num_hops=3)


def test_webqsp_unites_its_parses(tmp_path: Path) -> None:
    first, *others = questions(tmp_path, SAMPLES["webqsp"])
    assert first == GoldQuestion(
        "WebQTest-901",
        "where does the river Rímac rise?",
        (GoldAnswer("m.0bbb1", ("Andes", "The Andes")), GoldAnswer(None, ("1532",)), GoldAnswer("g.12x_")),
        ("m.0aaa1",),
        ("Rímac River",),
        None,
        (GoldPath(("geography.river.origin", "geography.origin.place")), GoldPath(("geography.river.origin",))),
    )
    assert others == [
        GoldQuestion("WebQTest-902", "who is nobody", ()),
        GoldQuestion("WebQTest-903", "and why?", ()),
        GoldQuestion("WebQTest-904", "and how?", (), ("m.0c",)),
    ]


def test_cwq_takes_topics_from_the_query(tmp_path: Path) -> None:
    first, second = questions(tmp_path, SAMPLES["cwq"])
    assert first == GoldQuestion(
        "WebQTrn-1_ab12",
        "Which capital lies at the Rímac?",
        (GoldAnswer("m.0lima", ("Lima", "City of Kings")), GoldAnswer("m.0_x"), GoldAnswer(None, ("1535",))),
        ("m.0rimac", "g.11sam"),
    )
    assert (second.answers, second.topic_ids) == ((), ("m.0peru",))


def test_grailqa_walks_its_graph_query(tmp_path: Path) -> None:
    assert questions(tmp_path, SAMPLES["grailqa"]) == (
        GoldQuestion(
            "2100001001000",
            "what is the name of the maker of engines of the car xy?",
            (GoldAnswer("m.0maker", ("Maker",)), GoldAnswer(None, ("3",))),
            ("m.0car",),
            ("Car XY",),
            None,
            (GoldPath(("a.car.engine", "a.maker.engines")),),
        ),
    )


def test_rog(tmp_path: Path) -> None:
    text = "what do people of Peru speak"
    expected = GoldQuestion(
        "q1", text, (GoldAnswer(None, ("Quechua",)), GoldAnswer("m.0nameless")), ("m.0abc",), ("Peru",)
    )
    assert questions(tmp_path, SAMPLES["rog"]) == (expected, GoldQuestion("q2", "and who?", ()))
    enriched = written(tmp_path, json_lines(ENRICHED))
    assert read_questions(enriched).format == "rog"
    assert read_questions(enriched).questions == (
        GoldQuestion(
            "q1",
            text,
            (
                GoldAnswer("m.0que", ("Quechua", "Kechwa")),
                GoldAnswer("m.0aym", ("Aymara",)),
                GoldAnswer(None, ("1535",)),
            ),
            (),
            ("Peru",),
            None,
            (GoldPath(("a.b.c", "a.b.d")),),
            (("Peru", "a.b.c", "m.0que"),),
        ),
    )
    nsm = written(tmp_path, json_lines(NSM))
    assert read_questions(nsm).format == "rog"
    assert read_questions(nsm).questions == (
        GoldQuestion(
            "q1",
            text,
            (GoldAnswer("m.0que", ("Quechua",)), GoldAnswer(None, ("1535",))),
            ("m.0peru", "m.0lima"),
            ("Andes",),
        ),
    )


@pytest.mark.parametrize("records", [ROG, ENRICHED, FLAT], ids=["rog", "enriched", "flat"])
def test_parquet_says_what_json_says(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    expected = questions(tmp_path, json_lines(records))
    path = str(tmp_path / "questions.parquet")
    parquet.write_table(pa.Table.from_pylist(records), path)
    assert read_questions(path).questions == expected
    parquet.write_table(pa.Table.from_pylist([{**r, "id": None} for r in records]), path)
    assert read_questions(path).questions[0].id == "questions.parquet:1"


def test_metaqa(tmp_path: Path) -> None:
    found = questions(tmp_path, METAQA, "2-hop-test.txt")
    assert found == (
        GoldQuestion(
            "2-hop-test.txt:1",
            "Top Gun was written by who",
            (GoldAnswer("Jim Cash", ("Jim Cash",)), GoldAnswer("Jack Epps Jr.", ("Jack Epps Jr.",))),
            ("Top Gun",),
            ("Top Gun",),
            2,
        ),
        GoldQuestion("2-hop-test.txt:3", "who wrote [REC] or Alien?", (), ("[REC]", "Alien"), ("[REC]", "Alien"), 2),
    )


@pytest.mark.parametrize(
    ("path", "num_hops"),
    [
        ("3-hop-dev.txt", 3),
        ("1-hop/vanilla/qa_test.txt", 1),
        ("1-hop/2-hop-test.txt", 2),
        ("qa.txt", None),
        ("2-hopes.txt", None),
    ],
)
def test_metaqa_hops_are_said_by_names(tmp_path: Path, path: str, num_hops: int | None) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    assert questions(tmp_path, METAQA, path)[0].num_hops == num_hops


def test_pathquestion(tmp_path: Path) -> None:
    first, second, third = questions(tmp_path, PATHQUESTION, "pq.txt")
    assert first == GoldQuestion(
        "pq.txt:1",
        "what is the child of s 's mother ?",
        (GoldAnswer("a", ("a",)), GoldAnswer("b", ("b",))),
        ("s",),
        ("s",),
        2,
        (GoldPath(("parents", "children"), ("s", "m", "b")),),
    )
    assert second.answers == (GoldAnswer("PG_(USA)", ("PG_(USA)",)),)
    assert second.paths == (GoldPath(("film__rating",), ("s", "PG_(USA)")),)
    assert (third.answers, third.num_hops) == ((GoldAnswer("male", ("male",)),), 1)


@pytest.mark.parametrize(
    ("text", "format_name", "expected"),
    [
        (
            SAMPLES["rog"],
            "cwq",
            "questions:1: expected a question as cwq (JSON with ID, question, answers, sparql), found an object with "
            "the fields 'id, question, q_entity, answer, a_entity, graph', which looks like rog: name rog, or no format",
        ),
        (
            "hello\n",
            None,
            "questions:1: expected a question as one of cwq, grailqa, lodestar, medqa, metaqa, pathquestion, rog, "
            "webqsp, found 'hello': convert it to lodestar (JSON with id, question, topic_entities, answers)",
        ),
    ],
)
def test_other_formats(tmp_path: Path, text: str, format_name: str | None, expected: str) -> None:
    assert fault(tmp_path, text, format_name=format_name) == expected


GOOD = '{"id": "1", "question": "?", "answers": []}\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD + "\n{oops}", ":3: expected JSON, found a fault at character 2: correct the file or fetch it again"),
        (f"[{GOOD}, 7]", ": question 2: expected a JSON object, found '7': correct the file"),
        (f"[{GOOD.strip()}]\n{GOOD}", ":2: expected the end of the file, found "),
        (GOOD + "[" * 100_000, ":2: expected JSON, found too many brackets: correct the file or fetch it again"),
        (GOOD + f'{{"id": {"9" * 5000}}}', ":2: expected JSON, found a number with too many digits: correct the file"),
        (GOOD + '{"question": ["?"], "answers": []}', ":2: expected text as question, found '[\"?\"]': correct the"),
        (GOOD + '{"question": "\\ud800", "answers": []}', ":2: expected text as question, found '\\ud800': correct"),
        (GOOD + "{}", ":2: expected a field answers, found an empty object: correct the question or remove it"),
        (GOOD + '{"question": "?", "answers": [{}]}', ":2: expected an id or an object with id or names as answer"),
        (GOOD + '{"question": "?", "answers": [], "num_hops": -1}', ":2: expected a whole number as num_hops, found"),
        (GOOD + '{"question": "?", "answers": [], "triples": [["a", "b"]]}', ":2: expected [head, relation, tail] in"),
        (
            GOOD + '{"question": "?", "answers": [], "paths": [{"relations": ["a"], "entities": ["b"]}]}',
            ":2, paths: expected relations, and no entities or one more, found 1 and 1: correct the question or remo",
        ),
        (
            GOOD + f'{{"question": "{"a" * 10_001}", "answers": []}}',
            ":2: expected a question of at most 10,000 characters, found 10,001: shorten it",
        ),
        (
            GOOD + f'{{"question": "?", "topic_entities": ["{"a" * 10_000}", "{"b" * 10_001}"], "answers": []}}',
            ":2: expected topics of at most 20,000 characters together, found 20,001: remove some",
        ),
        (
            GOOD + f'{{"question": "?", "answers": [], "options": {json.dumps(["a"] * 101)}}}',
            ":2: expected at most 100 options, found 101: remove some",
        ),
        (
            GOOD + f'{{"question": "?", "answers": ["{"a" * 20_001}"]}}',
            ":2: expected answers of at most 20,000 characters each, found one of 20,001: shorten it",
        ),
        (json_lines([{**ENRICHED[0], "answer_mids": ["m.1"]}]), ":1: expected one of answer_mids for each answer"),
        (
            json.dumps({"Questions": [{"QuestionId": "1", "RawQuestion": "?", "Parses": [{"Answers": [1]}]}]}),
            ": question 1, Parses 1: expected an object as Answers 1, found '1': correct the question or remove it",
        ),
        (METAQA + "[]\tno\n", ":4: expected a question with its topic in [brackets], a tab and answers separated by b"),
        (PATHQUESTION + "a\tc(c/)\ts#r#b\n", ":4: expected a question, a tab, an answer(answer/answer/), a tab and"),
    ],
)
def test_faults_are_said_with_their_place(tmp_path: Path, text: str, expected: str | None) -> None:
    message = fault(tmp_path, text)
    assert len(message) < 400
    if expected:
        assert message.removeprefix("questions").startswith(expected)


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_cut_file_is_said(tmp_path: Path, format_name: str) -> None:
    text = {
        **SAMPLES,
        "cwq": json.dumps(CWQ * 2000),
        "webqsp": json.dumps({"Questions": WEBQSP["Questions"] * 2000}, indent=2),
        "grailqa": json.dumps(GRAILQA * 2000),
    }[format_name]
    content = gzip.compress(text.encode() * (1 if text.startswith(("[{", "{\n")) else 2000))
    message = fault(tmp_path, content[:-20], "cut.gz", format_name)
    assert message.startswith("cut.gz:") and message.endswith(": the gzip file is cut off: fetch it again")
    content = content[:200] + b"\0" * 200 + content[400:]
    assert "the gzip file is damaged" in fault(tmp_path, content, "damaged.gz", format_name)


def test_medqa(tmp_path: Path) -> None:
    (found,) = questions(tmp_path, json_lines(MEDQA))
    assert (found.id, found.options) == ("medqa-7", ("Aspirin", "Ibuprofen"))
    assert found.answers == (GoldAnswer(None, ("Aspirin",)),)
    assert found.topic_ids == ("drug", "reye syndrome", "aspirin", "ibuprofen")
    assert found.as_question(()).options == found.options
    wrong = json_lines([MEDQA[0] | {"answer_idx": "C"}])
    assert fault(tmp_path, wrong) == (
        "questions:1: expected the letter of an option as answer_idx, found C: correct the question or remove it"
    )


@pytest.mark.parametrize(
    ("split", "found"), [("dev", "1-hop-dev.txt.gz"), ("test", "1-hop-test.txt.gz"), ("1-hop-dev", "1-hop-dev.txt.gz")]
)
def test_a_folder_and_a_split_name_a_file(tmp_path: Path, split: str, found: str) -> None:
    for name in ("1-hop-dev.txt.gz", "1-hop-test.txt.gz", "1-hop-device.txt.gz", "kb.txt"):
        (tmp_path / name).touch()
    assert choose_file(str(tmp_path), split) == str(tmp_path / found)
    assert choose_file(str(tmp_path / "kb.txt"), split) == str(tmp_path / "kb.txt")


def test_a_split_of_none_or_several_files_is_said(tmp_path: Path) -> None:
    for name in ("1-hop-dev.txt", "2-hop-dev.txt"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"expected one file of the split 'dev', found 2 files of 1-hop-dev\.txt, 2-"):
        choose_file(str(tmp_path), "dev")
    with pytest.raises(InputError, match=r"found no file of"):
        choose_file(str(tmp_path), "test")
    with pytest.raises(InputError, match=r"found a folder: name one of its files, or a --split"):
        choose_file(str(tmp_path), None)
